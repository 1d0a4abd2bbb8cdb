// SPDX-License-Identifier: Apache-2.0
/// \file
/// Options of attention, and draws of sizes.
#include "tools/attention_matrix/AttentionCases.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tlc::attention_matrix {

using kernels::Definitions, kernels::Random;

const Option &shortRows() {
  static const Option rows = {{{"d", "64"}},
                              {{"d", "64"}, {"bq", "192"}, {"bk", "96"}}, // as for long sequences
                              {{"d", "128"}},
                              {{"d", "32"}},
                              {{"d", "40"}},
                              {{"d", "256"}},
                              {{"d", "96"}, {"dv", "64"}},
                              {{"d", "192"}, {"dv", "128"}},
                              {{"d", "48"}, {"dv", "80"}}};
  return rows;
}

const Option &longRows() {
  static const Option rows = {{{"d", "576"}, {"dv", "512"}},
                              {{"d", "320"}, {"dv", "272"}},
                              {{"d", "512"}, {"dv", "256"}},
                              {{"d", "72"}, {"dv", "264"}}};
  return rows;
}

const Option &allMasks() {
  static const Option all = {{},
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
                             {{"mask", "block_causal"}, {"block", "128"}}};
  return all;
}

std::vector<Option> attentionOptions(const Option &rows, const Option &masks) {
  return {
      {{{"form", "explicit"}}, {{"form", "plain"}}},
      {{{"dtype", "bf16"}}, {{"dtype", "f16"}}},
      rows,
      masks,
      {{}, {{"scale", "0.7"}}, {{"scale", "1000"}}},
      {{}, {{"softcap", "5"}}},
      {{{"sink", "no"}}, {{"sink", "yes"}}},
      {{{"lse", "e"}}, {{"lse", "2"}}},
      {{{"lengths", "uniform"}}, {{"lengths", "padded"}}, {{"lengths", "packed"}}},
  };
}

const Option &dataflows() {
  static const Option flows = {
      {{"dataflow", "auto"}}, {{"dataflow", "ss"}}, {{"dataflow", "ts"}}, {{"dataflow", "wasp"}}};
  return flows;
}

const Option &gradientRows() {
  static const Option rows = {{{"d", "64"}},
                              {{"d", "128"}},
                              {{"d", "192"}, {"dv", "128"}},
                              {{"d", "256"}, {"dv", "192"}},
                              {{"d", "48"}, {"dv", "80"}}};
  return rows;
}

const Option &moreGradientRows() {
  static const Option rows = {{{"d", "32"}}, {{"d", "40"}}, {{"d", "256"}}, {{"d", "128"}, {"dv", "64"}}};
  return rows;
}

std::vector<Option> backwardOptions(const Option &rows, const Option &masks) {
  return {
      {{{"form", "explicit"}}, {{"form", "plain"}}, {{"form", "plain"}, {"overlap", "scheduled"}}},
      {{{"dq", "atomic"}}, {{"dq", "own_launch"}}, {{"dq", "ordered"}}, {{"dq", "tma"}}},
      {{{"dkv", "loop"}}, {{"dkv", "split"}}, {{"dkv", "atomic"}}},
      {{{"dtype", "bf16"}}, {{"dtype", "f16"}}},
      {{{"gradients", "same"}}, {{"gradients", "f32"}}},
      {{{"do_stride", "one"}}, {{"do_stride", "any"}}},
      {{}, {{"dealing", "taken"}}, {{"unseen", "own_launch"}}},
      rows,
      masks,
      {{}, {{"scale", "0.7"}}, {{"scale", "1000"}}},
      {{}, {{"softcap", "5"}}},
      {{{"sink", "no"}}, {{"sink", "yes"}}},
      {{{"lse", "e"}}, {{"lse", "2"}}},
      {{{"lengths", "uniform"}}, {{"lengths", "padded"}}, {{"lengths", "packed"}}},
  };
}

std::vector<Option> fp8AttentionOptions() {
  return {
      {{{"form", "explicit"}}, {{"form", "plain"}}},
      {{{"sums", "exact"}}, {{"sums", "fast"}}},
      {{{"out", "bf16"}}, {{"out", "f16"}}},
      {{{"d", "64"}},
       {{"d", "128"}},
       {{"d", "32"}, {"dv", "96"}},
       {{"d", "256"}, {"dv", "128"}},
       {{"d", "256"}}},
      {{}, {{"bq", "64"}}, {{"bk", "32"}, {"stages", "4"}}, {{"bk", "64"}, {"stages", "1"}}},
      {{},
       {{"causal", "left"}},
       {{"causal", "right"}},
       {{"window", "50"}, {"window_right", "70"}},
       {{"mask", "block_causal"}, {"block", "32"}}},
      {{}, {{"scale", "0.1"}}, {{"softcap", "5"}}},
      {{{"sink", "no"}}, {{"sink", "yes"}}},
      {{{"lse", "e"}}, {{"lse", "2"}}},
      {{{"lengths", "uniform"}}, {{"lengths", "padded"}}, {{"lengths", "packed"}}},
  };
}

