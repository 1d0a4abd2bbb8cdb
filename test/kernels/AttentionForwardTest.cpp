// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward with every pair of its options, at sizes around those of its tiles.
#include "test/kernels/CoveringArray.h"
#include "test/kernels/KernelRuns.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;

namespace {

/// Definitions that a value of an option stands for.
using Option = std::vector<Definitions>;

/// What the compiler sees.
const std::vector<Option> compiledOptions = {
    {{{"form", "explicit"}}, {{"form", "plain"}}},
    {{{"dtype", "bf16"}}, {{"dtype", "f16"}}},
    {{{"d", "64"}},
     {{"d", "128"}},
     {{"d", "32"}},
     {{"d", "40"}},
     {{"d", "256"}},
     {{"d", "96"}, {"dv", "64"}},
     {{"d", "192"}, {"dv", "128"}},
     {{"d", "48"}, {"dv", "80"}}},
    {{},
     {{"causal", "left"}},
     {{"causal", "right"}},
     {{"window", "50"}},
     {{"window", "0"}, {"window_right", "70"}},
     {{"causal", "left"}, {"window", "17"}},
     {{"causal", "right"}, {"window", "128"}},
     {{"mask", "block_causal"}, {"block", "1"}},
     {{"mask", "block_causal"}, {"block", "7"}},
     {{"mask", "block_causal"}, {"block", "32"}},
     {{"mask", "block_causal"}, {"block", "100"}},
     {{"mask", "block_causal"}, {"block", "128"}}},
    {{}, {{"scale", "0.7"}}, {{"scale", "1000"}}},
    {{}, {{"softcap", "5"}}},
    {{{"sink", "no"}}, {{"sink", "yes"}}},
    {{{"lse", "e"}}, {{"lse", "2"}}},
    {{{"lengths", "uniform"}}, {{"lengths", "padded"}}, {{"lengths", "packed"}}},
};

constexpr int lengths[] = {0, 1, 7, 63, 64, 65, 127, 128, 129, 200, 257};

Definitions chosen(const std::vector<Option> &options, const std::vector<size_t> &row) {
  Definitions definitions;
  for (size_t i = 0; i < row.size(); ++i)
    for (const auto &[name, value] : options[i][row[i]])
      definitions[name] = value;
  return definitions;
}

int draw(Random &random, auto &from) { return from[random() % std::size(from)]; }

/// Sizes for a program: heads, and lengths in the way that the program takes them.
Definitions drawSizes(const Definitions &program, std::string_view kind, Random &random) {
  constexpr std::pair<int, int> heads[] = {{1, 1}, {2, 1}, {8, 1}, {4, 4}, {6, 3}, {3, 3}};
  auto [h, hkv] = heads[random() % std::size(heads)];
  Definitions sizes = {{"h", std::to_string(h)}, {"hkv", std::to_string(hkv)}};
  bool isOneSequence = program.contains("mask");
  auto drawPair = [&] {
    int queries = draw(random, lengths), keys = isOneSequence ? queries & ~1 : draw(random, lengths);
    return std::pair(isOneSequence ? keys : queries, keys);
  };
  if (kind == "uniform") {
    auto [queries, keys] = drawPair();
    sizes.insert({{"b", std::to_string(random() % 2 + 1)},
                  {"sq", std::to_string(queries)},
                  {"sk", std::to_string(keys)}});
    return sizes;
  }
  std::vector<int> queries, keys;
  for (uint64_t count = random() % 3 + 1; count != 0; --count) {
    auto [q, k] = drawPair();
    queries.push_back(q);
    keys.push_back(k);
  }
  std::string_view name = kind == "packed" ? "varlen" : "padded";
  sizes[std::string(name)] = fmt::format("{}", fmt::join(queries, ","));
  sizes[std::string(name) + "_k"] = fmt::format("{}", fmt::join(keys, ","));
  if (kind == "padded") {
    sizes["sq"] = std::to_string(*std::ranges::max_element(queries) + int(random() % 40));
    sizes["sk"] = std::to_string(*std::ranges::max_element(keys) + int(random() % 40));
  }
  return sizes;
}

} // namespace

TEST_CASE("attention forward is right with every pair of its options", "[kernels][attention]") {
  constexpr size_t wanted = 800;
  uint64_t seed = std::random_device()();
  Random random(seed);
  const Kernel &kernel = **findKernel("attention_fwd");
  std::vector<size_t> extents;
  for (const Option &option : compiledOptions)
    extents.push_back(option.size());
  auto definitionsOf = [&](const std::vector<size_t> &row) { return chosen(compiledOptions, row); };
  /// A program, and sizes at which it may run.
  auto withSizes = [&](Definitions definitions) {
    std::string kind = definitions.extract("lengths").mapped();
    Definitions sizes = drawSizes(definitions, kind, random);
    return std::pair(definitions, sizes);
  };
  auto isAllowed = [&](const std::vector<size_t> &row) {
    auto [definitions, sizes] = withSizes(definitionsOf(row));
    definitions.merge(sizes);
    return bool(Request::parse(kernel.name(), definitions));
  };
  std::vector<std::vector<size_t>> rows = coveringArray(extents, random, isAllowed);
  REQUIRE(!rows.empty());
  size_t repetitions = (wanted + rows.size() - 1) / rows.size();
  fmt::print("{} programs, {} sizes of each, seed {}\n", rows.size(), repetitions, seed);
  for (const std::vector<size_t> &row : rows) {
    auto [definitions, first] = withSizes(definitionsOf(row));
    Definitions all = definitions;
    all.insert(first.begin(), first.end());
    Compiled compiled(kernel, all);
    for (size_t i = 0; i != repetitions; ++i) {
      RunOptions options;
      options.placement.rowPadding = random() % 2 == 0 ? 0 : 8;
      Definitions sizes = i == 0 ? first : withSizes(definitionsOf(row)).second;
      INFO("seed of the test: " << seed);
      compiled.check(sizes, options);
    }
  }
}
