// SPDX-License-Identifier: Apache-2.0
/// \file
/// The algebra of fragment layouts: one law per test, over all points.
#include "test/unit/layout/LayoutLaws.h"

using namespace tlc;
using namespace tlc::test;
using Catch::Contains;

namespace {

FragmentLayout parsed(const char *text) {
  Result<FragmentLayout> layout = parseLayout(text);
  REQUIRE(layout);
  return *layout;
}

std::string failure(int rank, FragmentLayout::Modes reg,
                    FragmentLayout::Modes lane = {LayoutMode::replicated(32)},
                    FragmentLayout::Modes warp = {}) {
  Result<FragmentLayout> layout = FragmentLayout::create(rank, reg, lane, warp);
  REQUIRE_FALSE(layout);
  return layout.error().message;
}

/// The header's example 1 with n columns.
FragmentLayout accumulator(int64_t n) {
  return FragmentLayout::get(2, {{2, 1, 1}, {2, 0, 8}, {n / 8, 1, 8}}, {{4, 1, 2}, {8, 0, 1}}, {{4, 0, 16}});
}

} // namespace

TEST_CASE("the tutorial's example 1 is right", "[layout][unit]") {
  FragmentLayout layout = parsed("reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)");
  std::vector<Coordinates> expected = {{35, 2}, {35, 3}, {43, 2}, {43, 3}, {35, 10}};
  for (size_t reg = 0; reg < expected.size(); ++reg)
    REQUIRE(layout.coordinatesOf({int64_t(reg), 13, 2}) == expected[reg]);
  REQUIRE(layout.coveredShape() == Shape{64, 16});
  REQUIRE(layout.numThreads() == 128);
  REQUIRE(layout.registersPerThread() == 8);
}

TEST_CASE("the laws hold on random layouts of rank 0 to 3", "[layout][unit]") {
  std::mt19937 random(Catch::rngSeed());
  for (int i = 0; i < 150; ++i)
    requireLaws(randomLayout(random, i % 4));
}

TEST_CASE("an extent that is no power of two is one integer repeat", "[layout][unit]") {
  requireLaws(accumulator(176));
  REQUIRE(accumulator(176).modes(HardwareAxis::reg).back() == LayoutMode{22, 1, 8});
}

TEST_CASE("equality is canonical", "[layout][unit]") {
  SECTION("neighbours that continue each other are merged and extents of 1 dropped") {
    REQUIRE(parsed("reg(2@0:1, 1@1:7, 4@0:2) lane(32@*) warp(1@*)") ==
            FragmentLayout::get(2, {{8, 0, 1}}, {LayoutMode::replicated(32)}, {}));
  }
  SECTION("any split of the modes gives the same layout") {
    FragmentLayout split =
        FragmentLayout::get(2, {{2, 1, 1}, {2, 0, 8}, {2, 1, 8}, {11, 1, 16}},
                            {{2, 1, 2}, {2, 1, 4}, {4, 0, 1}, {2, 0, 4}}, {{2, 0, 16}, {2, 0, 32}});
    REQUIRE(split == accumulator(176));
  }
  SECTION("layouts that are the same map are equal, and no others") {
    std::mt19937 random(Catch::rngSeed());
    for (int i = 0; i < 3000; ++i) {
      FragmentLayout a = randomLayout(random, 1), b = randomLayout(random, 1);
      if (a.registersPerThread() != b.registersPerThread() || a.numWarps() != b.numWarps()) {
        REQUIRE_FALSE(a == b);
        continue;
      }
      bool sameMap = true;
      forEachLocation(
          a, [&](const HardwareLocation &l) { sameMap &= a.coordinatesOf(l) == b.coordinatesOf(l); });
      REQUIRE((a == b) == sameMap);
    }
  }
}

