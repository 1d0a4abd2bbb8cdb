// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward with masks that are nobody's but the caller's.
#include "kernels/Tolerance.h"
#include "kernels/attention/forward/Forward.h"
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::test;

namespace {

using Oracle = std::function<bool(int64_t batch, int64_t head, int64_t query, int64_t key)>;

constexpr int64_t batches = 2, heads = 2, queries = 150, keys = 200, d = 32;

/// `inputs` are the tensors that the mask reads.
void check(const MaskMaker &makeMask, const Oracle &sees, std::vector<Memory> inputs = {}) {
  AttentionForm form = GENERATE(AttentionForm::plain, AttentionForm::explicitRoles);
  ForwardConfig config{.problem = {.d = d, .dv = d}, .form = form};
  chooseTiles(config, {.b = batches, .sq = queries, .sk = keys, .h = heads, .hkv = heads},
              *findTarget("sm_90a"));
  config.bk = 32; // several tiles of keys
  uint64_t seed = Catch::rngSeed();
  INFO("form " << int(form) << ", seed " << seed);
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int> eighths(-8, 8); // exact in bf16
  Memory q = Memory::filled(config.problem.dtype, {batches, queries, heads, d}, 0);
  Memory k = Memory::filled(config.problem.dtype, {batches, keys, heads, d}, 0), v = k;
  for (Memory *tensor : {&q, &k, &v})
    for (double &value : tensor->values)
      value = eighths(random) / 8.0;
  Memory o = Memory::filled(config.problem.dtype, {batches, queries, heads, d}, notANumber);
  Memory lse = Memory::filled(ElementType::f32, {batches, heads, queries}, notANumber);
  std::vector<Memory *> tensors = {&q, &k, &v};
  for (Memory &input : inputs)
    tensors.push_back(&input);
  tensors.insert(tensors.end(), {&o, &lse});
  run(compiled(forwardProgram(config, makeMask)), tensors);
  auto checkRow = [&](int64_t batch, int64_t head, int64_t query) {
    double sum = 0;
    std::vector<double> rows(size_t(d), 0.0);
    for (int64_t key = 0; key < keys; ++key) {
      if (!sees(batch, head, query, key))
        continue;
      double score = 0;
      for (int64_t i = 0; i < d; ++i)
        score += q.at({batch, query, head, i}) * k.at({batch, key, head, i});
      double weight = std::exp(score / std::sqrt(double(d)));
      sum += weight;
      for (int64_t i = 0; i < d; ++i)
        rows[size_t(i)] += weight * v.at({batch, key, head, i});
    }
    INFO("batch " << batch << ", head " << head << ", query " << query);
    REQUIRE(errorOf(lse.at({batch, head, query}), std::log(sum), {.limit = 1e-5, .floor = 1}) <= 1e-5);
    double limit = 3 * roundingError(config.problem.dtype);
    for (int64_t i = 0; i < d; ++i)
      REQUIRE(errorOf(o.at({batch, query, head, i}), sum == 0 ? 0 : rows[size_t(i)] / sum,
                      {.limit = limit, .floor = 0.5}) <= limit);
  };
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t query = 0; query < queries; ++query)
        checkRow(batch, head, query);
}
void check(const Mask &mask, const Oracle &sees) {
  check([&](const MaskScope &) { return mask; }, sees);
}

/// One number of i32 for each row of each batch.
Memory numbers(int64_t rows, const std::function<int64_t(int64_t batch, int64_t row)> &number) {
  Memory tensor = Memory::filled(ElementType::i32, {batches, rows}, 0);
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t row = 0; row < rows; ++row)
      tensor.at({batch, row}) = double(number(batch, row));
  return tensor;
}

