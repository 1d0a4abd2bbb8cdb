// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward of sequences that several ranks have: parameters, tensors, the reference and the cost.
#include "kernels/KernelList.h"
#include "kernels/attention/forward/Describe.h"
#include "kernels/attention/registry/SequenceParameters.h"
#include "runtime/target/Hardware.h"

#include <algorithm>
#include <fmt/format.h>

namespace tlc::kernels {

namespace {

ForwardConfig defaults() { return {.problem = {.shards = ShardOrder::contiguous}}; }

std::vector<Parameter> allParameters() {
  std::vector<Parameter> all = extentParameters("2048");
  for (Parameter &each : all)
    if (each.name == "sq" || each.name == "sk")
      each.description += " on each rank";
  all.push_back({"ranks", "devices that run it together", Parameter::Kind::constant, "1", 1, maxRanks});
  all.push_back(choiceParameter("order", "which rows of sequences a rank has: a part, or one from each end",
                                {"contiguous", "zigzag"}));
  for (Parameter &each : parametersOf(defaults()))
    all.push_back(std::move(each));
  all.push_back(choiceParameter("form", "roles written by hand, or one loop; auto: by hand where that fits",
                                {"auto", "explicit", "plain"}));
  return all;
}

AttentionExtents rankExtentsOf(const Parameters &values) {
  return {.b = values.size("b"),
          .sq = values.size("sq"),
          .sk = values.size("sk"),
          .h = values.size("h"),
          .hkv = values.size("hkv")};
}

/// Where a rank's row of a sequence is in the whole one.
int64_t placeOf(ShardOrder order, int64_t row, int64_t rows, int64_t rank, int64_t ranks) {
  if (order == ShardOrder::contiguous)
    return rank * rows + row;
  int64_t part = rows / 2;
  return row < part ? rank * part + row : (2 * ranks - 1 - rank) * part + row - part;
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
    AttentionExtents e = rankExtentsOf(values);
    chooseTiles(config, {.b = e.b, .sq = e.sq, .sk = ranks(values) * e.sk, .h = e.h, .hkv = e.hkv}, target,
                {.bq = values.integer("bq"), .bk = values.integer("bk")});
    readAll(values, config);
    chooseOverlap(config, target);
    return forwardProgram(config, options);
  }

  std::vector<TensorSpec> tensors(const Parameters &values) const override {
    const AttentionProblem problem = problemOf(values).problem;
    AttentionExtents e = rankExtentsOf(values);
    std::vector<TensorSpec> all;
    for (int64_t rank = 0; rank < ranks(values); ++rank) {
      for (TensorSpec &spec : inputSpecs(problem, e))
        all.push_back(std::move(spec));
      all.push_back({"O", problem.dtype, Access::output, {e.b, e.sq, e.h, problem.dv}});
      all.push_back({"LSE", ElementType::f32, Access::output, {e.b, e.h, e.sq}});
    }
    return all;
  }

  std::string conflict(const Parameters &values) const override {
    ForwardConfig config = problemOf(values);
    AttentionExtents e = rankExtentsOf(values);
    if (std::string heads = conflictOfHeads(e.h, e.hkv); !heads.empty())
      return heads;
    if (std::string options = conflictOf(config.problem); !options.empty())
      return options;
    if (*config.problem.shards == ShardOrder::zigzag && (e.sq % 2 != 0 || e.sk % 2 != 0))
      return fmt::format("expected even sq and sk with order = zigzag because a rank has two parts of a "
                         "sequence, of the same length, but got sq = {} and sk = {}",
                         e.sq, e.sk);
    if (std::string why = whyNotExplicit(values); values.choice("form") == "explicit" && !why.empty())
      return fmt::format("expected form = plain or auto because {}, but got form = explicit", why);
    return {};
  }

