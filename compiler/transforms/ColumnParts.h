// SPDX-License-Identifier: Apache-2.0
/// \file
/// Some columns of what is computed element by element of a sum in tensor memory: fewer registers at a time.
#pragma once

#include "dialects/tile/Tile.h"

namespace tlc::tile {

/// What the fragment repeats for each of its columns, a scalar or a number of each row; null if it does not.
mlir::Value numberOfRows(mlir::Value fragment);

/// The fragment's type with `columns` columns.
mlir::RankedTensorType withColumns(mlir::Value fragment, int64_t columns);

/// A fragment with the rows of `fragment` and `columns` columns, each of which is `number`.
mlir::Value repeat(mlir::OpBuilder &builder, mlir::Value fragment, mlir::Value number, int64_t columns);

/// The tile's columns from `first` on.
mlir::Value viewColumns(mlir::OpBuilder &builder, mlir::Value sum, int64_t first, int64_t columns);

/// Whether nothing writes the tile in tensor memory between the load and `later`, which stands after it or
/// after a branch with it. What is in `later` comes after that.
bool isUnchanged(LoadOp load, mlir::Operation *later);

} // namespace tlc::tile
