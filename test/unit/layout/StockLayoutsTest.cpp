// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stock layouts against the formulas of the PTX manual, and totality on all shapes.
#include "dialects/layout/StockLayouts.h"

#include "test/unit/layout/LayoutLaws.h"

using namespace tlc;
using namespace tlc::test;

namespace {

/// Whether the layout puts each location where the formula says.
template <class Formula> bool follows(const FragmentLayout &layout, Formula formula) {
  bool same = true;
  forEachLocation(layout, [&](const HardwareLocation &l) { same &= layout.coordinatesOf(l) == formula(l); });
  return same;
}

} // namespace

TEST_CASE("the wgmma accumulator is the instruction's for every n", "[layout][stock][unit]") {
  for (int64_t n = 8; n <= 256; n += 8) {
    FragmentLayout layout = wgmmaAccumulator(64, n, {1, 1});
    REQUIRE(layout.registersPerThread() == n / 2);
    REQUIRE(follows(layout, [](const HardwareLocation &l) {
      return Coordinates{16 * l.warp + l.lane / 4 + 8 * (l.reg / 2 % 2),
                         8 * (l.reg / 4) + 2 * (l.lane % 4) + l.reg % 2};
    }));
    requireLaws(layout);
  }
}

TEST_CASE("warpgroups own consecutive rows and columns", "[layout][stock][unit]") {
  FragmentLayout rows = wgmmaAccumulator(256, 64, {2, 1});
  REQUIRE(printLayout(rows) == "reg(2@1:1, 2@0:8, 8@1:8, 2@0:64) lane(4@1:2, 8@0:1) warp(4@0:16, 2@0:128)");
  REQUIRE(rows.coordinatesOf({0, 0, 4}) == Coordinates{128, 0});
  FragmentLayout columns = wgmmaAccumulator(64, 256, {1, 2});
  REQUIRE(columns.coordinatesOf({0, 0, 4}) == Coordinates{0, 128});
  FragmentLayout three = wgmmaAccumulator(192, 176, {3, 1});
  REQUIRE(three.coveredShape() == Shape{192, 176});
  for (const FragmentLayout &layout : {rows, columns, three})
    requireLaws(layout);
}

TEST_CASE("a tile below the instruction's size is padded", "[layout][stock][unit]") {
  FragmentLayout layout = wgmmaAccumulator(50, 100, {1, 1});
  REQUIRE(layout.coveredShape() == Shape{64, 104});
  REQUIRE(layout.covers({50, 100}));
}

TEST_CASE("wgmma operand A follows the instruction", "[layout][stock][unit]") {
  REQUIRE(wgmmaOperandA(128, 64, 16, {2, 1}) == wgmmaAccumulator(128, 64, {2, 1}));
  REQUIRE(follows(wgmmaOperandA(64, 32, 8, {1, 1}), [](const HardwareLocation &l) {
    int64_t word = l.reg / 4;
    return Coordinates{16 * l.warp + l.lane / 4 + 8 * (word % 2),
                       16 * (word / 2) + 4 * (l.lane % 4) + l.reg % 4};
  }));
  REQUIRE(follows(wgmmaOperandA(64, 8, 32, {1, 1}), [](const HardwareLocation &l) {
    return Coordinates{16 * l.warp + l.lane / 4 + 8 * (l.reg % 2), l.lane % 4 + 4 * (l.reg / 2)};
  }));
  FragmentLayout replicas = wgmmaOperandA(64, 64, 16, {1, 2});
  REQUIRE(replicas.replication(HardwareAxis::warp) == 2);
  requireLaws(replicas);
}

// What makes a product's result the next one's factor without an exchange between threads.
TEST_CASE("an 8-bit operand A in interleaved order is a thread's part of an accumulator",
          "[layout][stock][unit]") {
  FragmentLayout natural = wgmmaOperandA(128, 96, 8, {2, 1}),
                 interleaved = wgmmaOperandA(128, 96, 8, {2, 1}, interleavedRows()),
                 acc = wgmmaAccumulator(128, 96, {2, 1});
  requireLaws(interleaved);
  bool placed = true, own = true;
  for (int64_t warp = 0; warp < 8; ++warp)
    for (int64_t lane = 0; lane < 32; ++lane)
      for (int64_t reg = 0; reg < interleaved.registersPerThread(); ++reg) {
        Coordinates at = interleaved.coordinatesOf({reg, lane, warp});
        own &= acc.registerOf(at, lane, warp).has_value();
        int64_t pair = at[1] / 2 % 4, half = at[1] / 8 % 2;
        at[1] = at[1] / 16 * 16 + pair * 4 + half * 2 + at[1] % 2;
        placed &= at == natural.coordinatesOf({reg, lane, warp});
      }
  REQUIRE(placed);
  REQUIRE(own);
}

