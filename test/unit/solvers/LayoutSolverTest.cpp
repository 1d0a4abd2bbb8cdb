// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where layouts and conversions end up, and that every well-formed problem without
/// prohibitions has an answer.
#include "compiler/solvers/LayoutSolver.h"

#include "dialects/layout/LayoutText.h"
#include "dialects/layout/StockLayouts.h"

#include <catch2/catch.hpp>
#include <random>

using namespace tlc;
using Catch::Contains;

namespace {

Anchor by(const char *reason) { return {0, reason}; }

LayoutSolution solved(const LayoutProblem &problem) {
  REQUIRE(problem.check());
  LayoutOutcome outcome = solveLayouts(problem);
  const LayoutConflict *conflict = std::get_if<LayoutConflict>(&outcome);
  INFO((conflict ? conflict->message : ""));
  REQUIRE_FALSE(conflict);
  const LayoutSolution &solution = std::get<LayoutSolution>(outcome);
  Result<void> ok = verify(problem, solution);
  INFO((ok ? "" : ok.error().message));
  REQUIRE(ok);
  return solution;
}

LayoutConflict conflicting(const LayoutProblem &problem) {
  REQUIRE(problem.check());
  LayoutOutcome outcome = solveLayouts(problem);
  REQUIRE(std::holds_alternative<LayoutConflict>(outcome));
  return std::get<LayoutConflict>(outcome);
}

const FragmentLayout accumulator = wgmmaAccumulator(64, 64, {1, 1});
const FragmentLayout blocked = blockedLayout({64, 64}, 32, 4, 1);

} // namespace

TEST_CASE("an attention step needs no conversion", "[solvers][layout][unit]") {
  LayoutProblem problem;
  WarpGrid grid{2, 1};
  auto value = [&](const char *name, Shape shape, int bits = 32) {
    return problem.addVariable({shape, bits, 8, name});
  };
  VariableId s = value("s", {128, 176}), m = value("m", {128, 1}), wide = value("m wide", {128, 176});
  VariableId p = value("p", {128, 176}), l = value("l", {128, 1}), half = value("p half", {128, 176}, 16);
  VariableId o = value("o", {128, 128}), fix = value("fix", {128, 1}),
             fixWide = value("fix wide", {128, 128});
  problem.fixed(s, wgmmaAccumulator(128, 176, grid), Strength::required, by("q k"));
  problem.reduceOf(m, s, 1, by("row maximum"));
  problem.broadcastOf(wide, m, 1, by("broadcast"));
  problem.equal(p, s, by("exp2"));
  problem.equal(p, wide, by("exp2"));
  problem.reduceOf(l, p, 1, by("row sum"));
  problem.equal(half, p, by("rounding"));
  problem.fixed(half, wgmmaOperandA(128, 176, 16, grid), Strength::required, by("operand A of p v"));
  problem.fixed(o, wgmmaAccumulator(128, 128, grid), Strength::required, by("p v"));
  problem.equal(fix, m, by("scale"));
  problem.broadcastOf(fixWide, fix, 1, by("broadcast of the scale"));
  problem.equal(o, fixWide, by("rescaling"));
  LayoutSolution solution = solved(problem);
  REQUIRE(solution.conversions.empty());
  REQUIRE(solution.layouts[size_t(m)] == wgmmaAccumulator(128, 176, grid).reduced(1));
  REQUIRE(solution.layouts[size_t(fixWide)] == wgmmaAccumulator(128, 128, grid));
  REQUIRE(solution.origins[size_t(l)] == 0);
}

TEST_CASE("two required layouts meet in one conversion with both anchors", "[solvers][layout][unit]") {
  LayoutProblem problem;
  VariableId s = problem.addVariable({{64, 64}, 32, 4, "s"}), t = problem.addVariable({{64, 64}, 32, 4, "t"});
  problem.fixed(s, accumulator, Strength::required, by("the product"));
  problem.equal(t, s, by("the copy"));
  problem.fixed(t, blocked, Strength::required, by("the store"));
  LayoutSolution solution = solved(problem);
  REQUIRE(solution.conversions.size() == 1);
  const LayoutConversion &conversion = solution.conversions[0];
  REQUIRE(conversion.constraint == 1);
  REQUIRE(conversion.fromOrigin == 0);
  REQUIRE(conversion.toOrigin == 2);
  REQUIRE(conversion.kind == RelayoutKind::throughShared);
  REQUIRE(conversion.remark ==
          "'s' (64x64, 32 bits) is converted at the copy, which takes a round trip through shared "
          "memory: it comes in the layout of the product, but the layout of the store is needed");
}

