// SPDX-License-Identifier: Apache-2.0
/// \file
/// check() and verify() of layout problems: each rule broken once.
#include "compiler/solvers/LayoutSolver.h"
#include "dialects/layout/StockLayouts.h"

#include <catch2/catch.hpp>

using namespace tlc;
using Catch::Contains;

namespace {

const FragmentLayout accumulator = wgmmaAccumulator(64, 64, {1, 1});

LayoutVariable tile(Shape shape, const char *name = "s") { return {std::move(shape), 32, 4, name}; }

/// check() of a problem with two 64x64 variables `s` and `t` and one constraint.
template <class Add> std::string failure(Add add) {
  LayoutProblem problem;
  problem.addVariable(tile({64, 64}, "s"));
  problem.addVariable(tile({64, 64}, "t"));
  add(problem);
  Result<void> ok = problem.check();
  REQUIRE_FALSE(ok);
  return ok.error().message;
}

Anchor by(const char *reason) { return {0, reason}; }

/// s fixed to the accumulator, t equal to s and preferred blocked: solved correctly.
struct Example {
  LayoutProblem problem;
  LayoutSolution solution;

  Example() {
    VariableId s = problem.addVariable(tile({64, 64}, "s")), t = problem.addVariable(tile({64, 64}, "t"));
    problem.fixed(s, accumulator, Strength::required, by("the product"));
    problem.equal(t, s, by("the copy"));
    problem.fixed(t, blockedLayout({64, 64}, 32, 4, 1), Strength::required, by("the store"));
    problem.fixed(t, blockedLayout({64, 64}, 32, 4, 0), Strength::preferred, by("the column store"));
    REQUIRE(problem.check());
    solution = std::get<LayoutSolution>(solveLayouts(problem));
    REQUIRE(verify(problem, solution));
  }

  std::string failure() const {
    Result<void> ok = verify(problem, solution);
    REQUIRE_FALSE(ok);
    return ok.error().message;
  }
};

} // namespace

TEST_CASE("variables out of bounds are refused", "[solvers][layout][unit]") {
  REQUIRE_THAT(failure([](LayoutProblem &p) { p.addVariable(tile({64, 0}, "x")); }),
               Contains("expected positive extents") && Contains("'x'") && Contains("64x0"));
  REQUIRE_THAT(failure([](LayoutProblem &p) { p.addVariable(tile({1 << 20, 1 << 20}, "x")); }),
               Contains("2^30"));
  REQUIRE_THAT(failure([](LayoutProblem &p) { p.addVariable({{4}, 12, 4, "x"}); }),
               Contains("power of two up to 128 for 'x', but got 12"));
  REQUIRE_THAT(failure([](LayoutProblem &p) { p.addVariable({{4}, 16, 0, "x"}); }),
               Contains("1 to 64 warps for 'x', but got 0"));
}

TEST_CASE("constraints that cannot apply are refused with their anchor", "[solvers][layout][unit]") {
  REQUIRE_THAT(failure([](LayoutProblem &p) { p.equal(0, 7, by("the copy")); }),
               Contains("constraint 0 (the copy): expected variables below 2") && Contains("source 7"));
  REQUIRE_THAT(failure([](LayoutProblem &p) { p.fixed(-1, accumulator, Strength::required, by("x")); }),
               Contains("got result -1"));
  REQUIRE_THAT(failure([](LayoutProblem &p) { p.equal(0, 1, by("x")).weight = 0; }),
               Contains("expected a weight of 1 to 2^20, but got 0"));
  REQUIRE_THAT(
      failure([](LayoutProblem &p) { p.fixed(0, accumulator, Strength::required, by("x")).layout.reset(); }),
      Contains("expected a layout for 's', but got none"));
  REQUIRE_THAT(failure([](LayoutProblem &p) { p.fixed(0, FragmentLayout(), Strength::required, by("x")); }),
               Contains("expected a layout of rank 2 for 's', but got rank 0"));
  REQUIRE_THAT(failure([](LayoutProblem &p) {
                 p.fixed(0, wgmmaAccumulator(64, 32, {1, 1}), Strength::required, by("x"));
               }),
               Contains("expected a layout that covers 64x64 for 's', but it covers 64x32"));
  REQUIRE_THAT(failure([](LayoutProblem &p) {
                 p.fixed(0, wgmmaAccumulator(64, 64, {2, 1}), Strength::required, by("x"));
               }),
               Contains("expected a layout over 4 warps for 's', but got 8"));
  REQUIRE_THAT(failure([](LayoutProblem &p) { p.equal(p.addVariable({{64, 64}, 32, 8, "w"}), 0, by("x")); }),
               Contains("expected 's' and 'w' in the same warps, but got 4 and 8"));
  REQUIRE_THAT(failure([](LayoutProblem &p) { p.equal(p.addVariable(tile({64, 1}, "m")), 0, by("x")); }),
               Contains("expected the shape of 'm' to follow from 64x64 of 's', but got 64x1 from equality"));
  REQUIRE_THAT(
      failure([](LayoutProblem &p) { p.reduceOf(p.addVariable(tile({64, 1}, "m")), 0, 0, by("x")); }),
      Contains("from a reduction"));
  REQUIRE_THAT(failure([](LayoutProblem &p) { p.reduceOf(1, 0, 2, by("x")); }), Contains("from a reduction"));
  REQUIRE_THAT(failure([](LayoutProblem &p) { p.reduceOf(1, 0, -1, by("x")); }),
               Contains("from a reduction"));
  REQUIRE_THAT(failure([](LayoutProblem &p) { p.broadcastOf(1, 0, 1, by("x")); }),
               Contains("from a broadcast"));
  REQUIRE_THAT(failure([](LayoutProblem &p) { p.transposeOf(1, 0, {0, 0}, by("x")); }),
               Contains("from a transposition"));
  REQUIRE_THAT(failure([](LayoutProblem &p) { p.transposeOf(1, 0, {0}, by("x")); }),
               Contains("from a transposition"));
  REQUIRE_THAT(
      failure([](LayoutProblem &p) { p.reshapeOf(p.addVariable({{64, 64}, 16, 4, "h"}), 0, by("x")); }),
      Contains("from a reshape"));
  REQUIRE_THAT(failure([](LayoutProblem &p) {
                 p.reshapeOf(1, 0, by("x"));
                 p.reshapeOf(1, 0, by("y"));
               }),
               Contains("constraint 1 (y): expected 't' to be the result of one reshape"));
}

