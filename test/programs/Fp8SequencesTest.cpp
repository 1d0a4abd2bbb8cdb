// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward on e4m3 of sequences of different lengths, of which one is nothing but NaN: that one
/// alone gets NaN, and rows beyond a sequence harm nobody.
#include "kernels/attention/forward/Forward.h"
#include "kernels/reference/Attention.h"
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <random>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::test;

namespace {

constexpr int64_t d = 32, dv = 64, h = 2, hkv = 1, sequences = 5;

class SequencesRun {
public:
  SequencesRun(const ForwardConfig &config, std::mt19937_64 &random) : config(config), random(random) {
    spoilt = size_t(random() % sequences);
    for (int64_t n = 0; n < sequences; ++n) {
      rows.push_back({.queries = drawLength(), .keys = drawLength()});
      longestQueries = std::max(longestQueries, rows.back().queries);
      longestKeys = std::max(longestKeys, rows.back().keys);
    }
    rows[spoilt].queries = std::max<int64_t>(rows[spoilt].queries, 1);
    SequenceRows next;
    for (SequenceRows &sequence : rows) {
      sequence.firstQuery = next.firstQuery;
      sequence.firstKey = next.firstKey;
      next.firstQuery += isPacked() ? sequence.queries : longestQueries + 3;
      next.firstKey += isPacked() ? sequence.keys : longestKeys + 3;
    }
    allQueries = next.firstQuery;
    allKeys = next.firstKey;
  }

  void check() {
    Memory q = tensor(ElementType::e4m3, allQueries, h, d), k = tensor(ElementType::e4m3, allKeys, hkv, d);
    Memory v = tensor(ElementType::e4m3, allKeys, hkv, dv), o = tensor(ElementType::bf16, allQueries, h, dv);
    Memory lse = Memory::filled(ElementType::f32,
                                isPacked() ? std::vector{h, allQueries}
                                           : std::vector{sequences, h, allQueries / sequences},
                                notANumber);
    for (size_t n = 0; n < rows.size(); ++n)
      if (n != spoilt) {
        fill(q, rows[n].firstQuery, rows[n].queries, h * d);
        fill(k, rows[n].firstKey, rows[n].keys, hkv * d);
        fill(v, rows[n].firstKey, rows[n].keys, hkv * dv);
      }
    std::vector<Memory> factors;
    for (int64_t heads : {h, hkv, hkv}) {
      factors.push_back(Memory::filled(ElementType::f32, {sequences, heads}, 0));
      for (double &factor : factors.back().values)
        factor = std::uniform_real_distribution(0.5, 2.0)(random);
    }
    Memory queryLengths = lengths(&SequenceRows::firstQuery, &SequenceRows::queries, allQueries),
           keyLengths = lengths(&SequenceRows::firstKey, &SequenceRows::keys, allKeys);
    std::vector<Memory> workspaces;
    auto workspace = [&](ElementType element, std::vector<int64_t> shape) {
      workspaces.push_back(
          Memory::filled(element, std::move(shape), element == ElementType::i32 ? 12345 : notANumber));
    };
    if (isPacked()) {
      workspace(ElementType::i32, {allQueries, 3});
      workspace(ElementType::i32, {1, 1});
    }
    if (config.form == AttentionForm::explicitRoles) {
      workspace(ElementType::e4m3,
                {isPacked() ? 1 : sequences, hkv, 1, isPacked() ? allKeys : allKeys / sequences, 128});
      workspace(ElementType::e4m3, {sequences, hkv, 1, 128, 128});
    }
    std::vector<Memory *> tensors = {
        &q, &k, &v, &factors[0], &factors[1], &factors[2], &queryLengths, &keyLengths, &o, &lse};
    for (Memory &memory : workspaces)
      tensors.push_back(&memory);
    std::vector<double> exactQ = scaled(q, factors[0], &SequenceRows::firstQuery, &SequenceRows::queries),
                        exactK = scaled(k, factors[1], &SequenceRows::firstKey, &SequenceRows::keys),
                        exactV = scaled(v, factors[2], &SequenceRows::firstKey, &SequenceRows::keys);
    run(compiled(forwardProgram(config)), tensors);

    AttentionShape shape{.problem = config.problem, .sequences = rows, .h = h, .hkv = hkv};
    std::vector<int64_t> elements(o.values.size()), lines(size_t(allQueries * h));
    std::iota(elements.begin(), elements.end(), 0);
    std::iota(lines.begin(), lines.end(), 0);
    std::vector<double> wantedO = referenceAttention(shape, exactQ, exactK, exactV, {}, elements),
                        wantedLse = referenceLogSumExp(shape, exactQ, exactK, {}, lines);
    for (size_t n = 0; n < rows.size(); ++n) {
      if (n == spoilt)
        continue;
      INFO("sequence " << n << " of " << rows[n].queries << " and " << rows[n].keys << ", spoilt " << spoilt);
      for (int64_t line = rows[n].firstQuery * h; line < (rows[n].firstQuery + rows[n].queries) * h; ++line) {
        int64_t row = line / h, head = line % h, rowsOfBatch = allQueries / sequences;
        double sum = isPacked() ? lse.at({head, row}) : lse.at({row / rowsOfBatch, head, row % rowsOfBatch});
        double wanted = wantedLse[size_t(line)];
        REQUIRE((sum == wanted || std::abs(sum - wanted) <= 1e-3 * std::max(1.0, std::abs(wanted))));
        for (int64_t i = line * dv; i < (line + 1) * dv; ++i)
          REQUIRE(std::abs(o.values[size_t(i)] - wantedO[size_t(i)]) <= 0.05);
      }
    }
  }

private:
  bool isPacked() const { return config.problem.lengths == Lengths::packed; }
  int64_t drawLength() {
    constexpr int64_t lengths[] = {0, 1, 40, 127, 128, 129, 256, 300};
    return lengths[random() % std::size(lengths)];
  }

