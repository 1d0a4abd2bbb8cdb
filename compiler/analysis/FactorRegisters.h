// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who writes the registers that a product in flight reads its left factor from.
#pragma once

#include "dialects/tile/Tile.h"

#include "llvm/ADT/SetVector.h"

namespace tlc::tile {

/// What writes the registers of a factor. Values that only pass registers on share them: what a loop carries
/// with what it begins with and yields, a branch's result with what its regions yield.
struct FactorWriters {
  llvm::SetVector<mlir::Operation *> ops; ///< compute the factor, or a value that shares its registers
  /// Loops and branches that move a value into them: loops when they begin and between iterations, branches
  /// at their end.
  llvm::SetVector<mlir::Operation *> moves;
  bool madeForUse = false; ///< of constants and coordinates, which are made again right before each use
};

/// Expects a fragment.
FactorWriters writersOf(mlir::Value factor);

} // namespace tlc::tile
