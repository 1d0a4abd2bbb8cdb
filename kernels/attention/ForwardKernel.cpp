// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of attention forward.
#include "kernels/attention/ForwardKernel.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace tlc::kernels {

namespace {
using Kind = Parameter::Kind;

CausalAlignment causalOf(const Parameters &values) {
  std::string_view text = values.choice("causal");
  return text == "none"   ? CausalAlignment::none
         : text == "left" ? CausalAlignment::left
                          : CausalAlignment::right;
}

/// What is computed, without how.
ForwardConfig problemOf(const Parameters &values) {
  int64_t d = values.integer("d").value();
  ForwardConfig config{.dtype = values.element("dtype"),
                       .d = d,
                       .dv = values.integer("dv").value_or(d),
                       .mask = {.causal = causalOf(values),
                                .windowLeft = values.integer("window"),
                                .windowRight = values.integer("window_right")},
                       .scale = values.number("scale"),
                       .softCap = values.number("softcap").value_or(0),
                       .sink = values.choice("sink") == "yes" ? Sink::perHead : Sink::none,
                       .logBase = values.choice("lse") == "2" ? LogBase::two : LogBase::e};
  if (values.list("varlen"))
    config.lengths = Lengths::packed;
  else if (values.list("padded"))
    config.lengths = Lengths::padded;
  if (values.choice("mask") == "block_causal")
    config.mask.blockCausal = values.integer("block").value();
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
            .dv = values.integer("dv").value_or(d)};
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
  AttentionShape shape{.h = e.h,
                       .hkv = e.hkv,
                       .d = e.d,
                       .dv = e.dv,
                       .scale = config.scale.value_or(1 / std::sqrt(double(e.d))),
                       .softCap = config.softCap,
                       .mask = config.mask,
                       .logBase = config.logBase};
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

namespace {
constexpr int64_t mostDistance = int64_t(1) << 30; // sums of two of them are positions still
}

AttentionForwardKernel::AttentionForwardKernel()
    : declared{
          {"b", "batches", Kind::count, "2", 0, maxExtent},
          {"sq", "queries of a batch", Kind::size, "2048", 0, maxExtent},
          {"sk", "keys of a batch", Kind::size, "2048", 0, maxExtent},
          {"h", "heads of Q", Kind::count, "16", 0, maxExtent},
          {"hkv", "heads of K and V", Kind::count, "16", 1, maxExtent},
          {"d", "length of a row of Q and K", Kind::integer, "128", 8, 256, 8},
          {"dv", "length of a row of V and O; auto: d", Kind::integer, "auto", 8, 256, 8},
          {.name = "dtype",
           .description = "type of Q, K, V and O",
           .kind = Kind::choice,
           .fallback = "bf16",
           .choices = {"f16", "bf16"}},
          {.name = "causal",
           .description = "which keys a query sees: all, those up to its own position, or up to its position "
                          "counted from the end",
           .kind = Kind::choice,
           .fallback = "none",
           .choices = {"none", "left", "right"}},
          {"window", "keys before its own place that a query sees; auto: all", Kind::integer, "auto", 0,
           mostDistance},
          {"window_right", "keys behind its own place that a query sees; auto: all", Kind::integer, "auto", 0,
           mostDistance},
          {.name = "mask",
           .description = "a further mask: noisy and clean halves of a sequence, in blocks",
           .kind = Kind::choice,
           .fallback = "none",
           .choices = {"none", "block_causal"}},
          {"block", "positions of a block of the block-causal mask", Kind::integer, "32", 1, mostDistance},
          {"scale", "of scores; auto: 1 / sqrt(d)", Kind::number, "auto", 0, maxExtent},
          {"softcap", "scores become cap tanh(score / cap); 0: they stay", Kind::number, "0", 0, maxExtent},
          {.name = "sink",
           .description = "whether each head has a further score, whose key has the value 0",
           .kind = Kind::choice,
           .fallback = "no",
           .choices = {"no", "yes"}},
          {.name = "lse",
           .description = "base of the logarithms in LSE",
           .kind = Kind::choice,
           .fallback = "e",
           .choices = {"e", "2"}},
          {"varlen", "queries of packed sequences, instead of b and sq", Kind::list, "none", 0, maxExtent},
          {"varlen_k", "their keys, instead of sk; none: as many", Kind::list, "none", 0, maxExtent},
          {"padded", "queries of sequences that do not fill the tensors, instead of b", Kind::list, "none", 0,
           maxExtent},
          {"padded_k", "their keys; none: as many", Kind::list, "none", 0, maxExtent},
          {.name = "form",
           .description = "who makes the roles: the compiler or the program",
           .kind = Kind::choice,
           .fallback = "explicit",
           .choices = {"plain", "explicit"}},
          {"bq", "queries that a block works on", Kind::integer, "auto", 64, 192, 64},
          {"bk", "keys of a step", Kind::integer, "auto", 16, 256, 16},
          {"stages", "steps whose copies are in flight", Kind::integer, "auto", 1, 8},
      } {}

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
  if (config.sink == Sink::perHead)
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
  if (problemOf(values).sink == Sink::perHead)
    sink = inputs.back();
  if (output == 0)
    return referenceAttention(shape, inputs[0], inputs[1], inputs[2], sink, elements);
  std::vector<int64_t> lines = linesOf(elements, shape.h, extentsOf(values).sq);
  return referenceLogSumExp(shape, inputs[0], inputs[1], sink, lines);
}

Tolerance AttentionForwardKernel::tolerance(const Parameters &values, size_t output) const {
  ForwardConfig config = problemOf(values);
  // Sums of d products of numbers up to 1 are rounded before they are scaled and become exponents.
  double scale = config.scale.value_or(1 / std::sqrt(double(config.d)));
  double scores = 4 * scale * double(config.d) * roundingError(ElementType::f32);
  if (output == 1)
    return {.limit = 1e-5 + scores, .floor = 1};
  // Weights are rounded before they meet V, whose elements are up to 1, and then the result is.
  return {.limit = 3 * roundingError(config.dtype) + scores, .floor = 0.5};
}

std::string AttentionForwardKernel::conflict(const Parameters &values) const {
  Extents s = extentsOf(values);
  if (s.h % s.hkv != 0)
    return fmt::format(
        "expected h to be a multiple of hkv because as many heads of Q share each head of K and V, "
        "but got h = {} and hkv = {}",
        s.h, s.hkv);
  if (values.number("scale") == 0)
    return "expected a scale above 0 because all keys would weigh the same, but got 0";
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
    if (values.choice("mask") == "block_causal" && (s.queries[i] != s.keys[i] || s.queries[i] % 2 != 0))
      return fmt::format(
          "expected as many queries as keys, an even number, because the block-causal mask is about "
          "a noisy and a clean half of one sequence, but sequence {} has {} and {}",
          i, s.queries[i], s.keys[i]);
  }
  if (values.choice("mask") == "block_causal" &&
      (values.choice("causal") != "none" || values.integer("window") || values.integer("window_right")))
    return "expected the block-causal mask alone, but got a causal mask or a window beside it";
  constexpr int64_t depth = 16; // of one wgmma
  if (values.choice("form") == "explicit" && (s.dv % depth != 0 || s.d % depth != 0))
    return fmt::format(
        "expected d and dv to be multiples of {} because in the explicit form all products are "
        "wgmma, but got d = {} and dv = {}; use form=plain",
        depth, s.d, s.dv);
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
