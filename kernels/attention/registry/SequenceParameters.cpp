// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers of heads and rows as parameters, and tensors of sequences.
#include "kernels/attention/registry/SequenceParameters.h"

#include "kernels/attention/problem/Describe.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace tlc::kernels {

using Kind = Parameter::Kind;

std::vector<Parameter> extentParameters(const std::string &length) {
  return {
      {"b", "batches", Kind::count, "2", 0, maxExtent},
      {"sq", "queries of a batch", Kind::size, length, 0, maxExtent},
      {"sk", "keys of a batch", Kind::size, length, 0, maxExtent},
      {"h", "heads of Q", Kind::count, "16", 0, maxExtent},
      {"hkv", "heads of K and V", Kind::count, "16", 1, maxExtent},
  };
}

std::vector<Parameter> packedParameters() {
  return {
      {"varlen", "queries of packed sequences, instead of b and sq", Kind::list, "none", 0, maxExtent},
      {"varlen_k", "their keys, instead of sk; none: as many", Kind::list, "none", 0, maxExtent},
  };
}

std::vector<Parameter> paddedParameters() {
  return {
      {"padded", "queries of sequences that do not fill the tensors, instead of b", Kind::list, "none", 0,
       maxExtent},
      {"padded_k", "their keys; none: as many", Kind::list, "none", 0, maxExtent},
  };
}

int64_t AttentionExtents::longestKeys() const { return keys.empty() ? sk : *std::ranges::max_element(keys); }

Lengths lengthsOf(const Parameters &values) {
  if (values.list("varlen"))
    return Lengths::packed;
  return values.list("padded") ? Lengths::padded : Lengths::uniform;
}

AttentionExtents extentsOf(const Parameters &values) {
  AttentionExtents e{.b = values.size("b"),
                     .sq = values.size("sq"),
                     .sk = values.size("sk"),
                     .h = values.size("h"),
                     .hkv = values.size("hkv")};
  auto lengths = [&](std::string_view queries, std::string_view keys) {
    e.queries = *values.list(queries);
    e.keys = values.list(keys).value_or(e.queries);
    e.b = int64_t(e.queries.size());
  };
  if (values.list("varlen")) {
    lengths("varlen", "varlen_k");
    e.sq = std::accumulate(e.queries.begin(), e.queries.end(), int64_t(0));
    e.sk = std::accumulate(e.keys.begin(), e.keys.end(), int64_t(0));
  } else if (values.list("padded")) {
    lengths("padded", "padded_k");
  }
  return e;
}

namespace {
/// `queries` and `keys` are lists of lengths.
std::string conflictOfLengths(const Parameters &values, const char *queries, const char *keys,
                              std::initializer_list<const char *> following) {
  const auto ofQueries = values.list(queries), ofKeys = values.list(keys);
  if (ofKeys && !ofQueries)
    return fmt::format("expected {} where there is {}, but got none", queries, keys);
  if (ofKeys && ofQueries->size() != ofKeys->size())
    return fmt::format("expected as many numbers of keys as of queries, but got {} and {}", ofKeys->size(),
                       ofQueries->size());
  for (const char *name : following)
    if (ofQueries && !values.isDefault(name))
      return fmt::format(
          "expected {} without {}, which follows from the lengths of the sequences, but got both", queries,
          name);
  return {};
}
} // namespace

std::string conflictOfPacked(const Parameters &values, std::initializer_list<const char *> following) {
  return conflictOfLengths(values, "varlen", "varlen_k", following);
}

std::string conflictOfSequences(const AttentionProblem &problem, const Parameters &values) {
  AttentionExtents e = extentsOf(values);
  if (std::string heads = conflictOfHeads(e.h, e.hkv); !heads.empty())
    return heads;
  if (std::string options = conflictOf(problem); !options.empty())
    return options;
  bool isPacked = values.list("varlen").has_value(), isPadded = values.list("padded").has_value();
  if (isPacked && isPadded)
    return "expected sequences that are packed (varlen) or padded, but got both";
  for (const std::string &lengths :
       {conflictOfPacked(values, {"b", "sq", "sk"}), conflictOfLengths(values, "padded", "padded_k", {"b"})})
    if (!lengths.empty())
      return lengths;
  int64_t different = e.queries.empty() ? std::min<int64_t>(e.b, 1) : int64_t(e.queries.size());
  for (size_t i = 0; i < size_t(different); ++i) {
    if (isPadded && (e.queries[i] > e.sq || e.keys[i] > e.sk))
      return fmt::format(
          "expected padded sequences of at most sq = {} queries and sk = {} keys, but sequence {} has "
          "{} and {}",
          e.sq, e.sk, i, e.queries[i], e.keys[i]);
    if (std::string rows =
            conflictOfRows(problem.mask, fmt::format("sequence {}", i), e.queriesOf(i), e.keysOf(i));
        !rows.empty())
      return rows;
  }
  return {};
}

