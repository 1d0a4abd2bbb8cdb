// SPDX-License-Identifier: Apache-2.0
/// \file
/// How often attention runs the body that masks a tile: once for each tile that has both visible and hidden
/// pairs, so that full tiles run the other body. The mask's rule counts it on the device.
#include "kernels/attention/backward/Backward.h"
#include "kernels/attention/forward/Forward.h"
#include "kernels/reference/Attention.h"
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::test;

namespace {

using Oracle = std::function<bool(int64_t query, int64_t key)>;

constexpr int64_t d = 32;

struct MaskCase {
  const char *name;
  Mask mask;
  Oracle sees;
  int64_t queries = 333, keys = 410;
};

MaskCase named(const char *name, const MaskConfig &config, int64_t queries = 333, int64_t keys = 410) {
  return {name, maskOf(config),
          [=](int64_t query, int64_t key) { return isVisible(config, query, key, queries, keys); }, queries,
          keys};
}

std::vector<MaskCase> cases() {
  auto begin = [](auto position) {
    return where(position < 70, dsl::Index(0), where(position < 200, dsl::Index(70), dsl::Index(200)));
  };
  auto beginOf = [](int64_t position) { return position < 70 ? 0 : position < 200 ? 70 : 200; };
  return {
      named("causal", {.causal = CausalAlignment::right}),
      named("window to both sides", {.windowLeft = 190, .windowRight = 210}),
      named("block-causal", {.blockCausal = 40}, 512, 512), // no tile is in both halves
      {"documents",
       Mask::derived(
           [=](const Sequence &, auto query, auto key) { return key <= query && key >= begin(query); },
           RowOrder::lastFirst),
       [=](int64_t query, int64_t key) { return key <= query && key >= beginOf(query); }},
      {"dilated window", Mask::derived([](const Sequence &, auto query, auto key) {
         return key <= query && key >= query - 150 && (query - key) % 3 == 0;
       }),
       [](int64_t query, int64_t key) {
         return key <= query && key >= query - 150 && (query - key) % 3 == 0;
       }},
      {"prefix and window",
       Mask::derived([](const Sequence &, auto query,
                        auto key) { return key < 130 || (key <= query && key > query - 90); },
                     RowOrder::lastFirst),
       [](int64_t query, int64_t key) { return key < 130 || (key <= query && key > query - 90); }},
  };
}

/// Tiles of one axis, and those of the other axis that each of them visits.
struct Tiles {
  int64_t rows, rowsOfTile, others, othersOfTile;
  bool hidesMissingRows; ///< whether pairs of rows after the last one count as hidden
  bool hasFirst = false; ///< whether rows that see nothing have a partial tile, too
};

/// Those with pairs that are visible and pairs that are hidden; after the other axis' last position all are.
int64_t partialTiles(const Tiles &tiles, const std::function<bool(int64_t row, int64_t other)> &sees) {
  int64_t count = 0;
  for (int64_t first = 0; first < tiles.rows; first += tiles.rowsOfTile) {
    int64_t end = first + tiles.rowsOfTile;
    bool seesNothing = true;
    for (int64_t other = 0; other < tiles.others; other += tiles.othersOfTile) {
      bool some = false, all = true;
      for (int64_t y = other; y < other + tiles.othersOfTile; ++y)
        for (int64_t x = first; x < (tiles.hidesMissingRows ? end : std::min(end, tiles.rows)); ++x) {
          bool seen = x < tiles.rows && y < tiles.others && sees(x, y);
          some |= seen;
          all &= seen;
        }
      count += some && !all;
      seesNothing &= !some;
    }
    count += tiles.hasFirst && seesNothing;
  }
  return count;
}

/// The same mask, whose rule adds 1 to `count` whenever a tile is masked.
Mask counting(const Mask &mask, const dsl::Global &count) {
  Mask result = mask;
  result.visible = [=](const Sequence &s, const ScorePosition &query, const ScorePosition &key) {
    atomicAdd(1, count.tile({0}, {1}));
    return mask.visible(s, query, key);
  };
  return result;
}

/// How often a program masks a tile; its tensors are those before and after the mask's own.
int64_t masksOf(const std::function<dsl::Program(const MaskMaker &)> &program, const Mask &mask,
                std::vector<Memory *> tensors, const std::vector<Memory *> &results) {
  Memory count = Memory::filled(ElementType::i32, {1}, 0);
  tensors.push_back(&count);
  tensors.insert(tensors.end(), results.begin(), results.end());
  run(compiled(program([&](const MaskScope &scope) {
        return counting(mask, scope.k.inout("masked_tiles", dsl::i32, {1}));
      })),
      tensors);
  return int64_t(count.values[0]);
}

Memory rowsOf(int64_t rows) { return Memory::filled(ElementType::bf16, {1, rows, 1, d}, 0.5); }
Memory numbersOf(int64_t rows) { return Memory::filled(ElementType::f32, {1, 1, rows}, 1); }

} // namespace

