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

#include "runtime/target/Hardware.h"

#include <array>
#include <cstdint>

namespace tlc {

/// `coordinate / step % extent` moves an element by so many places within its piece.
struct OrderDigit {
  int64_t step, extent, places;
};

/// How the order takes one axis of a matrix.
struct AccumulatorAxis {
  int64_t extent; ///< of a piece
  std::array<OrderDigit, 2> digits;

  int64_t placeInPiece(int64_t coordinate) const {
    int64_t place = 0;
    for (const OrderDigit &digit : digits)
      place += coordinate / digit.step % digit.extent * digit.places;
    return place;
  }
};

/// Of a thread's elements of a piece.
inline constexpr int64_t adjacentInOrder = 4;
inline constexpr AccumulatorAxis accumulatorRows = {mmaSyncRows, {{{1, 8, 16}, {8, 2, 2}}}};
inline constexpr AccumulatorAxis accumulatorColumns = {mmaSyncColumns,
                                                       {{{1, 2, 1}, {2, 4, adjacentInOrder}}}};

} // namespace tlc
