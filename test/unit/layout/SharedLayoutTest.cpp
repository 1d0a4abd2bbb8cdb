// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shared-memory placements: injective, in bounds, the tutorial's numbers, messages.
#include "dialects/layout/SharedLayout.h"

#include "dialects/layout/SharedOperands.h"
#include "test/unit/layout/LayoutLaws.h"

#include <numeric>

using namespace tlc;
using namespace tlc::test;
using Catch::Contains;

namespace {

/// No two elements overlap and none lies outside the tile's bytes.
void requirePlacement(const SharedLayout &layout) {
  INFO(printSharedLayout(layout));
  REQUIRE(layout.map().problem() == "");
  int64_t bytes = std::max<int64_t>(1, layout.elementBits() / 8);
  std::set<int64_t> offsets;
  bool inside = true;
  forEachPoint(layout.shape(), [&](const Coordinates &at) {
    int64_t offset = layout.byteOffset(at);
    inside &= offset >= 0 && offset + bytes <= layout.totalBytes() && offset % bytes == 0 &&
              offsets.insert(offset).second;
    // The same without digits, and back.
    inside &= applySwizzle(layout.swizzle(), layout.linearOffset(at)) == offset;
    inside &= layout.map().find(std::vector<int64_t>{offset * 8}) == at;
  });
  REQUIRE(inside);
  Result<SharedLayout> parsed = parseSharedLayout(printSharedLayout(layout));
  REQUIRE(parsed);
  REQUIRE(*parsed == layout);
}

std::string failure(const Result<SharedLayout> &layout) {
  REQUIRE_FALSE(layout);
  return layout.error().message;
}

} // namespace

TEST_CASE("the tutorial's offsets are right", "[layout][shared][unit]") {
  SharedLayout tile = SharedLayout::preferred({128, 256}, 16, 1);
  REQUIRE(tile.swizzle() == Swizzle::bytes128);
  REQUIRE(tile.panels() == 4);
  REQUIRE(tile.panelPitch() == 16384);
  REQUIRE(tile.totalBytes() == 65536);
  REQUIRE(tile.alignment() == 1024);
  REQUIRE(tile.linearOffset({3, 70}) == 16384 + 3 * 128 + 12);
  REQUIRE(tile.byteOffset({3, 70}) == 16384 + 3 * 128 + 48 + 12);
}

TEST_CASE("the swizzles permute chunks of 16 bytes by the row", "[layout][shared][unit]") {
  for (Swizzle swizzle : {Swizzle::none, Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128})
    for (int64_t offset = 0; offset < 4096; ++offset) {
      int64_t moved = applySwizzle(swizzle, offset);
      REQUIRE(applySwizzle(swizzle, moved) == offset);
      REQUIRE(moved / swizzleSpan(swizzle) == offset / swizzleSpan(swizzle));
      REQUIRE(moved % 16 == offset % 16);
    }
  REQUIRE(applySwizzle(Swizzle::bytes128, 0x380) == 0x3f0);
  REQUIRE(applySwizzle(Swizzle::bytes64, 0x380) == 0x3b0);
  REQUIRE(applySwizzle(Swizzle::bytes32, 0x380) == 0x390);
  REQUIRE(applySwizzle(Swizzle::none, 0x380) == 0x380);
}

TEST_CASE("no two elements share a place", "[layout][shared][unit]") {
  for (int contiguous : {0, 1}) {
    for (Swizzle swizzle : {Swizzle::none, Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128})
      for (int bits : {8, 16, 32}) {
        requirePlacement(SharedLayout::swizzled({24, 80}, bits, contiguous, swizzle));
        requirePlacement(SharedLayout::swizzled({7, 13}, bits, contiguous, swizzle));
      }
    for (int64_t padding : {0, 4, 16})
      requirePlacement(SharedLayout::plain({13, 20}, 32, contiguous, padding));
  }
  requirePlacement(SharedLayout::plain({3, 5, 7}, 64, 2));
  requirePlacement(SharedLayout::swizzled({3, 9, 64}, 16, 2, Swizzle::bytes128));
  requirePlacement(SharedLayout::plain({77}, 16, 0));
  for (const Shape &shape : {Shape{1}, Shape{1, 1}, Shape{5, 1}, Shape{1, 5}, Shape{2, 1, 1}}) {
    SharedLayout layout = SharedLayout::plain(shape, 32, int(shape.size()) - 1);
    requirePlacement(layout);
    int64_t bytes = 4;
    for (int64_t extent : shape)
      bytes *= extent;
    REQUIRE(layout.totalBytes() == bytes);
  }
}