/// Where the documents of each batch begin, of any lengths.
std::array<std::vector<int64_t>, batches> documentBegins(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::array<std::vector<int64_t>, batches> all;
  for (std::vector<int64_t> &begins : all)
    for (begins = {0}; begins.back() < keys;)
      begins.push_back(begins.back() + 1 + int64_t(random() % 90));
  return all;
}
/// Which one a position is in.
int64_t documentOf(const std::vector<int64_t> &begins, int64_t position) {
  return std::ranges::upper_bound(begins, position) - begins.begin() - 1;
}

} // namespace

TEST_CASE("a mask may be a rule from which its ranges are derived", "[programs][attention]") {
  // A prefix that everybody sees, and a causal rest.
  check(Mask::derived([](const Sequence &, auto query, auto key) { return key < 40 || key <= query; },
                      RowOrder::lastFirst),
        [](int64_t, int64_t, int64_t query, int64_t key) { return key < 40 || key <= query; });
}

TEST_CASE("a mask may be a rule with ranges given by hand", "[programs][attention]") {
  // Each head sees keys of its own, and the first queries none.
  auto sees = [](auto head, auto query, auto key) {
    return query >= 7 && key >= head * 90 && key < head * 90 + 50;
  };
  check(Mask([=](const Sequence &s, const dsl::Index &query,
                 const dsl::Index &key) { return sees(s.head, query, key); },
             [](const Sequence &s, const TileSpan &queries) {
               PositionRange own{.begin = s.head * 90, .end = s.head * 90 + 50};
               PositionSet set;
               set.parts.push_back({.some = own, .all = own});
               return (queries >= dsl::Index(7)) && set;
             }),
        [=](int64_t, int64_t head, int64_t query, int64_t key) { return sees(head, query, key); });
}

TEST_CASE("a mask may be a rule of which nothing more is known", "[programs][attention]") {
  auto sees = [](auto query, auto key) { return (query + key) % 3 == 0; };
  check(Mask::everywhere([=](const Sequence &, const dsl::Index &query, const dsl::Index &key) {
          return sees(query, key);
        }),
        [=](int64_t, int64_t, int64_t query, int64_t key) { return sees(query, key); });
}

TEST_CASE("a mask may read a number of each batch", "[programs][attention]") {
  // A prefix of the sequence that everybody sees, and a causal rest.
  const int64_t prefixes[batches] = {0, 77};
  check(
      [](const MaskScope &scope) {
        dsl::Global prefixLengths = scope.k.input("prefix_lengths", dsl::i32, {scope.batches});
        return Mask::derived([=](const Sequence &s, auto query,
                                 auto key) { return key < prefixLengths.read({s.batch}) || key <= query; },
                             RowOrder::lastFirst);
      },
      [&](int64_t batch, int64_t, int64_t query, int64_t key) {
        return key < prefixes[batch] || key <= query;
      },
      {[&] {
        Memory lengths = Memory::filled(ElementType::i32, {batches}, 0);
        for (int64_t batch = 0; batch < batches; ++batch)
          lengths.at({batch}) = double(prefixes[batch]);
        return lengths;
      }()});
}

TEST_CASE("a mask may read a number of each query, and its ranges are derived", "[programs][attention]") {
  uint64_t seed = Catch::rngSeed();
  INFO("seed " << seed);
  auto begins = documentBegins(seed);
  check(
      [](const MaskScope &scope) {
        dsl::Global begins = scope.k.input("begins", dsl::i32, {scope.batches, scope.queries});
        return Mask::derived([=](const Sequence &s, auto query, auto key) {
          return key >= lookUp(begins, {s.batch, 0}, query) && key <= query;
        });
      },
      [&](int64_t batch, int64_t, int64_t query, int64_t key) {
        return documentOf(begins[batch], key) == documentOf(begins[batch], query) && key <= query;
      },
      {numbers(queries, [&](int64_t batch, int64_t query) {
        return begins[batch][size_t(documentOf(begins[batch], query))];
      })});
}

