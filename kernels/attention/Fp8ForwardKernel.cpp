// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of attention forward on e4m3.
#include "kernels/KernelList.h"
#include "kernels/attention/AttentionParameters.h"
#include "kernels/attention/Forward.h"
#include "kernels/attention/ForwardParameters.h"
#include "kernels/attention/TransposedValues.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tlc::kernels {

namespace {
using Kind = Parameter::Kind;

/// What is computed, without how.
ForwardConfig problemOf(const Parameters &values) {
  ForwardConfig config = forwardProblemOf(values);
  config.dtype = ElementType::e4m3;
  config.out = values.element("out");
  config.sum = values.choice("sums") == "fast" ? OutputSum::inPlace : OutputSum::perTile;
  return config;
}

/// Rows of a tensor with so many heads, `length` elements each.
struct Rows {
  std::span<const double> elements;
  int64_t heads, length;
  int64_t SequenceRows::*first, SequenceRows::*count; ///< of a sequence
};

/// Each multiplied by the factor of its sequence and head.
std::vector<double> scaled(const Rows &rows, std::span<const double> factors, const AttentionShape &shape) {
  std::vector<double> result(rows.elements.begin(), rows.elements.end());
  for (size_t n = 0; n < shape.sequences.size(); ++n) {
    int64_t size = rows.heads * rows.length, begin = shape.sequences[n].*rows.first * size;
    for (int64_t i = 0; i < shape.sequences[n].*rows.count * size; ++i)
      result[size_t(begin + i)] *= factors[n * size_t(rows.heads) + size_t(i / rows.length % rows.heads)];
  }
  return result;
}

class Fp8AttentionForwardKernel final : public Kernel {
public:
  Fp8AttentionForwardKernel()
      : Kernel(
            "attention_fwd_fp8",
            "attention_fwd of e4m3: scaleQ[b,h] Q, scaleK[b,hkv] K and scaleV[b,hkv] V, O in f16 or bf16",
            joined(
                {{
                     {"b", "batches", Kind::count, "2", 0, maxExtent},
                     {"sq", "queries of a batch", Kind::size, "8192", 0, maxExtent},
                     {"sk", "keys of a batch", Kind::size, "8192", 0, maxExtent},
                     {"h", "heads of Q", Kind::count, "16", 0, maxExtent},
                     {"hkv", "heads of K and V", Kind::count, "16", 1, maxExtent},
                     {"d", "length of a row of Q and K", Kind::integer, "128", 32, 256, 32},
                     {"dv", "length of a row of V and O; auto: d", Kind::integer, "auto", 32, 256, 32},
                     choiceParameter("out", "type of O", {"bf16", "f16"}),
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
                     choiceParameter("form", "roles by hand, or one loop that takes tensors of any alignment",
                                     {"explicit", "plain"}),
                     choiceParameter("sums",
                                     "where rows of V are added up: tile by tile in f32, or in the product, "
                                     "which keeps 13 bits",
                                     {"exact", "fast"}),
                     {"bq", "queries that a block works on", Kind::integer, "auto", 64, 192, 64},
                     {"bk", "keys of a step", Kind::integer, "auto", 32, 128, 32},
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
    ForwardExtents e = forwardExtentsOf(values);
    AttentionShape shape = shapeOf(problem, e);
    auto keyRows = [&](size_t input, int64_t length) -> Rows {
      return {inputs[input], e.hkv, length, &SequenceRows::firstKey, &SequenceRows::keys};
    };
    Rows queryRows = {inputs[0], e.h, problem.d, &SequenceRows::firstQuery, &SequenceRows::queries};
    std::vector<double> q = scaled(queryRows, inputs[3], shape),
                        k = scaled(keyRows(1, problem.d), inputs[4], shape);
    std::span<const double> sink;
    if (problem.sink == AttentionSink::perHead)
      sink = inputs.back();
    if (output == 0)
      return referenceAttention(shape, q, k, scaled(keyRows(2, problem.dv), inputs[5], shape), sink,
                                elements);
    return referenceLogSumExp(shape, q, k, sink, linesOf(elements, e.h, e.sq));
  }

  Tolerance tolerance(const Parameters &values, size_t output) const override {
    // Products of e4m3 are added with 13 bits behind the largest one's point.
    if (output == 1)
      return {.limit = std::ldexp(1.0, -10), .floor = 1};
    // Each weight is rounded by itself, so that their errors add up as O does: as the root of the number of
    // keys. A masked row may see any number of them, and so may sequences of any length.
    ForwardConfig problem = problemOf(values);
    auto keys = double(std::max<int64_t>(forwardExtentsOf(values).longestKeys(), 1));
    double seen = problem.mask.hidesPairs() || problem.lengths != Lengths::uniform ? 16 : keys;
    double limit = roundingError(ElementType::e4m3);
    if (problem.sum == OutputSum::inPlace)
      limit +=
          std::ldexp(keys, -16); // of each term what is cut off, half the last of 13 bits and more with time
    return {.limit = limit, .floor = 3 / std::sqrt(seen)};
  }

  std::string conflict(const Parameters &values) const override {
    if (std::string common = forwardConflict(values); !common.empty())
      return common;
    if (int64_t bk = config(values).bk;
        values.choice("form") == "explicit" && TransposedValues::keysOfTile % bk != 0)
      return fmt::format(
          "expected bk to divide {} because V is transposed in tiles of so many keys, but got {}",
          TransposedValues::keysOfTile, bk);
    constexpr int64_t longest = 128;
    if (int64_t dv = valueLengthOf(values);
        dv > longest && values.choice("sums") == "exact" && values.choice("form") == "explicit")
      return fmt::format(
          "expected dv of at most {} because O and a tile's share of it are in registers together, but "
          "got dv = {}; use sums=fast, which keeps 13 bits of a sum, or form=plain",
          longest, dv);
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
      row("4", "4096", "16", "16");
      row("2", "8192", "16", "16");
      row("1", "16384", "16", "16");
    }
    return rows;
  }
};

} // namespace

const Kernel &fp8AttentionForwardKernel() {
  static const Fp8AttentionForwardKernel kernel;
  return kernel;
}

} // namespace tlc::kernels
