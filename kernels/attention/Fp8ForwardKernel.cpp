// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of attention forward on e4m3.
#include "kernels/attention/Fp8ForwardKernel.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tlc::kernels {

namespace {
using Kind = Parameter::Kind;

CausalAlignment causalOf(const Parameters &values) {
  std::string_view text = values.choice("causal");
  return text == "none"   ? CausalAlignment::none
         : text == "left" ? CausalAlignment::left
                          : CausalAlignment::right;
}

struct Extents {
  int64_t b, sq, sk, h, hkv, d;
};

Extents extentsOf(const Parameters &values) {
  return {values.size("b"), values.size("sq"),  values.size("sk"),
          values.size("h"), values.size("hkv"), values.integer("d").value()};
}

AttentionShape shapeOf(const Parameters &values) {
  Extents e = extentsOf(values);
  AttentionShape shape{.h = e.h,
                       .hkv = e.hkv,
                       .d = e.d,
                       .dv = e.d,
                       .scale = 1 / std::sqrt(double(e.d)),
                       .mask = {.causal = causalOf(values)}};
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
          {.name = "out",
           .description = "type of O",
           .kind = Kind::choice,
           .fallback = "bf16",
           .choices = {"f16", "bf16"}},
          {.name = "causal",
           .description = "which keys a query sees: all, those up to its own position, or up to its position "
                          "counted from the end",
           .kind = Kind::choice,
           .fallback = "none",
           .choices = {"none", "left", "right"}},
          {.name = "form",
           .description = "roles by hand, or one loop that takes tensors of any alignment",
           .kind = Kind::choice,
           .fallback = "explicit",
           .choices = {"plain", "explicit"}},
          {.name = "sums",
           .description =
               "where rows of V are added up: tile by tile in f32, or in the product, which keeps 13 bits",
           .kind = Kind::choice,
           .fallback = "exact",
           .choices = {"exact", "fast"}},
          {"bq", "queries that a block works on", Kind::integer, "auto", 64, 192, 64},
          {"bk", "keys of a step", Kind::integer, "auto", 32, 256, 32},
          {"stages", "steps whose copies are in flight", Kind::integer, "auto", 1, 8},
      } {}

Fp8ForwardConfig Fp8AttentionForwardKernel::config(const Parameters &values) {
  OutputSum sum = values.choice("sums") == "fast" ? OutputSum::inPlace : OutputSum::perTile;
  Fp8ForwardConfig config = chooseFp8ForwardConfig(
      values.element("out"), values.integer("d").value(), causalOf(values), sum,
      values.choice("form") == "plain" ? ForwardForm::plain : ForwardForm::explicitRoles);
  config.tile.bq = values.integer("bq").value_or(config.tile.bq);
  config.tile.bk = values.integer("bk").value_or(config.tile.bk);
  config.tile.stages = values.integer("stages").value_or(config.tile.stages);
  return config;
}

dsl::Program Fp8AttentionForwardKernel::build(const Parameters &values,
                                              const dsl::TraceOptions &options) const {
  return fp8ForwardProgram(config(values), options);
}

std::vector<TensorSpec> Fp8AttentionForwardKernel::tensors(const Parameters &values) const {
  Extents s = extentsOf(values);
  constexpr ElementType e4m3 = ElementType::e4m3, f32 = ElementType::f32;
  return {{"Q", e4m3, Access::input, {s.b, s.sq, s.h, s.d}},
          {"K", e4m3, Access::input, {s.b, s.sk, s.hkv, s.d}},
          {"V", e4m3, Access::input, {s.b, s.sk, s.hkv, s.d}, -0.5, 1},
          {"scaleQ", f32, Access::input, {s.b, s.h}, 1, 2},
          {"scaleK", f32, Access::input, {s.b, s.hkv}, 1, 2},
          {"scaleV", f32, Access::input, {s.b, s.hkv}, 0.5, 1},
          {"O", values.element("out"), Access::output, {s.b, s.sq, s.h, s.d}},
          {"LSE", f32, Access::output, {s.b, s.h, s.sq}}};
}

std::vector<double> Fp8AttentionForwardKernel::reference(const Parameters &values,
                                                         std::span<const std::vector<double>> inputs,
                                                         size_t output,
                                                         std::span<const int64_t> elements) const {
  Extents s = extentsOf(values);
  AttentionShape shape = shapeOf(values);
  std::vector<double> q = scaled(inputs[0], inputs[3], s.b, s.h, s.d),
                      k = scaled(inputs[1], inputs[4], s.b, s.hkv, s.d);
  if (output == 0)
    return referenceAttention(shape, q, k, scaled(inputs[2], inputs[5], s.b, s.hkv, s.d), {}, elements);
  return referenceLogSumExp(shape, q, k, {}, linesOf(elements, s.h, s.sq));
}

Tolerance Fp8AttentionForwardKernel::tolerance(const Parameters &values, size_t output) const {
  // Products of e4m3 are added with 13 bits behind the largest one's point.
  if (output == 1)
    return {.limit = std::ldexp(1.0, -10), .floor = 1};
  // Each weight is rounded by itself, so that their errors add up as O does: as the root of the number of
  // keys. A causal row may see any number of them.
  auto keys = double(std::max<int64_t>(values.size("sk"), 1)),
       seen = causalOf(values) == CausalAlignment::none ? keys : 16;
  double limit = roundingError(ElementType::e4m3);
  if (config(values).sum == OutputSum::inPlace)
    limit +=
        std::ldexp(keys, -16); // of each term what is cut off, half the last of 13 bits and more with time
  return {.limit = limit, .floor = 3 / std::sqrt(seen)};
}

std::string Fp8AttentionForwardKernel::conflict(const Parameters &values) const {
  Extents s = extentsOf(values);
  if (s.h % s.hkv != 0)
    return fmt::format(
        "expected h to be a multiple of hkv because as many heads of Q share each head of K and V, "
        "but got h = {} and hkv = {}",
        s.h, s.hkv);
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
