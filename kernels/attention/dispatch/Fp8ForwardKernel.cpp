// SPDX-License-Identifier: Apache-2.0
/// \file
/// Factors and accuracy of attention forward on e4m3.
#include "kernels/KernelList.h"
#include "kernels/attention/dispatch/RegisteredForward.h"

#include <algorithm>
#include <cmath>

namespace tlc::kernels {

namespace {
/// Which rows of a tensor are a sequence's.
struct Part {
  int64_t SequenceRows::*first, SequenceRows::*count;
};
constexpr Part ofQueries = {&SequenceRows::firstQuery, &SequenceRows::queries};
constexpr Part ofKeys = {&SequenceRows::firstKey, &SequenceRows::keys};

/// Multiplies rows of `heads` heads, `length` elements each, by the factors of their sequence and head.
void scale(std::vector<double> &rows, int64_t heads, int64_t length, Part part,
           std::span<const double> factors, const AttentionShape &shape) {
  for (size_t n = 0; n < shape.sequences.size(); ++n) {
    int64_t size = heads * length, begin = shape.sequences[n].*part.first * size;
    for (int64_t i = 0; i < shape.sequences[n].*part.count * size; ++i)
      rows[size_t(begin + i)] *= factors[n * size_t(heads) + size_t(i / length % heads)];
  }
}

class Fp8AttentionForwardKernel final : public RegisteredForward {
public:
  Fp8AttentionForwardKernel()
      : RegisteredForward(
            "attention_fwd_fp8",
            "attention_fwd of e4m3: scaleQ[b,h] Q, scaleK[b,hkv] K and scaleV[b,hkv] V, O in f16 or bf16",
            {.problem = {.dtype = ElementType::e4m3}, .sum = OutputSum::perTile}, "8192") {}

  Reference reference(const Parameters &values, std::span<const std::vector<double>> inputs) const override {
    AttentionShape shape = shapeOf(values);
    auto scaled = std::make_shared<std::vector<std::vector<double>>>(inputs.begin(), inputs.end());
    scale((*scaled)[0], shape.h, shape.problem.d, ofQueries, inputs[3], shape);
    scale((*scaled)[1], shape.hkv, shape.problem.d, ofKeys, inputs[4], shape);
    scale((*scaled)[2], shape.hkv, shape.problem.dv, ofKeys, inputs[5], shape);
    return [scaled, unscaled = RegisteredForward::reference(values, *scaled)](
               size_t output, std::span<const int64_t> elements) { return unscaled(output, elements); };
  }

  Tolerance tolerance(const Parameters &values, size_t output) const override {
    // Products of e4m3 are added with 13 bits after the largest one's point; the scale multiplies what is
    // lost.
    if (output == 1) {
      const AttentionProblem problem = problemOf(values).problem;
      return {.limit = std::ldexp(std::max(problem.scoreScale() * std::sqrt(double(problem.d)), 1.0), -10),
              .floor = 1};
    }
    // Each weight is rounded by itself, so that their errors add up as O does: as the root of the number of
    // keys. A masked row may see any number of them, and so may sequences of any length.
    ForwardConfig config = problemOf(values);
    auto keys = double(std::max<int64_t>(extentsOf(values).longestKeys(), 1));
    double seen = config.problem.mask.hidesPairs() || config.problem.lengths != Lengths::uniform ? 16 : keys;
    double limit = roundingError(ElementType::e4m3);
    if (config.sum == OutputSum::inPlace)
      limit +=
          std::ldexp(keys, -16); // of each term what is cut off, half the last of 13 bits and more with time
    return {.limit = limit, .floor = 3 / std::sqrt(seen)};
  }

  std::vector<Definitions> suite() const override {
    return suiteOf({{"4", "4096", "16", "16"}, {"2", "8192", "16", "16"}, {"1", "16384", "16", "16"}});
  }
};

} // namespace

const Kernel &fp8AttentionForwardKernel() {
  static const Fp8AttentionForwardKernel kernel;
  return kernel;
}

} // namespace tlc::kernels
