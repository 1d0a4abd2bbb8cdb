// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ring depths from lifetimes.
#include "compiler/solvers/SlotModel.h"

#include <tuple>

using namespace tlc;

namespace {

/// A place in the running loop: round (of iteration 0) and order in it; `order` is
/// doubled so that "just before an operation" has a number.
using Place = std::tuple<int64_t, int64_t>;

Place placeOf(const ScheduleSlot &slot, int64_t rounds) { return {slot.stage + rounds, 2 * slot.order}; }

/// Where the data that `op` reads `distance` iterations after its write is free.
Place endOfRead(const ScheduleProblem &problem, const Schedule &schedule,
                const std::vector<ScheduleWait> &waits, const RingUse::Read &read) {
  const ScheduleSlot &slot = schedule.slots[size_t(read.op)];
  if (!isAsynchronous(problem.ops[size_t(read.op)].latencyClass))
    return placeOf(slot, read.distance);
  for (const ScheduleWait &wait : waits)
    if (wait.op == read.op) {
      int64_t before = schedule.slots[size_t(wait.before)].order;
      return {slot.stage + read.distance + wait.rounds, 2 * before - 1};
    }
  return placeOf(slot, read.distance + 1);
}

} // namespace

int64_t tlc::ringDepth(const ScheduleProblem &problem, const Schedule &schedule, const RingUse &use) {
  std::vector<ScheduleWait> waits = completionWaits(problem, schedule);
  int64_t depth = 1;
  for (const RingUse::Read &read : use.reads) {
    Place end = endOfRead(problem, schedule, waits, read);
    while (placeOf(schedule.slots[size_t(use.writer)], depth) <= end)
      ++depth;
  }
  return depth;
}