TEST_CASE("modes that break the invariant are refused by name", "[layout][unit]") {
  REQUIRE_THAT(failure(1, {{2, 0, 2}}), Contains("expected step 1 along axis 0") && Contains("got 2@0:2"));
  REQUIRE_THAT(failure(1, {{2, 0, 1}, {2, 0, 1}}), Contains("expected step 2 along axis 0"));
  REQUIRE_THAT(failure(1, {}, {{16, 0, 1}}),
               Contains("expected the modes of lane to have 32 locations, but got 16"));
  REQUIRE_THAT(failure(1, {{2, 1, 1}}), Contains("expected an axis below 1 in reg") && Contains("got 1"));
  REQUIRE_THAT(failure(1, {{0, 0, 1}}), Contains("expected a positive extent in reg, but got 0"));
  REQUIRE_THAT(failure(1, {{2, 0, 0}}), Contains("expected a positive step along an axis in reg"));
  REQUIRE_THAT(failure(1, {{2, -1, 1}}), Contains("and 0 for replication, but got 1"));
  REQUIRE_THAT(failure(1, {{INT64_MAX, 0, 1}, {INT64_MAX, 0, 1}}),
               Contains("expected at most 1048576 locations in reg"));
  REQUIRE_THAT(failure(1, {}, {LayoutMode::replicated(32)}, {{65, 0, 1}}),
               Contains("expected at most 64 locations in warp"));
  REQUIRE_THAT(failure(-1, {}), Contains("expected a rank of at least 0, but got -1"));
}

TEST_CASE("a reduction combines exactly the locations that differ along the axis", "[layout][unit]") {
  std::mt19937 random(Catch::rngSeed());
  for (int i = 0; i < 60; ++i) {
    FragmentLayout layout = randomLayout(random, 2);
    int axis = i % 2;
    FragmentLayout result = layout.reduced(axis);
    INFO(printLayout(layout) << " reduced to " << printLayout(result));
    requireLaws(result);
    REQUIRE(result.coveredExtent(axis) == 1);
    REQUIRE(result.coveredExtent(1 - axis) == layout.coveredExtent(1 - axis));
    // Every thread keeps a register for each line that it contributed to.
    bool kept = true;
    forEachLocation(layout, [&](const HardwareLocation &l) {
      Coordinates at = layout.coordinatesOf(l);
      at[size_t(axis)] = 0;
      kept &= result.registerOf(at, l.lane, l.warp).has_value();
    });
    REQUIRE(kept);
    AxisReduction reduction = layout.reduction(axis);
    int64_t combined = 1;
    for (const auto *modes : {&reduction.registers, &reduction.lanes, &reduction.warps})
      for (const PlacedMode &placed : *modes)
        combined *= placed.mode.extent;
    REQUIRE(combined == layout.coveredExtent(axis));
  }
}

TEST_CASE("the row reduction of an accumulator takes two shuffles", "[layout][unit]") {
  AxisReduction rows = accumulator(176).reduction(1);
  REQUIRE(rows.laneMasks() == std::vector<int64_t>{1, 2});
  REQUIRE(rows.registers ==
          std::vector<PlacedMode>{{HardwareAxis::reg, {2, 1, 1}, 1}, {HardwareAxis::reg, {22, 1, 8}, 4}});
  REQUIRE(rows.warps.empty());
  REQUIRE(accumulator(176).reduced(1) == parsed("rank 2 reg(2@0:8) lane(4@*, 8@0:1) warp(4@0:16)"));

  AxisReduction columns = accumulator(176).reduction(0);
  REQUIRE(columns.laneMasks() == std::vector<int64_t>{4, 8, 16});
  REQUIRE(columns.warps == std::vector<PlacedMode>{{HardwareAxis::warp, {4, 0, 16}, 1}});
}

TEST_CASE("a broadcast covers its extent and reduces to its operand", "[layout][unit]") {
  std::mt19937 random(Catch::rngSeed());
  for (int64_t extent : {1, 2, 3, 5, 8, 31, 33, 100, 176}) {
    for (int i = 0; i < 20; ++i) {
      FragmentLayout operand = randomLayout(random, 2).reduced(1);
      FragmentLayout result = operand.expanded(1, extent);
      INFO(printLayout(operand) << " to " << extent << ": " << printLayout(result));
      REQUIRE(result.coveredExtent(1) >= extent);
      REQUIRE(result.reduced(1) == operand);
      REQUIRE(result.numWarps() == operand.numWarps());
    }
  }
}

