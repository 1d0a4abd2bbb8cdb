// SPDX-License-Identifier: Apache-2.0
/// \file
/// Slices of shared tiles.
#pragma once

#include "dialects/tile/Tile.h"

#define GET_OP_CLASSES
#include "dialects/tile/OpsSharedSlice.h.inc"

namespace tlc::tile {

/// The axis of a slice, of a tensor or of a shared tile, along which each element has a position of its own.
std::optional<uint64_t> gatheredAxisOf(mlir::Value slice);

/// What threads do to a slice or a tile by ordinary accesses, in any order of its elements. Of a slice of a
/// shared tile it is done to the tile, and any thread may reach any element.
MemoryAccess ordinaryAccess(mlir::Value memory, AccessKind kind, mlir::Value fragment = {});

/// What the TMA moves, and counts, are slices of tensors. Reports one of a shared tile.
llvm::LogicalResult verifySliceOfTensor(mlir::Operation *op, mlir::Value slice);

} // namespace tlc::tile
