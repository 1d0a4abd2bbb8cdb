// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integer helpers at their edges.

#include "runtime/support/Math.h"

#include <catch2/catch.hpp>

using namespace tlc;

TEST_CASE("integer helpers hold at their edges", "[math][unit]") {
  for (int64_t value = 0; value < 200; ++value)
    for (int64_t divisor = 1; divisor < 40; ++divisor) {
      int64_t quotient = ceilDiv(value, divisor);
      REQUIRE(quotient * divisor >= value);
      REQUIRE((quotient - 1) * divisor < value);
      REQUIRE(alignTo(value, divisor) == quotient * divisor);
      REQUIRE(isMultipleOf(value, divisor) == (alignTo(value, divisor) == value));
    }
  REQUIRE(ceilDiv(INT64_MAX, 2) == (int64_t(1) << 62));
  REQUIRE(nextPowerOf2(0) == 1);
  REQUIRE(nextPowerOf2(1) == 1);
  REQUIRE(nextPowerOf2(176) == 256);
  REQUIRE(nextPowerOf2(256) == 256);
  REQUIRE_FALSE(isPowerOf2(0));
  REQUIRE(isPowerOf2(1));
  REQUIRE_FALSE(isPowerOf2(96));
  REQUIRE(log2Floor(1) == 0);
  REQUIRE(log2Floor(255) == 7);
  REQUIRE(log2Floor(256) == 8);
  REQUIRE(powerOf2Factor(176) == 16);
  REQUIRE(powerOf2Factor(1) == 1);
}
