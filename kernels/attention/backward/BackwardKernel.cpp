// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of attention backward.
#include "kernels/KernelList.h"
#include "kernels/attention/backward/Describe.h"
#include "kernels/attention/registry/SequenceParameters.h"
#include "kernels/reference/AttentionGradients.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <tuple>

namespace tlc::kernels {

namespace {

/// A choice that may be left open.
Parameter openChoice(std::string name, std::string description, std::vector<std::string> choices) {
  choices.insert(choices.begin(), "auto");
  return choiceParameter(std::move(name), std::move(description), std::move(choices));
}
/// Choices are in the order of T's values.
template <class T> std::optional<T> chosen(const Parameters &values, const Parameter &parameter) {
  size_t number = choiceNumber(parameter, values.choice(parameter.name));
  return number == 0 ? std::nullopt : std::optional(T(number - 1));
}

Parameter querySumParameter() {
  return openChoice(
      "dq",
      "how dQ is summed up: blocks add to it atomically, or a launch of its own computes scores "
      "again, or blocks add one after the other in a fixed order, or the TMA adds tiles that blocks leave in "
      "shared memory; auto: by a launch of its own where every run must have the same bits or that is "
      "faster, else by the TMA, or atomically where it has no room or gains nothing",
      {"atomic", "own_launch", "ordered", "tma"});
}
Parameter keySumParameter() {
  return openChoice(
      "dkv",
      "how dK and dV are summed up over the heads of Q that share them: a block walks over these "
      "heads, or has one of them, and a slice of a workspace, which are summed up after, or adds "
      "to a workspace atomically, itself or by the TMA; auto: loop, or split where tiles of keys are few, or "
      "atomic where L2 does not hold the rows of all these heads",
      {"loop", "split", "atomic", "tma"});
}
Parameter dealingParameter() {
  return openChoice(
      "dealing",
      "how blocks of the explicit form come to tiles of keys: each knows its own from the start, "
      "or takes the next one when it is ready; where dq is ordered, each has one tile either way; "
      "auto: where heads of Q share keys, taken of packed sequences with a mask, of uniform ones without "
      "a mask where a tile of keys visits many queries, and of causal ones where dkv is atomic",
      {"fixed", "taken"});
}
Parameter overlapParameter() {
  return openChoice(
      "overlap",
      "who says which products of the plain form overlap: the compiler, or the program, which takes "
      "wgmma and rows of up to 128; auto: the program where it can and rows have more than 64",
      {"scheduled", "by_hand"});
}
ScheduleOptions scheduleOptionsOf(const Parameters &values) {
  return {.dq = chosen<QuerySum>(values, querySumParameter()),
          .dkv = chosen<KeySum>(values, keySumParameter()),
          .isDeterministic = values.choice("deterministic") == "yes",
          .dealing = chosen<TileDealing>(values, dealingParameter()),
          .overlap = chosen<ProductOverlap>(values, overlapParameter())};
}

std::vector<Parameter> allParameters() {
  std::vector<Parameter> all = extentParameters("2048");
  auto add = [&](const std::vector<Parameter> &more) { all.insert(all.end(), more.begin(), more.end()); };
  std::vector<Parameter> problem = parametersOf(AttentionProblem()), config = parametersOf(BackwardConfig());
  for (const char *name : {"d", "dv"})
    parameterNamed(problem, name).most = longestGradientRow;
  add(problem);
  add(lengthParameters());
  add({querySumParameter(), keySumParameter(), dealingParameter(),
       openChoice(
           "form",
           "roles written by hand, or one loop that takes tensors of any alignment; auto: by hand where "
           "the other parameters and the target allow it",
           {"explicit", "plain"}),
       overlapParameter(),
       choiceParameter("deterministic", "whether every run has the same bits", {"no", "yes"})});
  add({config.begin() + std::ptrdiff_t(problem.size()), config.end()});
  return all;
}

BackwardConfig problemOf(const Parameters &values) {
  BackwardConfig config;
  read(values, config);
  config.problem.lengths = lengthsOf(values);
  return config;
}

/// Without what depends on extents.
BackwardConfig tilesOf(const Parameters &values, AttentionForm form) {
  BackwardConfig config = problemOf(values);
  config.form = form;
  chooseTiles(config);
  read(values, config); // what is given
  return config;
}

BackwardConfig configOf(const Parameters &values, const Target &target) {
  std::string_view form = values.choice("form");
  bool isPlain = form == "plain" || (form == "auto" && !whyNotExplicit(target).empty());
  BackwardConfig config = tilesOf(values, isPlain ? AttentionForm::plain : AttentionForm::explicitRoles);
  AttentionExtents e = extentsOf(values);
  BackwardExtents extents = {config.problem.lengths == Lengths::packed ? 1 : e.b, e.sq, e.sk, e.h, e.hkv};
  chooseScheduleOfTiles(config, scheduleOptionsOf(values), extents, target);
  return config;
}

/// Which tensor a gradient belongs to, in the order of outputs.
enum class Gradient : uint8_t { ofQueries, ofKeys, ofValues, ofSinks };

class AttentionBackwardKernel final : public Kernel {
public:
  AttentionBackwardKernel()
      : Kernel("attention_bwd",
               "gradients dQ[b,sq,h,d], dK[b,sk,hkv,d] and dV[b,sk,hkv,dv] of attention_fwd, from its "
               "tensors and the gradient dO[b,sq,h,dv] of O",
               allParameters()) {}

