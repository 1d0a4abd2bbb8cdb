// SPDX-License-Identifier: Apache-2.0
/// \file
/// Layouts of reshaped tiles hold the same bits in the same places, whatever the extents and widths.
#include "dialects/layout/Reshape.h"

#include "dialects/layout/StockLayouts.h"
#include "test/unit/layout/LayoutLaws.h"

#include <numeric>

using namespace tlc;
using namespace tlc::test;

namespace {

int64_t countOf(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

/// Every shape of so many elements with at most so many axes.
std::vector<Shape> shapesOf(int64_t count, int axes) {
  std::vector<Shape> shapes = {{count}};
  for (int64_t first = 1; axes > 1 && first <= count; ++first)
    if (count % first == 0)
      for (Shape &rest : shapesOf(count / first, axes - 1)) {
        rest.insert(rest.begin(), first);
        shapes.push_back(std::move(rest));
      }
  return shapes;
}

/// The number of the first bit of what a location holds; -1 for padding.
int64_t bitAt(const FragmentLayout &layout, const HardwareLocation &at, const RowMajorTile &tile) {
  if (!layout.isInside(at, tile.shape))
    return -1;
  Coordinates coordinates = layout.coordinatesOf(at);
  int64_t number = 0;
  for (size_t axis = 0; axis < coordinates.size(); ++axis)
    number = number * tile.shape[axis] + coordinates[axis];
  return number * tile.elementBits;
}

/// Every part of every register holds the same bit in both.
void requireSameBits(const FragmentLayout &a, const RowMajorTile &ofA, const FragmentLayout &b,
                     const RowMajorTile &ofB) {
  INFO(printLayout(a) << " of " << printShape(ofA.shape) << " with " << ofA.elementBits << " bits, "
                      << printLayout(b) << " of " << printShape(ofB.shape) << " with " << ofB.elementBits);
  REQUIRE(a.numWarps() == b.numWarps());
  REQUIRE(a.registersPerThread() * ofA.elementBits == b.registersPerThread() * ofB.elementBits);
  int bits = std::min(ofA.elementBits, ofB.elementBits);
  bool same = true;
  for (int64_t part = 0; part * bits < a.registersPerThread() * ofA.elementBits; ++part)
    for (int64_t lane = 0; lane < lanesPerWarp; ++lane)
      for (int64_t warp = 0; warp < a.numWarps(); ++warp) {
        auto bitOf = [&](const FragmentLayout &layout, const RowMajorTile &tile) {
          int64_t start = bitAt(layout, {part * bits / tile.elementBits, lane, warp}, tile);
          return start < 0 ? start : start + part * bits % tile.elementBits;
        };
        same &= bitOf(a, ofA) == bitOf(b, ofB);
      }
  REQUIRE(same);
}

} // namespace

TEST_CASE("a reshaped layout holds the same bits, and the way back gives the layout", "[layout][unit]") {
  std::mt19937 random(Catch::rngSeed());
  int reshapes = 0;
  for (int i = 0; i < 300; ++i) {
    FragmentLayout layout = randomLayout(random, 1 + int(random() % 3));
    RowMajorTile from{layout.coveredShape(), 16};
    if (random() % 3 == 0) { // padding along some axis
      int64_t &extent = from.shape[random() % from.shape.size()];
      extent -= int64_t(random() % uint64_t(extent));
    }
    for (int bits : {8, 16, 32}) {
      int64_t count = countOf(from.shape) * from.elementBits;
      if (count % bits != 0 || count / bits > 5000)
        continue;
      std::vector<Shape> shapes = shapesOf(count / bits, 3);
      RowMajorTile to{shapes[random() % shapes.size()], bits};
      std::optional<FragmentLayout> result = reshaped(layout, from, to);
      if (!result)
        continue;
      ++reshapes;
      requireSameBits(layout, from, *result, to);
      REQUIRE(result->covers(to.shape));
      REQUIRE(reshaped(*result, to, from) == layout);
    }
  }
  REQUIRE(reshapes > 100);
}

TEST_CASE("there is a layout for every reshape", "[layout][unit]") {
  std::mt19937 random(Catch::rngSeed());
  for (int64_t count : {1, 6, 15, 64, 96, 210, 1024, 1155, 4096, 4608})
    for (int left = count < 1000 ? 40 : 10; left > 0; --left) { // tiles of more take seconds under QEMU
      int bits = 8 << random() % 3, parts = 1 << random() % 3;
      std::vector<Shape> wide = shapesOf(count, 3), narrow = shapesOf(count * parts, 3);
      RowMajorTile from{wide[random() % wide.size()], bits * parts},
          to{narrow[random() % narrow.size()], bits};
      if (random() % 2 == 0)
        std::swap(from, to);
      int64_t warps = std::vector<int64_t>{1, 3, 4, 6, 8}[random() % 5];
      FragmentLayout layout = reshapableLayout(from, to, warps);
      INFO(printLayout(layout) << " of " << printShape(from.shape) << " " << from.elementBits << " to "
                               << printShape(to.shape) << " " << to.elementBits);
      REQUIRE(layout.numWarps() == warps);
      REQUIRE(layout.covers(from.shape));
      std::optional<FragmentLayout> result = reshaped(layout, from, to);
      REQUIRE(result);
      requireSameBits(layout, from, *result, to);
    }
}

TEST_CASE("the parts of elements belong to the last axes that both tiles cut", "[layout][unit]") {
  const RowMajorTile narrow{{24, 128}, 16}, wide{{24, 64}, 32};
  for (auto [from, to] : {std::pair(narrow, wide), std::pair(wide, narrow)})
    for (int64_t warps : {1, 4, 8}) {
      FragmentLayout layout = reshapableLayout(from, to, warps);
      std::optional<FragmentLayout> result = reshaped(layout, from, to);
      REQUIRE(result);
      requireSameBits(layout, from, *result, to);
    }
}

TEST_CASE("powers of two are spread over all threads", "[layout][unit]") {
  FragmentLayout layout = reshapableLayout({{64, 64}, 16}, {{16, 256}, 16}, 4);
  CHECK(printLayout(layout) == "reg(8@1:1, 4@0:16) lane(8@1:8, 4@0:1) warp(4@0:4)");
}

TEST_CASE("axes of extent 1 and of the same elements change no place", "[layout][unit]") {
  std::mt19937 random(Catch::rngSeed());
  for (const Shape &shape : {Shape{2, 3, 500}, Shape{2, 3, 250}, Shape{7, 33}, Shape{5}, Shape{1, 1000}}) {
    for (int i = 0; i < 10; ++i) {
      Shape wider = shape, joined = shape;
      for (int64_t axes = 1 + int64_t(random() % 2); axes > 0; --axes)
        wider.insert(wider.begin() + int64_t(random() % (wider.size() + 1)), 1);
      if (joined.size() > 2)
        joined = {shape[0] * shape[1], shape[2]};
      int64_t warps = 1 << random() % 4;
      for (const Shape &to : {wider, joined}) {
        INFO(printShape(shape) << " to " << printShape(to) << " in " << warps << " warps");
        FragmentLayout layout = reshapableLayout({shape, 32}, {to, 32}, warps);
        if (to == wider)
          CHECK(layout == defaultLayout(shape, 32, warps));
        CHECK(layout.registersPerThread() <= 2 * defaultLayout(shape, 32, warps).registersPerThread());
        std::optional<FragmentLayout> result = reshaped(layout, {shape, 32}, {to, 32});
        REQUIRE(result);
        requireSameBits(layout, {shape, 32}, *result, {to, 32});
        CHECK(reshaped(*result, {to, 32}, {shape, 32}) == layout);
      }
    }
  }
  // Padding of an axis of its own is no element of another one.
  FragmentLayout rows = FragmentLayout::get(2, {}, {{8, 0, 1}, {4, 1, 1}}, {});
  CHECK_FALSE(reshaped(rows, {{1, 4}, 32}, {{4}, 32}));
}

TEST_CASE("words of pairs follow from the left factor of wgmma", "[layout][unit]") {
  FragmentLayout factor = wgmmaOperandA(128, 32, 16, {2, 1});
  std::optional<FragmentLayout> words = reshaped(factor, {{128, 32}, 16}, {{128, 16}, 32});
  REQUIRE(words);
  CHECK(printLayout(factor) == "reg(2@1:1, 2@0:8, 4@1:8) lane(4@1:2, 8@0:1) warp(8@0:16)");
  CHECK(printLayout(*words) == "reg(2@0:8, 4@1:4) lane(4@1:1, 8@0:1) warp(8@0:16)");
}

TEST_CASE("what cannot be reshaped is known", "[layout][unit]") {
  // Columns 5 to 7 are padding, in the midst of the elements.
  FragmentLayout padded = blockedLayout({3, 5}, 32, 1, 1);
  CHECK_FALSE(reshaped(padded, {{3, 5}, 32}, {{15}, 32}));
  // Pairs of lanes are not parts of three columns.
  FragmentLayout row = blockedLayout({1, 96}, 32, 1, 1);
  CHECK_FALSE(reshaped(row, {{1, 96}, 32}, {{32, 3}, 32}));
  // The halves of a word are in different lanes.
  FragmentLayout halves = FragmentLayout::get(1, {}, {{32, 0, 1}}, {});
  CHECK_FALSE(reshaped(halves, {{32}, 16}, {{16}, 32}));
  // Padding at the end stays there.
  FragmentLayout outer = blockedLayout({24}, 32, 1, 0, 4);
  CHECK(reshaped(outer, {{24}, 32}, {{3, 8}, 32}));
}
