// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward of sequences that several ranks have: parameters, tensors, the reference and the cost.
#include "kernels/KernelList.h"
#include "kernels/attention/forward/Describe.h"
#include "kernels/attention/registry/ShardedSequences.h"

#include <fmt/format.h>

namespace tlc::kernels {

namespace {

ForwardConfig defaults() { return {.problem = {.shards = ShardOrder::contiguous}}; }

std::vector<Parameter> allParameters() {
  std::vector<Parameter> all = shardParameters("2048");
  for (Parameter &each : parametersOf(defaults()))
    all.push_back(std::move(each));
  all.push_back(choiceParameter("form", "roles written by hand, or one loop; auto: by hand where that fits",
                                {"auto", "explicit", "plain"}));
  return all;
}

class ShardedForwardKernel final : public Kernel {
public:
  ShardedForwardKernel()
      : Kernel("attention_fwd_sharded",
               "O and LSE of attention_fwd for the queries of each rank, with the keys of all",
               allParameters()) {}

  int64_t ranks(const Parameters &values) const override { return values.constant("ranks"); }

  dsl::Program build(const Parameters &values, const Target &target,
                     const dsl::TraceOptions &options) const override {
    ForwardConfig config = problemOf(values);
    config.form = isExplicit(values, target) ? AttentionForm::explicitRoles : AttentionForm::plain;
    AttentionExtents e = sequencesOf(values).computedExtents();
    chooseTiles(config, {.b = e.b, .sq = e.sq, .sk = e.sk, .h = e.h, .hkv = e.hkv}, target,
                {.bq = values.integer("bq"), .bk = values.integer("bk")});
    readAll(values, config);
    if (!values.integer("q_stages"))
      chooseQueryStages(config, target);
    return forwardProgram(config, options);
  }

  std::vector<TensorSpec> tensors(const Parameters &values) const override {
    const AttentionProblem problem = problemOf(values).problem;
    AttentionExtents e = rankExtentsOf(values);
    const ShardedSequences sequences = sequencesOf(values);
    std::vector<TensorSpec> all;
    for (int64_t rank = 0; rank < ranks(values); ++rank) {
      std::vector<TensorSpec> own = inputSpecs(problem, e);
      own.push_back({"O", problem.dtype, Access::output, shapeOfRows(problem, {e.b, e.sq, e.h, problem.dv})});
      own.push_back({"LSE", ElementType::f32, Access::output, shapeOfRows(problem, {e.b, e.h, e.sq})});
      for (TensorSpec &spec : own) {
        sequences.setPadding(spec, rank);
        all.push_back(std::move(spec));
      }
    }
    return all;
  }

  std::string conflict(const Parameters &values) const override {
    std::string shards = conflictOfShards(problemOf(values).problem, values);
    if (!shards.empty())
      return shards;
    if (std::string why = whyNotExplicit(values); values.choice("form") == "explicit" && !why.empty())
      return fmt::format("expected form = plain or auto because {}, but got form = explicit", why);
    return {};
  }

  /// Of the whole sequences, of which each rank's rows are a part.
  Reference reference(const Parameters &values, std::span<const std::vector<double>> inputs) const override {
    return [attention = ShardedAttention(sequencesOf(values), inputs)](size_t output,
                                                                       std::span<const int64_t> elements) {
      auto rank = int64_t(output) / 2;
      return output % 2 == 0 ? attention.outputs(rank, elements) : attention.logSums(rank, elements);
    };
  }

  Tolerance tolerance(const Parameters &values, size_t output) const override {
    double scores = scoreError(problemOf(values).problem);
    if (output % 2 == 1)
      return {.limit = 1e-5 + scores, .floor = 1};
    return {.limit = 3 * roundingError(values.element("dtype")) + scores, .floor = 0.5};
  }

  double flops(const Parameters &values) const override {
    return attentionForwardFlops(sequencesOf(values).wholeShape());
  }

  Definitions emulatorSizes() const override {
    return {{"b", "1"}, {"sq", "200"}, {"sk", "200"}, {"h", "2"}, {"hkv", "1"}};
  }

  std::vector<Definitions> suite() const override { return shardedSuite(); }

private:
  static void readAll(const Parameters &values, ForwardConfig &config) {
    read(values, config);
    readShards(values, config.problem);
  }
  static ForwardConfig problemOf(const Parameters &values) {
    ForwardConfig config = defaults();
    readAll(values, config);
    return config;
  }
  static std::string whyNotExplicit(const Parameters &values) {
    ForwardConfig config = problemOf(values);
    return kernels::whyNotExplicit(config.problem, config.sum,
                                   {.bq = values.integer("bq"), .bk = values.integer("bk")});
  }
  static bool isExplicit(const Parameters &values, const Target &target) {
    return values.choice("form") == "explicit" ||
           (values.choice("form") == "auto" && whyNotExplicit(values).empty() &&
            kernels::whyNotExplicit(target).empty());
  }
  ShardedSequences sequencesOf(const Parameters &values) const {
    return {problemOf(values).problem, rankExtentsOf(values), ranks(values)};
  }
};

} // namespace

const Kernel &shardedAttentionForwardKernel() {
  static const ShardedForwardKernel kernel;
  return kernel;
}

} // namespace tlc::kernels
