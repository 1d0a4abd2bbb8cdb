// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of attention forward.
#include "kernels/KernelList.h"
#include "kernels/attention/AttentionParameters.h"
#include "kernels/attention/Columns.h"
#include "kernels/attention/Forward.h"
#include "kernels/attention/ForwardParameters.h"

#include <algorithm>
#include <fmt/format.h>

namespace tlc::kernels {

namespace {
using Kind = Parameter::Kind;

/// What is computed, without how.
ForwardConfig problemOf(const Parameters &values) {
  ForwardConfig config = forwardProblemOf(values);
  config.dtype = values.element("dtype");
  return config;
}

class AttentionForwardKernel final : public Kernel {
public:
  AttentionForwardKernel()
      : Kernel("attention_fwd",
               "O[b,sq,h,dv] = softmax(Q[b,sq,h,d] K[b,sk,hkv,d]ᵀ / sqrt(d)) V[b,sk,hkv,dv], and LSE[b,h,sq]",
               joined({{
                           {"b", "batches", Kind::count, "2", 0, maxExtent},
                           {"sq", "queries of a batch", Kind::size, "2048", 0, maxExtent},
                           {"sk", "keys of a batch", Kind::size, "2048", 0, maxExtent},
                           {"h", "heads of Q", Kind::count, "16", 0, maxExtent},
                           {"hkv", "heads of K and V", Kind::count, "16", 1, maxExtent},
                           {"d", "length of a row of Q and K", Kind::integer, "128", 8, longestRow, 8},
                           valueLengthParameter(),
                           typeParameter(),
                       },
                       maskParameters(),
                       {
                           scaleParameter(),
                           softCapParameter(),
                           sinkParameter(),
                           logBaseParameter(),
                       },
                       lengthParameters(),
                       {
                           choiceParameter("form", "who makes the roles: the compiler or the program",
                                           {"explicit", "plain"}),
                           {"bq", "queries that a block works on", Kind::integer, "auto", 64, 192, 64},
                           {"bk", "keys of a step", Kind::integer, "auto", productDepth, 256, productDepth},
                           {"stages", "steps whose copies are in flight", Kind::integer, "auto", 1, 8},
                       }})) {}

  static ForwardConfig config(const Parameters &values) { return withTiles(problemOf(values), values); }

  dsl::Program build(const Parameters &values, const dsl::TraceOptions &options) const override {
    return forwardProgram(config(values), options);
  }

  std::vector<TensorSpec> tensors(const Parameters &values) const override {
    return forwardTensors(problemOf(values), forwardExtentsOf(values));
  }

  std::vector<double> reference(const Parameters &values, std::span<const std::vector<double>> inputs,
                                size_t output, std::span<const int64_t> elements) const override {
    ForwardConfig problem = problemOf(values);
    ForwardExtents extents = forwardExtentsOf(values);
    AttentionShape shape = shapeOf(problem, extents);
    std::span<const double> sink;
    if (problem.sink == AttentionSink::perHead)
      sink = inputs.back();
    if (output == 0)
      return referenceAttention(shape, inputs[0], inputs[1], inputs[2], sink, elements);
    return referenceLogSumExp(shape, inputs[0], inputs[1], sink, linesOf(elements, extents.h, extents.sq));
  }

  Tolerance tolerance(const Parameters &values, size_t output) const override {
    ForwardConfig config = problemOf(values);
    double scores = scoreError(values);
    if (output == 1)
      return {.limit = 1e-5 + scores, .floor = 1};
    // Weights are rounded before they meet V, whose elements are up to 1, and then the result is.
    return {.limit = 3 * roundingError(config.dtype) + scores, .floor = 0.5};
  }

  std::string conflict(const Parameters &values) const override {
    if (std::string common = forwardConflict(values); !common.empty())
      return common;
    int64_t d = values.integer("d").value(), dv = valueLengthOf(values);
    if (values.choice("form") == "explicit" && (dv % productDepth != 0 || d % productDepth != 0))
      return fmt::format(
          "expected d and dv to be multiples of {} because in the explicit form all products are "
          "wgmma, but got d = {} and dv = {}; use form=plain",
          productDepth, d, dv);
    if (int64_t bq = values.integer("bq").value_or(64); values.choice("form") == "explicit" && bq != 64)
      if (isSplit(dv))
        return fmt::format("expected bq = 64 because the columns of dv = {} take two roles that compute, and "
                           "registers for no "
                           "third, but got {}",
                           dv, bq);
    return {};
  }

  double flops(const Parameters &values) const override {
    return attentionForwardFlops(shapeOf(problemOf(values), forwardExtentsOf(values)));
  }

  std::vector<Definitions> suite() const override {
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
};

} // namespace

const Kernel &attentionForwardKernel() {
  static const AttentionForwardKernel kernel;
  return kernel;
}

} // namespace tlc::kernels