TEST_CASE("a mask may read a number of each query and of each key", "[programs][attention]") {
  uint64_t seed = Catch::rngSeed();
  INFO("seed " << seed);
  auto begins = documentBegins(seed);
  auto documents = [&](int64_t rows) {
    return numbers(rows, [&](int64_t batch, int64_t row) { return documentOf(begins[batch], row); });
  };
  // Ranges by hand, with begins of documents, or none.
  bool hasRanges = GENERATE(true, false);
  INFO("ranges " << hasRanges);
  check(
      [=](const MaskScope &scope) {
        dsl::Global ofQueries = scope.k.input("query_documents", dsl::i32, {scope.batches, scope.queries});
        dsl::Global ofKeys = scope.k.input("key_documents", dsl::i32, {scope.batches, scope.keys});
        dsl::Global begins = scope.k.input("begins", dsl::i32, {scope.batches, keys + 2});
        auto rule = [=](const Sequence &s, const ScorePosition &query, const ScorePosition &key) {
          return lookUp(ofQueries, {s.batch, 0}, query) == lookUp(ofKeys, {s.batch, 0}, key);
        };
        auto ranges = [=](const Sequence &s, const TileSpan &queries) {
          TileSpan document = lookUp(ofQueries, {s.batch, 0}, queries);
          auto begin = [&](const dsl::Index &number) { return begins.read({s.batch, number}); };
          PositionPart part{.some = {begin(document.first), begin(document.last + 1)},
                            .all = {begin(document.last), begin(document.first + 1)}};
          return PositionSet{{part}};
        };
        return hasRanges ? Mask(rule, ranges) : Mask::everywhere(rule);
      },
      [&](int64_t batch, int64_t, int64_t query, int64_t key) {
        return documentOf(begins[batch], key) == documentOf(begins[batch], query);
      },
      {documents(queries), documents(keys), numbers(keys + 2, [&](int64_t batch, int64_t document) {
         return document < std::ssize(begins[batch]) ? begins[batch][size_t(document)] : keys;
       })});
}

TEST_CASE("a mask of packed sequences reads from where they begin", "[programs][attention]") {
  // Keys of the query's own kind, of sequences of 70 and 80 rows.
  ForwardConfig config{.problem = {.d = d, .dv = d, .lengths = Lengths::packed}};
  chooseTiles(config, {.b = batches, .sq = queries, .sk = keys, .h = heads, .hkv = heads},
              *findTarget("sm_90a"));
  config.bk = 32;
  constexpr int64_t rows = 150, first = 70;
  auto maker = [](const MaskScope &scope) {
    dsl::Global kinds = scope.k.input("kinds", dsl::i32, {scope.keys});
    return Mask::everywhere([=](const Sequence &s, const ScorePosition &query, const ScorePosition &key) {
      return lookUp(kinds, {s.firstQuery}, query) == lookUp(kinds, {s.firstKey}, key);
    });
  };
  std::mt19937_64 random(1);
  Memory q = Memory::filled(config.problem.dtype, {rows, 1, d}, 0), k = q, v = q;
  Memory kinds = Memory::filled(ElementType::i32, {rows}, 0),
         begins = Memory::filled(ElementType::i32, {3}, 0);
  begins.values = {0, first, rows};
  for (int64_t row = 0; row < rows; ++row) {
    kinds.at({row}) = double(random() % 3);
    for (int64_t i = 0; i < d; ++i)
      v.at({row, 0, i}) = row % 16;
  }
  Memory o = Memory::filled(config.problem.dtype, {rows, 1, d}, notANumber);
  Memory lse = Memory::filled(ElementType::f32, {1, rows}, notANumber);
  Memory keyBegins = begins;
  run(compiled(forwardProgram(config, maker)), {&q, &k, &v, &begins, &keyBegins, &kinds, &o, &lse});
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0, count = 0; // all keys weigh the same
    for (int64_t key = row < first ? 0 : first; key < (row < first ? first : rows); ++key)
      if (kinds.at({key}) == kinds.at({row}))
        sum += double(key % 16), ++count;
    INFO("row " << row);
    CHECK(o.at({row, 0, 0}) == Approx(sum / count).epsilon(0.01));
    CHECK(lse.at({0, row}) == Approx(std::log(count)).epsilon(1e-4).margin(1e-5));
  }
}

