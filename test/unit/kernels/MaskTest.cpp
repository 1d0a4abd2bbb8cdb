// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which tiles are visited, along either axis, and which are masked, follows from a mask's rule: every one
/// with a pair that is visible, once, and unmasked only where all pairs are. Positions are C++ numbers here,
/// so that nothing is compiled.
#include "kernels/attention/mask/Mask.h"

#include "kernels/reference/Attention.h"

#include <catch2/catch.hpp>
#include <numeric>
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
  exact,  ///< of no tile that nobody sees, and masked only where some pair is not visible
  masked, ///< of no tile that nobody sees
  hull,   ///< of tiles between those that somebody sees, too
};

/// The tiles that a tile from position `first` to `last` of one axis visits, of `positions` positions of the
/// other axis.
void checkVisits(const VisitedTiles &tiles, const std::function<bool(int64_t own, int64_t other)> &sees,
                 int64_t first, int64_t last, int64_t positions, int64_t positionsOfTile, Visits visits) {
  INFO("positions " << first << " to " << last << " visit tiles of " << positionsOfTile);
  int64_t count = number(tiles.count), partial = number(tiles.partial);
  REQUIRE(partial >= 0);
  REQUIRE(partial <= count);
  std::set<int64_t> visited, full;
  for (int64_t i = 0; i < count; ++i) {
    int64_t tile = number(tiles.at(i));
    REQUIRE(tile >= 0);
    REQUIRE(tile * positionsOfTile < positions);
    REQUIRE(visited.insert(tile).second);
    if (i >= partial)
      full.insert(tile);
  }
  for (int64_t tile = 0; tile * positionsOfTile < positions; ++tile) {
    bool some = false, all = true;
    for (int64_t other = tile * positionsOfTile; other < (tile + 1) * positionsOfTile; ++other)
      for (int64_t own = first; own <= last; ++own) {
        bool seen = other < positions && sees(own, other);
        some |= seen;
        all &= seen;
      }
    INFO("tile " << tile);
    if (some)
      REQUIRE(visited.contains(tile));
    if (visits != Visits::hull)
      REQUIRE(visited.contains(tile) == some);
    if (full.contains(tile))
      REQUIRE(all);
    if (visits == Visits::exact && all && last >= first)
      REQUIRE(full.contains(tile));
  }
  VisitedTiles one = tiles.atLeastOne();
  REQUIRE(number(one.count) == std::max<int64_t>(count, 1));
  REQUIRE(number(one.partial) == (count == 0 ? 1 : partial));
  for (int64_t i = 0; i < count; ++i)
    REQUIRE(number(one.at(i)) == number(tiles.at(i)));
}

/// All tiles of queries and of keys of a sequence.
void checkSequence(const Mask &mask, const Oracle &sees, const Sequence &sequence, int64_t queriesOfTile,
                   int64_t keysOfTile, Visits visitsOfQueries, Visits visitsOfKeys) {
  const int64_t queries = number(sequence.queries), keys = number(sequence.keys);
  INFO(queries << " queries, " << keys << " keys, tiles of " << queriesOfTile << " x " << keysOfTile);
  for (int64_t query = 0; query < queries; ++query)
    for (int64_t key = 0; key < keys; ++key)
      REQUIRE(mask.visible(sequence, ScorePosition(query), ScorePosition(key)).constant() ==
              sees(query, key, queries, keys));
  for (int64_t row = 0; row < queries; row += queriesOfTile)
    checkVisits(
        mask.tilesOfKeys(sequence, row, queriesOfTile, keysOfTile),
        [&](int64_t query, int64_t key) { return sees(query, key, queries, keys); }, row,
        std::min(row + queriesOfTile, queries) - 1, keys, keysOfTile, visitsOfQueries);
  for (int64_t row = 0; row < keys; row += keysOfTile)
    checkVisits(
        mask.tilesOfQueries(sequence, row, keysOfTile, queriesOfTile),
        [&](int64_t key, int64_t query) { return sees(query, key, queries, keys); }, row,
        std::min(row + keysOfTile, keys) - 1, queries, queriesOfTile, visitsOfKeys);
}

void checkSequence(const Mask &mask, const Oracle &sees, int64_t queries, int64_t keys, int64_t queriesOfTile,
                   int64_t keysOfTile, Visits visitsOfQueries, Visits visitsOfKeys) {
  checkSequence(mask, sees, {.batch = 0, .head = 0, .queries = queries, .keys = keys}, queriesOfTile,
                keysOfTile, visitsOfQueries, visitsOfKeys);
}