  dsl::Program build(const Parameters &values, const Target &target,
                     const dsl::TraceOptions &options) const override {
    return backwardProgram(configOf(values, target), options);
  }

  std::vector<TensorSpec> tensors(const Parameters &values) const override {
    const BackwardConfig config = problemOf(values);
    const AttentionProblem &problem = config.problem;
    AttentionExtents e = extentsOf(values);
    auto shape = [&](std::vector<int64_t> axes) { return shapeOfRows(problem, std::move(axes)); };
    std::vector<TensorSpec> specs = inputSpecs(problem, e);
    const size_t inputs = specs.size();
    // What forward gives, in double precision.
    auto forward = [&](bool wantsOutput) {
      return [=](std::span<const std::vector<double>> before) {
        AttentionShape s = attentionShape(problem, e);
        std::span<const double> sink;
        if (problem.sink == AttentionSink::perHead)
          sink = before[inputs - 1];
        std::vector<int64_t> elements(size_t(e.sq * e.h * (wantsOutput ? problem.dv : 1)) *
                                      size_t(problem.lengths == Lengths::packed ? 1 : e.b));
        std::iota(elements.begin(), elements.end(), 0);
        return wantsOutput ? referenceAttention(s, before[0], before[1], before[2], sink, elements)
                           : referenceLogSumExp(s, before[0], before[1], sink, linesOf(elements, e.h, e.sq));
      };
    };
    auto padded = [&](TensorSpec spec, const std::vector<int64_t> &lengths) {
      if (problem.lengths == Lengths::padded)
        spec.isPadding = paddingOf(spec, lengths);
      return spec;
    };
    constexpr ElementType f32 = ElementType::f32;
    std::vector<int64_t> ofOutput = shape({e.b, e.sq, e.h, problem.dv});
    specs.push_back({.name = "O", .element = problem.dtype, .shape = ofOutput, .derived = forward(true)});
    TensorSpec gradient = padded({.name = "dO", .element = problem.dtype, .shape = ofOutput}, e.queries);
    if (config.strideOfOutputGradient == ElementStride::any)
      gradient.shape.push_back(1);
    specs.push_back(gradient);
    specs.push_back(
        {.name = "LSE", .element = f32, .shape = shape({e.b, e.h, e.sq}), .derived = forward(false)});
    ElementType type = config.gradientType();
    specs.push_back(padded({"dQ", type, Access::output, shape({e.b, e.sq, e.h, problem.d})}, e.queries));
    specs.push_back(padded({"dK", type, Access::output, shape({e.b, e.sk, e.hkv, problem.d})}, e.keys));
    specs.push_back(padded({"dV", type, Access::output, shape({e.b, e.sk, e.hkv, problem.dv})}, e.keys));
    if (problem.sink == AttentionSink::perHead)
      specs.push_back({"dSink", f32, Access::output, {e.h}});
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
    const AttentionProblem problem = problemOf(values).problem;
    // Weights and gradients of scores are rounded before they are summed up, and results are. Over keys the
    // weights of a query sum up to 1; over queries a key's are about as large as the inverse number of keys,
    // or, where a mask lets queries see fewer, a harmonic series.
    double terms = 1;
    if (Gradient(output) != Gradient::ofQueries) {
      AttentionExtents e = extentsOf(values);
      double group = double(e.h) / double(e.hkv), most = 0;
      for (size_t i = 0; i < std::max<size_t>(e.queries.size(), 1); ++i) // uniform ones are all alike
        most = std::max(most, std::sqrt(double(e.queriesOf(i)) * group) /
                                  double(std::max<int64_t>(e.keysOf(i), 1)));
      terms = most + 1.3 * std::sqrt(group);
    }
    double limit = roundingError(problem.dtype) * (3 + terms) + scoreError(problem);
    if (Gradient(output) == Gradient::ofValues)
      return {.limit = limit, .floor = 1};
    double ofProduct = std::sqrt(double(problem.dv)) / 3; // the size of a sum of products of numbers up to 1
    if (Gradient(output) == Gradient::ofSinks)
      return {.limit = limit, .floor = ofProduct};
    return {.limit = limit, .floor = problem.scoreScale() * ofProduct};
  }

