// SPDX-License-Identifier: Apache-2.0
/// \file
/// The schedules that are known to be good come out, and random problems are answered
/// correctly or refused for a reason.
#include "compiler/solvers/ListScheduler.h"

#include <catch2/catch.hpp>
#include <random>

using namespace tlc;
using Catch::Contains;

namespace {

Schedule solved(const ScheduleProblem &problem) {
  REQUIRE(problem.check());
  Result<Schedule> schedule = solveSchedule(problem);
  INFO((schedule ? "" : schedule.error().message));
  REQUIRE(schedule);
  Result<void> ok = verify(problem, *schedule);
  INFO((ok ? "" : ok.error().message));
  REQUIRE(ok);
  return *schedule;
}

std::string failure(const ScheduleProblem &problem) {
  Result<Schedule> schedule = solveSchedule(problem);
  REQUIRE_FALSE(schedule);
  return schedule.error().message;
}

/// The header's example: s, softmax, rescaling, p v.
ScheduleProblem attention() {
  ScheduleProblem problem;
  problem.addOp({"s", LatencyClass::product, 512, 600, 0});
  problem.addOp({"softmax", LatencyClass::compute, 900, 900, 1});
  problem.addOp({"rescale", LatencyClass::compute, 64, 64, 2});
  problem.addOp({"pv", LatencyClass::product, 512, 600, 3});
  problem.addDependence(0, 1);
  problem.addDependence(1, 2, 0, 0, DependenceKind::accumulator);
  problem.dependences.back().kind = DependenceKind::value;
  problem.addDependence(1, 3);
  problem.addDependence(2, 3, 0, 0, DependenceKind::accumulator);
  problem.addDependence(3, 2, 1);
  return problem;
}

} // namespace

TEST_CASE("attention's products overlap with the softmax", "[solvers][schedule][unit]") {
  ScheduleProblem problem = attention();
  REQUIRE(overlapProducts(problem) == std::vector<int>{2});
  Schedule schedule = solved(problem);
  REQUIRE(schedule.numStages == 2);
  REQUIRE(schedule.slots == std::vector<ScheduleSlot>{{0, 0}, {0, 3}, {1, 1}, {1, 2}});
  // The rescaling waits for the p v of the round before, with s in flight; the softmax
  // for s, with p v in flight.
  REQUIRE(derivedWaits(problem, schedule) == std::vector<ScheduleWait>{{3, 2, 1, 1}, {0, 1, 0, 1}});
}