TEST_CASE("two required layouts of one value are converted at the second use", "[solvers][layout][unit]") {
  LayoutProblem problem;
  VariableId s = problem.addVariable({{64, 64}, 32, 4, "s"});
  problem.fixed(s, accumulator, Strength::required, by("the product"));
  problem.fixed(s, blocked, Strength::required, by("the store"));
  LayoutSolution solution = solved(problem);
  REQUIRE(solution.layouts[0] == accumulator);
  REQUIRE(solution.conversions.size() == 1);
  REQUIRE(solution.conversions[0].constraint == 1);
  REQUIRE(solution.conversions[0].to == blocked);
}

TEST_CASE("a conversion goes where it is cheapest", "[solvers][layout][unit]") {
  LayoutProblem problem;
  auto value = [&](const char *name, int bits) { return problem.addVariable({{64, 64}, bits, 4, name}); };
  SECTION("outside the loop") {
    VariableId a = value("a", 32), b = value("b", 32), c = value("c", 32);
    problem.fixed(a, accumulator, Strength::required, by("the product"));
    problem.equal(b, a, by("the loop")).weight = 10;
    problem.equal(c, b, by("the epilogue"));
    problem.fixed(c, blocked, Strength::required, by("the store")).weight = 10;
    LayoutSolution solution = solved(problem);
    REQUIRE(solution.conversions.size() == 1);
    REQUIRE(solution.conversions[0].constraint == 2);
  }
  SECTION("after the rounding") {
    VariableId a = value("a", 32), b = value("b", 32), c = value("c", 16), d = value("d", 16);
    problem.fixed(a, accumulator, Strength::required, by("the product"));
    problem.equal(b, a, by("the scaling"));
    problem.equal(d, c, by("the selection"));
    problem.equal(c, b, by("the rounding"));
    problem.fixed(d, blocked, Strength::required, by("the store"));
    LayoutSolution solution = solved(problem);
    REQUIRE(solution.conversions.size() == 1);
    REQUIRE(problem
                .variables()[size_t(
                    meetingVariable(problem.constraints()[size_t(solution.conversions[0].constraint)]))]
                .elementBits == 16);
  }
}

TEST_CASE("preferences yield to requirements and are reported", "[solvers][layout][unit]") {
  LayoutProblem problem;
  VariableId s = problem.addVariable({{64, 64}, 32, 4, "s"}), t = problem.addVariable({{64, 64}, 32, 4, "t"});
  problem.fixed(t, blocked, Strength::preferred, by("the store"));
  problem.equal(t, s, by("the copy"));
  SECTION("with a requirement") {
    problem.fixed(s, accumulator, Strength::required, by("the product"));
    LayoutSolution solution = solved(problem);
    REQUIRE(solution.layouts[size_t(t)] == accumulator);
    REQUIRE(solution.conversions.empty());
    REQUIRE(solution.unmetPreferences == std::vector<ConstraintId>{0});
  }
  SECTION("without one they spread") {
    LayoutSolution solution = solved(problem);
    REQUIRE(solution.layouts[size_t(s)] == blocked);
    REQUIRE(solution.unmetPreferences.empty());
  }
  SECTION("to another preference as well: the dearer one wins, without a conversion") {
    problem.fixed(s, accumulator, Strength::preferred, by("the load")).weight = 2;
    LayoutSolution solution = solved(problem);
    REQUIRE(solution.layouts[size_t(t)] == accumulator);
    REQUIRE(solution.conversions.empty());
    REQUIRE(solution.unmetPreferences == std::vector<ConstraintId>{0});
  }
}

TEST_CASE("what nothing constrains gets the default layout", "[solvers][layout][unit]") {
  LayoutProblem problem;
  VariableId a = problem.addVariable({{3, 50}, 16, 3, "a"}), b = problem.addVariable({{3, 1}, 32, 3, "b"});
  problem.reduceOf(b, a, 1, by("row sum"));
  LayoutSolution solution = solved(problem);
  REQUIRE(solution.layouts[size_t(a)] == defaultLayout({3, 50}, 16, 3));
  REQUIRE(solution.layouts[size_t(b)] == solution.layouts[size_t(a)].reduced(1));
  REQUIRE(solution.origins == std::vector<ConstraintId>{-1, -1});
}

