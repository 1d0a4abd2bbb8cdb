// SPDX-License-Identifier: Apache-2.0
/// \file
/// Columns of tensor memory: tiles of 128 rows, and of 64, of which two share columns.
#include "runtime/target/TensorColumns.h"

#include <catch2/catch.hpp>
#include <random>

using namespace tlc;

namespace {
void checkPlace(const TensorPlace &place, int64_t column, int64_t lane) {
  CHECK(place.column == column);
  CHECK(place.lane == lane);
}
} // namespace

TEST_CASE("tiles of 128 rows have columns of their own", "[target][columns]") {
  TensorColumns columns;
  CHECK(columns.used() == 0);
  columns.add(128, 96);
  columns.add(128, 1);
  columns.resize(0, 192);
  columns.add(128, 32);
  CHECK(columns.used() == 225);
  const std::vector<TensorPlace> places = columns.places();
  checkPlace(places[0], 0, 0);
  checkPlace(places[1], 192, 0);
  checkPlace(places[2], 193, 0);
}

TEST_CASE("tiles of 64 rows lie beside each other, in half of the lanes each", "[target][columns]") {
  TensorColumns columns;
  columns.add(64, 512);
  CHECK(columns.used() == 512);
  columns.add(64, 64);
  CHECK(columns.used() == 512);
  columns.add(64, 448);
  CHECK(columns.used() == 512);
  std::vector<TensorPlace> places = columns.places();
  checkPlace(places[0], 0, 16);
  checkPlace(places[1], 0, 0);
  checkPlace(places[2], 64, 0);
  columns.add(128, 8); // whose lanes are all
  CHECK(columns.used() == 520);
  places = columns.places();
  checkPlace(places[2], 72, 0);
  checkPlace(places[3], 0, 0);
}

TEST_CASE("a factor and its product's sum have the same lanes", "[target][columns]") {
  TensorColumns columns;
  const size_t scores = columns.add(64, 64), sum = columns.add(64, 256), weights = columns.add(64, 32);
  CHECK(columns.used() == 256);
  columns.joinLanes(weights, sum);
  CHECK(columns.used() == 288);
  columns.joinLanes(scores, weights);
  CHECK(columns.used() == 352);
  const size_t others = columns.add(64, 352);
  CHECK(columns.used() == 352);
  const std::vector<TensorPlace> places = columns.places();
  CHECK(places[scores].lane == places[sum].lane);
  CHECK(places[weights].lane == places[sum].lane);
  CHECK(places[others].lane != places[sum].lane);
}

TEST_CASE("no two tiles share cells, and halves take as few columns as can be", "[target][columns]") {
  std::mt19937 random(46);
  for (int round = 0; round < 200; ++round) {
    TensorColumns columns;
    struct Tile {
      int64_t rows, columns;
    };
    std::vector<Tile> tiles(random() % 7);
    int64_t whole = 0, halves = 0;
    for (Tile &tile : tiles) {
      tile = {random() % 2 == 0 ? 128 : 64, int64_t(random() % 128 + 1)};
      columns.add(tile.rows, tile.columns);
      (tile.rows == 128 ? whole : halves) += tile.columns;
    }
    const std::vector<TensorPlace> places = columns.places();
    for (size_t i = 0; i < tiles.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        const bool apart = places[i].column + tiles[i].columns <= places[j].column ||
                           places[j].column + tiles[j].columns <= places[i].column;
        CHECK((apart || (tiles[i].rows == 64 && tiles[j].rows == 64 && places[i].lane != places[j].lane)));
      }
    int64_t least = halves;
    for (unsigned chosen = 0; chosen < 1u << tiles.size(); ++chosen) {
      int64_t upper = 0;
      for (size_t i = 0; i < tiles.size(); ++i)
        upper += tiles[i].rows == 64 && (chosen >> i & 1) ? tiles[i].columns : 0;
      least = std::min(least, std::max(upper, halves - upper));
    }
    CHECK(columns.used() == whole + least);
  }
}
