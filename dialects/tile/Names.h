// SPDX-License-Identifier: Apache-2.0
/// \file
/// The user's names of values, for messages.
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Value.h"

#include <string>

namespace tlc::tile {

/// The buffer, ring, argument or variable that a value is, or is a view of: slots,
/// transposed views, slices and reads of variables are followed to what was declared.
mlir::Value declarationOf(mlir::Value value);
/// The user's name of that declaration; empty if it has none.
llvm::StringRef nameOf(mlir::Value value);
/// `'name'`, or `otherwise` for values without a name.
std::string describe(mlir::Value value, llvm::StringRef otherwise);
/// Attaches "'name' is declared here", for a value that has a name.
void noteDeclaration(mlir::InFlightDiagnostic &diagnostic, mlir::Value value);

} // namespace tlc::tile
