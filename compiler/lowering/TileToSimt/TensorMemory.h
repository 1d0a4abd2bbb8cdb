// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the lowerings of copies and barriers do where tensor memory is concerned.
#pragma once

#include "compiler/lowering/TileToSimt/Lowering.h"

namespace tlc::lowering {

/// The address of a slot.
Value slotInTensorMemory(KernelLowering &k, tile::SlotOp op);
/// The fragment's registers; null, with a diagnostic, if its layout is not one of tensor memory.
Value loadTensorMemory(KernelLowering &k, tile::LoadOp op);
LogicalResult storeTensorMemory(KernelLowering &k, tile::StoreOp op);
/// The barrier gets an arrival after the products that this thread has started.
void arriveAfterProducts(KernelLowering &k, Value barrier);

} // namespace tlc::lowering