TEST_CASE("tiles of queries are found by what keys read, too", "[programs][attention]") {
  // Documents in a packed row: where each position's document begins, and where it ends, which is how many
  // positions have a begin up to it.
  constexpr int64_t length = 150, keysOfTile = 16, queriesOfTile = 8, columns = 2 + (length + 7) / 8;
  bool hasEnds = GENERATE(true, false);
  const std::vector<int64_t> documents = {0, 5, 48, 64, 65, 120, length};
  Memory begins = Memory::filled(ElementType::i32, {length}, 0), ends = begins;
  for (int64_t row = 0; row < length; ++row) {
    int64_t document = documentOf(documents, row);
    begins.at({row}) = double(documents[size_t(document)]);
    ends.at({row}) = double(documents[size_t(document + 1)]);
  }
  constexpr int64_t tiles = (length + keysOfTile - 1) / keysOfTile;
  Memory visits = Memory::filled(ElementType::i32, {tiles, columns}, -1);
  run(compiled(dsl::Program::trace(
          "tiles_of_queries",
          [&](dsl::Scope &k) {
            using namespace dsl;
            Global beginOf = k.input("begins", i32, {length});
            Global endOf = k.input("ends", i32, {length});
            Global visited = k.output("visits", i32, {tiles, columns});
            k.warps(1);
            auto [tile] = k.grid(tiles);
            Mask mask = Mask::derived([=](const Sequence &, auto query, auto key) {
              auto begin = hasEnds ? lookUp(beginOf, endOf, {0}, query) : lookUp(beginOf, {0}, query);
              return key <= query && key >= begin;
            });
            Sequence sequence{.batch = 0, .head = 0, .queries = length, .keys = length};
            VisitedTiles queriesOf =
                mask.tilesOfQueries(sequence, tile * keysOfTile, keysOfTile, queriesOfTile);
            auto put = [&, tile = tile](const Index &column, const Index &value) {
              copy(k.fragment(i32, {1, 1}, value.to(i32)), visited.tile({tile, column}, {1, 1}));
            };
            put(0, queriesOf.count);
            put(1, queriesOf.partial);
            k.loop(queriesOf.count, [&](Index i) { put(i + 2, queriesOf.at(i)); });
          })),
      {&begins, &ends, &visits});
  for (int64_t tile = 0; tile < tiles; ++tile) {
    int64_t count = int64_t(visits.at({tile, 0})), partial = int64_t(visits.at({tile, 1}));
    std::vector<int64_t> visited, full;
    for (int64_t i = 0; i < count; ++i)
      (i < partial ? visited : full).push_back(int64_t(visits.at({tile, i + 2})));
    for (int64_t other = 0; other * queriesOfTile < length; ++other) {
      bool some = false, all = true;
      for (int64_t query = other * queriesOfTile; query < (other + 1) * queriesOfTile; ++query)
        for (int64_t key = tile * keysOfTile; key < std::min((tile + 1) * keysOfTile, length); ++key) {
          bool sees =
              query < length && key <= query && documentOf(documents, key) == documentOf(documents, query);
          some |= sees;
          all &= sees;
        }
      INFO("ends " << hasEnds << ", tile " << tile << " of keys, " << other << " of queries");
      CHECK(std::ranges::count(visited, other) + std::ranges::count(full, other) <= 1);
      if (some)
        CHECK((std::ranges::count(visited, other) || std::ranges::count(full, other)));
      if (std::ranges::count(full, other))
        CHECK(all);
      // Without ends nobody knows which later queries are of the same document.
      if (hasEnds &&
          other * queriesOfTile >=
              documents[size_t(documentOf(documents, std::min((tile + 1) * keysOfTile, length) - 1) + 1)])
        CHECK(!(std::ranges::count(visited, other) || std::ranges::count(full, other)));
    }
  }
}