TEST_CASE("a wrong answer is found out", "[solvers][layout][unit]") {
  Example example;
  LayoutSolution &solution = example.solution;
  REQUIRE(solution.conversions.size() == 1);
  REQUIRE(solution.unmetPreferences == std::vector<ConstraintId>{3});

  SECTION("a variable without layout") {
    solution.layouts.pop_back();
    REQUIRE_THAT(example.failure(),
                 Contains("a layout and an origin for each of 2 variables, but got 1 and 2"));
  }
  SECTION("a layout that does not cover") {
    solution.layouts[0] = wgmmaAccumulator(64, 8, {1, 1});
    REQUIRE_THAT(example.failure(), Contains("expected a layout that covers 64x64 for 's'"));
  }
  SECTION("a layout that cannot be reshaped") {
    LayoutProblem problem;
    problem.addVariable(tile({15}, "s"));
    problem.addVariable(tile({3, 5}, "t"));
    problem.reshapeOf(1, 0, by("x"));
    LayoutSolution wrong = std::get<LayoutSolution>(solveLayouts(problem));
    REQUIRE(verify(problem, wrong));
    wrong.layouts[1] = blockedLayout({3, 5}, 32, 4, 1);
    Result<void> ok = verify(problem, wrong);
    REQUIRE_FALSE(ok);
    REQUIRE_THAT(ok.error().message,
                 Contains("expected a layout of 't' that can be reshaped to 15, but got"));
  }
  SECTION("a constraint that does not hold") {
    solution.conversions.clear();
    REQUIRE_THAT(example.failure(), Contains("to be equal or converted, but they are neither"));
  }
  SECTION("a conversion between the wrong layouts") {
    std::swap(solution.conversions[0].from, solution.conversions[0].to);
    REQUIRE_THAT(example.failure(), Contains("constraint 1 (the copy): expected a conversion from 'reg("));
  }
  SECTION("a conversion of the wrong kind") {
    solution.conversions[0].kind = RelayoutKind::identity;
    REQUIRE_THAT(example.failure(), Contains("but got no data movement"));
  }
  SECTION("a conversion where none is permitted") {
    LayoutProblem strict;
    for (const LayoutVariable &variable : example.problem.variables())
      strict.addVariable(variable);
    for (LayoutConstraint constraint : example.problem.constraints()) {
      constraint.conversion = ConversionPolicy::forbidden;
      strict.addConstraint(constraint);
    }
    Result<void> ok = verify(strict, solution);
    REQUIRE_FALSE(ok);
    REQUIRE_THAT(ok.error().message,
                 Contains("constraint 1 (the copy): expected no conversion because it is forbidden"));
  }
  SECTION("a conversion that is not needed") {
    LayoutConversion extra = solution.conversions[0];
    extra.constraint = 0;
    solution.conversions.insert(solution.conversions.begin(), extra);
    REQUIRE_THAT(example.failure(),
                 Contains("constraint 0 (the product): expected no conversion because the constraint holds"));
  }
  SECTION("a conversion for a preference") {
    LayoutConversion extra = solution.conversions[0];
    extra.constraint = 3;
    solution.conversions.push_back(extra);
    REQUIRE_THAT(example.failure(), Contains("expected no conversion for a preference"));
  }
  SECTION("conversions out of order") {
    solution.conversions.push_back(solution.conversions[0]);
    REQUIRE_THAT(example.failure(), Contains("by increasing constraint, but some are left over"));
  }
  SECTION("an unmet preference that is not listed") {
    solution.unmetPreferences.clear();
    REQUIRE_THAT(example.failure(),
                 Contains("constraint 3 (the column store): expected exactly the preferences"));
  }
}
