// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of attention forward.
#include "kernels/attention/ForwardKernel.h"

#include "kernels/attention/AttentionParameters.h"
#include "kernels/attention/Columns.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace tlc::kernels {

namespace {
using Kind = Parameter::Kind;

/// What is computed, without how.
ForwardConfig problemOf(const Parameters &values) {
  int64_t d = values.integer("d").value();
  ForwardConfig config{.dtype = values.element("dtype"),
                       .d = d,
                       .dv = valueLengthOf(values),
                       .mask = maskOf(values),
                       .scale = values.number("scale"),
                       .softCap = softCapOf(values),
                       .sink = sinkOf(values),
                       .logBase = logBaseOf(values)};
  if (values.list("varlen"))
    config.lengths = Lengths::packed;
  else if (values.list("padded"))
    config.lengths = Lengths::padded;
  return config;
}

struct Extents {
  int64_t b, sq, sk, h, hkv, d, dv; ///< of packed sequences: `sq` and `sk` are the rows of all of them
  std::vector<int64_t> queries = {}, keys = {}; ///< of each sequence
};

Extents extentsOf(const Parameters &values) {
  int64_t d = values.integer("d").value();
  Extents e{.b = values.size("b"),
            .sq = values.size("sq"),
            .sk = values.size("sk"),
            .h = values.size("h"),
            .hkv = values.size("hkv"),
            .d = d,
            .dv = valueLengthOf(values)};
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
  } else {
    e.queries.assign(size_t(e.b), e.sq);
    e.keys.assign(size_t(e.b), e.sk);
  }
  return e;
}

AttentionShape shapeOf(const Parameters &values) {
  Extents e = extentsOf(values);
  ForwardConfig config = problemOf(values);
  AttentionShape shape = shapeOf(config, e.h, e.hkv);
  SequenceRows next;
  for (size_t i = 0; i < e.queries.size(); ++i) {
    next.queries = e.queries[i];
    next.keys = e.keys[i];
    shape.sequences.push_back(next);
    bool isPacked = config.lengths == Lengths::packed;
    next.firstQuery += isPacked ? next.queries : e.sq;
    next.firstKey += isPacked ? next.keys : e.sk;
  }
  return shape;
}

/// Of packed sequences where each begins and the last one ends, of padded ones how long each is.
TensorSpec lengthsSpec(const Extents &e, Lengths kind, std::string_view which,
                       const std::vector<int64_t> &lengths) {
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
          .shape = {e.b + (isPacked ? 1 : 0)},
          .contents = std::move(contents)};
}
} // namespace

AttentionForwardKernel::AttentionForwardKernel()
    : declared{
          {"b", "batches", Kind::count, "2", 0, maxExtent},
          {"sq", "queries of a batch", Kind::size, "2048", 0, maxExtent},
          {"sk", "keys of a batch", Kind::size, "2048", 0, maxExtent},
          {"h", "heads of Q", Kind::count, "16", 0, maxExtent},
          {"hkv", "heads of K and V", Kind::count, "16", 1, maxExtent},
          {"d", "length of a row of Q and K", Kind::integer, "128", 8, longestRow, 8},
          valueLengthParameter(),
          typeParameter(),
          scaleParameter(),
          softCapParameter(),
          sinkParameter(),
          logBaseParameter(),
          {"varlen", "queries of packed sequences, instead of b and sq", Kind::list, "none", 0, maxExtent},
          {"varlen_k", "their keys, instead of sk; none: as many", Kind::list, "none", 0, maxExtent},
          {"padded", "queries of sequences that do not fill the tensors, instead of b", Kind::list, "none", 0,
           maxExtent},
          {"padded_k", "their keys; none: as many", Kind::list, "none", 0, maxExtent},
          choiceParameter("form", "who makes the roles: the compiler or the program", {"explicit", "plain"}),
          {"bq", "queries that a block works on", Kind::integer, "auto", 64, 192, 64},
          {"bk", "keys of a step", Kind::integer, "auto", 16, 256, 16},
          {"stages", "steps whose copies are in flight", Kind::integer, "auto", 1, 8},
      } {
  std::vector<Parameter> mask = maskParameters();
  declared.insert(std::ranges::find(declared, "scale", &Parameter::name), mask.begin(), mask.end());
}

ForwardConfig AttentionForwardKernel::config(const Parameters &values) {
  ForwardConfig config = problemOf(values);
  if (values.choice("form") == "plain")
    config.form = ForwardForm::plain;
  chooseTiles(config);
  config.bq = values.integer("bq").value_or(config.bq);
  config.bk = values.integer("bk").value_or(config.bk);
  config.stages = values.integer("stages").value_or(config.stages);
  return config;
}

dsl::Program AttentionForwardKernel::build(const Parameters &values, const dsl::TraceOptions &options) const {
  return forwardProgram(config(values), options);
}

