// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stores from shared memory, most by the tensor memory accelerator.
#pragma once

#include "compiler/lowering/TileToSimt/Lowering.h"

namespace tlc::lowering {

/// From shared memory to a slice; done when the tile may be written again.
LogicalResult copyByTma(KernelLowering &k, tile::CopyOp op);
/// A fragment, through the staging buffer, panel by panel, from which the TMA or the threads write rows.
LogicalResult storeThroughPanels(KernelLowering &k, tile::StoreOp op);

/// Combines a tile in pieces with a slice of a tensor that has them, too: one instruction for all rows where
/// these are whole, else one for each row of pieces.
LogicalResult reducePieces(KernelLowering &k, tile::CopyReduceOp op);

} // namespace tlc::lowering
