// SPDX-License-Identifier: Apache-2.0
/// \file
/// Slices of shared tiles.
#pragma once

#include "dialects/tile/Tile.h"

#define GET_OP_CLASSES
#include "dialects/tile/OpsSharedSlice.h.inc"

namespace tlc::tile {

/// The axes of what a slice is of, a tensor or a shared tile, along which each element has a position of its
/// own, in ascending order.
llvm::ArrayRef<int64_t> gatheredAxesOf(mlir::Value slice);

/// For each axis of what a slice is of, the axis of the slice along which it is a box; -1 for gathered axes.
llvm::SmallVector<int> boxAxesOf(mlir::Value slice);
/// The same of a slice of `sliceRank` axes of a tensor or tile of `rank`.
llvm::SmallVector<int> boxAxes(llvm::ArrayRef<int64_t> gathered, size_t rank, size_t sliceRank);
/// The extents of the box by axis of what the slice is of; 1 for gathered axes.
llvm::SmallVector<int64_t> boxExtentsOf(mlir::Value slice);
/// Whether a slice of `sliceRank` axes can have these gathered axes of a tensor or tile of `rank`.
bool hasBoxAxes(llvm::ArrayRef<int64_t> gathered, size_t rank, size_t sliceRank);

/// What threads do to a slice or a tile by ordinary accesses, in any order of its elements. Of a slice of a
/// shared tile it is done to the tile, and any thread may reach any element.
MemoryAccess ordinaryAccess(mlir::Value memory, AccessKind kind, mlir::Value fragment = {});

/// What the TMA moves, and counts, are slices of tensors. Reports one of a shared tile.
llvm::LogicalResult verifySliceOfTensor(mlir::Operation *op, mlir::Value slice);

} // namespace tlc::tile
