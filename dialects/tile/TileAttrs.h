// SPDX-License-Identifier: Apache-2.0
/// \file
/// Enums and attributes of the tile dialect.
#pragma once

#include "dialects/layout/WarpPolicy.h"
#include "dialects/tile/TileDialect.h"
#include "mlir/IR/TensorEncoding.h"

namespace tlc {
class FragmentLayout;
struct SharedLayout;
} // namespace tlc

#include "dialects/tile/Enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/tile/Attrs.h.inc"

namespace tlc::tile {
TLC_ENUM_CONVERSION(policyOf, WarpPolicy, tlc::WarpPolicy, TLC_WARP_POLICIES)
} // namespace tlc::tile
