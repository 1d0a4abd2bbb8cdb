// SPDX-License-Identifier: Apache-2.0
/// \file
/// Layouts of two tiles that are the same bits in row-major order, with other extents or another width of
/// elements.
///
/// Elements of one width keep their registers: only the coordinates have other names. Through the element's
/// number in row-major order,
///
///     reg(2@1:1) lane(8@1:2, 4@0:1) warp(4@0:4)    of 16x16 is
///     reg(2@1:1) lane(4@1:2, 8@0:1) warp(4@0:8)    of 32x8
///
/// Of elements of different widths, adjacent registers of one thread hold the parts of a wide one, the lowest
/// bits in the first:
///
///     reg(2@0:8) lane(4@1:1, 8@0:1) warp(4@0:16)            of 64x4 with 32 bits is
///     reg(2@1:1, 2@0:8) lane(4@1:2, 8@0:1) warp(4@0:16)     of 64x8 with 16 bits
#pragma once

#include "dialects/layout/Layout.h"

namespace tlc {

/// A tile whose elements follow one another in row-major order, as bits.
struct RowMajorTile {
  Shape shape;
  int elementBits = 32;
};

/// Where a layout of `from` puts its bits, as a layout of `to`, which has as many bits. Axes that hold the
/// same elements in both are groups by themselves, so that axes of extent 1 change nothing:
///
///     {2, 3, 500} is {2, 3, 1, 500}, group by group, and {6, 500} by the groups {2, 3} and {500}
///
/// Nothing where a digit of the layout is parts of two of a tile's axes that its extent does not divide into,
/// where the layout has padding along another axis than a group's outermost, or where registers are no whole
/// elements of `to`. If there is one, the way back gives the layout again.
std::optional<FragmentLayout> reshaped(const FragmentLayout &layout, const RowMajorTile &from,
                                       const RowMajorTile &to);

/// A layout of `from` that can be reshaped to `to`, the default one if possible; there always is one.
FragmentLayout reshapableLayout(const RowMajorTile &from, const RowMajorTile &to, int64_t numWarps);

} // namespace tlc
