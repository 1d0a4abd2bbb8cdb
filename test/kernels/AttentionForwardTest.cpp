// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward with every pair of its options, at sizes around those of its tiles.
#include "test/kernels/OptionPairs.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;
using namespace tlc::attention_matrix;

namespace {

/// What `all` has and `part` has not.
Option others(const Option &all, const Option &part) {
  Option rest;
  std::ranges::copy_if(all, std::back_inserter(rest),
                       [&](const Definitions &each) { return std::ranges::count(part, each) == 0; });
  return rest;
}

/// Attention with these rows and masks, and the first and the last value of each other option.
std::vector<Option> optionsAtTheirEnds(const Option &rows, const Option &masks) {
  std::vector<Option> options = attentionOptions(rows, masks);
  for (Option &option : options)
    if (option != rows && option != masks && option.size() > 2)
      option = {option.front(), option.back()};
  return options;
}

} // namespace

TEST_CASE("attention forward is right with every pair of its options", "[kernels][attention]") {
  const Option usualRows = {
      {{"d", "64"}}, {{"d", "64"}, {"bq", "192"}, {"bk", "96"}}, {{"d", "128"}}, {{"d", "256"}}};
  const Option usualMasks = {{}, {{"causal", "left"}}, {{"causal", "right"}, {"window", "17"}}};
  checkPairs("attention_fwd", 8, attentionOptions(usualRows, fewMasks()), 40);
  checkPairs("attention_fwd", 8, attentionOptions(others(shortRows(), usualRows), usualMasks), 30);
}

TEST_CASE("attention forward is right with every mask", "[kernels][attention][rows]") {
  checkPairs("attention_fwd", 8, optionsAtTheirEnds({shortRows().front()}, others(allMasks(), fewMasks())),
             28);
}

TEST_CASE("attention forward is right for long rows", "[kernels][attention][rows]") {
  checkPairs("attention_fwd", 8,
             optionsAtTheirEnds(longRows(), {{}, {{"causal", "right"}, {"window", "17"}}}), 1);
}

TEST_CASE("attention forward is right with any number of tiles of queries in shared memory",
          "[kernels][attention][rows]") {
  for (const char *d : {"40", "128", "160"})
    for (const char *stages : {"1", "2", "3", "4"}) {
      Compiled compiled(**findKernel("attention_fwd"),
                        {{"form", "explicit"}, {"d", d}, {"bk", "32"}, {"bq", "64"}, {"q_stages", stages}});
      compiled.check({{"sq", "499"}, {"sk", "21"}, {"h", "3"}, {"hkv", "1"}}); // several tiles for each slot
      compiled.check({{"sq", "130"}, {"sk", "75"}, {"h", "2"}, {"hkv", "2"}});
    }
}

TEST_CASE("attention forward on e4m3 is right with every pair of its options", "[kernels][attention][fp8]") {
  checkPairs("attention_fwd_fp8", 16, fp8AttentionOptions(), 50);
}

// Of tools/test.sh long.
TEST_CASE("attention forward is right with every pair of all its options", "[.long]") {
  checkPairs("attention_fwd", 8, attentionOptions(shortRows()), 400);
  checkPairs("attention_fwd", 8, attentionOptions(longRows()), 1);
  checkPairs("attention_fwd_fp8", 16, fp8AttentionOptions(), 150);
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
