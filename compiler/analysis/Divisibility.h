// SPDX-License-Identifier: Apache-2.0
/// \file
/// What divides a position, whatever the dimensions are: vectors and the TMA ask for it.
#pragma once

#include "mlir/IR/Value.h"

#include <cstdint>

namespace tlc::tile {

/// A number that divides the integer in every execution; 0 for a value that is always 0.
/// Follows arithmetic, loops and the facts about dimensions (`multiple_of`, `fixed`).
int64_t knownDivisor(mlir::Value value);

} // namespace tlc::tile