TEST_CASE("mma.sync fragments follow the instruction", "[layout][stock][unit]") {
  REQUIRE(follows(mmaAccumulator(16, 8, {1, 1}), [](const HardwareLocation &l) {
    return Coordinates{l.lane / 4 + 8 * (l.reg / 2), 2 * (l.lane % 4) + l.reg % 2};
  }));
  REQUIRE(follows(mmaOperandA(16, 16, 16, {1, 1}), [](const HardwareLocation &l) {
    return Coordinates{l.lane / 4 + 8 * (l.reg / 2 % 2), 2 * (l.lane % 4) + l.reg % 2 + 8 * (l.reg / 4)};
  }));
  REQUIRE(follows(mmaOperandB(16, 8, 16, {1, 1}), [](const HardwareLocation &l) {
    return Coordinates{2 * (l.lane % 4) + l.reg % 2 + 8 * (l.reg / 2), l.lane / 4};
  }));
  REQUIRE(follows(mmaOperandB(32, 8, 8, {1, 1}), [](const HardwareLocation &l) {
    return Coordinates{4 * (l.lane % 4) + l.reg % 4 + 16 * (l.reg / 4), l.lane / 4};
  }));
}

// tcgen05.ld and st of the shape 32x32b.
TEST_CASE("128 rows of tensor memory have a row in each lane", "[layout][stock][unit]") {
  Result<FragmentLayout> one = tensorMemoryFragment(128, 48, 32, 4),
                         two = tensorMemoryFragment(128, 48, 16, 8);
  REQUIRE((one && two));
  REQUIRE(follows(*one, [](const HardwareLocation &l) { return Coordinates{32 * l.warp + l.lane, l.reg}; }));
  REQUIRE(follows(*two, [](const HardwareLocation &l) {
    return Coordinates{32 * (l.warp % 4) + l.lane, 24 * (l.warp / 4) + l.reg};
  }));
  requireLaws(*one);
  requireLaws(*two);
  REQUIRE(tensorMemoryFragment(128, 48, 32, 6).error().message ==
          "expected whole warpgroups because each warp of one reaches a quarter of the lanes of tensor "
          "memory, but "
          "got 6 warps");
  REQUIRE(tensorMemoryFragment(128, 34, 16, 8).error().message ==
          "expected columns of 16 bits that 2 warpgroups can share because each has a multiple of 32 "
          "bits of 128 rows of tensor memory, but got 34");
}

// tcgen05.ld and st of the shapes 16x256b and 16x128b.
TEST_CASE("64 rows of tensor memory are as in wgmma's accumulator", "[layout][stock][unit]") {
  for (int bits : {32, 16})
    for (int64_t warpgroups : {1, 2})
      REQUIRE(*tensorMemoryFragment(64, 48, bits, 4 * warpgroups) ==
              wgmmaAccumulator(64, 48, {1, warpgroups}));
  REQUIRE(follows(*tensorMemoryFragment(64, 32, 8, 4), [](const HardwareLocation &l) {
    return Coordinates{16 * l.warp + l.lane / 4 + 8 * (l.reg / 4 % 2),
                       4 * (l.lane % 4) + l.reg % 4 + 16 * (l.reg / 8)};
  }));
  REQUIRE(
      tensorMemoryFragment(64, 24, 32, 8).error().message ==
      "expected columns of 32 bits that 2 warpgroups can share because each has a multiple of 256 bits of "
      "64 rows of tensor memory, but got 24");
}

TEST_CASE("the operands of a warp meet its accumulator", "[layout][stock][unit]") {
  for (WarpGrid grid : {WarpGrid{2, 2}, WarpGrid{4, 1}, WarpGrid{1, 4}, WarpGrid{3, 2}}) {
    int64_t m = 96, n = 72, k = 32;
    FragmentLayout c = mmaAccumulator(m, n, grid), a = mmaOperandA(m, k, 16, grid),
                   b = mmaOperandB(k, n, 16, grid);
    for (const FragmentLayout &layout : {a, b, c})
      requireLaws(layout);
    for (int64_t warp = 0; warp < c.numWarps(); ++warp) {
      std::set<int64_t> rowsOfA, rowsOfC, columnsOfB, columnsOfC;
      auto collect = [&](const FragmentLayout &layout, size_t axis, std::set<int64_t> &into) {
        for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg)
          for (int64_t lane = 0; lane < 32; ++lane)
            into.insert(layout.coordinatesOf({reg, lane, warp})[axis]);
      };
      collect(a, 0, rowsOfA);
      collect(c, 0, rowsOfC);
      collect(b, 1, columnsOfB);
      collect(c, 1, columnsOfC);
      REQUIRE(rowsOfA == rowsOfC);
      REQUIRE(columnsOfB == columnsOfC);
    }
  }
}

