// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of attention forward on e4m3.
#include "kernels/attention/Fp8ForwardKernel.h"

#include "kernels/attention/AttentionParameters.h"
#include "kernels/attention/TransposedValues.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tlc::kernels {

namespace {
using Kind = Parameter::Kind;

struct Extents {
  int64_t b, sq, sk, h, hkv, d;
};

Extents extentsOf(const Parameters &values) {
  return {values.size("b"), values.size("sq"),  values.size("sk"),
          values.size("h"), values.size("hkv"), values.integer("d").value()};
}

/// What is computed, without how.
ForwardConfig problemOf(const Parameters &values) {
  int64_t d = values.integer("d").value();
  return {.dtype = ElementType::e4m3,
          .out = values.element("out"),
          .d = d,
          .dv = d,
          .mask = maskOf(values),
          .scale = values.number("scale"),
          .softCap = softCapOf(values),
          .sink = sinkOf(values),
          .logBase = logBaseOf(values),
          .form = values.choice("form") == "plain" ? ForwardForm::plain : ForwardForm::explicitRoles,
          .sum = values.choice("sums") == "fast" ? OutputSum::inPlace : OutputSum::perTile};
}

AttentionShape shapeOf(const Parameters &values) {
  Extents e = extentsOf(values);
  AttentionShape shape = shapeOf(problemOf(values), e.h, e.hkv);
  for (int64_t i = 0; i < e.b; ++i)
    shape.sequences.push_back({.firstQuery = i * e.sq, .queries = e.sq, .firstKey = i * e.sk, .keys = e.sk});
  return shape;
}

/// Rows of `heads` heads, each multiplied by its head's factor.
std::vector<double> scaled(std::span<const double> rows, std::span<const double> factors, int64_t batches,
                           int64_t heads, int64_t length) {
  std::vector<double> result(rows.begin(), rows.end());
  int64_t perBatch = int64_t(rows.size()) / std::max<int64_t>(batches, 1);
  for (int64_t i = 0; i < int64_t(rows.size()); ++i)
    result[size_t(i)] *= factors[size_t(i / perBatch * heads + i / length % heads)];
  return result;
}
} // namespace

Fp8AttentionForwardKernel::Fp8AttentionForwardKernel()
    : declared{
          {"b", "batches", Kind::count, "2", 0, maxExtent},
          {"sq", "queries of a batch", Kind::size, "8192", 0, maxExtent},
          {"sk", "keys of a batch", Kind::size, "8192", 0, maxExtent},
          {"h", "heads of Q", Kind::count, "16", 0, maxExtent},
          {"hkv", "heads of K and V", Kind::count, "16", 1, maxExtent},
          {"d", "length of a row of Q, K, V and O", Kind::integer, "128", 32, 256, 32},
          choiceParameter("out", "type of O", {"bf16", "f16"}),
          scaleParameter(),
          softCapParameter(),
          sinkParameter(),
          logBaseParameter(),
          choiceParameter("form", "roles by hand, or one loop that takes tensors of any alignment",
                          {"explicit", "plain"}),
          choiceParameter(
              "sums",
              "where rows of V are added up: tile by tile in f32, or in the product, which keeps 13 bits",
              {"exact", "fast"}),
          {"bq", "queries that a block works on", Kind::integer, "auto", 64, 192, 64},
          {"bk", "keys of a step", Kind::integer, "auto", 32, 128, 32},
          {"stages", "steps whose copies are in flight", Kind::integer, "auto", 1, 8},
      } {
  std::vector<Parameter> mask = maskParameters();
  declared.insert(std::ranges::find(declared, "scale", &Parameter::name), mask.begin(), mask.end());
}

ForwardConfig Fp8AttentionForwardKernel::config(const Parameters &values) {
  ForwardConfig config = problemOf(values);
  chooseTiles(config);
  config.bq = values.integer("bq").value_or(config.bq);
  config.bk = values.integer("bk").value_or(config.bk);
  config.stages = values.integer("stages").value_or(config.stages);
  return config;
}

dsl::Program Fp8AttentionForwardKernel::build(const Parameters &values,
                                              const dsl::TraceOptions &options) const {
  return forwardProgram(config(values), options);
}

