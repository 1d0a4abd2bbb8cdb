// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of attention forward.
#include "kernels/attention/ForwardKernel.h"

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

AttentionShape shapeOf(const Parameters &values) {
  int64_t d = values.integer("d").value();
  return {.b = values.size("b"),
          .sq = values.size("sq"),
          .sk = values.size("sk"),
          .h = values.size("h"),
          .hkv = values.size("hkv"),
          .d = d,
          .dv = values.integer("dv").value_or(d),
          .scale = 1 / std::sqrt(double(d)),
          .causal = causalOf(values)};
}
} // namespace

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
  AttentionShape shape = shapeOf(values);
  ForwardConfig config =
      chooseForwardConfig(values.element("dtype"), shape.d, shape.dv, shape.causal, shape.sk);
  if (values.choice("form") == "plain")
    makePlain(config);
  config.bq = values.integer("bq").value_or(config.bq);
  config.bk = values.integer("bk").value_or(config.bk);
  config.stages = values.integer("stages").value_or(config.stages);
  return config;
}

dsl::Program AttentionForwardKernel::build(const Parameters &values, const dsl::TraceOptions &options) const {
  return forwardProgram(config(values), options);
}

std::vector<TensorSpec> AttentionForwardKernel::tensors(const Parameters &values) const {
  AttentionShape s = shapeOf(values);
  ElementType dtype = values.element("dtype");
  return {{"Q", dtype, Access::input, {s.b, s.sq, s.h, s.d}},
          {"K", dtype, Access::input, {s.b, s.sk, s.hkv, s.d}},
          {"V", dtype, Access::input, {s.b, s.sk, s.hkv, s.dv}},
          {"O", dtype, Access::output, {s.b, s.sq, s.h, s.dv}},
          {"LSE", ElementType::f32, Access::output, {s.b, s.h, s.sq}}};
}

std::vector<double> AttentionForwardKernel::reference(const Parameters &values,
                                                      std::span<const std::vector<double>> inputs,
                                                      size_t output,
                                                      std::span<const int64_t> elements) const {
  AttentionShape shape = shapeOf(values);
  return output == 0 ? referenceAttention(shape, inputs[0], inputs[1], inputs[2], elements)
                     : referenceLogSumExp(shape, inputs[0], inputs[1], elements);
}

Tolerance AttentionForwardKernel::tolerance(const Parameters &values, size_t output) const {
  if (output == 1)
    return {.limit = 1e-5, .floor = 1};
  // Weights are rounded before they meet V, whose elements are of size 1/2.
  return {.limit = 2 * roundingError(values.element("dtype")), .floor = 0.5};
}

std::string AttentionForwardKernel::conflict(const Parameters &values) const {
  AttentionShape s = shapeOf(values);
  if (s.h % s.hkv != 0)
    return fmt::format(
        "expected h to be a multiple of hkv because as many heads of Q share each head of K and V, "
        "but got h = {} and hkv = {}",
        s.h, s.hkv);
  constexpr int64_t depth = 16; // of one wgmma
  if (values.choice("form") == "explicit" && (s.d != s.dv || s.d % depth != 0))
    return fmt::format("expected d = dv, a multiple of {}, because in the explicit form O leaves through the "
                       "memory of Q and all products are wgmma, but got d = {} and dv = {}; use form=plain",
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