constexpr int64_t lengths[] = {0, 1, 5, 8, 16, 22, 40};

void checkAll(const Mask &mask, const Oracle &sees, Visits visits = Visits::exact) {
  for (int64_t queries : lengths)
    for (int64_t keys : lengths)
      for (int64_t rows : {4, 16})
        for (int64_t columns : {4, 8, 16})
          checkSequence(mask, sees, queries, keys, rows, columns, visits, visits);
}

void checkNamed(const MaskConfig &config) {
  checkAll(maskOf(config), [&](int64_t query, int64_t key, int64_t queries, int64_t keys) {
    return isVisible(config, query, key, queries, keys);
  });
}

} // namespace

TEST_CASE("causal masks and windows visit what is visible, and mask no more", "[kernels][attention]") {
  for (CausalAlignment causal : {CausalAlignment::none, CausalAlignment::left, CausalAlignment::right})
    for (std::optional<int64_t> left :
         {std::optional<int64_t>(), std::optional<int64_t>(0), std::optional<int64_t>(6)})
      for (std::optional<int64_t> right : {std::optional<int64_t>(), std::optional<int64_t>(9)})
        checkNamed({.causal = causal, .windowLeft = left, .windowRight = right});
}

TEST_CASE("block-causal masks visit what is visible, whatever the block", "[kernels][attention]") {
  for (int64_t block : {1, 2, 3, 4, 7, 8, 16, 100}) {
    MaskConfig config{.blockCausal = block};
    auto sees = [&](int64_t query, int64_t key, int64_t queries, int64_t keys) {
      return isVisible(config, query, key, queries, keys);
    };
    for (int64_t length : {0, 2, 8, 10, 16, 22, 40, 64})
      for (int64_t rows : {4, 16})
        for (int64_t columns : {4, 8, 16}) {
          // A tile in both halves takes a hull.
          auto visits = [&](int64_t tile) { return length / 2 % tile == 0 ? Visits::masked : Visits::hull; };
          checkSequence(maskOf(config), sees, length, length, rows, columns, visits(rows), visits(columns));
        }
  }
}

TEST_CASE("a rule of one's own gives its ranges", "[kernels][attention]") {
  // A prefix that everybody sees, and a causal rest: parts that overlap.
  checkAll(
      Mask::derived([](const Sequence &, auto query, auto key) { return key < 6 || key <= query; },
                    RowOrder::lastFirst),
      [](int64_t query, int64_t key, int64_t, int64_t) { return key < 6 || key <= query; }, Visits::masked);
  // Two ranges with a gap, written the other way round.
  checkAll(
      Mask::derived([](const Sequence &, auto query, auto key) {
        return (query >= key && key > query - 3) || (key >= 20 && key < 30);
      }),
      [](int64_t query, int64_t key, int64_t, int64_t) {
        return (query >= key && key > query - 3) || (key >= 20 && key < 30);
      },
      Visits::masked);
}

TEST_CASE("documents in a packed row visit their own", "[kernels][attention]") {
  // Of lengths 7, 13 and the rest. Begins and ends are numbers that grow with the position.
  auto begin = [](auto position) {
    return where(position < 7, dsl::Index(0), where(position < 20, dsl::Index(7), dsl::Index(20)));
  };
  auto documentOf = [](int64_t position) { return position < 7 ? 0 : position < 20 ? 1 : 2; };
  Oracle sees = [=](int64_t query, int64_t key, int64_t, int64_t) {
    return key <= query && documentOf(query) == documentOf(key);
  };
  Mask documents = Mask::derived(
      [=](const Sequence &, auto query, auto key) { return key <= query && key >= begin(query); },
      RowOrder::lastFirst);
  checkAll(documents, sees, Visits::exact);
  // Both positions in a document of their own say the same.
  checkAll(Mask::derived([=](const Sequence &, auto query, auto key) {
             return key <= query &&
                    ((query < 7 && key < 7) || (query >= 7 && query < 20 && key >= 7 && key < 20) ||
                     (query >= 20 && key >= 20));
           }),
           sees, Visits::exact);
}

