// SPDX-License-Identifier: Apache-2.0
/// \file
/// How many blocks share a multiprocessor.
#include "runtime/target/Occupancy.h"

#include <catch2/catch.hpp>

using namespace tlc;

TEST_CASE("the scarcest resource limits the blocks of a multiprocessor", "[target]") {
  const Target &target = *findTarget("sm_90a");
  const auto check = [&](BlockNeeds block, unsigned blocks, OccupancyLimit limit) {
    const Occupancy occupancy = occupancyOf(block, target);
    CHECK(occupancy.blocks() == blocks);
    CHECK(occupancy.limit() == limit);
  };
  check({.threads = 32, .registers = 16, .sharedBytes = 0}, 32, OccupancyLimit::blocks);
  check({.threads = 1024, .registers = 32, .sharedBytes = 0}, 2, OccupancyLimit::threads);
  check({.threads = 384, .registers = 168, .sharedBytes = 0}, 1, OccupancyLimit::registers);
  check({.threads = 128, .registers = 128, .sharedBytes = 0}, 4, OccupancyLimit::registers);
  check({.threads = 128, .registers = 32, .sharedBytes = 100 * 1024}, 2, OccupancyLimit::sharedMemory);
  check({.threads = 128, .registers = 32, .sharedBytes = target.sharedBytesPerBlock}, 1,
        OccupancyLimit::sharedMemory);
}

TEST_CASE("registers are given out by warps, in steps", "[target]") {
  const Target &target = *findTarget("sm_90a");
  const auto blocks = [&](unsigned threads, unsigned registers) {
    return occupancyOf({.threads = threads, .registers = registers, .sharedBytes = 0}, target).blocks();
  };
  CHECK(blocks(256, 255) == 1);
  CHECK(blocks(128, 255) == 2);
  CHECK(blocks(128, 161) == blocks(128, 168));
  CHECK(blocks(65, 64) == blocks(96, 64));
}

TEST_CASE("no block runs that takes too much", "[target]") {
  const Target &target = *findTarget("sm_90a");
  CHECK(occupancyOf({.threads = 128, .registers = 32, .sharedBytes = target.sharedBytesPerBlock + 1}, target)
            .blocks() == 0);
  CHECK(occupancyOf({.threads = 1024, .registers = 80, .sharedBytes = 0}, target).blocks() == 0);
}
