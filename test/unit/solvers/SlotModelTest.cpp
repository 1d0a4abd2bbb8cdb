// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ring depths of known loops.
#include "compiler/solvers/SlotModel.h"

#include <catch2/catch.hpp>

using namespace tlc;

namespace {

/// load (stage 0) and product `ahead` stages later, in the given order.
struct Loop {
  ScheduleProblem problem;
  Schedule schedule;

  Loop(int64_t ahead, bool loadFirst) {
    problem.addOp({"load", LatencyClass::copy, 1, 1, 0});
    problem.addOp({"product", LatencyClass::product, 1, 1, 1});
    problem.addDependence(0, 1, 0, ahead);
    schedule = {{{0, loadFirst ? 0 : 1}, {ahead, loadFirst ? 1 : 0}}, ahead + 1};
  }
};

} // namespace

TEST_CASE("a product keeps its operands one more round", "[solvers][slots][unit]") {
  // The load of a round comes before its product, so the slot of the product that is
  // still in flight and the one before it are both taken.
  Loop first(2, true);
  REQUIRE(ringDepth(first.problem, first.schedule, {0, {{1, 0}}}) == 4);
  Loop after(2, false);
  REQUIRE(ringDepth(after.problem, after.schedule, {0, {{1, 0}}}) == 3);
}

TEST_CASE("a wait frees the slot earlier", "[solvers][slots][unit]") {
  Loop loop(1, false);
  loop.problem.addOp({"use", LatencyClass::compute, 1, 1, 2});
  loop.problem.addDependence(1, 2);
  loop.schedule = {{{0, 2}, {1, 0}, {1, 1}}, 2};
  REQUIRE(verify(loop.problem, loop.schedule));
  REQUIRE(ringDepth(loop.problem, loop.schedule, {0, {{1, 0}}}) == 1);
}

TEST_CASE("synchronous reads end where they stand", "[solvers][slots][unit]") {
  ScheduleProblem problem;
  problem.addOp({"make", LatencyClass::compute, 1, 1, 0});
  problem.addOp({"use", LatencyClass::compute, 1, 1, 1});
  problem.addDependence(0, 1);
  REQUIRE(ringDepth(problem, {{{0, 0}, {0, 1}}, 1}, {0, {{1, 0}}}) == 1);
  REQUIRE(ringDepth(problem, {{{0, 0}, {1, 1}}, 2}, {0, {{1, 0}}}) == 2);
  REQUIRE(ringDepth(problem, {{{0, 1}, {1, 0}}, 2}, {0, {{1, 0}}}) == 1);
  REQUIRE(ringDepth(problem, {{{0, 0}, {0, 1}}, 1}, {0, {{1, 2}}}) == 3);
  REQUIRE(ringDepth(problem, {{{0, 0}, {0, 1}}, 1}, {0, {}}) == 1);
}