  Memory tensor(ElementType element, int64_t count, int64_t heads, int64_t length) const {
    std::vector<int64_t> shape = {count, heads, length};
    if (!isPacked())
      shape = {sequences, count / sequences, heads, length};
    return Memory::filled(element, shape, notANumber);
  }
  void fill(Memory &memory, int64_t first, int64_t count, int64_t size) {
    for (int64_t i = first * size; i < (first + count) * size; ++i)
      memory.values[size_t(i)] = std::round(std::uniform_real_distribution(-8.0, 8.0)(random)) / 8;
  }
  Memory lengths(int64_t SequenceRows::*first, int64_t SequenceRows::*count, int64_t all) const {
    Memory memory = Memory::filled(ElementType::i32, {sequences + (isPacked() ? 1 : 0)}, double(all));
    for (size_t n = 0; n < rows.size(); ++n)
      memory.values[n] = double(isPacked() ? rows[n].*first : rows[n].*count);
    return memory;
  }
  std::vector<double> scaled(const Memory &memory, const Memory &factors, int64_t SequenceRows::*first,
                             int64_t SequenceRows::*count) const {
    std::vector<double> result = memory.values;
    int64_t length = memory.shape.back(), heads = factors.shape[1], size = heads * length;
    for (size_t n = 0; n < rows.size(); ++n)
      for (int64_t i = rows[n].*first * size; i < (rows[n].*first + rows[n].*count) * size; ++i)
        result[size_t(i)] *= factors.values[n * size_t(heads) + size_t(i / length % heads)];
    return result;
  }

  const ForwardConfig &config;
  std::mt19937_64 &random;
  std::vector<SequenceRows> rows;
  size_t spoilt = 0;
  int64_t longestQueries = 0, longestKeys = 0, allQueries = 0, allKeys = 0;
};

void checkSequences(AttentionForm form, Lengths lengths, CausalAlignment causal, int64_t bk) {
  ForwardConfig config{.problem = {.dtype = ElementType::e4m3,
                                   .d = d,
                                   .dv = dv,
                                   .mask = {.causal = causal},
                                   .lengths = lengths},
                       .form = form,
                       .sum = OutputSum::perTile};
  chooseTiles(config, {.sq = 128, .sk = 128}, *findTarget("sm_90a"));
  config.bk = bk;
  uint64_t seed = Catch::rngSeed();
  INFO("form " << int(form) << ", lengths " << int(lengths) << ", causal " << int(causal) << ", bk " << bk
               << ", seed " << seed);
  std::mt19937_64 random(seed);
  SequencesRun(config, random).check();
}

} // namespace

TEST_CASE("a sequence of e4m3 that is no number harms no other", "[programs][attention]") {
  AttentionForm form = GENERATE(AttentionForm::plain, AttentionForm::explicitRoles);
  Lengths lengths = GENERATE(Lengths::packed, Lengths::padded);
  int64_t bk = GENERATE(32, 128);
  // With this every three of the four are there.
  bool isOdd = (form == AttentionForm::plain) ^ (lengths == Lengths::packed) ^ (bk == 32);
  checkSequences(form, lengths, isOdd ? CausalAlignment::right : CausalAlignment::none, bk);
}

// Of tools/test.sh long.
TEST_CASE("a sequence of e4m3 that is no number harms no other, with all combinations", "[.long]") {
  checkSequences(GENERATE(AttentionForm::plain, AttentionForm::explicitRoles),
                 GENERATE(Lengths::packed, Lengths::padded),
                 GENERATE(CausalAlignment::none, CausalAlignment::right), GENERATE(32, 128));
}
