// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operations on the shared memory of other blocks of the cluster.
#pragma once

#include "dialects/tile/Tile.h"

#define GET_OP_CLASSES
#include "dialects/tile/OpsCluster.h.inc"

namespace tlc::tile {

/// Whether the operation accesses shared tiles of other blocks.
bool accessesOtherBlocks(mlir::Operation *op);

/// The buffers of the kernel that blocks access in other blocks.
llvm::SmallDenseSet<mlir::Value, 4> buffersOfCluster(KernelOp kernel);

} // namespace tlc::tile