std::vector<TensorSpec> Fp8AttentionForwardKernel::tensors(const Parameters &values) const {
  Extents s = extentsOf(values);
  constexpr ElementType e4m3 = ElementType::e4m3, f32 = ElementType::f32;
  std::vector<TensorSpec> specs = {{"Q", e4m3, Access::input, {s.b, s.sq, s.h, s.d}},
                                   {"K", e4m3, Access::input, {s.b, s.sk, s.hkv, s.d}},
                                   {"V", e4m3, Access::input, {s.b, s.sk, s.hkv, s.d}, -0.5, 1},
                                   {"scaleQ", f32, Access::input, {s.b, s.h}, 1, 2},
                                   {"scaleK", f32, Access::input, {s.b, s.hkv}, 1, 2},
                                   {"scaleV", f32, Access::input, {s.b, s.hkv}, 0.5, 1}};
  if (problemOf(values).sink == AttentionSink::perHead)
    specs.push_back({"sink", f32, Access::input, {s.h}});
  specs.push_back({"O", values.element("out"), Access::output, {s.b, s.sq, s.h, s.d}});
  specs.push_back({"LSE", f32, Access::output, {s.b, s.h, s.sq}});
  return specs;
}

std::vector<double> Fp8AttentionForwardKernel::reference(const Parameters &values,
                                                         std::span<const std::vector<double>> inputs,
                                                         size_t output,
                                                         std::span<const int64_t> elements) const {
  Extents s = extentsOf(values);
  AttentionShape shape = shapeOf(values);
  std::vector<double> q = scaled(inputs[0], inputs[3], s.b, s.h, s.d),
                      k = scaled(inputs[1], inputs[4], s.b, s.hkv, s.d);
  std::span<const double> sink;
  if (problemOf(values).sink == AttentionSink::perHead)
    sink = inputs.back();
  if (output == 0)
    return referenceAttention(shape, q, k, scaled(inputs[2], inputs[5], s.b, s.hkv, s.d), sink, elements);
  return referenceLogSumExp(shape, q, k, sink, linesOf(elements, s.h, s.sq));
}

Tolerance Fp8AttentionForwardKernel::tolerance(const Parameters &values, size_t output) const {
  // Products of e4m3 are added with 13 bits behind the largest one's point.
  if (output == 1)
    return {.limit = std::ldexp(1.0, -10), .floor = 1};
  // Each weight is rounded by itself, so that their errors add up as O does: as the root of the number of
  // keys. A masked row may see any number of them.
  auto keys = double(std::max<int64_t>(values.size("sk"), 1)),
       seen = problemOf(values).mask.hidesPairs() ? 16 : keys;
  double limit = roundingError(ElementType::e4m3);
  if (config(values).sum == OutputSum::inPlace)
    limit +=
        std::ldexp(keys, -16); // of each term what is cut off, half the last of 13 bits and more with time
  return {.limit = limit, .floor = 3 / std::sqrt(seen)};
}

std::string Fp8AttentionForwardKernel::conflict(const Parameters &values) const {
  Extents s = extentsOf(values);
  if (std::string heads = headsConflict(s.h, s.hkv); !heads.empty())
    return heads;
  if (std::string scale = scaleConflict(values); !scale.empty())
    return scale;
  if (std::string mask = maskConflict(values); !mask.empty())
    return mask;
  if (std::string mask = maskConflict(values, 0, s.sq, s.sk); !mask.empty())
    return mask;
  if (int64_t bk = config(values).bk;
      values.choice("form") == "explicit" && TransposedValues::keysOfTile % bk != 0)
    return fmt::format(
        "expected bk to divide {} because V is transposed in tiles of so many keys, but got {}",
        TransposedValues::keysOfTile, bk);
  if (constexpr int64_t longest = 128;
      s.d > longest && values.choice("sums") == "exact" && values.choice("form") == "explicit")
    return fmt::format(
        "expected d of at most {} because O and a tile's share of it are in registers together, but "
        "got d = {}; use sums=fast, which keeps 13 bits of a sum, or form=plain",
        longest, s.d);
  return {};
}

double Fp8AttentionForwardKernel::flops(const Parameters &values) const {
  return attentionForwardFlops(shapeOf(values));
}

std::vector<Definitions> Fp8AttentionForwardKernel::suite() const {
  std::vector<Definitions> rows;
  for (const char *causal : {"none", "right"}) {
    auto row = [&](const char *b, const char *s, const char *h, const char *hkv) {
      rows.push_back({{"b", b}, {"sq", s}, {"sk", s}, {"h", h}, {"hkv", hkv}, {"causal", causal}});
    };
    row("4", "4096", "16", "16");
    row("2", "8192", "16", "16");
    row("1", "16384", "16", "16");
  }
  return rows;
}

} // namespace tlc::kernels
