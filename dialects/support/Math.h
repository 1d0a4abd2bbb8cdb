// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integer arithmetic on extents, offsets and counts. Everything is int64_t, as
/// extents are; arguments are non-negative and divisors positive.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>

namespace tlc {

/// The smallest q with q * divisor >= value.
constexpr int64_t ceilDiv(int64_t value, int64_t divisor) {
  assert(value >= 0 && divisor > 0);
  return value / divisor + (value % divisor != 0);
}

/// The smallest multiple of `alignment` that is not below `value`.
constexpr int64_t alignTo(int64_t value, int64_t alignment) { return ceilDiv(value, alignment) * alignment; }

constexpr bool isMultipleOf(int64_t value, int64_t divisor) {
  assert(divisor > 0);
  return value % divisor == 0;
}

constexpr bool isPowerOf2(int64_t value) { return value > 0 && std::has_single_bit(uint64_t(value)); }

/// The smallest power of two that is not below `value`; 1 for 0.
constexpr int64_t nextPowerOf2(int64_t value) {
  assert(value >= 0 && value <= int64_t(1) << 62);
  return int64_t(std::bit_ceil(uint64_t(value)));
}

/// The exponent of the largest power of two that is not above `value`.
constexpr int log2Floor(int64_t value) {
  assert(value > 0);
  return 63 - std::countl_zero(uint64_t(value));
}

/// The largest power of two that divides `value`.
constexpr int64_t powerOf2Factor(int64_t value) {
  assert(value > 0);
  return value & -value;
}

} // namespace tlc
