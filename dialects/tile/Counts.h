// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operations on counts in global memory, by which blocks order what they do to tensors.
#pragma once

#include "dialects/tile/Tile.h"

#define GET_OP_CLASSES
#include "dialects/tile/OpsCounts.h.inc"

namespace tlc::tile {

/// On a kernel: the nanoseconds that its waits on mbarriers may last, as an i64. A `tile.wait_for` has its
/// own limit.
inline constexpr llvm::StringLiteral waitLimitAttrName = "tile.wait_limit";

/// Whether the operation writes a number that no other block gets to a shared tile.
bool takesNumber(mlir::Operation *op);
/// Whether other blocks may go on from the operation with what its threads did before.
bool letsBlocksGoOn(mlir::Operation *op);
/// Whether its threads go on from the operation with what other blocks did before.
bool goesOnAfterBlocks(mlir::Operation *op);

} // namespace tlc::tile
