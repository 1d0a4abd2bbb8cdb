// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lengths of sequences, and what follows from them and from the other parameters.
#include "kernels/attention/forward/RegisteredForward.h"

#include "kernels/attention/forward/Describe.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace tlc::kernels {

namespace {
using Kind = Parameter::Kind;

/// Sequences that are packed or padded.
std::vector<Parameter> lengthParameters() {
  return {
      {"varlen", "queries of packed sequences, instead of b and sq", Kind::list, "none", 0, maxExtent},
      {"varlen_k", "their keys, instead of sk; none: as many", Kind::list, "none", 0, maxExtent},
      {"padded", "queries of sequences that do not fill the tensors, instead of b", Kind::list, "none", 0,
       maxExtent},
      {"padded_k", "their keys; none: as many", Kind::list, "none", 0, maxExtent},
  };
}

std::vector<Parameter> allOf(const ForwardConfig &defaults, const std::string &length) {
  std::vector<Parameter> all = {
      {"b", "batches", Kind::count, "2", 0, maxExtent},
      {"sq", "queries of a batch", Kind::size, length, 0, maxExtent},
      {"sk", "keys of a batch", Kind::size, length, 0, maxExtent},
      {"h", "heads of Q", Kind::count, "16", 0, maxExtent},
      {"hkv", "heads of K and V", Kind::count, "16", 1, maxExtent},
  };
  auto add = [&](const std::vector<Parameter> &more) { all.insert(all.end(), more.begin(), more.end()); };
  std::vector<Parameter> problem = parametersOf(defaults.problem), config = parametersOf(defaults);
  add(problem);
  add(lengthParameters());
  add({choiceParameter("form",
                       "roles written by hand, or one loop that takes tensors of any alignment; auto: by "
                       "hand where the other parameters and the target allow it",
                       {"auto", "explicit", "plain"})});
  add({config.begin() + std::ptrdiff_t(problem.size()), config.end()});
  return all;
}
} // namespace

int64_t ForwardExtents::longestKeys() const { return keys.empty() ? sk : *std::ranges::max_element(keys); }

