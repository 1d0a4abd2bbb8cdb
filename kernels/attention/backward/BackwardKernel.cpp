// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of attention backward.
#include "kernels/KernelList.h"
#include "kernels/attention/backward/BackwardParameters.h"
#include "kernels/attention/backward/Describe.h"
#include "kernels/reference/AttentionGradients.h"

#include <algorithm>
#include <numeric>
#include <thread>
#include <tuple>

namespace tlc::kernels {

namespace {

std::vector<Parameter> allParameters() {
  std::vector<Parameter> lengths = packedParameters(), padded = paddedParameters();
  lengths.insert(lengths.end(), padded.begin(), padded.end());
  std::vector<Parameter> all = extentParameters("2048"), others = backwardParameters(lengths);
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

BackwardConfig problemOf(const Parameters &values) {
  BackwardConfig config;
  read(values, config);
  config.problem.lengths = lengthsOf(values);
  return config;
}

/// The results of `ofPiece` for pieces of `elements`, by all cores: one core takes minutes for sequences that
/// are worth timing.
std::vector<double> onAllCores(std::span<const int64_t> elements, const auto &ofPiece) {
  const size_t pieces =
      std::clamp<size_t>(elements.size() / 4096, 1, std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::vector<double>> results(pieces);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < pieces; ++i)
      threads.emplace_back(
          [&, i, begin = elements.size() * i / pieces, end = elements.size() * (i + 1) / pieces] {
            results[i] = ofPiece(elements.subspan(begin, end - begin));
          });
  }
  std::vector<double> all;
  all.reserve(elements.size());
  for (const std::vector<double> &result : results)
    all.insert(all.end(), result.begin(), result.end());
  return all;
}

class AttentionBackwardKernel final : public Kernel {
public:
  AttentionBackwardKernel()
      : Kernel("attention_bwd",
               "gradients dQ[b,sq,h,d], dK[b,sk,hkv,d] and dV[b,sk,hkv,dv] of attention_fwd, from its "
               "tensors and the gradient dO[b,sq,h,dv] of O",
               allParameters()) {}

  dsl::Program build(const Parameters &values, const Target &target,
                     const dsl::TraceOptions &options) const override {
    BackwardConfig problem = problemOf(values);
    AttentionExtents e = extentsOf(values);
    BackwardExtents extents = {.sequences = problem.problem.lengths == Lengths::packed ? 1 : e.b,
                               .queries = e.sq,
                               .keys = e.sk,
                               .heads = e.h,
                               .kvHeads = e.hkv};
    return backwardProgram(backwardConfig(values, problem, extents, target), options);
  }

  std::vector<TensorSpec> tensors(const Parameters &values) const override {
    const BackwardConfig config = problemOf(values);
    const AttentionProblem &problem = config.problem;
    AttentionExtents e = extentsOf(values);
    std::vector<TensorSpec> specs = inputSpecs(problem, e);
    const size_t inputs = specs.size();
    // What forward gives, in double precision.
    auto forward = [&](bool wantsOutput) {
      return [=](std::span<const std::vector<double>> tensors) {
        AttentionShape s = attentionShape(problem, e);
        std::span<const double> sink;
        if (problem.sink == AttentionSink::perHead)
          sink = tensors[inputs - 1];
        std::vector<int64_t> elements(size_t(e.sq * e.h * (wantsOutput ? problem.dv : 1)) *
                                      size_t(problem.lengths == Lengths::packed ? 1 : e.b));
        std::iota(elements.begin(), elements.end(), 0);
        return onAllCores(elements, [&](std::span<const int64_t> piece) {
          return wantsOutput ? referenceAttention(s, tensors[0], tensors[1], tensors[2], sink, piece)
                             : referenceLogSumExp(s, tensors[0], tensors[1], sink, linesOf(piece, e.h, e.sq));
        });
      };
    };
    for (TensorSpec &spec : gradientSpecs(config, e)) {
      if (spec.name == "O" || spec.name == "LSE")
        spec.derived = forward(spec.name == "O");
      specs.push_back(std::move(spec));
    }
    return specs;
  }

  Reference reference(const Parameters &values, std::span<const std::vector<double>> inputs) const override {
    const AttentionProblem problem = problemOf(values).problem;
    AttentionShape shape = attentionShape(problem, extentsOf(values));
    GradientInputs in{inputs[0], inputs[1], inputs[2], inputs[inputs.size() - 2]};
    if (problem.sink == AttentionSink::perHead)
      in.sink = inputs[inputs.size() - 4];
    return [gradients = AttentionGradients(shape, in)](size_t output,
                                                       std::span<const int64_t> elements) mutable {
      switch (Gradient(output)) {
      case Gradient::ofQueries:
        return gradients.ofQueries(elements);
      case Gradient::ofKeys:
        return gradients.ofKeys(elements);
      case Gradient::ofValues:
        return gradients.ofValues(elements);
      case Gradient::ofSinks:
        return gradients.ofSinks(elements);
      }
      return std::vector<double>();
    };
  }

  Tolerance tolerance(const Parameters &values, size_t output) const override {
    return gradientTolerance(problemOf(values), extentsOf(values), Gradient(output));
  }

  std::string conflict(const Parameters &values) const override {
    BackwardConfig problem = problemOf(values);
    std::string sequences = conflictOfSequences(problem.problem, values);
    return sequences.empty() ? conflictOfSchedule(values, problem) : sequences;
  }
  std::string conflictOn(const Target &target, const Parameters &values) const override {
    return conflictOfScheduleOn(target, values, problemOf(values));
  }

  double flops(const Parameters &values) const override {
    return backwardFlops(attentionShape(problemOf(values).problem, extentsOf(values)));
  }

  Definitions emulatorSizes() const override {
    return {{"b", "1"}, {"sq", "256"}, {"sk", "256"}, {"h", "2"}, {"hkv", "2"}};
  }

  std::vector<Definitions> suite() const override {
    std::vector<Definitions> rows;
    for (const char *causal : {"none", "right"})
      for (auto [b, s, h, hkv] : {std::tuple("16", "1024", "16", "16"),
                                  {"8", "2048", "16", "16"},
                                  {"4", "4096", "16", "16"},
                                  {"2", "8192", "16", "16"},
                                  {"1", "16384", "16", "16"},
                                  {"4", "4096", "32", "8"}})
        rows.push_back({{"b", b}, {"sq", s}, {"sk", s}, {"h", h}, {"hkv", hkv}, {"causal", causal}});
    return rows;
  }
};

} // namespace

const Kernel &attentionBackwardKernel() {
  static const AttentionBackwardKernel kernel;
  return kernel;
}

} // namespace tlc::kernels
