// SPDX-License-Identifier: Apache-2.0
/// \file
/// The statistics of benchmarks, and what they demand.
#include "tools/tlc/Rounds.h"

#include "runtime/emulator/EmulatorDevice.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::driver;

TEST_CASE("the median is the middle value, or between the two in the middle", "[tlc][bench]") {
  CHECK(median({}) == 0);
  CHECK(median({3}) == 3);
  CHECK(median({9, 1, 5}) == 5);
  CHECK(median({8, 2, 4, 100}) == 6);
}

TEST_CASE("the geometric mean of a ratio and its inverse is 1", "[tlc][bench]") {
  CHECK(geometricMean({}) == 0);
  CHECK(geometricMean({4, 0.25}) == Approx(1));
  CHECK(geometricMean({2, 8}) == Approx(4));
}

TEST_CASE("launches of emulated devices are timed, too", "[tlc][bench]") {
  std::unique_ptr<Device> emulator = createEmulatorDevice();
  int launches = 0;
  auto times = timeInTurns(emulator, {[&] {
                             ++launches;
                             return Result<void>();
                           }},
                           {});
  REQUIRE(times);
  CHECK(launches > 0);
}