std::vector<TensorSpec> AttentionForwardKernel::tensors(const Parameters &values) const {
  Extents e = extentsOf(values);
  ForwardConfig config = problemOf(values);
  bool isPacked = config.lengths == Lengths::packed;
  auto shape = [&](std::vector<int64_t> axes) {
    if (isPacked)
      axes.erase(axes.begin());
    return axes;
  };
  std::vector<TensorSpec> specs = {{"Q", config.dtype, Access::input, shape({e.b, e.sq, e.h, e.d})},
                                   {"K", config.dtype, Access::input, shape({e.b, e.sk, e.hkv, e.d})},
                                   {"V", config.dtype, Access::input, shape({e.b, e.sk, e.hkv, e.dv})}};
  if (config.lengths == Lengths::padded)
    for (TensorSpec &spec : specs)
      spec.isPadding = [rowsOfBatch = spec.shape[1], rowSize = spec.shape[2] * spec.shape[3],
                        lengths = &spec == specs.data() ? e.queries : e.keys](int64_t element) {
        int64_t row = element / rowSize;
        return row % rowsOfBatch >= lengths[size_t(row / rowsOfBatch)];
      };
  if (config.lengths != Lengths::uniform) {
    specs.push_back(lengthsSpec(e, config.lengths, "q", e.queries));
    specs.push_back(lengthsSpec(e, config.lengths, "k", e.keys));
  }
  if (config.sink == AttentionSink::perHead)
    specs.push_back({"sink", ElementType::f32, Access::input, {e.h}});
  specs.push_back({"O", config.dtype, Access::output, shape({e.b, e.sq, e.h, e.dv})});
  specs.push_back({"LSE", ElementType::f32, Access::output, shape({e.b, e.h, e.sq})});
  return specs;
}

std::vector<double> AttentionForwardKernel::reference(const Parameters &values,
                                                      std::span<const std::vector<double>> inputs,
                                                      size_t output,
                                                      std::span<const int64_t> elements) const {
  AttentionShape shape = shapeOf(values);
  std::span<const double> sink;
  if (problemOf(values).sink == AttentionSink::perHead)
    sink = inputs.back();
  if (output == 0)
    return referenceAttention(shape, inputs[0], inputs[1], inputs[2], sink, elements);
  std::vector<int64_t> lines = linesOf(elements, shape.h, extentsOf(values).sq);
  return referenceLogSumExp(shape, inputs[0], inputs[1], sink, lines);
}

Tolerance AttentionForwardKernel::tolerance(const Parameters &values, size_t output) const {
  ForwardConfig config = problemOf(values);
  double scores = scoreError(values);
  if (output == 1)
    return {.limit = 1e-5 + scores, .floor = 1};
  // Weights are rounded before they meet V, whose elements are up to 1, and then the result is.
  return {.limit = 3 * roundingError(config.dtype) + scores, .floor = 0.5};
}

std::string AttentionForwardKernel::conflict(const Parameters &values) const {
  Extents s = extentsOf(values);
  if (std::string heads = headsConflict(s.h, s.hkv); !heads.empty())
    return heads;
  if (std::string scale = scaleConflict(values); !scale.empty())
    return scale;
  bool isPacked = values.list("varlen").has_value(), isPadded = values.list("padded").has_value();
  if (isPacked && isPadded)
    return "expected sequences that are packed (varlen) or padded, but got both";
  for (auto [keys, queries] : {std::pair("varlen_k", "varlen"), std::pair("padded_k", "padded")})
    if (values.list(keys) && !values.list(queries))
      return fmt::format("expected {} where there is {}, but got none", queries, keys);
  if (s.queries.size() != s.keys.size())
    return fmt::format("expected as many numbers of keys as of queries, but got {} and {}", s.keys.size(),
                       s.queries.size());
  for (size_t i = 0; i < s.queries.size(); ++i) {
    if (isPadded && (s.queries[i] > s.sq || s.keys[i] > s.sk))
      return fmt::format(
          "expected padded sequences of at most sq = {} queries and sk = {} keys, but sequence {} has "
          "{} and {}",
          s.sq, s.sk, i, s.queries[i], s.keys[i]);
    if (std::string mask = maskConflict(values, i, s.queries[i], s.keys[i]); !mask.empty())
      return mask;
  }
  if (std::string mask = maskConflict(values); !mask.empty())
    return mask;
  constexpr int64_t depth = 16; // of one wgmma
  if (values.choice("form") == "explicit" && (s.dv % depth != 0 || s.d % depth != 0))
    return fmt::format(
        "expected d and dv to be multiples of {} because in the explicit form all products are "
        "wgmma, but got d = {} and dv = {}; use form=plain",
        depth, s.d, s.dv);
  if (int64_t bq = values.integer("bq").value_or(64); values.choice("form") == "explicit" && bq != 64)
    if (isSplit(s.dv))
      return fmt::format(
          "expected bq = 64 because the columns of dv = {} take two roles that compute, and registers for no "
          "third, but got {}",
          s.dv, bq);
  return {};
}

double AttentionForwardKernel::flops(const Parameters &values) const {
  return attentionForwardFlops(shapeOf(values));
}

std::vector<Definitions> AttentionForwardKernel::suite() const {
  std::vector<Definitions> rows;
  for (const char *causal : {"none", "right"}) {
    auto row = [&](const char *b, const char *s, const char *h, const char *hkv) {
      rows.push_back({{"b", b}, {"sq", s}, {"sk", s}, {"h", h}, {"hkv", hkv}, {"causal", causal}});
    };
    row("16", "1024", "16", "16");
    row("8", "2048", "16", "16");
    row("4", "4096", "16", "16");
    row("2", "8192", "16", "16");
    row("1", "16384", "16", "16");
    row("4", "4096", "32", "8");
  }
  return rows;
}

} // namespace tlc::kernels
