// SPDX-License-Identifier: Apache-2.0
/// \file
/// The user's names of values and words for operations, and their places, for messages.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Value.h"

#include <string>

namespace tlc::tile {

/// The buffer, ring, argument or variable that a value is, or is a view of: slots,
/// transposed views, slices, members of a table and reads of variables are followed to what was declared.
mlir::Value declarationOf(mlir::Value value);
/// The user's name of that declaration; empty if it has none.
llvm::StringRef nameOf(mlir::Value value);
/// `'name'`, or `otherwise` for values without a name.
std::string describe(mlir::Value value, llvm::StringRef otherwise);
/// Attaches "'name' is declared here", for a value that has a name.
void noteDeclaration(mlir::InFlightDiagnostic &diagnostic, mlir::Value value);

/// What the user calls to make an operation of this name: `tile.alloc_shared` is k.shared.
std::string callOf(llvm::StringRef operation);
/// A message without the operations and types of MLIR, which users do not write:
/// "'tile.gemm_async' op expected 'tile.channel'" -> "gemmAsync: expected k.channel".
std::string inUsersWords(mlir::MLIRContext *context, llvm::StringRef message);
/// The statement that an operation comes from, in the user's words: "copy to shared tile 'ds'".
std::string describeStatement(mlir::Operation *op);

/// The first place in a source file that `location` names, looking through names, fusions and calls; or
/// nothing.
mlir::FileLineColLoc findSourceLocation(mlir::Location location);
/// " at conv.cpp:41:7", or nothing if the place is unknown.
std::string placeOf(mlir::Operation *op);

} // namespace tlc::tile
