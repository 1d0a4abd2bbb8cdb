// SPDX-License-Identifier: Apache-2.0
/// \file
/// Types of the tile dialect.
#pragma once

#include "dialects/tile/TileAttrs.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/support/ElementType.h"

#define GET_TYPEDEF_CLASSES
#include "dialects/tile/Types.h.inc"

namespace tlc::tile {

/// What memory can hold; nothing for other types.
std::optional<ElementType> toElementType(mlir::Type type);
bool isElementType(mlir::Type type);

} // namespace tlc::tile
