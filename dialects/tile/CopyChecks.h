// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks that operations on fragments and slices have in common. Each reports what it finds.
#pragma once

#include "dialects/tile/Tile.h"

namespace tlc::tile {

/// Same extents, those of 1 aside, and the same element type; `from` and `to` say what the two are where the
/// user gave them no name.
llvm::LogicalResult verifySameTile(mlir::Operation *op, mlir::Value source, llvm::StringRef from,
                                   mlir::Value destination, llvm::StringRef to);
/// The elements that are combined atomically in that way.
llvm::LogicalResult verifyCombined(mlir::Operation *op, CombineKind kind, mlir::Value destination);
/// A position for each element of a fragment, and a slice whose elements have such.
llvm::LogicalResult verifyIndices(mlir::Operation *op, mlir::Value slice, mlir::Value fragment,
                                  mlir::Value indices);

} // namespace tlc::tile
