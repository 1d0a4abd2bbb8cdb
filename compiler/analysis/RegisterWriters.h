// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who writes the registers of a fragment that a product in flight uses: of its left factor, or of the sums
/// that it begins with.
#pragma once

#include "dialects/tile/Tile.h"

#include "llvm/ADT/SetVector.h"

namespace tlc::tile {

/// What writes the registers of a fragment.
struct RegisterWriters {
  llvm::SetVector<mlir::Operation *> ops; ///< compute the fragment
  /// Loops and branches that move a value into them: loops when they begin and between iterations, branches
  /// at their end.
  llvm::SetVector<mlir::Operation *> moves;
  /// Compute what is moved: to the same registers, so that nothing is left to move, if the machine's compiler
  /// sees no use of the old value after them. It does not know of products in flight.
  llvm::SetVector<mlir::Operation *> sources;
  bool madeForUse = false; ///< of constants and coordinates, which are made again right before each use
};

/// Which operations name the registers of their operand anew.
enum class RegisterAliases {
  certain, ///< those that never compute anything
  /// Also those that the machine's compiler may compute, such as a choice whose condition always holds: their
  /// result may then lie in the registers of an operand.
  possible,
};

/// The fragment that a product reads from registers while it is in flight, or null.
mlir::Value factorInRegisters(InFlightOpInterface product);
/// For messages: "left factor", or "metadata" of a sparse one.
llvm::StringRef nameOfFactorInRegisters(InFlightOpInterface product);

/// Whether the threads read the registers of the product's left factor for the operation: it computes with
/// them, or it is a product whose sums begin with them. `isSame` tells whether an operand of the operation is
/// the left factor; both are values that no operation only names anew.
bool readsFactor(mlir::Operation *op, InFlightOpInterface product,
                 llvm::function_ref<bool(mlir::Value operand, mlir::Value factor)> isSame);

/// By the value itself.
bool readsFactor(mlir::Operation *op, InFlightOpInterface product);

/// Whether a later pass or the machine's compiler may find that the fragments are the same: results of
/// branches or choices whose conditions it knows, or sums with zeros.
bool mayBeSame(mlir::Value a, mlir::Value b);

/// Expects a fragment.
RegisterWriters writersOf(mlir::Value fragment, RegisterAliases aliases);

} // namespace tlc::tile
