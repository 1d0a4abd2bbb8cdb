// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether two boxes of a tensor share elements, by the arithmetic of their origins.
#pragma once

#include "dialects/tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tlc::tile {

enum class BoxRelation : uint8_t {
  disjoint, ///< no element is in both
  same,     ///< one box, or disjoint
  unknown,
};

/// How the box of `later` lies to that of `earlier`, which is of the same tensor. With a `loop` around both,
/// `earlier` was in an earlier round of it; without, in the same round of all loops around both.
BoxRelation relate(SliceOp earlier, SliceOp later, mlir::scf::ForOp loop);

/// Whether the boxes are disjoint in all rounds of all loops, also of different roles: of 128 rows, one
/// begins at a multiple of 256, the other one 128 after a multiple.
bool areApart(SliceOp one, SliceOp other);

} // namespace tlc::tile