TEST_CASE("transposition permutes coordinates and nothing else", "[layout][unit]") {
  std::mt19937 random(Catch::rngSeed());
  std::vector<int> permutation = {2, 0, 1};
  for (int i = 0; i < 40; ++i) {
    FragmentLayout layout = randomLayout(random, 3), result = layout.transposed(permutation);
    bool same = true;
    forEachLocation(layout, [&](const HardwareLocation &l) {
      Coordinates from = layout.coordinatesOf(l), to = result.coordinatesOf(l);
      for (size_t axis = 0; axis < 3; ++axis)
        same &= to[axis] == from[size_t(permutation[axis])];
    });
    REQUIRE(same);
    REQUIRE(result.transposed({1, 2, 0}) == layout);
  }
}

TEST_CASE("a unit axis comes and goes without effect", "[layout][unit]") {
  std::mt19937 random(Catch::rngSeed());
  for (int i = 0; i < 40; ++i) {
    FragmentLayout layout = randomLayout(random, 2);
    for (int axis = 0; axis <= 2; ++axis) {
      REQUIRE(layout.withUnitAxis(axis).coveredExtent(axis) == 1);
      REQUIRE(layout.withUnitAxis(axis).withoutAxis(axis) == layout);
    }
    REQUIRE(layout.reduced(0).withoutAxis(0) == layout.withoutAxis(0));
    REQUIRE(layout.withoutAxis(0).rank() == 1);
  }
}

TEST_CASE("replicas are counted per hardware index", "[layout][unit]") {
  FragmentLayout layout = parsed("reg(3@*, 2@0:1) lane(4@*, 8@0:2) warp(2@*, 2@0:16)");
  REQUIRE(layout.replication(HardwareAxis::reg) == 3);
  REQUIRE(layout.replication(HardwareAxis::lane) == 4);
  REQUIRE(layout.replication(HardwareAxis::warp) == 2);
  REQUIRE(layout.isReplicated());
  REQUIRE_FALSE(accumulator(64).isReplicated());
  FragmentLayout everywhere = FragmentLayout::replicated({3, 5}, 2);
  REQUIRE(everywhere.replication(HardwareAxis::lane) == 32);
  REQUIRE(everywhere.locationsOf({2, 4}).size() == 64);
}

TEST_CASE("locations outside the tile are padding", "[layout][unit]") {
  FragmentLayout layout = parsed("reg() lane(8@1:1, 4@0:1) warp()");
  REQUIRE(layout.covers({3, 5}));
  REQUIRE_FALSE(layout.covers({5, 5}));
  REQUIRE_FALSE(layout.covers({3}));
  REQUIRE(layout.isInside({0, 4, 0}, {3, 5}));
  REQUIRE_FALSE(layout.isInside({0, 5, 0}, {3, 5}));
  REQUIRE_FALSE(layout.isInside({0, 24, 0}, {3, 5}));
}

TEST_CASE("a contiguous run starts at its multiples in every thread", "[layout][unit]") {
  REQUIRE(accumulator(64).contiguousAlong(1) == 2);
  REQUIRE(accumulator(64).contiguousAlong(0) == 1);
  REQUIRE(parsed("reg(4@1:2, 2@1:1) lane(32@0:1) warp()").contiguousAlong(1) == 8);
  std::mt19937 random(Catch::rngSeed());
  for (int i = 0; i < 60; ++i) {
    FragmentLayout layout = randomLayout(random, 2);
    int64_t run = layout.contiguousAlong(1);
    bool held = true;
    forEachLocation(layout, [&](const HardwareLocation &l) {
      Coordinates at = layout.coordinatesOf(l);
      int64_t first = at[1] / run * run;
      for (at[1] = first; at[1] < first + run; ++at[1])
        held &= layout.registerOf(at, l.lane, l.warp).has_value();
    });
    REQUIRE(held);
  }
}
