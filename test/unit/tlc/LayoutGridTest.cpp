// SPDX-License-Identifier: Apache-2.0
/// \file
/// Grids against the layouts that they show.
#include "tools/tlc/LayoutGrid.h"

#include "dialects/layout/StockLayouts.h"

#include <catch2/catch.hpp>
#include <map>

using namespace tlc;
using namespace tlc::driver;

namespace {

PlacedTile tileOf(Shape shape, int elementBits,
                  std::variant<FragmentLayout, SharedLayout, TensorMemoryLayout> layout) {
  return {"k", "t", "", "b" + std::to_string(elementBits), std::move(shape), elementBits, std::move(layout),
          1,   {}};
}

int64_t number(const ElementPlace &place, std::string_view name) {
  for (const auto &[key, value] : place.numbers)
    if (key == name)
      return value;
  FAIL("no " << name);
  return 0;
}

/// Every element of the part is in one cell, and nothing else is in any.
void checkCovers(const LayoutGrid &grid) {
  std::map<std::pair<int64_t, int64_t>, int> cells;
  for (const LayoutCell &cell : grid.cells)
    for (int64_t row = cell.row; row < cell.row + cell.rows; ++row)
      for (int64_t column = cell.column; column < cell.column + cell.columns; ++column)
        ++cells[{row, column}];
  CHECK(int64_t(cells.size()) == grid.rows.size() * grid.columns.size());
  for (const auto &[position, count] : cells) {
    CHECK(count == 1);
    CHECK((position.first >= grid.rows.begin && position.first < grid.rows.end));
    CHECK((position.second >= grid.columns.begin && position.second < grid.columns.end));
  }
}

} // namespace

TEST_CASE("a fragment's elements are where its layout has them", "[layout-grid]") {
  const PlacedTile tile = tileOf({64, 16}, 32, wgmmaAccumulator(64, 16, {1, 1}));
  // The example of dialects/layout/Layout.h.
  const ElementPlace place = placeOf(tile, {43, 3});
  CHECK(number(place, "warp") == 2);
  CHECK(number(place, "lane") == 13);
  CHECK(number(place, "register") == 3);
  const LayoutGrid grid = makeGrid(tile, {});
  checkCovers(grid);
  CHECK(grid.cellColumns == 2);
  CHECK(grid.cells.front().text == "w0 l0 r0-1");
  CHECK(grid.rows == Range{0, 16});
  CHECK(grid.omitted(tile.shape) ==
        "rows 0 to 15 of 64, columns 0 to 15 of 16; --rows and --columns show others");
}

TEST_CASE("a shared tile's elements are where the swizzle puts them", "[layout-grid]") {
  const PlacedTile tile =
      tileOf({128, 256}, 16, SharedLayout::swizzled({128, 256}, 16, 1, Swizzle::bytes128));
  // The example of dialects/layout/SharedLayout.h.
  const ElementPlace place = placeOf(tile, {3, 70});
  CHECK(number(place, "offset") == 16384 + 3 * 128 + 48 + 12);
  CHECK(number(place, "bank") == 15);
  const LayoutGrid grid = makeGrid(tile, {Range{0, 9}, Range{64, 128}});
  checkCovers(grid);
  CHECK(grid.cellColumns == 8);
  CHECK(grid.cells.front().text == "16384 b0-3");
  // A column of chunks is in all banks.
  std::map<int64_t, int> colours;
  for (const LayoutCell &cell : grid.cells)
    if (cell.column == 64 && cell.row < 8)
      ++colours[cell.colour];
  CHECK(colours.size() == 8);
}

TEST_CASE("cells run along the axis that is contiguous", "[layout-grid]") {
  const PlacedTile tile = tileOf({64, 32}, 16, SharedLayout::swizzled({64, 32}, 16, 0, Swizzle::bytes128));
  const LayoutGrid grid = makeGrid(tile, {});
  checkCovers(grid);
  CHECK(grid.cellRows == 8);
  CHECK(grid.cellColumns == 1);
}

TEST_CASE("parts of cells, other ranks and widths are shown", "[layout-grid]") {
  const auto check = [](const PlacedTile &tile, const GridPart &part = {}) {
    const LayoutGrid grid = makeGrid(tile, part);
    checkCovers(grid);
    CHECK(toSvg(tile, grid).starts_with("<?xml"));
    return grid;
  };
  const PlacedTile accumulator = tileOf({64, 16}, 32, wgmmaAccumulator(64, 16, {1, 1}));
  CHECK(check(accumulator, {Range{3, 4}, Range{5, 8}}).cells.front().text == "w0 l14 r1");
  CHECK(check(tileOf({}, 32, FragmentLayout())).cells.front().text == "w0 l0 r0");
  CHECK(check(tileOf({8}, 16, FragmentLayout::replicated({8}, 4))).cells.front().text == "w0 l0 r0-7");
  CHECK(check(tileOf({3, 5}, 32, defaultLayout({3, 5}, 32, 4))).omitted({3, 5}).empty());
  const PlacedTile staging =
      tileOf({2, 2, 64, 64}, 16, SharedLayout::swizzled({2, 2, 64, 64}, 16, 3, Swizzle::bytes128));
  CHECK(
      check(staging).omitted(staging.shape).starts_with("the first 64x64 of 2x2x64x64, rows 0 to 15 of 64"));
  const PlacedTile fours = tileOf({8, 64}, 4, SharedLayout::plain({8, 64}, 4, 1));
  CHECK(check(fours).cells.front().text == "0 b0");
  // Rows in the order of accumulators: cells are as wide as what lies side by side.
  const PlacedTile interleaved =
      tileOf({8, 32}, 8, *SharedLayout::plain({8, 32}, 8, 1).withOrder(interleavedRows()));
  CHECK(check(interleaved).cellColumns == 2);
}

TEST_CASE("tensor memory has a row in each lane", "[layout-grid]") {
  const PlacedTile tile = tileOf({128, 64}, 16, TensorMemoryLayout{64, 16});
  const ElementPlace place = placeOf(tile, {70, 5});
  CHECK(number(place, "lane") == 70);
  CHECK(number(place, "column") == 2);
  CHECK(number(place, "bit") == 16);
  checkCovers(makeGrid(tile, {}));
}

TEST_CASE("what a thread holds several times is said", "[layout-grid]") {
  const PlacedTile tile = tileOf({8}, 16, FragmentLayout::replicated({8}, 4));
  CHECK(tile.facts() ==
        std::vector<std::string>{"4 warps, 8 elements per thread",
                                 "register r is a thread's element r: 2 of 16 bits lie in a register of 32",
                                 "128 places hold each element; the first is shown"});
}
