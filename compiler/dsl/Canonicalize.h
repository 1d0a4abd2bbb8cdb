// SPDX-License-Identifier: Apache-2.0
/// \file
/// From what was traced to what is compiled, cached and compared.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#pragma GCC visibility push(hidden) // not for those who link libtlc
namespace tlc::dsl::inline v1 {

/// Brings pure operations into an order that depends on the program's text
/// alone: C++ leaves open which operand of an expression is evaluated first.
void orderPureOperations(mlir::ModuleOp module);

/// Orders, canonicalises and removes what is computed twice.
mlir::LogicalResult canonicalize(mlir::ModuleOp module);

} // namespace tlc::dsl::inline v1
#pragma GCC visibility pop