TEST_CASE("the preferred placement takes the widest full swizzle", "[layout][shared][unit]") {
  REQUIRE(SharedLayout::preferred({64, 64}, 16, 1).swizzle() == Swizzle::bytes128);
  REQUIRE(SharedLayout::preferred({64, 96}, 16, 1).swizzle() == Swizzle::bytes64);
  REQUIRE(SharedLayout::preferred({64, 176}, 16, 1).swizzle() == Swizzle::bytes32);
  REQUIRE(SharedLayout::preferred({64, 12}, 16, 1).swizzle() == Swizzle::none);
  REQUIRE(SharedLayout::preferred({64, 128}, 8, 1).panelExtent() == 128);
  REQUIRE(SharedLayout::preferred({128, 64}, 16, 0).contiguousAxis() == 0);
  REQUIRE(SharedLayout::preferred({128}, 32, 0).swizzle() == Swizzle::none);
  // Of fewer rows than a swizzle has, nothing is padding unless only panels suit the TMA.
  for (int64_t rows = 1; rows < 8; ++rows)
    for (Shape shape : {Shape{rows, 4096}, Shape{rows, 96}, Shape{32, rows, 128}, Shape{1, 2, rows, 8}}) {
      int64_t elements = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
      SharedLayout layout = SharedLayout::preferred(shape, 32, int(shape.size()) - 1);
      INFO(printSharedLayout(layout));
      CHECK(layout.totalBytes() == elements * 4);
      CHECK(tmaBoxes(layout));
    }
  CHECK(SharedLayout::preferred({2, 1040}, 32, 1).swizzle() == Swizzle::bytes64);
}

TEST_CASE("some rows of a tile keep its layout, but not one row whose panels lie apart",
          "[layout][shared][unit]") {
  SharedLayout tile = SharedLayout::swizzled({64, 128}, 16, 1, Swizzle::none); // panels of 16 bytes
  REQUIRE(tile.withShape({8, 128})->panels() == 16);
  REQUIRE(tile.withShape({1, 8}));
  REQUIRE_THAT(failure(tile.withShape({1, 128})),
               Contains("expected two rows or more because the row has 16 panels of 8 elements"));
}

TEST_CASE("vectors stay whole under swizzle, panels and padding", "[layout][shared][unit]") {
  REQUIRE(SharedLayout::preferred({64, 64}, 16, 1).contiguousElements() == 8);
  REQUIRE(SharedLayout::plain({64, 64}, 16, 1).contiguousElements() == 64);
  REQUIRE(SharedLayout::plain({64, 64}, 16, 1, 4).contiguousElements() == 2);
  REQUIRE(SharedLayout::plain({100}, 16, 0).contiguousElements() == 100);
  for (const SharedLayout &layout :
       {SharedLayout::swizzled({16, 64}, 16, 1, Swizzle::bytes64), SharedLayout::plain({8, 24}, 32, 1, 8)}) {
    int64_t run = layout.contiguousElements(), bytes = layout.elementBits() / 8;
    forEachPoint(layout.shape(), [&](const Coordinates &at) {
      Coordinates first = at;
      first[1] = at[1] / run * run;
      REQUIRE(layout.byteOffset(at) == layout.byteOffset(first) + (at[1] - first[1]) * bytes);
      REQUIRE(layout.byteOffset(first) % (run * bytes) == 0);
    });
  }
}

TEST_CASE("interleaved rows alternate pairs of their halves", "[layout][shared][unit]") {
  SharedLayout row = *SharedLayout::plain({2, 32}, 8, 1).withOrder(interleavedRows());
  std::vector<int64_t> elements(32);
  for (int64_t i = 0; i < 32; ++i)
    elements[size_t(row.byteOffset({0, i}))] = i;
  REQUIRE(elements == std::vector<int64_t>{0,  1,  8,  9,  2,  3,  10, 11, 4,  5,  12, 13, 6,  7,  14, 15,
                                           16, 17, 24, 25, 18, 19, 26, 27, 20, 21, 28, 29, 22, 23, 30, 31});
  REQUIRE(row.contiguousElements() == 2);
  REQUIRE_THAT(printSharedLayout(row), Catch::EndsWith("pad 0 interleaved"));
  for (Swizzle swizzle : {Swizzle::none, Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128}) {
    SharedLayout natural = SharedLayout::swizzled({24, 128}, 8, 1, swizzle);
    SharedLayout layout = *natural.withOrder(interleavedRows());
    requirePlacement(layout);
    REQUIRE(*layout.withOrder({}) == natural);
  }
  REQUIRE_THAT(failure(SharedLayout::plain({2, 24}, 8, 1).withOrder(interleavedRows())),
               Contains("panels and rows of a multiple of 16 elements") && Contains("got 24 and 24"));
}