TEST_CASE("a dilated window visits what is visible, and nothing that its dilation hides",
          "[kernels][attention]") {
  for (int64_t step : {2, 3, 4})
    for (int64_t distance : {0, 1, 5, 11, 30})
      for (int64_t rest : {0, 1}) {
        INFO("distances up to " << distance << " that leave " << rest << " of " << step);
        checkAll(Mask::derived(
                     [=](const Sequence &, auto query, auto key) {
                       return key <= query && key >= query - distance && (query - key) % step == rest;
                     },
                     RowOrder::lastFirst),
                 [=](int64_t query, int64_t key, int64_t, int64_t) {
                   return key <= query && key >= query - distance && (query - key) % step == rest;
                 });
      }
}

TEST_CASE("distances may be compared, divided and moved", "[kernels][attention]") {
  // To both sides, the last query at the last key; and the other way round.
  checkAll(Mask::derived([](const Sequence &s, auto query, auto key) {
             auto distance = key - (query + (s.keys - s.queries));
             return distance >= -9 && distance < 8 && distance % 4 == 0;
           }),
           [](int64_t query, int64_t key, int64_t queries, int64_t keys) {
             int64_t distance = key - (query + keys - queries);
             return distance >= -9 && distance < 8 && distance % 4 == 0;
           });
  checkAll(Mask::derived([](const Sequence &, auto query, auto key) {
             return (query + 1 - key) % 3 == 0 && query - key > 1 && query - key <= 17;
           }),
           [](int64_t query, int64_t key, int64_t, int64_t) {
             return (query + 1 - key) % 3 == 0 && query - key > 1 && query - key <= 17;
           });
  // Without a window, and of two masks.
  checkAll(Mask::derived([](const Sequence &, auto query, auto key) { return (key - query) % 4 == 0; }),
           [](int64_t query, int64_t key, int64_t, int64_t) { return (key - query) % 4 == 0; });
  checkAll(maskOf({.causal = CausalAlignment::right, .windowLeft = 10}) &&
               Mask::derived([](const Sequence &, auto query, auto key) { return (key - query) % 3 == 0; }),
           [](int64_t query, int64_t key, int64_t queries, int64_t keys) {
             int64_t distance = query + keys - queries - key;
             return distance >= 0 && distance <= 10 && (key - query) % 3 == 0;
           });
  // One distance alone, and a step that leaves nothing.
  checkAll(Mask::derived([](const Sequence &, auto query, auto key) { return query - key == 6; }),
           [](int64_t query, int64_t key, int64_t, int64_t) { return query - key == 6; });
  checkAll(Mask::derived([](const Sequence &, auto query, auto key) {
             return (query - key) % 1 == 0 && key <= query && query - key < 6;
           }),
           [](int64_t query, int64_t key, int64_t, int64_t) { return key <= query && query - key < 6; });
}

TEST_CASE("what is not known of a dilation is visited", "[kernels][attention]") {
  // Runs of keys farther apart than tiles are long; what does not hold; distances of blocks; two dilations;
  // what only some rows of the tile may see at all.
  checkAll(
      Mask::derived(
          [](const Sequence &, auto query, auto key) { return (query - key) % 37 == 2 && key <= query; }),
      [](int64_t query, int64_t key, int64_t, int64_t) { return (query - key) % 37 == 2 && key <= query; },
      Visits::hull);
  checkAll(
      Mask::derived([](const Sequence &, auto query, auto key) { return !((query - key) % 3 == 0); }),
      [](int64_t query, int64_t key, int64_t, int64_t) { return (query - key) % 3 != 0; }, Visits::hull);
  checkAll(
      Mask::derived([](const Sequence &, auto query, auto key) {
        return (query / 4 - key / 4) % 2 == 0 && query / 4 - key / 4 >= 0 && query / 4 - key / 4 < 4;
      }),
      [](int64_t query, int64_t key, int64_t, int64_t) {
        int64_t distance = query / 4 - key / 4;
        return distance % 2 == 0 && distance >= 0 && distance < 4;
      },
      Visits::hull);
  checkAll(
      Mask::derived([](const Sequence &, auto query, auto key) {
        return key <= query && (query - key) % 2 == 0 && (query - key) % 3 == 0;
      }),
      [](int64_t query, int64_t key, int64_t, int64_t) { return key <= query && (query - key) % 6 == 0; },
      Visits::hull);
  checkAll(
      Mask::derived([](const Sequence &, auto query, auto key) {
        return (query - key) % 3 == 0 && key >= 5 && key < 31;
      }),
      [](int64_t query, int64_t key, int64_t, int64_t) {
        return (query - key) % 3 == 0 && key >= 5 && key < 31;
      },
      Visits::hull);
  checkAll(
      Mask::derived([](const Sequence &, auto query, auto key) {
        return key < 3 || (key <= query && (query - key) % 4 == 1);
      }),
      [](int64_t query, int64_t key, int64_t, int64_t) {
        return key < 3 || (key <= query && (query - key) % 4 == 1);
      },
      Visits::masked);
}

