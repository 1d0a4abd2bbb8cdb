// SPDX-License-Identifier: Apache-2.0
/// \file
/// The schedule problem's well-formedness, the check of its answers, and the waits
/// that follow from them.
#include "compiler/solvers/ScheduleProblem.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <tuple>

using namespace tlc;

namespace {

/// Far above any loop's, so that sums along paths are exact.
constexpr int64_t maxCount = int64_t(1) << 24;

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

bool inBounds(int64_t value, int64_t least, int64_t most) { return value >= least && value <= most; }

const std::string &nameOf(const ScheduleProblem &problem, int op) { return problem.ops[size_t(op)].name; }

Result<void> checkDependence(const ScheduleProblem &problem, const ScheduleDependence &dependence) {
  int64_t numOps = int64_t(problem.ops.size());
  if (!inBounds(dependence.from, 0, numOps - 1) || !inBounds(dependence.to, 0, numOps - 1))
    return invalid(fmt::format("expected a dependence between operations below {}, but got {} -> {}", numOps,
                               dependence.from, dependence.to));
  std::string arrow =
      fmt::format("'{}' -> '{}'", nameOf(problem, dependence.from), nameOf(problem, dependence.to));
  if (!inBounds(dependence.distance, 0, maxCount) || !inBounds(dependence.delay, 0, maxCount))
    return invalid(fmt::format("expected a distance and a delay of 0 to 2^24 for {}, but got {} and {}",
                               arrow, dependence.distance, dependence.delay));
  if (dependence.distance == 0 && dependence.from >= dependence.to)
    return invalid(fmt::format("expected {} to follow the program order because its distance is 0", arrow));
  if (dependence.kind == DependenceKind::accumulator && dependence.delay != 0)
    return invalid(
        fmt::format("expected no delay for {} because an accumulator is updated in place, but got {}", arrow,
                    dependence.delay));
  if (dependence.kind == DependenceKind::sameRound && (dependence.delay != 0 || dependence.distance != 0))
    return invalid(fmt::format(
        "expected no delay and no distance for {} because both come in one round, but got {} and {}", arrow,
        dependence.delay, dependence.distance));
  return {};
}

Result<void> verifyDependence(const ScheduleProblem &problem, const Schedule &schedule,
                              const ScheduleDependence &dependence) {
  const ScheduleSlot &from = schedule.slots[size_t(dependence.from)],
                     &to = schedule.slots[size_t(dependence.to)];
  std::string arrow =
      fmt::format("'{}' -> '{}'", nameOf(problem, dependence.from), nameOf(problem, dependence.to));
  int64_t reached = to.stage + dependence.distance, needed = from.stage + dependence.delay;
  if (reached < needed)
    return invalid(
        fmt::format("expected stage {} or later for '{}' because of {} (delay {}, distance {}), but got {}",
                    needed - dependence.distance, nameOf(problem, dependence.to), arrow, dependence.delay,
                    dependence.distance, to.stage));
  if (reached == from.stage && to.order <= from.order && dependence.from != dependence.to)
    return invalid(fmt::format(
        "expected '{}' before '{}' in the round because of {}, but got orders {} and {}",
        nameOf(problem, dependence.from), nameOf(problem, dependence.to), arrow, from.order, to.order));
  if (reached == from.stage && dependence.from == dependence.to)
    return invalid(fmt::format("expected a distance for {} because it depends on itself", arrow));
  if (dependence.kind == DependenceKind::accumulator && dependence.distance == 0 && from.stage != to.stage)
    return invalid(
        fmt::format("expected {} in one stage because an accumulator is updated in place, but got {} and {}",
                    arrow, from.stage, to.stage));
  if (dependence.kind == DependenceKind::sameRound && from.stage != to.stage)
    return invalid(fmt::format(
        "expected {} in one stage because the round's end overwrites what '{}' uses, but got {} and {}",
        arrow, nameOf(problem, dependence.from), from.stage, to.stage));
  return {};
}

/// Whether `to` has to wait until `from` is complete.
bool needsCompletion(const ScheduleProblem &problem, const ScheduleDependence &dependence) {
  LatencyClass from = problem.ops[size_t(dependence.from)].latencyClass;
  LatencyClass to = problem.ops[size_t(dependence.to)].latencyClass;
  if (!isAsynchronous(from) || dependence.kind == DependenceKind::issue)
    return false;
  return !(dependence.kind == DependenceKind::accumulator && from == LatencyClass::product && from == to);
}

/// The first place that needs an operation complete: the round after its issue, and
/// the operation there.
std::optional<ScheduleWait> firstNeed(const ScheduleProblem &problem, const Schedule &schedule, int op) {
  std::optional<ScheduleWait> first;
  auto place = [&](const ScheduleWait &wait) {
    return std::tuple(wait.rounds, schedule.slots[size_t(wait.before)].order);
  };
  for (const ScheduleDependence &dependence : problem.dependences) {
    if (dependence.from != op || !needsCompletion(problem, dependence))
      continue;
    int64_t rounds =
        schedule.slots[size_t(dependence.to)].stage + dependence.distance - schedule.slots[size_t(op)].stage;
    ScheduleWait wait{op, dependence.to, rounds, 0};
    if (!first || place(wait) < place(*first))
      first = wait;
  }
  return first;
}

/// How many operations of the same class are issued after the awaited one and before
/// the wait.
int64_t pendingAt(const ScheduleProblem &problem, const Schedule &schedule, const ScheduleWait &wait) {
  int64_t issued = schedule.slots[size_t(wait.op)].order, awaited = schedule.slots[size_t(wait.before)].order;
  int64_t after = 0, before = 0, inRound = 0;
  for (size_t i = 0; i < problem.ops.size(); ++i) {
    if (problem.ops[i].latencyClass != problem.ops[size_t(wait.op)].latencyClass)
      continue;
    ++inRound;
    after += schedule.slots[i].order > issued;
    before += schedule.slots[i].order < awaited;
  }
  // In the same round, what precedes the wait includes the operation and its predecessors.
  return wait.rounds == 0 ? before - (inRound - after) : after + (wait.rounds - 1) * inRound + before;
}

} // namespace

