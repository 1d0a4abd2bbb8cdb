// SPDX-License-Identifier: Apache-2.0
#include "runtime/target/Timing.h"

#include <algorithm>
#include <array>
#include <cassert>

using namespace tlc;

namespace {

constexpr std::array rows = {
    // 312 TFLOP/s of 16-bit products on 108 multiprocessors at 1.41 GHz.
    TimingFacts{.target = "sm_80",
                .clockGhz = 1.41,
                .memoryBytesPerSecond = 2.0e12,
                .multiplyAddsPerCycle = 1024,
                .copyLatency = 0},
    // 989 TFLOP/s on 132 multiprocessors at 1.83 GHz.
    TimingFacts{.target = "sm_90a",
                .clockGhz = 1.83,
                .memoryBytesPerSecond = 4.8e12,
                .inClustersOfFour = 120, // with 128 blocks a GEMM took two turns, with 120 one
                .inClustersOfEight = 112,
                .multiplyAddsPerCycle = 2048,
                .mmaSyncShare = 0.625},
    // 2250 TFLOP/s on 148 multiprocessors at 1.86 GHz.
    TimingFacts{.target = "sm_100a",
                .clockGhz = 1.86,
                .memoryBytesPerSecond = 8.0e12,
                .multiplyAddsPerCycle = 4096,
                .mmaSyncShare = 0.25},
};

} // namespace

const TimingFacts &tlc::timingOf(const Target &target) {
  const auto *found = std::ranges::find(rows, target.name, &TimingFacts::target);
  assert(found != rows.end() && "every row of the targets has one here");
  return *found;
}

int64_t tlc::clustersAtOnce(const Target &target, int64_t blocks) {
  const TimingFacts &timing = timingOf(target);
  int filled = blocks <= 2 ? 0 : blocks <= 4 ? timing.inClustersOfFour : timing.inClustersOfEight;
  return (filled > 0 ? filled : target.multiprocessors) / blocks;
}