TEST_CASE("a broadcast takes the layout that its result is fixed to", "[solvers][layout][unit]") {
  LayoutProblem problem;
  VariableId m = problem.addVariable({{64, 1}, 32, 4, "m"}),
             wide = problem.addVariable({{64, 64}, 32, 4, "wide"});
  problem.fixed(m, accumulator.reduced(1), Strength::required, by("row maximum"));
  problem.broadcastOf(wide, m, 1, by("broadcast"));
  problem.fixed(wide, accumulator, Strength::preferred, by("exp2"));
  LayoutSolution solution = solved(problem);
  REQUIRE(solution.layouts[size_t(wide)] == accumulator);
  REQUIRE(solution.conversions.empty());
}

TEST_CASE("transpositions go both ways", "[solvers][layout][unit]") {
  LayoutProblem problem;
  VariableId a = problem.addVariable({{64, 32, 2}, 32, 4, "a"}),
             b = problem.addVariable({{2, 64, 32}, 32, 4, "b"});
  problem.transposeOf(b, a, {2, 0, 1}, by("the transposition"));
  FragmentLayout layout = defaultLayout({2, 64, 32}, 32, 4);
  problem.fixed(b, layout, Strength::required, by("the store"));
  LayoutSolution solution = solved(problem);
  REQUIRE(solution.layouts[size_t(a)].transposed({2, 0, 1}) == layout);
  REQUIRE(solution.conversions.empty());
}

TEST_CASE("reshapes go both ways, to words and their halves, too", "[solvers][layout][unit]") {
  LayoutProblem problem;
  VariableId words = problem.addVariable({{128, 16}, 32, 8, "words"}),
             halves = problem.addVariable({{128, 32}, 16, 8, "halves"}),
             planes = problem.addVariable({{8, 16, 32}, 16, 8, "planes"});
  problem.reshapeOf(halves, words, by("the bitcast"));
  problem.reshapeOf(planes, halves, by("the reshape"));
  FragmentLayout factor = wgmmaOperandA(128, 32, 16, {2, 1});
  problem.fixed(halves, factor, Strength::required, by("the product"));
  LayoutSolution solution = solved(problem);
  REQUIRE(solution.conversions.empty());
  REQUIRE(solution.layouts[size_t(words)] == reshaped(factor, problem.tile(halves), problem.tile(words)));
  REQUIRE(solution.layouts[size_t(planes)] == reshaped(factor, problem.tile(halves), problem.tile(planes)));
}

TEST_CASE("a layout that cannot be reshaped is converted before", "[solvers][layout][unit]") {
  LayoutProblem problem;
  VariableId square = problem.addVariable({{3, 5}, 32, 4, "square"}),
             row = problem.addVariable({{15}, 32, 4, "row"});
  problem.reshapeOf(row, square, by("the reshape"));
  problem.fixed(square, defaultLayout({3, 5}, 32, 4), Strength::required, by("the load"));
  LayoutSolution solution = solved(problem);
  REQUIRE(solution.conversions.size() == 1);
  REQUIRE(solution.conversions[0].constraint == 0);
}

TEST_CASE("the result of a reshape has no layout that does not lead back", "[solvers][layout][unit]") {
  LayoutProblem problem;
  VariableId row = problem.addVariable({{15}, 32, 4, "row"}),
             square = problem.addVariable({{3, 5}, 32, 4, "square"});
  problem.reshapeOf(square, row, by("the reshape"));
  problem.fixed(square, defaultLayout({3, 5}, 32, 4), Strength::required, by("the store"));
  LayoutSolution solution = solved(problem);
  REQUIRE(solution.conversions.size() == 1);
  REQUIRE(solution.conversions[0].constraint == 1);
}

TEST_CASE("a prohibition moves the conversion elsewhere", "[solvers][layout][unit]") {
  LayoutProblem problem;
  VariableId o = problem.addVariable({{64, 64}, 32, 4, "o"}),
             next = problem.addVariable({{64, 64}, 32, 4, "next"});
  problem.fixed(next, blocked, Strength::required, by("the store")).weight = 1000;
  problem.equal(next, o, by("the loop")).conversion = ConversionPolicy::forbidden;
  problem.fixed(o, accumulator, Strength::required, by("the product")).conversion =
      ConversionPolicy::forbidden;
  LayoutSolution solution = solved(problem);
  REQUIRE(solution.layouts[size_t(next)] == accumulator);
  REQUIRE(solution.conversions.size() == 1);
  REQUIRE(solution.conversions[0].constraint == 0);
}