TEST_CASE("a tile in the order of accumulators has each lane's four elements side by side",
          "[layout][shared][unit]") {
  for (const Shape &shape : {Shape{16, 8}, Shape{64, 128}, Shape{2, 32, 40}})
    for (int bits : {16, 32}) {
      SharedLayout layout =
          *SharedLayout::plain(shape, bits, int(shape.size()) - 1).withOrder(accumulatorOrder());
      requirePlacement(layout);
      REQUIRE(layout.isInPieces());
      REQUIRE(layout.rowOrder() == accumulatorOrder());
      REQUIRE_THAT(printSharedLayout(layout), Catch::EndsWith("pad 0 accumulator"));
      REQUIRE(layout.panels() == 1);
      REQUIRE(layout.contiguousElements() == 2);
      REQUIRE(layout.withOrder({})->hasNaturalOrder());
      int64_t bytes = bits / 8, columns = shape.back();
      size_t rows = shape.size() - 2;
      forEachPoint(layout.shape(), [&](const Coordinates &at) {
        int64_t row = at[rows], column = at[rows + 1], before = rows == 0 ? 0 : at[0] * shape[1] * columns;
        int64_t lane = row % 8 * 4 + column % 8 / 2, piece = row / 16 * (columns / 8) + column / 8;
        REQUIRE(layout.byteOffset(at) ==
                (before + piece * 128 + lane * 4 + row % 16 / 8 * 2 + column % 2) * bytes);
      });
    }
  REQUIRE_THAT(failure(SharedLayout::plain({24, 8}, 32, 1).withOrder(accumulatorOrder())),
               Contains("expected multiples of 16 rows and 8 columns") && Contains("got 24x8"));
  REQUIRE_THAT(
      failure(SharedLayout::swizzled({16, 64}, 16, 1, Swizzle::bytes128).withOrder(accumulatorOrder())),
      Contains("without a swizzle and padding"));
  REQUIRE_FALSE(SharedLayout::plain({16, 8}, 32, 1).isInPieces());
  REQUIRE_FALSE(SharedLayout::plain({128}, 32, 0).isInPieces());
}

TEST_CASE("a row may be in any order of digits", "[layout][shared][unit]") {
  SharedLayout layout = *SharedLayout::plain({4, 16}, 16, 1).withOrder({{2, 0, 2}, {2, 0, 1}});
  REQUIRE(printSharedLayout(layout) == "4x16 16b axis 1 panel 16 swizzle none pad 0 order(2:2, 2:1)");
  REQUIRE(layout.contiguousElements() == 1);
  requirePlacement(layout);
  SharedLayout natural = SharedLayout::preferred({16, 64}, 16, 1);
  REQUIRE(*natural.withOrder({{2, 0, 1}, {4, 0, 2}}) == natural); // digits that say nothing
  auto refused = [&](RowOrder order) { return failure(natural.withOrder(order)); };
  REQUIRE_THAT(refused({{2, 0, 1}, {2, 0, 1}}), Contains("each element has a place of its own"));
  REQUIRE_THAT(refused({{3, 0, 1}}), Contains("expected powers of two up to 1024") && Contains("got 3:1"));
}

TEST_CASE("random placements hold every element once", "[layout][shared][unit]") {
  std::mt19937 random(Catch::rngSeed());
  auto pick = [&](int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random); };
  for (int i = 0; i < 300; ++i) {
    Shape shape(size_t(1 + pick(4)));
    for (int64_t &extent : shape)
      extent = 1 + pick(shape.size() > 2 ? 6 : 40);
    int rank = int(shape.size()), bits = int(8 << pick(5));
    RowPlacement rows;
    rows.contiguousAxis = rank == 1 ? 0 : rank - 1 - int(pick(2));
    rows.swizzle =
        std::array{Swizzle::none, Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128}[size_t(pick(4))];
    rows.panelExtent = rows.swizzle == Swizzle::none ? 1 + pick(12) : swizzleSpan(rows.swizzle) * 8 / bits;
    rows.rowPadding = rows.swizzle == Swizzle::none ? pick(3) * 16 : 0;
    if (pick(2) == 0)
      rows.order = {{2, 0, 2}, {2, 0, 1}};
    if (Result<SharedLayout> layout = SharedLayout::create(shape, bits, rows))
      requirePlacement(*layout);
  }
}