std::vector<Option> decodeOptions() {
  return {
      {{{"dtype", "bf16"}}, {{"dtype", "f16"}}},
      {{{"d", "64"}},
       {{"d", "128"}},
       {{"d", "256"}},
       {{"d", "40"}},
       {{"d", "96"}, {"dv", "64"}},
       {{"d", "192"}, {"dv", "128"}},
       {{"d", "320"}, {"dv", "272"}},
       {{"d", "576"}, {"dv", "512"}, {"values", "keys"}},
       {{"d", "128"}, {"values", "keys"}}},
      {{{"kv", "contiguous"}},
       {{"kv", "paged"}, {"page", "16"}},
       {{"kv", "paged"}, {"page", "64"}},
       {{"kv", "paged"}, {"page", "256"}}},
      {{},
       {{"causal", "left"}},
       {{"causal", "right"}},
       {{"window", "50"}},
       {{"causal", "right"}, {"window", "17"}}},
      {{{"sq", "1"}}, {{"sq", "2"}}, {{"sq", "5"}}},
      {{}, {{"rows", "128"}}, {{"bk", "32"}, {"stages", "4"}}, {{"stages", "1"}}},
      {{{"splits", "1"}}, {{"splits", "3"}}, {{"splits", "3"}, {"order", "as-needed"}}},
      {{}, {{"scale", "0.7"}}, {{"scale", "1000"}}},
      {{}, {{"softcap", "5"}}},
      {{{"sink", "no"}}, {{"sink", "yes"}}},
      {{{"lse", "e"}}, {{"lse", "2"}}},
  };
}

namespace {

constexpr int edgeLengths[] = {0, 1, 7, 63, 64, 65, 127, 128, 129, 200, 257};
constexpr std::pair<int, int> headCounts[] = {{1, 1}, {2, 1}, {8, 1}, {4, 4}, {6, 3}, {3, 3}};
/// Of decoding, where those of one head of K are rows of a product.
constexpr std::pair<int, int> decodedHeadCounts[] = {{1, 1}, {8, 1}, {6, 2}, {24, 3}, {70, 1}};

/// Sizes for a program, lengths in the way that it takes them.
class Sizes {
public:
  Sizes(const Definitions &program, Random &random, int longest)
      : random(random), longest(longest), isOneSequence(program.contains("mask")) {}

  Definitions drawDecoded() {
    auto [h, hkv] = decodedHeadCounts[below(std::size(decodedHeadCounts))];
    int keys = drawLength(), shortest = drawLength();
    return {{"b", std::to_string(below(3) + 1)},
            {"sk", std::to_string(keys)},
            {"shortest", std::to_string(std::min(keys, shortest))},
            {"h", std::to_string(h)},
            {"hkv", std::to_string(hkv)}};
  }
  Definitions draw(std::string_view kind) {
    auto [h, hkv] = headCounts[below(std::size(headCounts))];
    Definitions sizes = {{"h", std::to_string(h)}, {"hkv", std::to_string(hkv)}};
    if (kind == "uniform") {
      auto [queries, keys] = drawPair();
      sizes.insert({{"b", std::to_string(below(2) + 1)},
                    {"sq", std::to_string(queries)},
                    {"sk", std::to_string(keys)}});
      return sizes;
    }
    std::vector<int> queries, keys;
    for (uint64_t count = below(3) + 1; count != 0; --count) {
      auto [q, k] = drawPair();
      queries.push_back(q);
      keys.push_back(k);
    }
    std::string name = kind == "packed" ? "varlen" : "padded";
    sizes[name] = fmt::format("{}", fmt::join(queries, ","));
    sizes[name + "_k"] = fmt::format("{}", fmt::join(keys, ","));
    if (kind == "padded") {
      sizes["sq"] = std::to_string(*std::ranges::max_element(queries) + int(below(40)));
      sizes["sk"] = std::to_string(*std::ranges::max_element(keys) + int(below(40)));
    }
    return sizes;
  }

private:
  uint64_t below(uint64_t end) { return random() % end; }
  int drawLength() {
    return longest > 0 ? int(below(uint64_t(longest) + 1)) : edgeLengths[below(std::size(edgeLengths))];
  }
  /// Numbers of queries and keys. Halves of one sequence are as long.
  std::pair<int, int> drawPair() {
    int queries = drawLength();
    if (isOneSequence)
      return {queries & ~1, queries & ~1};
    return {queries, drawLength()};
  }

  Random &random;
  int longest;
  bool isOneSequence;
};

} // namespace

Definitions Case::all() const {
  Definitions definitions = program;
  definitions.insert(sizes.begin(), sizes.end());
  return definitions;
}

Case drawCase(const std::vector<Option> &options, const std::vector<size_t> &values, Random &random,
              int longest) {
  Case drawn;
  for (size_t i = 0; i < values.size(); ++i)
    for (const auto &[name, value] : options[i][values[i]])
      drawn.program[name] = value;
  Sizes sizes(drawn.program, random, longest);
  auto lengths = drawn.program.extract("lengths");
  drawn.sizes = lengths ? sizes.draw(lengths.mapped()) : sizes.drawDecoded();
  return drawn;
}

} // namespace tlc::attention_matrix