  std::string conflict(const Parameters &values) const override {
    if (std::string sequences = conflictOfSequences(problemOf(values).problem, values); !sequences.empty())
      return sequences;
    bool isPlain = values.choice("form") == "plain";
    BackwardConfig tiles = tilesOf(values, isPlain ? AttentionForm::plain : AttentionForm::explicitRoles);
    if (std::string conflict = conflictOfTiles(tiles); !conflict.empty())
      return conflict;
    if (std::string_view overlap = values.choice("overlap");
        overlap != "auto" && values.choice("form") == "explicit")
      return fmt::format(
          "expected form = plain because the explicit form's products are started and awaited by "
          "hand, but got overlap = {}",
          overlap);
    else if (overlap == "by_hand" && isPlain && hasNarrowTiles(tiles))
      return fmt::format(
          "expected overlap = scheduled or auto because with bk = {} weights go through shared "
          "memory, but got by_hand",
          tiles.bk);
    ScheduleOptions options = scheduleOptionsOf(values);
    BackwardConfig config = tiles;
    if (values.choice("dealing") == "taken")
      for (auto [name, other, why] : {std::tuple("form", "plain", "is written for tiles that are known"),
                                      {"dq", "ordered", "takes one tile for each block"}})
        if (values.choice(name) == other)
          return fmt::format("expected dealing = fixed because {} = {} {}, but got dealing = taken", name,
                             other, why);
    config.dq = options.dq.value_or(config.dq);
    config.dkv = options.dkv.value_or(config.dkv);
    if (std::string conflict = conflictOfSums(config); !conflict.empty())
      return conflict;
    if (!options.isDeterministic)
      return {};
    auto conflict = [&](const char *name, const char *others) {
      return fmt::format(
          "expected {} = {} or auto because deterministic = yes, but got {} = {}, which adds in "
          "any order",
          name, others, name, values.choice(name));
    };
    if (options.dq && isUnordered(*options.dq))
      return conflict("dq", "own_launch, ordered");
    if (options.dkv && isUnordered(*options.dkv))
      return conflict("dkv", "loop, split");
    return {};
  }

  double flops(const Parameters &values) const override {
    AttentionShape shape = attentionShape(problemOf(values).problem, extentsOf(values));
    double pairs = 0;
    for (const SequenceRows &sequence : shape.sequences)
      pairs += double(visiblePairs(shape.problem.mask, sequence.queries, sequence.keys));
    return 2 * double(shape.h) * pairs * double(3 * shape.problem.d + 2 * shape.problem.dv);
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
