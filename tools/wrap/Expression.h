// SPDX-License-Identifier: Apache-2.0
/// \file
/// Expressions of a description: numbers, dimensions, `multiprocessors`, functions and parentheses.
#pragma once

#include "tools/wrap/Tokens.h"

#include <span>

namespace tlc::wrap {

/// Takes one from the line, over these dimensions.
HostExpr parseExpression(Line &line, std::span<const Dimension> dimensions);

} // namespace tlc::wrap