const char *tlc::toString(LatencyClass latencyClass) {
  switch (latencyClass) {
  case LatencyClass::immediate:
    return "immediate";
  case LatencyClass::compute:
    return "compute";
  case LatencyClass::copy:
    return "copy";
  case LatencyClass::product:
    return "product";
  }
  return "";
}

ScheduleResource tlc::resourceOf(LatencyClass latencyClass) {
  switch (latencyClass) {
  case LatencyClass::immediate:
  case LatencyClass::compute:
    return ScheduleResource::thread;
  case LatencyClass::copy:
    return ScheduleResource::memory;
  case LatencyClass::product:
    return ScheduleResource::tensor;
  }
  return ScheduleResource::thread;
}

int ScheduleProblem::addOp(ScheduleOp op) {
  ops.push_back(std::move(op));
  return int(ops.size()) - 1;
}

void ScheduleProblem::addDependence(int from, int to, int64_t distance, int64_t delay, DependenceKind kind) {
  dependences.push_back({from, to, distance, delay, kind});
}

Result<void> ScheduleProblem::check() const {
  if (!inBounds(maxStages, 1, maxCount))
    return invalid(fmt::format("expected at least one stage, but got {}", maxStages));
  for (const ScheduleOp &op : ops)
    if (!inBounds(op.cycles, 0, maxCount) || !inBounds(op.latency, op.cycles, maxCount))
      return invalid(fmt::format("expected 0 <= cycles <= latency <= 2^24 for '{}', but got {} and {}",
                                 op.name, op.cycles, op.latency));
  for (const ScheduleDependence &dependence : dependences)
    if (Result<void> ok = checkDependence(*this, dependence); !ok)
      return ok;
  return {};
}

std::vector<int> Schedule::roundOrder() const {
  std::vector<int> order(slots.size());
  for (size_t i = 0; i < slots.size(); ++i)
    order[size_t(slots[i].order)] = int(i);
  return order;
}

Result<void> tlc::verify(const ScheduleProblem &problem, const Schedule &schedule) {
  size_t numOps = problem.ops.size();
  if (schedule.slots.size() != numOps)
    return invalid(
        fmt::format("expected a slot for each of {} operations, but got {}", numOps, schedule.slots.size()));
  if (!inBounds(schedule.numStages, 1, problem.maxStages))
    return invalid(fmt::format("expected 1 to {} stages, but got {}", problem.maxStages, schedule.numStages));
  std::vector<bool> taken(numOps, false);
  for (size_t i = 0; i < numOps; ++i) {
    const ScheduleSlot &slot = schedule.slots[i];
    if (!inBounds(slot.stage, 0, schedule.numStages - 1))
      return invalid(fmt::format("expected a stage below {} for '{}', but got {}", schedule.numStages,
                                 problem.ops[i].name, slot.stage));
    if (!inBounds(slot.order, 0, int64_t(numOps) - 1) || taken[size_t(slot.order)])
      return invalid(fmt::format("expected distinct orders below {}, but '{}' has {}", numOps,
                                 problem.ops[i].name, slot.order));
    taken[size_t(slot.order)] = true;
  }
  for (const ScheduleDependence &dependence : problem.dependences)
    if (Result<void> ok = verifyDependence(problem, schedule, dependence); !ok)
      return ok;
  return {};
}

std::vector<ScheduleWait> tlc::completionWaits(const ScheduleProblem &problem, const Schedule &schedule) {
  std::vector<ScheduleWait> waits;
  for (int op : schedule.roundOrder())
    if (std::optional<ScheduleWait> wait = firstNeed(problem, schedule, op)) {
      wait->pending = pendingAt(problem, schedule, *wait);
      waits.push_back(*wait);
    }
  return waits;
}

std::vector<ScheduleWait> tlc::derivedWaits(const ScheduleProblem &problem, const Schedule &schedule) {
  std::vector<ScheduleWait> all = completionWaits(problem, schedule);
  auto placeOf = [&](const ScheduleWait &wait) { return schedule.slots[size_t(wait.before)].order; };
  // At one place the wait that leaves the fewest in flight comes first and implies the others.
  std::sort(all.begin(), all.end(), [&](const ScheduleWait &a, const ScheduleWait &b) {
    return std::tuple(placeOf(a), a.pending, a.op) < std::tuple(placeOf(b), b.pending, b.op);
  });
  std::vector<ScheduleWait> needed;
  for (const ScheduleWait &wait : all) {
    auto issue = [&](const ScheduleWait &w) {
      return std::tuple(-w.rounds, schedule.slots[size_t(w.op)].order);
    };
    bool implied = std::any_of(needed.begin(), needed.end(), [&](const ScheduleWait &earlier) {
      return problem.ops[size_t(earlier.op)].latencyClass == problem.ops[size_t(wait.op)].latencyClass &&
             issue(earlier) >= issue(wait);
    });
    if (!implied)
      needed.push_back(wait);
  }
  return needed;
}
