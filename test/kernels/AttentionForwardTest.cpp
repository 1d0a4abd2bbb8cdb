// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward with every pair of its options, at sizes around those of its tiles.
#include "test/kernels/CoveringArray.h"
#include "test/kernels/KernelRuns.h"
#include "tools/product/AttentionCases.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;
using namespace tlc::product;

namespace {

/// Programs with every pair of the options, at so many sizes at least. `alignment` is that of rows, in
/// elements.
void checkPairs(std::string_view name, int64_t alignment, const std::vector<Option> &options, size_t wanted) {
  uint64_t seed = Catch::rngSeed();
  Random random(seed);
  const Kernel &kernel = **findKernel(name);
  std::vector<size_t> extents;
  for (const Option &option : options)
    extents.push_back(option.size());
  auto isAllowed = [&](const std::vector<size_t> &row) {
    return bool(Request::parse(kernel.name(), drawCase(options, row, random).all()));
  };
  std::vector<std::vector<size_t>> rows = coveringArray(extents, random, isAllowed);
  REQUIRE(!rows.empty());
  size_t repetitions = (wanted + rows.size() - 1) / rows.size();
  fmt::print("{} programs, {} sizes of each, seed {}\n", rows.size(), repetitions, seed);
  for (const std::vector<size_t> &row : rows) {
    Case first = drawCase(options, row, random);
    Compiled compiled(kernel, first.all());
    for (size_t i = 0; i != repetitions; ++i) {
      RunOptions run;
      run.placement.rowPadding = random() % 2 == 0 ? 0 : alignment;
      Definitions sizes = i == 0 ? first.sizes : drawCase(options, row, random).sizes;
      INFO("seed of the test: " << seed);
      compiled.check(sizes, run);
    }
  }
}

} // namespace

TEST_CASE("attention forward is right with every pair of its options", "[kernels][attention]") {
  checkPairs("attention_fwd", 8, attentionOptions(shortRows()), 800);
}

TEST_CASE("attention forward is right for long rows", "[kernels][attention]") {
  checkPairs("attention_fwd", 8, attentionOptions(longRows()), 1);
}

TEST_CASE("attention forward on e4m3 is right with every pair of its options", "[kernels][attention]") {
  checkPairs("attention_fwd_fp8", 16, fp8AttentionOptions(), 150);
}

TEST_CASE("the order of packed sequences has room for many and for long ones", "[kernels][attention]") {
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