TEST_CASE("a prefix that all see, and a window", "[kernels][attention]") {
  checkAll(
      Mask::derived(
          [](const Sequence &, auto query, auto key) { return key < 6 || (key <= query && key > query - 5); },
          RowOrder::lastFirst),
      [](int64_t query, int64_t key, int64_t, int64_t) {
        return key < 6 || (key <= query && key > query - 5);
      },
      Visits::exact);
  // The keys of the prefix are seen by all, others by those that follow soon.
  Mask mask = Mask::derived(
      [](const Sequence &, auto query, auto key) { return key < 8 || (key <= query && key > query - 5); });
  Sequence sequence{.batch = 0, .head = 0, .queries = 64, .keys = 64};
  VisitedTiles ofPrefix = mask.tilesOfQueries(sequence, 0, 8, 8),
               ofRest = mask.tilesOfQueries(sequence, 16, 8, 8);
  CHECK(number(ofPrefix.count) == 8);
  CHECK(number(ofPrefix.partial) == 0);
  CHECK(number(ofRest.count) == 2);
  CHECK(number(ofRest.partial) == 2);
}

TEST_CASE("a rule may name either position alone, or what does not hold", "[kernels][attention]") {
  checkAll(Mask::derived([](const Sequence &, auto query, auto) { return query >= 7; }),
           [](int64_t query, int64_t, int64_t, int64_t) { return query >= 7; });
  checkAll(
      Mask::derived([](const Sequence &, auto query, auto key) { return !(key > query) && !(query < 3); }),
      [](int64_t query, int64_t key, int64_t, int64_t) { return key <= query && query >= 3; });
}

TEST_CASE("without ranges all tiles are visited and masked", "[kernels][attention]") {
  Mask even = Mask::everywhere([](const Sequence &, const dsl::Index &query, const dsl::Index &key) {
    return (query + key) % 2 == 0;
  });
  auto sees = [](int64_t query, int64_t key, int64_t, int64_t) { return (query + key) % 2 == 0; };
  checkAll(even, sees, Visits::hull);
  VisitedTiles tiles = even.tilesOfKeys({.batch = 0, .head = 0, .queries = 8, .keys = 20}, 0, 8, 8);
  CHECK(number(tiles.count) == 3);
  CHECK(number(tiles.partial) == 3);
}

TEST_CASE("ranges that see nothing visit nothing", "[kernels][attention]") {
  VisitedTiles tiles(PositionSet{}, 20, 8);
  CHECK(number(tiles.count) == 0);
  CHECK(number(tiles.partial) == 0);
  CHECK(number(tiles.atLeastOne().count) == 1);
  CHECK(number(tiles.atLeastOne().at(0)) == 0);
}

// Blocks get the longest tiles first, so that those that are left even out what they have.
TEST_CASE("from the last tile of a causal mask's queries to the first, each visits at most as much",
          "[kernels][attention]") {
  constexpr int64_t ranks = 4, queries = 64, keys = ranks * queries, rows = 8, columns = 8;
  auto check = [&](const Mask &mask) {
    REQUIRE(mask.order == RowOrder::lastFirst);
    Sequence sequence{.batch = 0, .head = 0, .queries = queries, .keys = keys, .allQueries = keys};
    int64_t before = keys / columns;
    for (int64_t first = queries - rows; first >= 0; first -= rows) {
      int64_t count = number(mask.tilesOfKeys(sequence, first, rows, columns).count);
      CAPTURE(first, count, before);
      CHECK(count <= before);
      before = count;
    }
  };
  MaskConfig config{.causal = CausalAlignment::right};
  check(maskOf(config));
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (ShardOrder order : {ShardOrder::contiguous, ShardOrder::zigzag}) {
      CAPTURE(rank);
      check(shardedMaskOf(config, {order, rank, ranks, queries}));
    }
}

