// SPDX-License-Identifier: Apache-2.0
/// \file
/// Positions as expressions that the host evaluates at launch: numbers of blocks and extents of tensors.
#pragma once

#include "mlir/IR/Value.h"
#include "runtime/artifact/Artifact.h"

#include <variant>

namespace tlc::tile {

/// Why a value is no such expression.
struct NoHostExpression {
  mlir::Value culprit; ///< that it depends on; null if the expression is too large
};

/// The most terms of one. Shared subexpressions are repeated, which must not get out of hand.
inline constexpr size_t maxHostTerms = 256;

/// The value by integer arithmetic over dimensions of its kernel, constants and the number of
/// multiprocessors.
std::variant<HostExpr, NoHostExpression> hostExpressionOf(mlir::Value value);

} // namespace tlc::tile
