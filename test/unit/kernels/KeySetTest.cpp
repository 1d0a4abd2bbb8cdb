// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which tiles of keys are visited, and which are masked, follows from a mask's rule: every one that some
/// query sees, once, and unmasked only where all do. Positions are C++ numbers here, so that nothing is
/// compiled.
#include "kernels/attention/mask/Mask.h"

#include <catch2/catch.hpp>
#include <set>

using namespace tlc;
using namespace tlc::kernels;

namespace {

using Oracle = std::function<bool(int64_t query, int64_t key, int64_t queries, int64_t keys)>;

int64_t number(const dsl::Index &index) {
  REQUIRE(index.constant());
  return *index.constant();
}

enum class Visits : uint8_t {
  exact, ///< of no tile that nobody sees
  hull,  ///< of tiles between those that somebody sees, too
};

/// All tiles of queries of a sequence.
void checkSequence(const Mask &mask, const Oracle &sees, int64_t queries, int64_t keys, int64_t queriesOfTile,
                   int64_t keysOfTile, Visits visits) {
  Sequence sequence{.batch = 0, .head = 0, .queries = queries, .keys = keys};
  for (int64_t row = 0; row < queries; row += queriesOfTile) {
    int64_t last = std::min(row + queriesOfTile, queries) - 1;
    KeyTiles tiles(mask.seen(sequence, {row, last}), keys, keysOfTile);
    INFO(queries << " queries, " << keys << " keys, tiles of " << queriesOfTile << " x " << keysOfTile
                 << ", rows " << row << " to " << last);
    int64_t count = number(tiles.count), edges = number(tiles.edges);
    REQUIRE(edges >= 0);
    REQUIRE(edges <= count);
    std::set<int64_t> visited, unmasked;
    for (int64_t i = 0; i < count; ++i) {
      int64_t tile = number(tiles.at(i));
      REQUIRE(tile >= 0);
      REQUIRE(tile * keysOfTile < keys);
      REQUIRE(visited.insert(tile).second);
      if (i >= edges)
        unmasked.insert(tile);
    }
    for (int64_t tile = 0; tile * keysOfTile < keys; ++tile) {
      bool some = false, all = true;
      for (int64_t key = tile * keysOfTile; key < (tile + 1) * keysOfTile; ++key)
        for (int64_t query = row; query <= last; ++query) {
          bool seen = key < keys && sees(query, key, queries, keys);
          if (key < keys)
            REQUIRE(mask.visible(sequence, Positions(query), Positions(key)).constant() == seen);
          some |= seen;
          all &= seen;
        }
      INFO("tile " << tile);
      if (some)
        REQUIRE(visited.contains(tile));
      if (visits == Visits::exact)
        REQUIRE(visited.contains(tile) == some);
      if (unmasked.contains(tile))
        REQUIRE(all);
    }
    KeyTiles one = tiles.orOne();
    REQUIRE(number(one.count) == std::max<int64_t>(count, 1));
    REQUIRE(number(one.edges) == (count == 0 ? 1 : edges));
    for (int64_t i = 0; i < count; ++i)
      REQUIRE(number(one.at(i)) == number(tiles.at(i)));
  }
}

constexpr int64_t lengths[] = {0, 1, 5, 8, 16, 22, 40};

void checkAll(const Mask &mask, const Oracle &sees, Visits visits = Visits::exact) {
  for (int64_t queries : lengths)
    for (int64_t keys : lengths)
      for (int64_t rows : {4, 16})
        for (int64_t columns : {4, 8, 16})
          checkSequence(mask, sees, queries, keys, rows, columns, visits);
}

void checkNamed(const MaskConfig &config) {
  checkAll(maskOf(config), [&](int64_t query, int64_t key, int64_t queries, int64_t keys) {
    return config.visible(query, key, queries, keys);
  });
}

} // namespace

TEST_CASE("causal masks and windows visit what is seen", "[kernels][attention]") {
  for (CausalAlignment causal : {CausalAlignment::none, CausalAlignment::left, CausalAlignment::right})
    for (std::optional<int64_t> left :
         {std::optional<int64_t>(), std::optional<int64_t>(0), std::optional<int64_t>(6)})
      for (std::optional<int64_t> right : {std::optional<int64_t>(), std::optional<int64_t>(9)})
        checkNamed({.causal = causal, .windowLeft = left, .windowRight = right});
}

TEST_CASE("block-causal masks visit what is seen, whatever the block", "[kernels][attention]") {
  for (int64_t block : {1, 2, 3, 4, 7, 8, 16, 100}) {
    MaskConfig config{.blockCausal = block};
    auto sees = [&](int64_t query, int64_t key, int64_t queries, int64_t keys) {
      return config.visible(query, key, queries, keys);
    };
    for (int64_t length : {0, 2, 8, 10, 16, 22, 40, 64})
      for (int64_t rows : {4, 16})
        for (int64_t columns : {4, 8, 16}) {
          // A tile of queries in both halves takes a hull.
          Visits visits = length / 2 % rows == 0 ? Visits::exact : Visits::hull;
          checkSequence(maskOf(config), sees, length, length, rows, columns, visits);
        }
  }
}

TEST_CASE("a rule of one's own gives its ranges", "[kernels][attention]") {
  // A prefix that everybody sees, and a causal rest: parts that overlap.
  checkAll(Mask::derived([](const Sequence &, auto query, auto key) { return key < 6 || key <= query; },
                         RowOrder::lastFirst),
           [](int64_t query, int64_t key, int64_t, int64_t) { return key < 6 || key <= query; });
  // Two ranges with a gap, written the other way round.
  checkAll(Mask::derived([](const Sequence &, auto query, auto key) {
             return (query >= key && key > query - 3) || (key >= 20 && key < 30);
           }),
           [](int64_t query, int64_t key, int64_t, int64_t) {
             return (query >= key && key > query - 3) || (key >= 20 && key < 30);
           });
}

TEST_CASE("without ranges all tiles are visited and masked", "[kernels][attention]") {
  Mask even = Mask::everywhere([](const Sequence &, const dsl::Index &query, const dsl::Index &key) {
    return (query + key) % 2 == 0;
  });
  auto sees = [](int64_t query, int64_t key, int64_t, int64_t) { return (query + key) % 2 == 0; };
  checkAll(even, sees, Visits::hull);
  KeyTiles tiles(even.seen({.batch = 0, .head = 0, .queries = 8, .keys = 20}, {0, 7}), 20, 8);
  CHECK(number(tiles.count) == 3);
  CHECK(number(tiles.edges) == 3);
}

TEST_CASE("ranges that see nothing visit nothing", "[kernels][attention]") {
  KeyTiles tiles(KeySet{}, 20, 8);
  CHECK(number(tiles.count) == 0);
  CHECK(number(tiles.edges) == 0);
  CHECK(number(tiles.orOne().count) == 1);
  CHECK(number(tiles.orOne().at(0)) == 0);
}
