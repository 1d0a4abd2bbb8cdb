// SPDX-License-Identifier: Apache-2.0
/// \file
/// The order of a matrix in memory in which each thread of a warp finds its part of a matrix instruction's
/// accumulator at four adjacent places.
///
/// Pieces of 16 x 8 elements follow one another along each 16 rows. In a piece, places 4 l to 4 l + 3 are
/// lane l's: columns 2 (l % 4) and the next one, of row l / 4 and of the row 8 below. So 16 rows take the
/// memory that they take in the natural order, and any warp that has whole pieces accesses 512 adjacent bytes
/// of f32.
#pragma once

#include "dialects/layout/LayoutMap.h"
#include "runtime/target/Hardware.h"

#include <array>

namespace tlc {

/// How the order takes one axis of a matrix: the digits of a coordinate in a piece to places.
struct AccumulatorAxis {
  int64_t extent; ///< of a piece
  std::array<LayoutMode, 2> digits;

  /// Calls visit(digit, weight): the digit of a coordinate is `coordinate / weight % digit.extent`.
  template <class Visit> constexpr void forEachDigit(Visit visit) const {
    int64_t weight = 1;
    for (const LayoutMode &digit : digits) {
      visit(digit, weight);
      weight *= digit.extent;
    }
  }
  constexpr int64_t placeInPiece(int64_t coordinate) const {
    int64_t place = 0;
    forEachDigit([&](const LayoutMode &digit, int64_t weight) {
      place += coordinate / weight % digit.extent * digit.step;
    });
    return place;
  }
};

/// Of a thread's elements of a piece.
inline constexpr int64_t adjacentInOrder = 4;
inline constexpr AccumulatorAxis accumulatorRows = {mmaSyncRows, {{{8, 0, 16}, {2, 0, 2}}}};
inline constexpr AccumulatorAxis accumulatorColumns = {mmaSyncColumns,
                                                       {{{2, 0, 1}, {4, 0, adjacentInOrder}}}};

} // namespace tlc
