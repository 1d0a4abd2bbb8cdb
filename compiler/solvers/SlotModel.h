// SPDX-License-Identifier: Apache-2.0
/// \file
/// How many copies of a buffer a schedule needs.
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

} // namespace tlc