TEST_CASE("a binding reduction leaves its source the layout that fits", "[solvers][layout][unit]") {
  LayoutProblem problem;
  VariableId s = problem.addVariable({{64, 64}, 32, 4, "s"}), m = problem.addVariable({{64, 1}, 32, 4, "m"});
  problem.reduceOf(m, s, 1, by("row maximum")).conversion = ConversionPolicy::forbidden;
  problem.fixed(m, accumulator.reduced(1), Strength::required, by("the state")).conversion =
      ConversionPolicy::forbidden;
  SECTION("that it is required to have") {
    problem.fixed(s, accumulator, Strength::required, by("the product"));
    REQUIRE(solved(problem).layouts[size_t(s)] == accumulator);
  }
  SECTION("or one made for it") {
    problem.fixed(s, blocked, Strength::required, by("the load"));
    LayoutSolution solution = solved(problem);
    REQUIRE(solution.layouts[size_t(s)].reduced(1) == accumulator.reduced(1));
    REQUIRE(solution.conversions.size() == 1);
  }
}

TEST_CASE("requirements that nothing may reconcile are reported with both anchors",
          "[solvers][layout][unit]") {
  LayoutProblem problem;
  VariableId s = problem.addVariable({{64, 64}, 32, 4, "s"}), t = problem.addVariable({{64, 64}, 32, 4, "t"});
  problem.fixed(s, accumulator, Strength::required, by("the product")).conversion =
      ConversionPolicy::forbidden;
  problem.equal(t, s, by("the accumulation")).conversion = ConversionPolicy::forbidden;
  problem.fixed(t, blocked, Strength::required, by("the store")).conversion = ConversionPolicy::forbidden;
  LayoutConflict conflict = conflicting(problem);
  REQUIRE(conflict.variable == t);
  REQUIRE(conflict.constraint == 2);
  REQUIRE(conflict.fromOrigin == 0);
  REQUIRE(conflict.toOrigin == 2);
  REQUIRE(conflict.from == accumulator);
  REQUIRE(conflict.to == blocked);
  REQUIRE_THAT(conflict.message,
               Contains("expected one layout for 't' because the store permits no conversion") &&
                   Contains("the product gives 'reg(") && Contains("the store needs 'reg("));
}

TEST_CASE("every problem without prohibitions has one answer", "[solvers][layout][unit]") {
  std::mt19937 random(Catch::rngSeed());
  auto pick = [&](int n) { return int(random() % unsigned(n)); };
  std::vector<Shape> shapes = {{48, 40}, {48, 1}, {1, 40}, {40, 48}, {1920, 1}, {2, 960}};
  for (int round = 0; round < 20; ++round) {
    LayoutProblem problem;
    int count = 2 + pick(14);
    for (int i = 0; i < count; ++i)
      problem.addVariable({shapes[size_t(pick(6))], pick(2) ? 16 : 32, 4, "v" + std::to_string(i)});
    for (int tries = 0; tries < 60; ++tries) {
      LayoutConstraint constraint;
      constraint.kind = ConstraintKind(pick(6));
      constraint.result = pick(count);
      constraint.source = pick(count);
      constraint.axis = pick(2);
      constraint.permutation = {1, 0};
      constraint.weight = 1 + pick(20);
      constraint.strength = pick(2) ? Strength::required : Strength::preferred;
      const Shape &shape = problem.variables()[size_t(constraint.result)].shape;
      std::vector<FragmentLayout> wanted = {
          wgmmaAccumulator(shape[0], shape[1], {1, 1}), blockedLayout(shape, 16, 4, 0),
          FragmentLayout::replicated(shape, 4), mmaOperandB(shape[0], shape[1], 16, {2, 2})};
      constraint.layout = wanted[size_t(pick(4))];
      LayoutProblem attempt = problem;
      attempt.addConstraint(constraint);
      if (attempt.check())
        problem = attempt;
    }
    LayoutSolution first = solved(problem), second = solved(problem);
    REQUIRE(first.layouts == second.layouts);
    REQUIRE(first.conversions.size() == second.conversions.size());
  }
}
