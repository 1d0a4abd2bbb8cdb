// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward with its options, at sizes around those of its tiles.
#include "test/kernels/OptionPairs.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;
using namespace tlc::attention_matrix;

TEST_CASE("attention forward is right with every value of its options, and every pair of the ends",
          "[kernels][attention]") {
  checkOptions("attention_fwd", attentionOptions(shortRows()), Cover::values, {.wanted = 30});
  checkOptions("attention_fwd", atTheirEnds(attentionOptions(shortRows())), Cover::pairs, {.wanted = 20});
}

TEST_CASE("attention forward is right for long rows", "[kernels][attention][rows]") {
  checkOptions("attention_fwd", attentionOptions(longRows(), {{}, {{"causal", "right"}, {"window", "17"}}}),
               Cover::values, {});
}

namespace {
void checkQueryStages(const char *d, const char *stages) {
  Compiled compiled(**findKernel("attention_fwd"),
                    {{"form", "explicit"}, {"d", d}, {"bk", "32"}, {"bq", "64"}, {"q_stages", stages}});
  compiled.check({{"sq", "499"}, {"sk", "21"}, {"h", "3"}, {"hkv", "1"}}); // several tiles for each slot
  compiled.check({{"sq", "130"}, {"sk", "75"}, {"h", "2"}, {"hkv", "2"}});
}
} // namespace

TEST_CASE("attention forward is right with any number of tiles of queries in shared memory",
          "[kernels][attention][rows]") {
  for (const auto &[d, stages] : {std::pair("40", "1"), {"128", "2"}, {"160", "3"}, {"40", "4"}})
    checkQueryStages(d, stages);
}

// Of tools/test.sh long.
TEST_CASE("attention forward is right with any rows and tiles of queries in shared memory", "[.long]") {
  for (const char *d : {"40", "128", "160"})
    for (const char *stages : {"1", "2", "3", "4"})
      checkQueryStages(d, stages);
}

TEST_CASE("attention on e4m3 is right with every value of its options, and every pair of the ends",
          "[kernels][attention][fp8]") {
  checkOptions("attention_fwd_fp8", fp8AttentionOptions(), Cover::values, {.alignment = 16, .wanted = 14});
  checkOptions("attention_fwd_fp8", atTheirEnds(fp8AttentionOptions()), Cover::pairs,
               {.alignment = 16, .wanted = 20});
}

// Of tools/test.sh long.
TEST_CASE("attention forward is right with every pair of all its options", "[.long]") {
  checkOptions("attention_fwd", attentionOptions(shortRows()), Cover::pairs, {.wanted = 400});
  checkOptions("attention_fwd", attentionOptions(longRows()), Cover::pairs, {});
  checkOptions("attention_fwd_fp8", fp8AttentionOptions(), Cover::pairs, {.alignment = 16, .wanted = 150});
}

TEST_CASE("the order of packed sequences has room for many and for long ones", "[kernels][attention][rows]") {
  Random random(Catch::rngSeed());
  std::vector<uint64_t> many; // more than are counted together
  for (int i = 0; i != 300; ++i)
    many.push_back(random() % 4);
  for (auto [name, form] : {std::pair("attention_fwd", "plain"),
                            {"attention_fwd", "explicit"},
                            {"attention_fwd_fp8", "explicit"}}) {
    Compiled compiled(**findKernel(name),
                      {{"form", form}, {"d", "32"}, {"causal", "right"}, {"bq", "64"}, {"varlen", "1"}});
    compiled.check({{"h", "2"}, {"hkv", "1"}, {"varlen", fmt::format("{}", fmt::join(many, ","))}});
    // More tiles of queries than are written at once.
    compiled.check({{"h", "1"}, {"hkv", "1"}, {"varlen", "4200,70"}, {"varlen_k", "150,4"}});
  }
}
