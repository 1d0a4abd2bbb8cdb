// SPDX-License-Identifier: Apache-2.0
#include "dialects/layout/AccumulatorOrder.h"

#include "dialects/layout/InstructionLayouts.h"
#include "dialects/layout/StockLayouts.h"

#include <catch2/catch.hpp>

using namespace tlc;

TEST_CASE("a piece in the order of accumulators is what a warp has of one", "[layout][unit]") {
  for (const FragmentLayout &layout :
       {mmaAccumulator(accumulatorRows.extent, accumulatorColumns.extent, {1, 1}),
        wgmmaAccumulator(64, accumulatorColumns.extent, {1, 1}), accumulatorFor(16, 8, 1)})
    for (int64_t lane = 0; lane < lanesPerWarp; ++lane)
      for (int64_t reg = 0; reg < adjacentInOrder; ++reg) {
        Coordinates at = layout.coordinatesOf({reg, lane, 0});
        CHECK(accumulatorRows.placeInPiece(at[0]) + accumulatorColumns.placeInPiece(at[1]) ==
              lane * adjacentInOrder + reg);
      }
}

TEST_CASE("the order follows an accumulator's digits", "[layout][unit]") {
  auto digitsOf = [](const AccumulatorAxis &axis) { return Modes(axis.digits.begin(), axis.digits.end()); };
  LayoutMap places({{axisDim(0), digitsOf(accumulatorRows)}, {axisDim(1), digitsOf(accumulatorColumns)}},
                   {axisDim(0)});
  CHECK(places.problem() == "");
  CHECK(places.size(0) == accumulatorRows.extent * accumulatorColumns.extent);
  LayoutMap adjacent(
      {{Dim::reg, {{adjacentInOrder, 0, 1}}}, {Dim::lane, {{lanesPerWarp, 0, adjacentInOrder}}}},
      {axisDim(0)});
  CHECK(mmaSyncAccumulator(mmaSyncRows).then(places) == adjacent);
}

TEST_CASE("an accumulator for any number of warps has pieces whole", "[layout][unit]") {
  for (int64_t warps : {1, 2, 3, 4, 8})
    for (Shape shape : {Shape{16, 8}, Shape{64, 64}, Shape{128, 24}, Shape{40, 40}}) {
      FragmentLayout layout = accumulatorFor(shape[0], shape[1], warps);
      CHECK(layout.numWarps() == warps);
      CHECK(layout.covers(shape));
      for (int64_t lane = 0; lane < lanesPerWarp; ++lane) {
        Coordinates first = layout.coordinatesOf({0, lane, 0}), below = layout.coordinatesOf({2, lane, 0});
        CHECK(below == Coordinates{first[0] + 8, first[1]});
      }
    }
}
