// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention of K and V that are not finite: rows that see no key are 0 with an LSE of -inf, masked keys
/// change no weight, and a row of V that is not finite makes NaN of all rows that see it.
#include "kernels/attention/decode/Decode.h"
#include "kernels/attention/forward/Forward.h"
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::test;

namespace {

constexpr int64_t d = 32, poison = 70; ///< a key whose row of V is NaN
using Oracle = std::function<bool(int64_t query, int64_t key)>;

/// Scores of keys are 0, so that weights are equal; K of keys that no query sees is NaN.
void fillKeys(Memory &k, Memory &v, int64_t queries, int64_t keys, const Oracle &sees) {
  for (int64_t key = 0; key < keys; ++key) {
    bool isSeen = false;
    for (int64_t query = 0; query < queries; ++query)
      isSeen |= sees(query, key);
    for (int64_t i = 0; i < d; ++i) {
      k.at({0, key, 0, i}) = isSeen ? 0 : notANumber;
      v.at({0, key, 0, i}) = isSeen && key != poison ? 1 : notANumber;
    }
  }
}

void checkRow(int64_t query, int64_t keys, const Oracle &sees, double logSum,
              const std::function<double(int64_t)> &o) {
  int64_t count = 0;
  for (int64_t key = 0; key < keys; ++key)
    count += sees(query, key);
  CAPTURE(query, count);
  REQUIRE((logSum == std::log(double(count)) || std::abs(logSum - std::log(double(count))) < 1e-5));
  for (int64_t i = 0; i < d; ++i) {
    if (count == 0)
      REQUIRE(o(i) == 0);
    else if (sees(query, poison))
      REQUIRE(std::isnan(o(i)));
    else // 1, or NaN where the row of a masked key is in the same tile
      REQUIRE((std::isnan(o(i)) || std::abs(o(i) - 1) < 0.01));
  }
}

void checkForward(const MaskMaker &mask, const Oracle &sees, int64_t queries = 150, int64_t keys = 140) {
  AttentionForm form = GENERATE(AttentionForm::plain, AttentionForm::explicitRoles);
  CAPTURE(int(form));
  ForwardConfig config{.problem = {.d = d, .dv = d}, .form = form};
  chooseTiles(config, {.b = 1, .sq = queries, .sk = keys, .h = 1, .hkv = 1}, *findTarget("sm_90a"));
  config.bk = 32;
  Memory q = Memory::filled(config.problem.dtype, {1, queries, 1, d}, 1);
  Memory k = Memory::filled(config.problem.dtype, {1, keys, 1, d}, 0), v = k;
  fillKeys(k, v, queries, keys, sees);
  Memory o = Memory::filled(config.problem.dtype, {1, queries, 1, d}, -1);
  Memory lse = Memory::filled(ElementType::f32, {1, 1, queries}, -1);
  run(compiled(forwardProgram(config, mask)), {&q, &k, &v, &o, &lse});
  for (int64_t query = 0; query < queries; ++query)
    checkRow(query, keys, sees, lse.at({0, 0, query}), [&](int64_t i) { return o.at({0, query, 0, i}); });
}

MaskMaker named(const MaskConfig &config) {
  return [=](const MaskScope &) { return maskOf(config); };
}

} // namespace

TEST_CASE("rows without keys are 0 whatever V holds, with masks that have names", "[programs][attention]") {
  constexpr int64_t queries = 150, keys = 140;
  SECTION("causal, with fewer keys than queries")
  checkForward(
      named({.causal = CausalAlignment::right}),
      [=](int64_t query, int64_t key) { return key <= query + keys - queries; }, queries, keys);
  SECTION("a window before the first key")
  checkForward(
      named({.causal = CausalAlignment::left, .windowLeft = 5}),
      [](int64_t query, int64_t key) { return key <= query && key >= query - 5; }, queries, 90);
}

TEST_CASE("rows without keys are 0 whatever V holds, with masks of the caller's", "[programs][attention]") {
  SECTION("derived")
  checkForward(
      [](const MaskScope &) {
        return Mask::derived(
            [](const Sequence &, auto query, auto key) { return key >= query && key < 100; });
      },
      [](int64_t query, int64_t key) { return key >= query && key < 100; });
  SECTION("everywhere") {
    auto sees = [](auto query, auto key) { return query % 3 == 0 && key % 5 == 1; };
    checkForward(
        [=](const MaskScope &) {
          return Mask::everywhere([=](const Sequence &, const dsl::Index &query, const dsl::Index &key) {
            return sees(query, key);
          });
        },
        sees);
  }
}

TEST_CASE("decoded rows without keys are 0 whatever V holds", "[programs][attention]") {
  static constexpr int64_t queries = 5, keys = 140;
  auto [length, window, splits] = GENERATE(table<int64_t, int64_t, int64_t>(
      {{keys, 10, 1}, {keys, 66, 3}, {3, 1, 1}, {3, 70, 3}, {0, 10, 1}, {0, 10, 3}}));
  CAPTURE(length, window, splits);
  DecodeConfig c = {
      .problem = {.d = d, .dv = d, .mask = {.causal = CausalAlignment::right, .windowLeft = window}},
      .queries = queries,
      .group = 1};
  tuneDecode(c, 1, 1, keys, *findTarget("sm_90a"));
  c.bk = 32;
  c.splits = splits;
  fitDecode(c, *findTarget("sm_90a"));
  Oracle sees = [=, length = length, window = window](int64_t query, int64_t key) {
    int64_t place = query + length - queries;
    return key < length && key <= place && key >= place - window;
  };
  Memory q = Memory::filled(c.problem.dtype, {1, queries, 1, 1, d}, 1);
  Memory k = Memory::filled(c.problem.dtype, {1, keys, 1, d}, 0), v = k;
  fillKeys(k, v, queries, keys, sees); // and NaN beyond the length
  Memory lengths = Memory::filled(ElementType::i32, {1}, double(length));
  Memory o = Memory::filled(c.problem.dtype, {1, queries, 1, 1, d}, -1);
  Memory lse = Memory::filled(ElementType::f32, {1, 1, 1, queries}, -1);
  run(compiled(decodeProgram(c)), {&q, &k, &v, &lengths, &o, &lse});
  for (int64_t query = 0; query < queries; ++query)
    checkRow(query, keys, sees, lse.at({0, 0, 0, query}),
             [&](int64_t i) { return o.at({0, query, 0, 0, i}); });
}
