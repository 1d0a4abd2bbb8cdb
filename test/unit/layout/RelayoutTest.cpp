// SPDX-License-Identifier: Apache-2.0
/// \file
/// Plans between layouts, checked by executing them on register files.
#include "dialects/layout/Relayout.h"

#include "dialects/layout/StockLayouts.h"
#include "test/unit/layout/LayoutLaws.h"

#include <algorithm>
#include <set>

using namespace tlc;
using namespace tlc::test;

namespace {

FragmentLayout parsed(const char *text) {
  Result<FragmentLayout> layout = parseLayout(text);
  REQUIRE(layout);
  return *layout;
}

/// Runs the plan on registers filled with element numbers; every element of the
/// target must arrive.
void requirePlanDelivers(const FragmentLayout &source, const FragmentLayout &target, const Shape &shape,
                         const RelayoutPlan &plan) {
  bool delivered = true;
  forEachLocation(target, [&](const HardwareLocation &l) {
    if (!target.isInside(l, shape))
      return;
    int arrivals = 0;
    for (const RelayoutMove &move : plan.moves[size_t(l.reg)])
      if (move.lanes >> l.lane & 1) {
        ++arrivals;
        HardwareLocation from{move.sourceRegister, move.sourceLane[size_t(l.lane)], l.warp};
        delivered &= source.coordinatesOf(from) == target.coordinatesOf(l);
      }
    delivered &= arrivals == 1;
  });
  REQUIRE(delivered);
}

} // namespace

TEST_CASE("a layout is obtained from itself without data movement", "[layout][relayout][unit]") {
  FragmentLayout layout = wgmmaAccumulator(128, 176, {2, 1});
  RelayoutPlan plan = planRelayout(layout, layout, {128, 176});
  REQUIRE(plan.kind == RelayoutKind::identity);
  requirePlanDelivers(layout, layout, {128, 176}, plan);
}

TEST_CASE("fewer replicas come without data movement", "[layout][relayout][unit]") {
  FragmentLayout reduced = wgmmaAccumulator(64, 64, {1, 1}).reduced(1);
  FragmentLayout extended = parsed("rank 2 reg(2@0:8, 3@*) lane(4@*, 8@0:1) warp(4@0:16)");
  REQUIRE(planRelayout(extended, reduced, {64, 1}).kind == RelayoutKind::identity);
  REQUIRE(planRelayout(reduced, extended, {64, 1}).kind == RelayoutKind::withinThread);
}

TEST_CASE("layouts that differ only in padding are the same on the tile", "[layout][relayout][unit]") {
  FragmentLayout wide = parsed("reg(4@0:32) lane(32@0:1) warp()"),
                 narrow = parsed("reg(3@0:32) lane(32@0:1) warp()");
  REQUIRE(planRelayout(wide, narrow, {90}).kind == RelayoutKind::identity);
  REQUIRE(planRelayout(narrow, wide, {90}).kind == RelayoutKind::identity);
}

TEST_CASE("register order is a matter of the thread", "[layout][relayout][unit]") {
  FragmentLayout a = parsed("reg(2@0:1, 4@1:1) lane(32@0:2) warp()"),
                 b = parsed("reg(4@1:1, 2@0:1) lane(32@0:2) warp()");
  RelayoutPlan plan = planRelayout(a, b, {64, 4});
  REQUIRE(plan.kind == RelayoutKind::withinThread);
  requirePlanDelivers(a, b, {64, 4}, plan);
}

TEST_CASE("lanes that swap roles shuffle", "[layout][relayout][unit]") {
  FragmentLayout a = parsed("reg() lane(4@0:1, 8@1:1) warp(2@1:8)"),
                 b = parsed("reg() lane(8@1:1, 4@0:1) warp(2@1:8)");
  RelayoutPlan plan = planRelayout(a, b, {4, 16});
  REQUIRE(plan.kind == RelayoutKind::withinWarp);
  requirePlanDelivers(a, b, {4, 16}, plan);
}

TEST_CASE("elements of another warp need shared memory", "[layout][relayout][unit]") {
  FragmentLayout rows = parsed("reg(4@1:1) lane(32@0:1) warp(4@0:32)");
  FragmentLayout columns = parsed("reg(4@0:32) lane(32@0:1) warp(4@1:1)");
  RelayoutPlan plan = planRelayout(rows, columns, {128, 4});
  REQUIRE(plan.kind == RelayoutKind::throughShared);
  REQUIRE(plan.moves.empty());
  FragmentLayout everywhere = FragmentLayout::replicated({4}, 4);
  REQUIRE(planRelayout(parsed("reg() lane(4@0:1, 8@*) warp(4@*)"), everywhere, {4}).kind ==
          RelayoutKind::withinWarp);
}

