// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integer arithmetic on extents, offsets and counts: arguments are non-negative
/// and divisors positive.
#pragma once

#include <bit>
#include <cassert>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace tlc {

/// The smallest q with q * divisor >= value.
template <std::integral Value, std::integral Divisor>
constexpr std::common_type_t<Value, Divisor> ceilDiv(Value value, Divisor divisor) {
  using Common = std::common_type_t<Value, Divisor>;
  const auto dividend = static_cast<Common>(value), by = static_cast<Common>(divisor);
  assert(!(dividend < Common(0)) && by > Common(0));
  return dividend / by + (dividend % by != 0);
}

/// The smallest multiple of `alignment` that is not below `value`.
template <std::integral Value, std::integral Alignment>
constexpr std::common_type_t<Value, Alignment> alignTo(Value value, Alignment alignment) {
  return ceilDiv(value, alignment) * static_cast<std::common_type_t<Value, Alignment>>(alignment);
}

/// The largest multiple of `step` that is not above `value`.
constexpr int64_t alignDown(int64_t value, int64_t step) {
  assert(value >= 0 && step > 0);
  return value / step * step;
}

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
