// SPDX-License-Identifier: Apache-2.0
#include "runtime/target/Timing.h"

#include <algorithm>
#include <array>
#include <cassert>

using namespace tlc;

namespace {

// 2250 TFLOP/s of 16-bit products on 148 multiprocessors at 1.86 GHz.
constexpr TimingFacts sm100a = {.target = "sm_100a",
                                .clockGhz = 1.86,
                                .memoryBytesPerSecond = 8.0e12,
                                .multiplyAddsPerCycle = 4096,
                                .mmaSyncShare = 0.25};

// As B200, but with fewer units for f64, and twice the rate of exponentials.
constexpr TimingFacts sm103a = [] {
  TimingFacts facts = sm100a;
  facts.target = "sm_103a";
  facts.doubleCycles = 64;
  facts.exponentialCycles = sm100a.exponentialCycles / 2;
  return facts;
}();

// The slower of B200 and B300.
constexpr TimingFacts sm100f = [] {
  TimingFacts facts = sm103a;
  facts.target = "sm_100f";
  facts.exponentialCycles = sm100a.exponentialCycles;
  return facts;
}();

// 258 TFLOP/s of 16-bit products on 20 multiprocessors at 1.57 GHz. The rate of f64 is a guess.
constexpr TimingFacts sm110a = [] {
  TimingFacts facts = sm103a;
  facts.target = "sm_110a";
  facts.exponentialCycles = sm100a.exponentialCycles;
  facts.clockGhz = 1.57;
  facts.memoryBytesPerSecond = 2.73e11;
  return facts;
}();

constexpr std::array rows = {
    // 312 TFLOP/s of 16-bit products on 108 multiprocessors at 1.41 GHz.
    TimingFacts{.target = "sm_80",
                .clockGhz = 1.41,
                .memoryBytesPerSecond = 2.0e12,
                .multiplyAddsPerCycle = 1024,
                .copyLatency = 0},
    // 121 TFLOP/s of 16-bit products on 58 multiprocessors at 2.04 GHz.
    TimingFacts{.target = "sm_89",
                .clockGhz = 2.04,
                .memoryBytesPerSecond = 3.0e11,
                .doubleCycles = 64,
                .multiplyAddsPerCycle = 512,
                .copyLatency = 0},
    // 989 TFLOP/s on 132 multiprocessors at 1.83 GHz.
    TimingFacts{.target = "sm_90a",
                .clockGhz = 1.83,
                .memoryBytesPerSecond = 4.8e12,
                .inClustersOfFour = 120, // with 128 blocks a GEMM took two turns, with 120 one
                .inClustersOfEight = 112,
                .multiplyAddsPerCycle = 2048,
                .mmaSyncShare = 0.625},
    sm100f,
    sm100a,
    sm103a,
    sm110a,
    // 504 TFLOP/s of 16-bit products on 188 multiprocessors at 2.62 GHz.
    TimingFacts{.target = "sm_120a",
                .clockGhz = 2.62,
                .memoryBytesPerSecond = 1.79e12,
                .doubleCycles = 64,
                .multiplyAddsPerCycle = 512},
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
