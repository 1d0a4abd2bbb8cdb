// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention backward of sequences that several ranks have: parameters, tensors, the reference and the cost.
#include "kernels/KernelList.h"
#include "kernels/attention/backward/BackwardParameters.h"
#include "kernels/attention/backward/Describe.h"
#include "kernels/attention/registry/ShardedSequences.h"
#include "kernels/reference/AttentionGradients.h"

#include <memory>
#include <numeric>

namespace tlc::kernels {

namespace {

std::vector<Parameter> allParameters() {
  std::vector<Parameter> all = shardParameters("2048"), others = backwardParameters({});
  std::erase_if(others, [](const Parameter &each) { return each.name == "dropout_p"; });
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

BackwardConfig problemOf(const Parameters &values) {
  BackwardConfig config;
  read(values, config);
  readShards(values, config.problem);
  return config;
}

/// Gradients of whole sequences, by the queries of each rank alone: ranks have sinks of their own.
class ShardedGradients {
public:
  ShardedGradients(ShardedSequences given, std::span<const std::vector<double>> inputs)
      : sequences(std::move(given)), q(sequences.joined(inputs, 0, sequences.ofRank.sq)),
        k(sequences.joined(inputs, 1, sequences.ofRank.sk)),
        v(sequences.joined(inputs, 2, sequences.ofRank.sk)) {
    const size_t perRank = inputs.size() / size_t(sequences.ranks), outputGradient = perRank - 2;
    for (int64_t rank = 0; rank < sequences.ranks; ++rank)
      outputGradients.push_back(sequences.joined(inputs, outputGradient, sequences.ofRank.sq, rank));
    for (int64_t rank = 0; rank < sequences.ranks; ++rank)
      sinks.push_back(sequences.sinksFor(rank, inputs, perRank - 4));
    for (int64_t rank = 0; rank < sequences.ranks; ++rank) {
      ofRanks.emplace_back(sequences.wholeShape(),
                           GradientInputs{q, k, v, outputGradients[size_t(rank)], sinks[size_t(rank)]});
    }
  }

  std::vector<double> of(int64_t rank, Gradient gradient, std::span<const int64_t> elements) {
    AttentionGradients &own = ofRanks[size_t(rank)];
    const AttentionExtents &e = sequences.ofRank;
    const AttentionProblem &problem = sequences.problem;
    switch (gradient) {
    case Gradient::ofQueries:
      return own.ofQueries(sequences.placesOf(elements, rank, e.sq, e.h * problem.d));
    case Gradient::ofKeys:
      return sum(&AttentionGradients::ofKeys, sequences.placesOf(elements, rank, e.sk, e.hkv * problem.d));
    case Gradient::ofValues:
      return sum(&AttentionGradients::ofValues, sequences.placesOf(elements, rank, e.sk, e.hkv * problem.dv));
    case Gradient::ofSinks:
      return sequences.problem.exchangesHeads() ? sinksOfHeads(rank, elements) : own.ofSinks(elements);
    }
    return {};
  }

private:
  using Method = std::vector<double> (AttentionGradients::*)(std::span<const int64_t>);
  std::vector<double> sum(Method method, const std::vector<int64_t> &places) {
    std::vector<double> all(places.size());
    for (AttentionGradients &ofRank : ofRanks) {
      std::vector<double> terms = (ofRank.*method)(places);
      for (size_t i = 0; i < all.size(); ++i)
        all[i] += terms[i];
    }
    return all;
  }

  /// Of all queries, on the rank that computes the head.
  std::vector<double> sinksOfHeads(int64_t rank, std::span<const int64_t> heads) {
    std::vector<double> all = sum(&AttentionGradients::ofSinks, {heads.begin(), heads.end()});
    for (size_t i = 0; i < heads.size(); ++i)
      if (sequences.rankOfHead(heads[i]) != rank)
        all[i] = 0;
    return all;
  }

  ShardedSequences sequences;
  std::vector<double> q, k, v;
  std::vector<std::vector<double>> sinks;           ///< for the queries of each rank
  std::vector<std::vector<double>> outputGradients; ///< of each rank's queries, zeros for the others
  std::vector<AttentionGradients> ofRanks;
};

class ShardedBackwardKernel final : public Kernel {
public:
  ShardedBackwardKernel()
      : Kernel("attention_bwd_sharded",
               "gradients of attention_fwd_sharded: dQ of each rank's queries, and dK and dV of its keys, "
               "summed over the queries of all",
               allParameters()) {}

  int64_t ranks(const Parameters &values) const override { return values.constant("ranks"); }

  dsl::Program build(const Parameters &values, const Target &target,
                     const dsl::TraceOptions &options) const override {
    AttentionExtents e = sequencesOf(values).computedExtents();
    const AttentionProblem problem = problemOf(values).problem;
    BackwardExtents extents = {.sequences = problem.lengths == Lengths::packed ? 1 : e.b,
                               .queries = e.sq,
                               .keys = e.sk,
                               .heads = e.h,
                               .kvHeads = e.hkv,
                               .ranks = problemOf(values).problem.gathersKeys() ? ranks(values) : 1};
    return backwardProgram(backwardConfig(values, problemOf(values), extents, target), options);
  }

  std::vector<TensorSpec> tensors(const Parameters &values) const override {
    const BackwardConfig config = problemOf(values);
    AttentionExtents e = rankExtentsOf(values);
    const ShardedSequences sequences = sequencesOf(values);
    // What forward gives, in double precision.
    auto forward = [&](int64_t rank, const TensorSpec &spec) {
      return [sequences, rank, isOutput = spec.name == "O",
              shape = spec.shape](std::span<const std::vector<double>> tensors) {
        std::vector<int64_t> elements(
            size_t(std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>())));
        std::iota(elements.begin(), elements.end(), 0);
        ShardedAttention attention(sequences, tensors);
        return isOutput ? attention.outputs(rank, elements) : attention.logSums(rank, elements);
      };
    };
    std::vector<TensorSpec> all;
    for (int64_t rank = 0; rank < ranks(values); ++rank) {
      std::vector<TensorSpec> own = inputSpecs(config.problem, e), gradients = gradientSpecs(config, e);
      own.insert(own.end(), gradients.begin(), gradients.end());
      for (TensorSpec &spec : own) {
        if (spec.name == "O" || spec.name == "LSE")
          spec.derived = forward(rank, spec);
        sequences.setPadding(spec, rank);
        all.push_back(std::move(spec));
      }
    }
    return all;
  }

  Reference reference(const Parameters &values, std::span<const std::vector<double>> inputs) const override {
    // Gradients refer to members.
    auto gradients = std::make_shared<ShardedGradients>(sequencesOf(values), inputs);
    const size_t perRank = problemOf(values).problem.sink == AttentionSink::perHead ? 4 : 3;
    return [gradients, perRank](size_t output, std::span<const int64_t> elements) {
      return gradients->of(int64_t(output / perRank), Gradient(output % perRank), elements);
    };
  }

  Tolerance tolerance(const Parameters &values, size_t output) const override {
    BackwardConfig problem = problemOf(values);
    const size_t perRank = problem.problem.sink == AttentionSink::perHead ? 4 : 3;
    return gradientTolerance(problem, sequencesOf(values).wholeExtents(), Gradient(output % perRank),
                             ranksOfTerms(values));
  }

  std::string conflict(const Parameters &values) const override {
    BackwardConfig problem = problemOf(values);
    std::string shards = conflictOfShards(problem.problem, values);
    return shards.empty() ? conflictOfSchedule(values, problem) : shards;
  }

  double flops(const Parameters &values) const override {
    return backwardFlops(sequencesOf(values).wholeShape());
  }

  Definitions emulatorSizes() const override {
    return {{"b", "1"}, {"sq", "136"}, {"sk", "136"}, {"h", "2"}, {"hkv", "1"}};
  }

  std::vector<Definitions> suite() const override { return shardedSuite(); }

private:
  /// Whose terms a gradient of keys is the sum of.
  int64_t ranksOfTerms(const Parameters &values) const {
    return problemOf(values).problem.exchangesHeads() ? 1 : ranks(values);
  }
  ShardedSequences sequencesOf(const Parameters &values) const {
    return {problemOf(values).problem, rankExtentsOf(values), ranks(values)};
  }
};

} // namespace

const Kernel &shardedAttentionBackwardKernel() {
  static const ShardedBackwardKernel kernel;
  return kernel;
}

} // namespace tlc::kernels
