// SPDX-License-Identifier: Apache-2.0
/// \file
/// Random bits that depend on a counter and a key alone.
#pragma once

#include <array>
#include <cstdint>

namespace tlc::kernels {

/// Four words of Philox 4 x 32 (J. K. Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011).
/// With 7 rounds or more it passes all tests of BigCrush.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key, int rounds);

/// What decides, with its place, whether a weight of attention is dropped.
struct PhiloxState {
  int64_t seed = 0, offset = 0;

  /// 16 bits of a weight: of row `query` and column `key` of matrix `matrix`, which is a sequence's number
  /// times the number of heads, plus the head.
  uint32_t bitsAt(uint32_t matrix, uint32_t query, uint32_t key) const;
};

} // namespace tlc::kernels
