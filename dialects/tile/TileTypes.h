// SPDX-License-Identifier: Apache-2.0
/// \file
/// Types of the tile dialect.
#pragma once

#include "dialects/program/Elements.h"
#include "dialects/tile/TileAttrs.h"
#include "mlir/IR/BuiltinTypes.h"

#define GET_TYPEDEF_CLASSES
#include "dialects/tile/Types.h.inc"

namespace tlc::tile {

/// Positions are 32 bits on the device: no extent and no tile of memory has more elements.
inline constexpr int64_t maxElements = (int64_t(1) << 31) - 1;

/// A tensor of static shape, of at most maxElements elements.
bool isFragment(mlir::Type type);

} // namespace tlc::tile