  /// Of the whole sequences, of which each rank's rows are a part.
  Reference reference(const Parameters &values, std::span<const std::vector<double>> inputs) const override {
    const AttentionProblem problem = problemOf(values).problem;
    AttentionExtents e = rankExtentsOf(values);
    const int64_t count = ranks(values);
    std::vector<double> whole[3];
    for (int64_t tensor = 0; tensor < 3; ++tensor)
      whole[tensor] = joined(values, inputs, tensor);
    AttentionShape shape = wholeShape(values);
    return [=, q = std::move(whole[0]), k = std::move(whole[1]),
            v = std::move(whole[2])](size_t output, std::span<const int64_t> elements) {
      auto rank = int64_t(output) / 2;
      std::span<const double> sink;
      if (problem.sink == AttentionSink::perHead)
        sink = inputs[size_t(rank) * inputs.size() / size_t(count) + 3];
      auto placed = [&](int64_t batch, int64_t row) {
        return batch * e.sq * count + placeOf(*problem.shards, row, e.sq, rank, count);
      };
      std::vector<int64_t> places;
      for (int64_t element : elements) {
        if (output % 2 == 0) { // b x sq x h x dv
          int64_t inRow = element % (e.h * problem.dv), row = element / (e.h * problem.dv);
          places.push_back(placed(row / e.sq, row % e.sq) * e.h * problem.dv + inRow);
        } else { // b x h x sq
          int64_t row = element % e.sq, head = element / e.sq % e.h, batch = element / e.sq / e.h;
          places.push_back(placed(batch, row) * e.h + head);
        }
      }
      return output % 2 == 0 ? referenceAttention(shape, q, k, v, sink, places)
                             : referenceLogSumExp(shape, q, k, sink, places);
    };
  }

  Tolerance tolerance(const Parameters &values, size_t output) const override {
    double scores = scoreError(problemOf(values).problem);
    if (output % 2 == 1)
      return {.limit = 1e-5 + scores, .floor = 1};
    return {.limit = 3 * roundingError(values.element("dtype")) + scores, .floor = 0.5};
  }

  double flops(const Parameters &values) const override { return attentionForwardFlops(wholeShape(values)); }

  Definitions emulatorSizes() const override {
    return {{"b", "1"}, {"sq", "200"}, {"sk", "200"}, {"h", "2"}, {"hkv", "1"}};
  }

  std::vector<Definitions> suite() const override {
    std::vector<Definitions> rows;
    for (const char *rowsOfRank : {"8192", "16384", "32768"})
      rows.push_back({{"b", "1"},
                      {"sq", rowsOfRank},
                      {"sk", rowsOfRank},
                      {"h", "32"},
                      {"hkv", "8"},
                      {"causal", "right"},
                      {"order", "zigzag"}});
    return rows;
  }

private:
  static void readAll(const Parameters &values, ForwardConfig &config) {
    read(values, config);
    config.problem.shards = values.choice("order") == "zigzag" ? ShardOrder::zigzag : ShardOrder::contiguous;
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
  AttentionShape wholeShape(const Parameters &values) const {
    AttentionExtents e = rankExtentsOf(values);
    e.sq *= ranks(values);
    e.sk *= ranks(values);
    return attentionShape(problemOf(values).problem, e);
  }
  /// Q, K or V of all ranks, in the order of sequences.
  std::vector<double> joined(const Parameters &values, std::span<const std::vector<double>> inputs,
                             int64_t tensor) const {
    AttentionExtents e = rankExtentsOf(values);
    const int64_t count = ranks(values), perRank = int64_t(inputs.size()) / count;
    const int64_t rows = tensor == 0 ? e.sq : e.sk;
    const ShardOrder order = *problemOf(values).problem.shards;
    std::vector<double> all(size_t(count) * inputs[size_t(tensor)].size());
    for (int64_t rank = 0; rank < count; ++rank) {
      const std::vector<double> &own = inputs[size_t(rank * perRank + tensor)];
      const int64_t rowSize = own.empty() ? 0 : int64_t(own.size()) / (e.b * rows);
      for (int64_t batch = 0; batch < e.b; ++batch)
        for (int64_t row = 0; row < rows && rowSize > 0; ++row)
          std::copy_n(own.begin() + (batch * rows + row) * rowSize, rowSize,
                      all.begin() +
                          (batch * rows * count + placeOf(order, row, rows, rank, count)) * rowSize);
    }
    return all;
  }
};

} // namespace

const Kernel &shardedAttentionForwardKernel() {
  static const ShardedForwardKernel kernel;
  return kernel;
}

} // namespace tlc::kernels
