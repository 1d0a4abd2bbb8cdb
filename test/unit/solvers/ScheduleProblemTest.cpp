// SPDX-License-Identifier: Apache-2.0
/// \file
/// check(), verify() and the waits of schedules: each rule broken once.
#include "compiler/solvers/ScheduleProblem.h"

#include <catch2/catch.hpp>

using namespace tlc;
using Catch::Contains;

namespace {

ScheduleOp op(const char *name, LatencyClass latencyClass = LatencyClass::compute) {
  return {name, latencyClass, 1, 1, -1};
}

template <class Change> std::string checkFailure(Change change) {
  ScheduleProblem problem;
  problem.addOp(op("a"));
  problem.addOp(op("b"));
  change(problem);
  Result<void> ok = problem.check();
  REQUIRE_FALSE(ok);
  return ok.error().message;
}

/// load -> product (delay 2) -> scale, product accumulates.
struct Example {
  ScheduleProblem problem;
  Schedule schedule{{{0, 2}, {2, 0}, {2, 1}}, 3};

  Example() {
    problem.addOp(op("load", LatencyClass::copy));
    problem.addOp(op("product", LatencyClass::product));
    problem.addOp(op("scale"));
    problem.addDependence(0, 1, 0, 2);
    problem.addDependence(1, 2, 0, 0, DependenceKind::accumulator);
    problem.addDependence(2, 1, 1, 0, DependenceKind::accumulator);
    REQUIRE(problem.check());
    REQUIRE(verify(problem, schedule));
  }

  std::string failure() const {
    Result<void> ok = verify(problem, schedule);
    REQUIRE_FALSE(ok);
    return ok.error().message;
  }
};

} // namespace

TEST_CASE("malformed schedule problems are refused", "[solvers][schedule][unit]") {
  REQUIRE_THAT(checkFailure([](ScheduleProblem &p) { p.addDependence(0, 2); }),
               Contains("operations below 2, but got 0 -> 2"));
  REQUIRE_THAT(checkFailure([](ScheduleProblem &p) { p.addDependence(0, 1, -1); }),
               Contains("'a' -> 'b'") && Contains("got -1 and 0"));
  REQUIRE_THAT(checkFailure([](ScheduleProblem &p) { p.addDependence(0, 1, 0, -1); }),
               Contains("got 0 and -1"));
  REQUIRE_THAT(checkFailure([](ScheduleProblem &p) { p.addDependence(1, 0); }),
               Contains("expected 'b' -> 'a' to follow the program order because its distance is 0"));
  REQUIRE_THAT(checkFailure([](ScheduleProblem &p) { p.addDependence(0, 0); }), Contains("program order"));
  REQUIRE_THAT(
      checkFailure([](ScheduleProblem &p) { p.addDependence(0, 1, 0, 1, DependenceKind::accumulator); }),
      Contains("expected no delay for 'a' -> 'b' because an accumulator is updated in place, but got 1"));
  REQUIRE_THAT(
      checkFailure([](ScheduleProblem &p) { p.addDependence(0, 1, 1, 0, DependenceKind::sameRound); }),
      Contains("expected no delay and no distance for 'a' -> 'b' because both come in one round, but got 0 "
               "and 1"));
  REQUIRE_THAT(checkFailure([](ScheduleProblem &p) { p.ops[0].latency = 0; }),
               Contains("cycles <= latency") && Contains("'a'"));
  REQUIRE_THAT(checkFailure([](ScheduleProblem &p) { p.ops[0].cycles = -1; }), Contains("got -1"));
  REQUIRE_THAT(checkFailure([](ScheduleProblem &p) { p.maxStages = 0; }),
               Contains("at least one stage, but got 0"));
}

