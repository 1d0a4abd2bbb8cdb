// SPDX-License-Identifier: Apache-2.0
/// \file
/// Enums and attributes of the tile dialect.
#pragma once

#include "dialects/layout/Layout.h"
#include "dialects/layout/SharedLayout.h"
#include "dialects/layout/WarpPolicy.h"
#include "dialects/tile/TileDialect.h"
#include "mlir/IR/TensorEncoding.h"

#include "dialects/tile/Enums.h.inc"

namespace tlc {
// Attributes hold layouts.
inline llvm::hash_code hash_value(const FragmentLayout &layout) { return hashOf(layout.map()); }
inline llvm::hash_code hash_value(const SharedLayout &layout) {
  return llvm::hash_combine(llvm::hash_combine_range(layout.shape()), layout.elementBits(),
                            layout.contiguousAxis(), hashOf(layout.map()));
}
} // namespace tlc

#define GET_ATTRDEF_CLASSES
#include "dialects/tile/Attrs.h.inc"

namespace tlc::tile {
TLC_ENUM_CONVERSION(policyOf, WarpPolicy, tlc::WarpPolicy, TLC_WARP_POLICIES)
} // namespace tlc::tile