TEST_CASE("contradictory placements are refused by name", "[layout][shared][unit]") {
  Shape shape = {64, 64};
  int bits = 16;
  RowPlacement rows = SharedLayout::preferred(shape, bits, 1).rowPlacement();
  REQUIRE(SharedLayout::create(shape, bits, rows));
  auto withRows = [&](auto change) {
    RowPlacement bad = rows;
    change(bad);
    return failure(SharedLayout::create(shape, bits, bad));
  };
  REQUIRE_THAT(withRows([](RowPlacement &r) { r.rowPadding = 16; }),
               Contains("expected no row padding with a 128-byte swizzle"));
  REQUIRE_THAT(withRows([](RowPlacement &r) { r.panelExtent = 32; }),
               Contains("expected panels of 64 elements") && Contains("got 32"));
  REQUIRE_THAT(withRows([](RowPlacement &r) { r.contiguousAxis = 2; }),
               Contains("one of the last two of 2 axes"));
  REQUIRE_THAT(withRows([](RowPlacement &r) {
                 r.swizzle = Swizzle::none;
                 r.rowPadding = -4;
               }),
               Contains("row padding of 0 to 4096"));
  REQUIRE_THAT(withRows([](RowPlacement &r) { r.panelExtent = 0; }), Contains("positive panel extent"));
  REQUIRE_THAT(failure(SharedLayout::create(shape, 24, rows)),
               Contains("power of two up to 128, but got 24"));
  REQUIRE_THAT(failure(SharedLayout::create({64, 0}, bits, rows)),
               Contains("positive extents") && Contains("64x0"));
  REQUIRE_THAT(failure(SharedLayout::create({}, bits, rows)), Contains("got rank 0"));
  REQUIRE_THAT(failure(SharedLayout::create({int64_t(1) << 40, int64_t(1) << 40}, bits, rows)),
               Contains("at most 2^40"));
  rows.contiguousAxis = 0;
  REQUIRE_THAT(failure(SharedLayout::create({64}, bits, rows)), Contains("rank 2 or more with a swizzle"));
  REQUIRE_THAT(failure(SharedLayout::create({8, 9}, 4, {1, 3})),
               Contains("panels of whole bytes, but got 3 elements of 4 bits"));
}

TEST_CASE("a part keeps the places of its elements, or is refused", "[layout][shared][unit]") {
  SharedLayout tile = *parseSharedLayout("64x128 16b axis 1 panel 64 swizzle none pad 0");
  REQUIRE(tile.panels() == 2);
  REQUIRE(tile.withShape({8, 64})->byteOffset({7, 63}) == tile.byteOffset({7, 63}));
  Result<SharedLayout> row = tile.withShape({1, 128});
  REQUIRE_FALSE(row);
  REQUIRE_THAT(row.error().message, Contains("expected two rows or more because the row has 2 panels of 64 "
                                             "elements, which lie apart, but got one"));
}

TEST_CASE("packed elements lie side by side", "[layout][shared][unit]") {
  SharedLayout odd = SharedLayout::plain({3, 9}, 4, 1);
  REQUIRE(odd.rowPitch() == 5); // rows begin with a byte
  REQUIRE(odd.totalBytes() == 15);
  REQUIRE(odd.map()(std::vector<int64_t>{1, 3}) == std::vector<int64_t>{40 + 12});
  REQUIRE(odd.byteOffset({1, 3}) == 6);
  REQUIRE(SharedLayout::preferred({64, 64}, 4, 1).swizzle() == Swizzle::bytes32);
  std::set<int64_t> bits;
  SharedLayout tile = SharedLayout::swizzled({24, 256}, 4, 1, Swizzle::bytes64);
  forEachPoint(tile.shape(), [&](const Coordinates &at) { bits.insert(tile.map()(at).front()); });
  REQUIRE(bits.size() == 24 * 256);
  REQUIRE(*bits.rbegin() == tile.totalBytes() * 8 - 4);
}

TEST_CASE("malformed text is refused at its column", "[layout][shared][text][unit]") {
  auto message = [](std::string_view text) {
    Result<SharedLayout> layout = parseSharedLayout(text);
    REQUIRE_FALSE(layout);
    return layout.error().message;
  };
  REQUIRE_THAT(message("x64"), Contains("expected an extent at column 1"));
  REQUIRE_THAT(message("64x64 16 axis 1"), Contains("element bits such as '16b'"));
  REQUIRE_THAT(message("64x64 16b axis 1 panel 64 swizzle 256 pad 0"),
               Contains("'none', '32', '64' or '128'"));
  REQUIRE_THAT(message("64x64 16b axis 1 panel 64 swizzle 128 pad 0 1"), Contains("expected the end"));
  REQUIRE_THAT(message("64x64 16b axis 1 panel 32 swizzle 128 pad 0"), Contains("expected panels of 64"));
}