TEST_CASE("without overlap everything is one stage", "[solvers][schedule][unit]") {
  Schedule schedule = solved(attention());
  REQUIRE(schedule.numStages == 1);
  REQUIRE(schedule.roundOrder() == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("copies run as many stages ahead as asked", "[solvers][schedule][unit]") {
  ScheduleProblem problem;
  problem.addOp({"index", LatencyClass::immediate, 1, 1, 0});
  problem.addOp({"load", LatencyClass::copy, 100, 700, 1});
  problem.addOp({"offset", LatencyClass::immediate, 1, 1, 2});
  problem.addOp({"product", LatencyClass::product, 512, 600, 3});
  problem.addDependence(0, 1);
  problem.addDependence(1, 3, 0, 3);
  problem.addDependence(2, 3);
  problem.addDependence(3, 3, 1, 0, DependenceKind::accumulator);
  problem.addDependence(3, 1, 4, 0, DependenceKind::order);
  Schedule schedule = solved(problem);
  REQUIRE(schedule.numStages == 4);
  REQUIRE(schedule.slots[0].stage == 0);
  REQUIRE(schedule.slots[1].stage == 0);
  REQUIRE(schedule.slots[2].stage == 3);
  REQUIRE(schedule.slots[3].stage == 3);
}

TEST_CASE("delays that a recurrence forbids are refused by name", "[solvers][schedule][unit]") {
  ScheduleProblem problem = attention();
  problem.addDependence(3, 1, 1);
  REQUIRE(overlapProducts(problem) == std::vector<int>{2});
  problem.addDependence(1, 3, 0, 2);
  REQUIRE_THAT(failure(problem),
               Contains("'softmax'") && Contains("'pv'") && Contains("add up to more than the distance"));
  ScheduleProblem self;
  self.addOp({"a", LatencyClass::compute, 1, 1, 0});
  self.addDependence(0, 0, 1, 2);
  REQUIRE_THAT(failure(self), Contains("those along 'a' add up"));
}

TEST_CASE("an overlap without slack is not asked for", "[solvers][schedule][unit]") {
  // The softmax of the next iteration needs this one's result at once.
  ScheduleProblem problem;
  problem.addOp({"s", LatencyClass::product, 1, 1, 0});
  problem.addOp({"softmax", LatencyClass::compute, 1, 1, 1});
  problem.addOp({"pv", LatencyClass::product, 1, 1, 2});
  problem.addDependence(0, 1);
  problem.addDependence(1, 2);
  problem.addDependence(2, 0, 1, 1);
  REQUIRE(overlapProducts(problem).empty());
  REQUIRE(problem.dependences[1].delay == 0);
  REQUIRE(solved(problem).numStages == 1);
}

TEST_CASE("too many stages are refused", "[solvers][schedule][unit]") {
  ScheduleProblem problem;
  problem.addOp({"load", LatencyClass::copy, 1, 1, 0});
  problem.addOp({"product", LatencyClass::product, 1, 1, 1});
  problem.addDependence(0, 1, 0, 8);
  REQUIRE_THAT(failure(problem),
               Contains("expected at most 8 stages, but the delays put 'product' into stage 8"));
}

TEST_CASE("the sequential schedule answers what has no delays", "[solvers][schedule][unit]") {
  ScheduleProblem problem = attention();
  REQUIRE(verify(problem, sequentialSchedule(problem)));
}

TEST_CASE("what a round's end overwrites keeps its user in the round", "[solvers][schedule][unit]") {
  ScheduleProblem problem;
  problem.addOp({"product", LatencyClass::product, 10, 10, 0});
  problem.addOp({"wait", LatencyClass::immediate, 1, 1, 1});
  problem.addOp({"store", LatencyClass::compute, 1, 1, 2});
  problem.addDependence(0, 1);
  problem.addDependence(1, 2, 0, 1); // would let the wait slip into stage 1, to its user
  REQUIRE(solveSchedule(problem)->slots[1].stage == 0);
  problem.dependences[1].delay = 0;
  problem.addDependence(0, 2, 0, 1);
  REQUIRE(solveSchedule(problem)->slots[1].stage == 1);
  problem.addDependence(0, 1, 0, 0, DependenceKind::sameRound);
  Result<Schedule> schedule = solveSchedule(problem);
  REQUIRE(verify(problem, *schedule));
  REQUIRE(schedule->slots[0].stage == schedule->slots[1].stage);
  problem.addDependence(0, 1, 0, 1); // the wait one round later, as for products that only accumulate
  REQUIRE_FALSE(solveSchedule(problem));
}

TEST_CASE("random problems are answered correctly or refused", "[solvers][schedule][unit]") {
  std::mt19937 random(Catch::rngSeed());
  auto pick = [&](int n) { return int(random() % unsigned(n)); };
  int answered = 0;
  for (int round = 0; round < 2000; ++round) {
    ScheduleProblem problem;
    int count = 1 + pick(12);
    for (int i = 0; i < count; ++i) {
      int64_t cycles = pick(100);
      problem.addOp({"op" + std::to_string(i), LatencyClass(pick(4)), cycles, cycles + pick(100), i});
    }
    for (int i = pick(25); i > 0; --i) {
      int from = pick(count), to = pick(count);
      auto kind = DependenceKind(pick(5));
      if (kind == DependenceKind::sameRound) {
        if (from != to)
          problem.addDependence(std::min(from, to), std::max(from, to), 0, 0, kind);
        continue;
      }
      problem.addDependence(from, to, from < to ? pick(2) : 1 + pick(2),
                            kind == DependenceKind::accumulator ? 0 : pick(4) / 3, kind);
    }
    overlapProducts(problem);
    REQUIRE(problem.check());
    Result<Schedule> schedule = solveSchedule(problem);
    if (!schedule) {
      REQUIRE_THAT(schedule.error().message,
                   Contains("expected delays that") || Contains("expected at most 8 stages"));
      continue;
    }
    ++answered;
    Result<void> ok = verify(problem, *schedule);
    INFO((ok ? "" : ok.error().message));
    REQUIRE(ok);
    for (const ScheduleWait &wait : completionWaits(problem, *schedule)) {
      REQUIRE(wait.rounds >= 0);
      REQUIRE(wait.pending >= 0);
    }
  }
  REQUIRE(answered > 100);
}
