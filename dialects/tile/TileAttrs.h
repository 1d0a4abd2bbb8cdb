// SPDX-License-Identifier: Apache-2.0
/// \file
/// Enums and attributes of the tile dialect.
#pragma once

#include "dialects/tile/TileDialect.h"
#include "mlir/IR/TensorEncoding.h"

namespace tlc {
class FragmentLayout;
struct SharedLayout;
} // namespace tlc

#include "dialects/tile/Enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/tile/Attrs.h.inc"
