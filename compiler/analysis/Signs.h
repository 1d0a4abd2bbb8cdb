// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which positions are not negative: the TMA stores no box that begins below 0.
#pragma once

#include "mlir/IR/Value.h"

namespace tlc::tile {

/// Whether the position is known not to be negative; it does not overflow.
bool isNonNegative(mlir::Value position);

} // namespace tlc::tile