TEST_CASE("masks of the keys that one rank has visit what is visible", "[kernels][attention]") {
  constexpr int64_t ranks = 3;
  auto placeOf = [](ShardOrder order, int64_t row, int64_t rows, int64_t rank) {
    const int64_t part = rows / 2;
    if (order == ShardOrder::contiguous || row < part)
      return rank * rows / partsOfRank(order) + row;
    return (2 * ranks - 1 - rank) * part + row - part;
  };
  for (const MaskConfig &config : {MaskConfig{.causal = CausalAlignment::left},
                                   {.causal = CausalAlignment::right, .windowLeft = 9},
                                   {.windowLeft = 3, .windowRight = 5}})
    for (ShardOrder order : {ShardOrder::contiguous, ShardOrder::zigzag})
      for (int64_t rank = 0; rank < ranks; ++rank)
        for (int64_t owner = 0; owner < ranks; ++owner) {
          CAPTURE(rank, owner, int(order));
          auto sees = [&](int64_t query, int64_t key, int64_t queries, int64_t keys) {
            return isVisible(config, placeOf(order, query, queries, rank), placeOf(order, key, keys, owner),
                             ranks * queries, ranks * keys);
          };
          // A tile of a zigzag order may have rows of both parts.
          const Visits visits = order == ShardOrder::zigzag ? Visits::hull : Visits::exact;
          for (int64_t queries : {0, 2, 8, 22})
            for (int64_t keys : {0, 6, 16, 22})
              checkSequence(
                  shardedMaskOf(config, {order, rank, ranks, queries}, dsl::Index(owner)), sees,
                  {.batch = 0, .head = 0, .queries = queries, .keys = keys, .allQueries = ranks * queries}, 4,
                  8, visits, visits);
        }
}

// Sequences begin and end anywhere in the parts of ranks. Of some a rank has no query, and the last ranks may
// have none at all.
TEST_CASE("queries of packed sequences see the same keys on whatever rank they are", "[kernels][attention]") {
  const std::vector<int64_t> ofQueries = {5, 0, 13, 1, 22}, ofKeys = {9, 4, 13, 0, 30};
  const int64_t all = std::accumulate(ofQueries.begin(), ofQueries.end(), int64_t(0));
  for (ShardOrder order : {ShardOrder::contiguous, ShardOrder::zigzag})
    for (int64_t ranks : {1, 2, 3, 5})
      for (int64_t room : {(all + ranks - 1) / ranks + 1, all}) {
        const int64_t rows = room + room % 2, part = rows / partsOfRank(order);
        std::set<int64_t> found; // among the queries of all ranks
        for (int64_t rank = 0; rank < ranks; ++rank) {
          CAPTURE(ranks, rows, rank);
          RankRows own{order, rank, ranks, rows};
          int64_t begin = 0;
          for (size_t i = 0; i < ofQueries.size(); begin += ofQueries[i++]) {
            const int64_t first = number(own.before(begin)), end = number(own.before(begin + ofQueries[i]));
            std::vector<int64_t> places; // of the rank's queries of this sequence
            for (int64_t row = first; row < end; ++row) {
              const int64_t place =
                  row < part ? rank * part + row : (2 * ranks - 1 - rank) * part + row - part;
              REQUIRE(found.insert(place).second);
              places.push_back(place - begin);
            }
            const Sequence sequence{.batch = 0,
                                    .head = 0,
                                    .queries = end - first,
                                    .keys = ofKeys[i],
                                    .firstQuery = first,
                                    .allQueries = ofQueries[i],
                                    .begin = begin};
            // A tile of rows of both parts takes a hull.
            const Visits visits = order == ShardOrder::contiguous ? Visits::exact : Visits::hull;
            for (const MaskConfig &config : {MaskConfig{.causal = CausalAlignment::right},
                                             MaskConfig{.causal = CausalAlignment::left, .windowLeft = 3},
                                             MaskConfig{.windowLeft = 2, .windowRight = 6}})
              checkSequence(
                  shardedMaskOf(config, own),
                  [&](int64_t query, int64_t key, int64_t, int64_t keys) {
                    return isVisible(config, places[size_t(query)], key, ofQueries[i], keys);
                  },
                  sequence, 4, 8, visits, visits);
          }
        }
        CHECK(int64_t(found.size()) == all);
      }
}