TEST_CASE("an accumulator becomes operand A without data movement", "[layout][relayout][unit]") {
  WarpGrid grid{2, 1};
  REQUIRE(
      planRelayout(wgmmaAccumulator(128, 176, grid), wgmmaOperandA(128, 176, 16, grid), {128, 176}).kind ==
      RelayoutKind::identity);
  RelayoutPlan bytes =
      planRelayout(wgmmaAccumulator(64, 64, {1, 1}), wgmmaOperandA(64, 64, 8, {1, 1}), {64, 64});
  REQUIRE(bytes.kind == RelayoutKind::withinWarp);
  requirePlanDelivers(wgmmaAccumulator(64, 64, {1, 1}), wgmmaOperandA(64, 64, 8, {1, 1}), {64, 64}, bytes);
}

TEST_CASE("elements that belong together lie in the same warps, or not", "[layout][relayout][unit]") {
  // Four warps of 16 rows each, and of two rows at a time.
  FragmentLayout blocks = parsed("reg(2@1:1, 2@0:8) lane(4@1:2, 8@0:1) warp(4@0:16)");
  FragmentLayout pairs = parsed("reg(4@0:16) lane(8@1:1, 2@0:1, 2@0:8) warp(4@0:2)");
  CHECK(staysInWarps(blocks, {64, 8}, blocks, {64, 8}));
  CHECK_FALSE(staysInWarps(blocks, {64, 8}, pairs, {64, 8}));
  // A row's one element goes with all of it, and all of it with its one element.
  CHECK(staysInWarps(blocks.reduced(1), {64, 1}, blocks, {64, 8}));
  CHECK(staysInWarps(blocks, {64, 8}, blocks.reduced(1), {64, 1}));
  CHECK_FALSE(staysInWarps(pairs.reduced(1), {64, 1}, blocks, {64, 8}));
  // What all warps hold goes with anything; what one warp holds is not known to the others.
  FragmentLayout everywhere = FragmentLayout::replicated({64, 8}, 4);
  CHECK(staysInWarps(everywhere, {64, 8}, blocks, {64, 8}));
  CHECK_FALSE(staysInWarps(blocks, {64, 8}, everywhere, {64, 8}));
  CHECK_FALSE(staysInWarps(blocks, {64, 8}, blocks, {64, 4}));
}

TEST_CASE("random layouts stay in their warps as each element says", "[layout][relayout][unit]") {
  std::mt19937 random(Catch::rngSeed());
  const auto warpsOf = [](const FragmentLayout &layout, const Coordinates &at) {
    std::set<int64_t> warps;
    for (const HardwareLocation &location : layout.locationsOf(at))
      warps.insert(location.warp);
    return warps;
  };
  int stay = 0, move = 0;
  for (int i = 0; i < 20000 && (stay < 30 || move < 30); ++i) {
    const FragmentLayout a = randomLayout(random, 2), b = randomLayout(random, 2);
    if (a.numWarps() != b.numWarps() || a.numWarps() == 1 || a == b)
      continue;
    const Shape shape = {std::min(a.coveredExtent(0), b.coveredExtent(0)),
                         std::min(a.coveredExtent(1), b.coveredExtent(1))};
    bool expected = true;
    for (int64_t row = 0; row < shape[0]; ++row)
      for (int64_t column = 0; column < shape[1]; ++column)
        expected &= std::ranges::includes(warpsOf(a, {row, column}), warpsOf(b, {row, column}));
    INFO("from " << printLayout(a) << " to " << printLayout(b));
    REQUIRE(staysInWarps(a, shape, b, shape) == expected);
    (expected ? stay : move) += 1;
  }
  CHECK(stay >= 30);
  CHECK(move >= 30);
}

TEST_CASE("plans between random layouts deliver or say that they cannot", "[layout][relayout][unit]") {
  std::mt19937 random(Catch::rngSeed());
  int delivered = 0;
  for (int i = 0; i < 3000 && delivered < 60; ++i) {
    FragmentLayout a = randomLayout(random, 1), b = randomLayout(random, 1);
    if (a.numWarps() != b.numWarps())
      continue;
    Shape shape = {std::min(a.coveredExtent(0), b.coveredExtent(0))};
    RelayoutPlan plan = planRelayout(a, b, shape);
    if (plan.kind == RelayoutKind::throughShared)
      continue;
    INFO(printLayout(a) << " to " << printLayout(b));
    requirePlanDelivers(a, b, shape, plan);
    ++delivered;
  }
  REQUIRE(delivered > 0);
}
