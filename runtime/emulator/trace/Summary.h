// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a timeline comes to: who waits how long for what, how busy the engines
/// are, how long it takes to get going and to finish.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/emulator/trace/Trace.h"
#include "runtime/target/Target.h"

#include <string>
#include <utility>
#include <vector>

namespace tlc::emulator {

/// Warps that do the same at the same time, as one.
struct TraceLane {
  uint32_t block = 0;
  std::string name;             ///< "math, warps 4-7"
  std::vector<uint32_t> tracks; ///< the first stands for all
};

/// Of the cycles of a lane's warps, from the start of the timeline to its end.
struct LaneSummary {
  TraceLane lane;
  uint64_t run = 0, stall = 0, done = 0;
  /// By what they wait for, without the number of a slot; the longest first.
  std::vector<std::pair<std::string, uint64_t>> waits;
  /// Of `run`: by source line, the longest first.
  std::vector<std::pair<std::string, uint64_t>> lines;
};

struct TraceSummary {
  std::vector<LaneSummary> lanes;
  std::vector<std::string> idle;      ///< warps that leave at once
  uint64_t productCycles = 0;         ///< that the tensor cores are busy, mean of the blocks
  double peakCycles = 0;              ///< of the products of all blocks, at the peak rate of their types
  uint64_t bytesIn = 0, bytesOut = 0; ///< by copies and by threads
  /// From the start to the first product, from there to the end of the last
  /// one, and from there to the end; only where there are products.
  std::optional<std::array<uint64_t, 3>> phases;
  /// Cycles in which the tensor cores have nothing to do between the first and
  /// the last product, by what the warps do meanwhile that issue products.
  std::vector<std::pair<std::string, uint64_t>> idleCauses;
};

TraceSummary summarise(const Trace &trace);

/// A few lines for a terminal.
std::string summaryText(const Trace &trace, const TraceSummary &summary);

/// "a.b.full" of "a.b.full[2]".
std::string withoutSlot(const std::string &name);
double microseconds(const Trace &trace, uint64_t cycles);
/// The time of a whole launch on `multiprocessors` SMs of the target if each block takes as long as the
/// traced one.
double launchMicroseconds(const Trace &trace, const Launch &launch, const Target &target,
                          int multiprocessors);
/// Cycles that the products alone would take, and the copies into shared memory alone; the longer one.
uint64_t floorCycles(const Trace &trace, const TraceSummary &summary);

} // namespace tlc::emulator
