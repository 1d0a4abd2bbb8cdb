// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stores that a role of their own can take over.
#pragma once

#include "compiler/analysis/CopyGroups.h"

namespace tlc::tile {

/// A tile on its way to a tensor: its fragment is put into a buffer, from where the TMA stores it.
struct HandedTile {
  StoreOp fill;
  AllocSharedOp buffer;
  CopyOp store;
};

/// Makes a store to shared memory and a copy by the TMA of each store of a fragment through the TMA
/// - that stands in a loop, so that the next round can go on meanwhile,
/// - to a tensor that nothing else in the kernel accesses, and that the TMA can store whole tiles to,
/// - for which shared memory has room beside all slots of the loads.
/// None if threads make some of the loads: they need all warps of a role that loads. Of the other stores to
/// tensors remarks say why not.
llvm::SmallVector<HandedTile> separateStores(KernelOp kernel, const CopyGroups &loads, const Target &target);

} // namespace tlc::tile