ForwardExtents forwardExtentsOf(const Parameters &values) {
  ForwardExtents e{.b = values.size("b"),
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

RegisteredForward::RegisteredForward(std::string_view name, std::string_view summary,
                                     const ForwardConfig &defaults, const std::string &length)
    : Kernel(name, summary, allOf(defaults, length)), defaults(defaults) {}

std::string RegisteredForward::conflict(const Parameters &values) const {
  ForwardExtents e = forwardExtentsOf(values);
  if (std::string heads = conflictOfHeads(e.h, e.hkv); !heads.empty())
    return heads;
  const AttentionProblem problem = problemOf(values).problem;
  if (std::string options = conflictOf(problem); !options.empty())
    return options;
  bool isPacked = values.list("varlen").has_value(), isPadded = values.list("padded").has_value();
  if (isPacked && isPadded)
    return "expected sequences that are packed (varlen) or padded, but got both";
  for (auto [keys, queries] : {std::pair("varlen_k", "varlen"), std::pair("padded_k", "padded")})
    if (values.list(keys) && !values.list(queries))
      return fmt::format("expected {} where there is {}, but got none", queries, keys);
  if (e.queries.size() != e.keys.size())
    return fmt::format("expected as many numbers of keys as of queries, but got {} and {}", e.keys.size(),
                       e.queries.size());
  std::string_view lengths = isPacked ? "varlen" : "padded";
  if (isPacked || isPadded)
    for (const char *name : {"b", "sq", "sk"})
      if (!values.isDefault(name) && (isPacked || name == std::string_view("b")))
        return fmt::format(
            "expected {} without {}, which follows from the lengths of the sequences, but got both", lengths,
            name);
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
  if (std::string why = whyNotExplicit(values); values.choice("form") == "explicit" && !why.empty())
    return fmt::format("expected form = plain or auto because {}, but got form = explicit", why);
  return {};
}

std::string RegisteredForward::whyNotExplicit(const Parameters &values) const {
  ForwardConfig config = problemOf(values);
  return kernels::whyNotExplicit(config.problem, config.sum,
                                 {.bq = values.integer("bq"), .bk = values.integer("bk")});
}

std::vector<Remark> RegisteredForward::remarks(const Parameters &values, const Target &target) const {
  if (values.choice("form") != "auto" || configOf(values, target).form == ForwardForm::explicitRoles)
    return {};
  std::string why = whyNotExplicit(values);
  return {{.id = std::string(plainFormRemark),
           .location = {},
           .message = fmt::format("'{}' takes the plain form, not the one with roles written by hand: {}",
                                  name(), why.empty() ? kernels::whyNotExplicit(target) : why)}};
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

/// Rows of a batch after those that `lengths` counts.
std::function<bool(int64_t)> paddingOf(const TensorSpec &spec, const std::vector<int64_t> &lengths) {
  return [rowsOfBatch = spec.shape[1], rowSize = spec.shape[2] * spec.shape[3], lengths](int64_t element) {
    int64_t row = element / rowSize;
    return row % rowsOfBatch >= lengths[size_t(row / rowsOfBatch)];
  };
}
} // namespace

std::vector<TensorSpec> RegisteredForward::tensors(const Parameters &values) const {
  const AttentionProblem problem = problemOf(values).problem;
  ForwardExtents e = forwardExtentsOf(values);
  constexpr ElementType f32 = ElementType::f32;
  auto shape = [&](std::vector<int64_t> axes) {
    if (problem.lengths == Lengths::packed)
      axes.erase(axes.begin());
    return axes;
  };
  std::vector<TensorSpec> specs = {
      {"Q", problem.dtype, Access::input, shape({e.b, e.sq, e.h, problem.d})},
      {"K", problem.dtype, Access::input, shape({e.b, e.sk, e.hkv, problem.d})},
      {"V", problem.dtype, Access::input, shape({e.b, e.sk, e.hkv, problem.dv})}};
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
  if (problem.sink == AttentionSink::perHead)
    specs.push_back({"sink", f32, Access::input, {e.h}});
  specs.push_back({"O", problem.outputType(), Access::output, shape({e.b, e.sq, e.h, problem.dv})});
  specs.push_back({"LSE", f32, Access::output, shape({e.b, e.h, e.sq})});
  return specs;
}

ForwardConfig RegisteredForward::problemOf(const Parameters &values) const {
  ForwardConfig config = defaults;
  read(values, config);
  if (values.list("varlen"))
    config.problem.lengths = Lengths::packed;
  else if (values.list("padded"))
    config.problem.lengths = Lengths::padded;
  return config;
}

ForwardConfig RegisteredForward::configOf(const Parameters &values, const Target &target) const {
  ForwardConfig config = problemOf(values);
  std::string_view form = values.choice("form");
  bool isPlain =
      form == "plain" ||
      (form == "auto" && !(whyNotExplicit(values).empty() && kernels::whyNotExplicit(target).empty()));
  config.form = isPlain ? ForwardForm::plain : ForwardForm::explicitRoles;
  chooseTiles(config, forwardExtentsOf(values).sq, target);
  read(values, config); // what is given
  chooseOverlap(config, target);
  return config;
}

dsl::Program RegisteredForward::build(const Parameters &values, const Target &target,
                                      const dsl::TraceOptions &options) const {
  return forwardProgram(configOf(values, target), options);
}

AttentionShape RegisteredForward::shapeOf(const Parameters &values) const {
  const AttentionProblem problem = problemOf(values).problem;
  ForwardExtents e = forwardExtentsOf(values);
  AttentionShape shape{.problem = problem, .h = e.h, .hkv = e.hkv};
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

std::vector<double> RegisteredForward::reference(const Parameters &values,
                                                 std::span<const std::vector<double>> inputs, size_t output,
                                                 std::span<const int64_t> elements) const {
  AttentionShape shape = shapeOf(values);
  std::span<const double> sink;
  if (problemOf(values).problem.sink == AttentionSink::perHead)
    sink = inputs.back();
  if (output == 0)
    return referenceAttention(shape, inputs[0], inputs[1], inputs[2], sink, elements);
  std::vector<int64_t> lines = linesOf(elements, shape.h, forwardExtentsOf(values).sq);
  return referenceLogSumExp(shape, inputs[0], inputs[1], sink, lines);
}

double RegisteredForward::flops(const Parameters &values) const {
  return attentionForwardFlops(shapeOf(values));
}

Definitions RegisteredForward::emulatorSizes() const {
  return {{"b", "1"}, {"sq", "512"}, {"sk", "512"}, {"h", "2"}, {"hkv", "2"}};
}

std::vector<Definitions> RegisteredForward::suiteOf(std::initializer_list<Sizes> sizes) {
  std::vector<Definitions> rows;
  for (const char *causal : {"none", "right"})
    for (const Sizes &size : sizes)
      rows.push_back({{"b", size.b},
                      {"sq", size.s},
                      {"sk", size.s},
                      {"h", size.h},
                      {"hkv", size.hkv},
                      {"causal", causal}});
  return rows;
}

} // namespace tlc::kernels
