// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rates and latencies of a target's multiprocessors, for the cost model of
/// traces. From the datasheet, the throughput table of NVIDIA's programming
/// guide, and published measurements; latencies are rounded.
#pragma once

#include "runtime/target/Target.h"

#include <string_view>

namespace tlc {

struct TimingFacts {
  std::string_view target;
  double clockGhz = 0;             ///< at which the datasheet counts its peak rates
  double memoryBytesPerSecond = 0; ///< of the whole device
  unsigned schedulers = 4;         ///< each issues one warp instruction a cycle

  /// Multiprocessors that clusters of four and of eight blocks fill, with a block on each: a cluster lies
  /// within a GPC, and not every GPC has a multiple of four. 0: not known.
  int inClustersOfFour = 0, inClustersOfEight = 0;

  // Cycles that a warp instruction keeps its scheduler's share of a unit busy.
  unsigned floatCycles = 1;   ///< f32, and f16x2
  unsigned integerCycles = 2; ///< and logic, comparisons, 32-bit conversions
  unsigned doubleCycles = 2;
  unsigned specialCycles = 8;     ///< rcp, rsqrt, sin ...; popc; conversions of 64 bits
  unsigned exponentialCycles = 8; ///< ex2

  // Cycles until a result can be used.
  unsigned arithmeticLatency = 4;
  unsigned specialLatency = 18;
  unsigned shuffleLatency = 24;
  unsigned sharedLatency = 30;
  unsigned globalLatency = 300; ///< from L2
  unsigned remoteLatency = 180; ///< shared memory of another block of the cluster

  // Of a multiprocessor, per cycle.
  unsigned sharedBytesPerCycle = 128;
  unsigned loadBytesPerCycle = 64;  ///< from L2
  unsigned storeBytesPerCycle = 64; ///< to L2

  // Matrix units of a multiprocessor.
  unsigned multiplyAddsPerCycle = 0; ///< of 16-bit operands; the rate is inverse to their bits
  double mmaSyncShare = 1;           ///< of that rate, which mma.sync reaches
  unsigned matrixLatency = 32;       ///< from the last operand to a result that can be used

  // Asynchronous copies and barriers.
  unsigned copyLatency = 500; ///< of a bulk copy beyond its transfer: descriptor, L2, arrival on the mbarrier
  unsigned barrierLatency = 20; ///< from the last arrival until who waits goes on
};

/// The row of a target; every target has one.
const TimingFacts &timingOf(const Target &target);

/// Clusters of so many blocks that run at once on the reference device, with a block on each multiprocessor.
int64_t clustersAtOnce(const Target &target, int64_t blocks);

} // namespace tlc
