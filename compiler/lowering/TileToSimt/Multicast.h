// SPDX-License-Identifier: Apache-2.0
/// \file
/// Accesses to a symmetric tensor on all ranks at once, by NVLink multicast (PTX ISA, multimem). A multicast
/// address is another name of memory that ranks access by its own address, too, so that each access is
/// between two fences of the alias proxy (memory consistency model, proxies).
#pragma once

#include "compiler/lowering/TileToSimt/FragmentAccess.h"

namespace tlc::lowering {

/// Whether the memory is a slice of all ranks' tensors.
bool isOfAllRanks(Value memory);
/// The most elements side by side that one instruction accesses so.
int64_t widestMulticastVector(Type element, GlobalUse use);

/// Accesses that are of all ranks, which other accesses of this thread stay before and after.
void betweenAliasFences(KernelLowering &k, llvm::function_ref<void()> accesses);

// Each fails with a diagnostic where an element of 16 bits would be accessed alone.
LogicalResult loadOfAllRanks(KernelLowering &k, tile::LoadOp op);
LogicalResult storeToAllRanks(KernelLowering &k, tile::StoreOp op);
/// Adds to the count of each rank, once what the executing thread knows of is complete.
void countOnAllRanks(KernelLowering &k, Value by, Value address);

} // namespace tlc::lowering
