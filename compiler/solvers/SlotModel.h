// SPDX-License-Identifier: Apache-2.0
/// \file
/// How many copies of a buffer a schedule needs, and how many fit.
#pragma once

#include "compiler/solvers/ScheduleProblem.h"

namespace tlc {

/// One buffer or value of a loop: written once per iteration, read by some operations.
/// A read by an asynchronous operation lasts until the wait for it, or, if the loop
/// has none, until one more of its kind has been issued.
struct RingUse {
  int writer = -1;
  struct Read {
    int op = -1;
    int64_t distance = 0; ///< iterations after the write
  };
  std::vector<Read> reads;
};

/// The slots that make the schedule free of overwritten data: the smallest depth
/// with which the write of iteration i + depth comes after the last use of iteration
/// i. At least 1.
int64_t ringDepth(const ScheduleProblem &problem, const Schedule &schedule, const RingUse &use);

/// Shared memory of a kernel: what each stage takes, and what is there once.
struct StageBudget {
  int64_t limitBytes = 0;
  int64_t fixedBytes = 0;
  std::vector<int64_t> bufferBytes;  ///< one entry per buffer of a stage
  int64_t alignment = 1024;          ///< each buffer starts at a multiple of this
  int64_t barrierBytesPerStage = 16; ///< a full and an empty mbarrier

  int64_t bytesFor(int64_t stages) const;
};

/// The largest number of stages up to `wanted` that fits, or a message with what one
/// stage needs and what there is.
Result<int64_t> stagesThatFit(const StageBudget &budget, int64_t wanted);

} // namespace tlc