namespace {

/// Every mask in `formsOfMask` of the forms, each form with some mask.
void checkForward(size_t formsOfMask) {
  const AttentionForm forms[] = {AttentionForm::plain, AttentionForm::explicitRoles};
  size_t number = 0;
  for (const auto &[name, mask, sees, queries, keys] : cases()) {
    for (size_t n = number; n != number + formsOfMask; ++n) {
      const AttentionForm form = forms[n % std::size(forms)];
      INFO(name << ", form " << int(form));
      ForwardConfig config{.problem = {.d = d, .dv = d}, .form = form};
      chooseTiles(config, {.sq = queries, .sk = keys}, *findTarget("sm_90a"));
      config.bq = 128, config.bk = 32; // in one half each, and some full ones in narrow windows
      Memory q = rowsOf(queries), k = rowsOf(keys), v = k, o = q, lse = numbersOf(queries);
      int64_t expected = partialTiles({.rows = queries,
                                       .rowsOfTile = config.bq,
                                       .others = keys,
                                       .othersOfTile = config.bk,
                                       .hidesMissingRows = false,
                                       .hasFirst = form == AttentionForm::explicitRoles},
                                      sees);
      CHECK(expected > 0);
      CHECK(masksOf([&](const MaskMaker &maker) { return forwardProgram(config, maker); }, mask, {&q, &k, &v},
                    {&o, &lse}) == expected);
    }
    ++number;
  }
}

/// Every mask in `waysOfMask` of the ways to sum dQ, each way with some mask.
void checkBackward(size_t waysOfMask) {
  struct Way {
    AttentionForm form;
    QuerySum sum;
  };
  const Way ways[] = {{AttentionForm::explicitRoles, QuerySum::atomic},
                      {AttentionForm::plain, QuerySum::ownLaunch},
                      {AttentionForm::explicitRoles, QuerySum::ordered},
                      {AttentionForm::plain, QuerySum::atomic}};
  size_t number = 0;
  for (const auto &[name, mask, sees, queries, keys] : cases()) {
    for (size_t n = number; n != number + waysOfMask; ++n) {
      auto [form, sum] = ways[n % std::size(ways)];
      INFO(name << ", form " << int(form) << ", sum " << int(sum));
      BackwardConfig config{.problem = {.d = d, .dv = d}, .form = form};
      chooseSchedule(config, {.dq = sum},
                     {.sequences = 1, .queries = queries, .keys = keys, .heads = 1, .kvHeads = 1},
                     *findTarget("sm_90a"));
      int64_t expected = partialTiles({.rows = keys,
                                       .rowsOfTile = config.bk,
                                       .others = queries,
                                       .othersOfTile = config.bq,
                                       .hidesMissingRows = true},
                                      [&](int64_t key, int64_t query) { return sees(query, key); });
      if (sum == QuerySum::ownLaunch) // over tiles of queries, with as many rows as tiles of keys
        expected += partialTiles({.rows = queries,
                                  .rowsOfTile = config.bk,
                                  .others = keys,
                                  .othersOfTile = config.bq,
                                  .hidesMissingRows = false},
                                 sees);
      Memory q = rowsOf(queries), k = rowsOf(keys), v = k, o = q, dO = q, lse = numbersOf(queries), dq = q,
             dk = k, dv = k;
      CHECK(expected > 0);
      CHECK(masksOf([&](const MaskMaker &maker) { return backwardProgram(config, maker); }, mask,
                    {&q, &k, &v, &o, &dO, &lse}, {&dq, &dk, &dv}) == expected);
    }
    ++number;
  }
}

} // namespace

TEST_CASE("attention forward masks partial tiles alone", "[programs][attention]") { checkForward(1); }
TEST_CASE("attention backward masks partial tiles alone", "[programs][attention]") { checkBackward(1); }

// Of tools/test.sh long.
TEST_CASE("attention forward masks partial tiles alone in both forms", "[.long]") { checkForward(2); }
TEST_CASE("attention backward masks partial tiles alone in every way to sum dQ", "[.long]") {
  checkBackward(4);
}