TEST_CASE("policies divide the warps", "[layout][stock][unit]") {
  REQUIRE(wgmmaGrid(128, 128, 2, WarpPolicy::fullRow) == WarpGrid{2, 1});
  REQUIRE(wgmmaGrid(128, 128, 2, WarpPolicy::fullColumn) == WarpGrid{1, 2});
  REQUIRE(wgmmaGrid(128, 256, 2, WarpPolicy::square) == WarpGrid{1, 2});
  REQUIRE(wgmmaGrid(128, 128, 2, WarpPolicy::square) == WarpGrid{2, 1});
  REQUIRE(wgmmaGrid(64, 256, 2, WarpPolicy::square) == WarpGrid{1, 2});
  REQUIRE(wgmmaGrid(192, 128, 3, WarpPolicy::square) == WarpGrid{3, 1});
  REQUIRE(mmaGrid(64, 64, 4, WarpPolicy::square) == WarpGrid{2, 2});
  REQUIRE(mmaGrid(16, 256, 8, WarpPolicy::square) == WarpGrid{1, 8});
}

TEST_CASE("ldmatrix and stmatrix are matched in both forms", "[layout][stock][unit]") {
  FragmentLayout accumulator = wgmmaAccumulator(64, 128, {1, 1});
  std::optional<MatrixFragment> plain = matchMatrixFragment(accumulator, 1, 16);
  REQUIRE(plain);
  REQUIRE(*plain == MatrixFragment{0, 1, MatrixFragment::Form::plain, 32});
  std::optional<MatrixFragment> transposed = matchMatrixFragment(accumulator, 0, 16);
  REQUIRE(transposed);
  REQUIRE(transposed->form == MatrixFragment::Form::transposed);
  REQUIRE(transposed->rowAxis == 1);
  REQUIRE(matchMatrixFragment(mmaOperandB(16, 8, 16, {1, 1}), 0, 16)->form == MatrixFragment::Form::plain);
  REQUIRE(matchMatrixFragment(mmaOperandB(32, 8, 8, {1, 1}), 0, 8)->form == MatrixFragment::Form::plain);
  REQUIRE(matchMatrixFragment(mmaOperandA(16, 32, 8, {1, 1}), 1, 8)->matricesPerWarp == 4);
  REQUIRE_FALSE(matchMatrixFragment(mmaOperandB(32, 8, 8, {1, 1}), 1, 8)); // bytes are not transposed
  REQUIRE(matchMatrixFragment(mmaOperandB(8, 8, 32, {1, 1}), 0, 32)->form == MatrixFragment::Form::plain);
  REQUIRE(matchMatrixFragment(mmaOperandA(16, 8, 32, {1, 1}), 1, 32)->matricesPerWarp == 4);
  REQUIRE_FALSE(matchMatrixFragment(mmaOperandB(8, 8, 32, {1, 1}), 1, 32)); // nor are words
  REQUIRE_FALSE(matchMatrixFragment(accumulator, 1, 32));
  REQUIRE_FALSE(matchMatrixFragment(blockedLayout({64, 128}, 16, 4, 1), 1, 16));
  REQUIRE_FALSE(matchMatrixFragment(FragmentLayout(), 0, 16));
}

TEST_CASE("blocked layouts are coalesced", "[layout][stock][unit]") {
  FragmentLayout layout = blockedLayout({128, 64}, 16, 4, 1);
  REQUIRE(printLayout(layout) == "reg(8@1:1, 8@0:16) lane(8@1:8, 4@0:1) warp(4@0:4)");
  REQUIRE(layout.contiguousAlong(1) == 8);
  REQUIRE(blockedLayout({64, 128}, 16, 4, 0) == blockedLayout({128, 64}, 16, 4, 1).transposed({1, 0}));
  REQUIRE(blockedLayout({4, 100}, 16, 1, 1).contiguousAlong(1) % 4 == 0);
  REQUIRE(blockedLayout({4096}, 32, 4, 0, 8).contiguousAlong(0) == 2);
}

TEST_CASE("blocked layouts are total", "[layout][stock][unit]") {
  std::mt19937 random(Catch::rngSeed());
  for (int i = 0; i < 400; ++i) {
    Shape shape(random() % 4);
    for (int64_t &extent : shape)
      extent = 1 + int64_t(random() % (random() % 2 ? 9 : 70));
    int64_t warps = std::vector<int64_t>{1, 2, 3, 4, 8, 12}[random() % 6];
    int bits = std::vector<int>{4, 8, 16, 32, 64, 128}[random() % 6];
    int axis = shape.empty() ? 0 : int(random() % shape.size());
    FragmentLayout layout = blockedLayout(shape, bits, warps, axis);
    INFO(printShape(shape) << " of " << bits << " bits in " << warps << " warps: " << printLayout(layout));
    REQUIRE(layout.covers(shape));
    REQUIRE(layout.numWarps() == warps);
    REQUIRE(layout.replication(HardwareAxis::reg) == 1);
    int64_t elements = 1;
    for (int64_t extent : shape)
      elements *= extent;
    // No more than one register beyond the need of power-of-two rounding per axis.
    REQUIRE(layout.registersPerThread() <=
            std::max<int64_t>(128 / bits, 1) * ceilDiv(elements * 16, layout.numThreads()) + 16);
  }
}