std::function<bool(int64_t)> paddingOf(const TensorSpec &spec, const std::vector<int64_t> &lengths) {
  return [rowsOfBatch = spec.shape[1], rowSize = spec.shape[2] * spec.shape[3], lengths](int64_t element) {
    int64_t row = element / rowSize;
    return row % rowsOfBatch >= lengths[size_t(row / rowsOfBatch)];
  };
}

std::vector<int64_t> shapeOfRows(const AttentionProblem &problem, std::vector<int64_t> axes) {
  if (problem.lengths == Lengths::packed)
    axes.erase(axes.begin());
  return axes;
}

namespace {
/// Of packed sequences where each begins and the last one ends, of padded ones how long each is.
TensorSpec lengthsSpec(Lengths kind, std::string_view which, const std::vector<int64_t> &lengths) {
  bool isPacked = kind == Lengths::packed;
  std::vector<double> contents;
  double begin = 0;
  for (int64_t length : lengths) {
    contents.push_back(isPacked ? begin : double(length));
    begin += double(length);
  }
  if (isPacked)
    contents.push_back(begin);
  return {.name = fmt::format("{}_{}", isPacked ? "begins" : "lengths", which),
          .element = ElementType::i32,
          .access = Access::input,
          .shape = {int64_t(contents.size())},
          .contents = std::move(contents)};
}

/// Seed and offset of inputs that are made, with bits in both halves.
constexpr PhiloxState dropoutOfTests = {.seed = (int64_t(1) << 45) + 20261, .offset = (int64_t(1) << 33) + 7};
} // namespace

std::vector<TensorSpec> inputSpecs(const AttentionProblem &problem, const AttentionExtents &e) {
  constexpr ElementType f32 = ElementType::f32;
  std::vector<TensorSpec> specs = {
      {"Q", problem.dtype, Access::input, shapeOfRows(problem, {e.b, e.sq, e.h, problem.d})},
      {"K", problem.dtype, Access::input, shapeOfRows(problem, {e.b, e.sk, e.hkv, problem.d})},
      {"V", problem.dtype, Access::input, shapeOfRows(problem, {e.b, e.sk, e.hkv, problem.dv})}};
  if (problem.lengths == Lengths::padded)
    for (TensorSpec &spec : specs)
      spec.isPadding = paddingOf(spec, &spec == specs.data() ? e.queries : e.keys);
  if (problem.hasBytes()) {
    specs[2].low = -0.5;
    specs.push_back({"scaleQ", f32, Access::input, {e.b, e.h}, 1, 2});
    specs.push_back({"scaleK", f32, Access::input, {e.b, e.hkv}, 1, 2});
    specs.push_back({"scaleV", f32, Access::input, {e.b, e.hkv}, 0.5, 1});
  }
  if (problem.lengths != Lengths::uniform) {
    specs.push_back(lengthsSpec(problem.lengths, "q", e.queries));
    specs.push_back(lengthsSpec(problem.lengths, "k", e.keys));
  }
  if (problem.drops())
    specs.push_back({.name = "philox",
                     .element = ElementType::i64,
                     .access = Access::input,
                     .shape = {2},
                     .contents = {double(dropoutOfTests.seed), double(dropoutOfTests.offset)}});
  if (problem.sink == AttentionSink::perHead)
    specs.push_back({"sink", f32, Access::input, {e.h}});
  return specs;
}

AttentionShape attentionShape(const AttentionProblem &problem, const AttentionExtents &e) {
  AttentionShape shape{.problem = problem, .h = e.h, .hkv = e.hkv, .philox = dropoutOfTests};
  bool isPacked = problem.lengths == Lengths::packed;
  SequenceRows next;
  for (size_t i = 0; i < size_t(e.b); ++i) {
    next.queries = e.queriesOf(i);
    next.keys = e.keysOf(i);
    shape.sequences.push_back(next);
    next.firstQuery += isPacked ? next.queries : e.sq;
    next.firstKey += isPacked ? next.keys : e.sk;
  }
  return shape;
}

} // namespace tlc::kernels