TEST_CASE("a wrong schedule is found out", "[solvers][schedule][unit]") {
  Example example;
  SECTION("an operation without a slot") {
    example.schedule.slots.pop_back();
    REQUIRE_THAT(example.failure(), Contains("a slot for each of 3 operations, but got 2"));
  }
  SECTION("too many stages") {
    example.problem.maxStages = 2;
    REQUIRE_THAT(example.failure(), Contains("expected 1 to 2 stages, but got 3"));
  }
  SECTION("a stage out of range") {
    example.schedule.slots[2].stage = 3;
    REQUIRE_THAT(example.failure(), Contains("expected a stage below 3 for 'scale', but got 3"));
  }
  SECTION("an order taken twice") {
    example.schedule.slots[2].order = 0;
    REQUIRE_THAT(example.failure(), Contains("distinct orders below 3, but 'scale' has 0"));
  }
  SECTION("a delay not kept") {
    example.schedule.slots[0].stage = 1;
    REQUIRE_THAT(example.failure(), Contains("expected stage 3 or later for 'product' because of 'load' -> "
                                             "'product' (delay 2, distance 0), but got 2"));
  }
  SECTION("a user before its value") {
    std::swap(example.schedule.slots[1].order, example.schedule.slots[2].order);
    REQUIRE_THAT(example.failure(),
                 Contains("expected 'product' before 'scale' in the round") && Contains("orders 1 and 0"));
  }
  SECTION("an accumulator torn apart") {
    example.schedule = {{{0, 2}, {2, 0}, {3, 1}}, 4};
    REQUIRE_THAT(example.failure(), Contains("expected 'product' -> 'scale' in one stage"));
  }
  SECTION("a wait in the round after the one whose end overwrites what the product uses") {
    example.problem = {};
    example.problem.addOp(op("product", LatencyClass::product));
    example.problem.addOp(op("wait"));
    example.problem.addDependence(0, 1, 0, 0, DependenceKind::sameRound);
    example.schedule = {{{0, 0}, {1, 1}}, 2};
    REQUIRE_THAT(example.failure(),
                 Contains("expected 'product' -> 'wait' in one stage because the round's end overwrites what "
                          "'product' uses, but got 0 and 1"));
  }
}

TEST_CASE("waits stand before the first use and count what is in flight", "[solvers][schedule][unit]") {
  SECTION("a product and its use in one round") {
    Example example;
    REQUIRE(derivedWaits(example.problem, example.schedule) ==
            std::vector<ScheduleWait>{{0, 1, 2, 1}, {1, 2, 0, 0}});
  }
  SECTION("overlapped products") {
    // s, then o += p v of the iteration before, then the softmax of s.
    ScheduleProblem problem;
    problem.addOp(op("s", LatencyClass::product));
    problem.addOp(op("softmax"));
    problem.addOp(op("pv", LatencyClass::product));
    problem.addOp(op("pack"));
    problem.addDependence(0, 1);
    problem.addDependence(1, 2, 0, 1);
    problem.addDependence(2, 2, 1, 0, DependenceKind::accumulator);
    problem.addDependence(2, 3, 0, 0, DependenceKind::order);
    Schedule schedule{{{0, 0}, {0, 2}, {1, 1}, {1, 3}}, 2};
    REQUIRE(verify(problem, schedule));
    REQUIRE(derivedWaits(problem, schedule) == std::vector<ScheduleWait>{{0, 1, 0, 1}, {2, 3, 0, 0}});
  }
  SECTION("one wait implies those for what was issued before") {
    ScheduleProblem problem;
    problem.addOp(op("a", LatencyClass::product));
    problem.addOp(op("b", LatencyClass::product));
    problem.addOp(op("use"));
    problem.addDependence(0, 2);
    problem.addDependence(1, 2);
    Schedule schedule{{{0, 0}, {0, 1}, {0, 2}}, 1};
    REQUIRE(completionWaits(problem, schedule).size() == 2);
    REQUIRE(derivedWaits(problem, schedule) == std::vector<ScheduleWait>{{1, 2, 0, 0}});
  }
  SECTION("a use a round later leaves the whole round in flight") {
    ScheduleProblem problem;
    problem.addOp(op("a", LatencyClass::product));
    problem.addOp(op("use"));
    problem.addDependence(0, 1, 0, 1);
    REQUIRE(derivedWaits(problem, {{{0, 0}, {1, 1}}, 2}) == std::vector<ScheduleWait>{{0, 1, 1, 1}});
    REQUIRE(derivedWaits(problem, {{{0, 1}, {1, 0}}, 2}) == std::vector<ScheduleWait>{{0, 1, 1, 0}});
  }
  SECTION("issue order and chained accumulation need none") {
    ScheduleProblem problem;
    problem.addOp(op("a", LatencyClass::product));
    problem.addOp(op("b", LatencyClass::product));
    problem.addDependence(0, 1, 0, 0, DependenceKind::accumulator);
    problem.addDependence(1, 0, 1, 0, DependenceKind::issue);
    REQUIRE(derivedWaits(problem, {{{0, 0}, {0, 1}}, 1}).empty());
  }
}
