// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operations on counts in global memory, by which blocks order what they do to tensors.
#pragma once

#include "dialects/tile/Tile.h"

#define GET_OP_CLASSES
#include "dialects/tile/OpsCounts.h.inc"

namespace tlc::tile {

/// Whether other blocks may go on from the operation with what its threads did before.
bool letsBlocksGoOn(mlir::Operation *op);
/// Whether its threads go on from the operation with what other blocks did before.
bool goesOnAfterBlocks(mlir::Operation *op);

} // namespace tlc::tile
