// SPDX-License-Identifier: Apache-2.0
/// \file
/// Options of attention backward's schedule, tensors and accuracy of gradients.
#include "kernels/attention/backward/BackwardParameters.h"

#include "kernels/attention/backward/Describe.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
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
      "to a workspace atomically; auto: loop; where tiles of keys are few, or L2 "
      "does not hold the rows of all these heads, atomic, or split where every run must have the same bits",
      {"loop", "split", "atomic"});
}
Parameter dealingParameter() {
  return openChoice(
      "dealing",
      "how blocks of the explicit form come to tiles of keys: each knows its own from the start, "
      "or takes the next one when it is ready; where dq is ordered, each has one tile either way; "
      "auto: where heads of Q share keys, taken of packed sequences with a mask, of uniform ones without "
      "a mask where a tile of keys visits many queries, and of those where dkv is atomic",
      {"fixed", "taken"});
}
Parameter unseenParameter() {
  return openChoice(
      "unseen",
      "who writes the zeros of dK and dV that belong to keys which no query sees: the loop over "
      "tiles of keys, or a launch before it; auto: a launch where a causal mask from the left "
      "hides keys, of the explicit form with dkv = loop",
      {"loop", "own_launch"});
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
          .unseen = chosen<UnseenKeys>(values, unseenParameter()),
          .overlap = chosen<ProductOverlap>(values, overlapParameter())};
}

/// Without what depends on extents, and, without a target, on what fits into a block.
BackwardConfig tilesOf(const Parameters &values, BackwardConfig config, AttentionForm form,
                       const Target *target = nullptr) {
  config.form = form;
  chooseTiles(config);
  if (target)
    fitTiles(config, *target);
  read(values, config); // what is given
  return config;
}

} // namespace

std::vector<Parameter> backwardParameters(const std::vector<Parameter> &ofSequences) {
  std::vector<Parameter> all;
  auto add = [&](const std::vector<Parameter> &more) { all.insert(all.end(), more.begin(), more.end()); };
  std::vector<Parameter> problem = parametersOf(AttentionProblem()), config = parametersOf(BackwardConfig());
  for (const char *name : {"d", "dv"})
    parameterNamed(problem, name).most = longestGradientRow;
  add(problem);
  add(ofSequences);
  add({querySumParameter(), keySumParameter(), dealingParameter(), unseenParameter(),
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

BackwardConfig backwardConfig(const Parameters &values, const BackwardConfig &problem,
                              const BackwardExtents &extents, const Target &target) {
  std::string_view form = values.choice("form");
  bool isPlain =
      form == "plain" || (form == "auto" && (problem.problem.drops() || !whyNotExplicit(target).empty()));
  BackwardConfig config =
      tilesOf(values, problem, isPlain ? AttentionForm::plain : AttentionForm::explicitRoles, &target);
  chooseScheduleOfTiles(config, scheduleOptionsOf(values), extents, target);
  return config;
}

std::string conflictOfSchedule(const Parameters &values, const BackwardConfig &problem) {
  const bool drops = problem.problem.drops();
  if (drops)
    for (auto [name, choice, others] : {std::tuple("form", "explicit", "plain or auto"),
                                        {"overlap", "by_hand", "scheduled or auto"},
                                        {"dealing", "taken", "fixed or auto"}})
      if (values.choice(name) == choice)
        return fmt::format(
            "expected {} = {} because dropout is computed by the plain form alone, whose products "
            "the compiler schedules, but got {} = {}",
            name, others, name, choice);
  bool isPlain = drops || values.choice("form") == "plain";
  BackwardConfig tiles =
      tilesOf(values, problem, isPlain ? AttentionForm::plain : AttentionForm::explicitRoles);
  if (std::string conflict = conflictOfTiles(tiles); !conflict.empty())
    return conflict;
  if (std::string_view overlap = values.choice("overlap");
      overlap != "auto" && values.choice("form") == "explicit")
    return fmt::format(
        "expected form = plain because the explicit form's products are started and awaited by "
        "hand, but got overlap = {}",
        overlap);
  else if (overlap == "by_hand" && isPlain && hasNarrowTiles(tiles))
    return fmt::format("expected overlap = scheduled or auto because with bk = {} weights go through shared "
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
  config.unseen = options.unseen.value_or(config.unseen);
  if (config.unseen == UnseenKeys::ownLaunch && !options.dkv)
    return "expected dkv = loop with unseen = own_launch because only there tiles of keys write dK and dV, "
           "but "
           "got dkv = auto";
  if (std::string conflict = conflictOfUnseenKeys(config); !conflict.empty())
    return conflict;
  if (!options.isDeterministic)
    return {};
  auto conflict = [&](const char *name, const char *others) {
    return fmt::format("expected {} = {} or auto because deterministic = yes, but got {} = {}, which adds in "
                       "any order",
                       name, others, name, values.choice(name));
  };
  if (options.dq && isUnordered(*options.dq))
    return conflict("dq", problem.problem.passesKeys() ? "ordered" : "own_launch, ordered");
  if (options.dkv && isUnordered(*options.dkv))
    return conflict("dkv", "loop, split");
  return {};
}

std::string conflictOfScheduleOn(const Target &target, const Parameters &values,
                                 const BackwardConfig &problem) {
  std::string why = whyNotExplicit(target);
  if (values.choice("form") != "auto" || why.empty())
    return {};
  BackwardConfig config = tilesOf(values, problem, AttentionForm::plain);
  config.unseen = scheduleOptionsOf(values).unseen.value_or(config.unseen);
  std::string conflict = conflictOfUnseenKeys(config);
  return conflict.empty() ? conflict : fmt::format("{}; the form is plain because {}", conflict, why);
}

std::vector<TensorSpec> gradientSpecs(const BackwardConfig &config, const AttentionExtents &e) {
  const AttentionProblem &problem = config.problem;
  auto shape = [&](std::vector<int64_t> axes) { return shapeOfRows(problem, std::move(axes)); };
  auto padded = [&](TensorSpec spec, const std::vector<int64_t> &lengths) {
    if (problem.lengths == Lengths::padded)
      spec.isPadding = paddingOf(spec, lengths);
    return spec;
  };
  std::vector<int64_t> ofOutput = shape({e.b, e.sq, e.h, problem.dv});
  TensorSpec gradient = padded({.name = "dO", .element = problem.dtype, .shape = ofOutput}, e.queries);
  if (config.strideOfOutputGradient == ElementStride::any)
    gradient.shape.push_back(1);
  ElementType type = config.gradientType();
  std::vector<TensorSpec> specs = {
      {.name = "O", .element = problem.dtype, .shape = ofOutput},
      gradient,
      {.name = "LSE", .element = ElementType::f32, .shape = shape({e.b, e.h, e.sq})},
      padded({"dQ", type, Access::output, shape({e.b, e.sq, e.h, problem.d})}, e.queries),
      padded({"dK", type, Access::output, shape({e.b, e.sk, e.hkv, problem.d})}, e.keys),
      padded({"dV", type, Access::output, shape({e.b, e.sk, e.hkv, problem.dv})}, e.keys)};
  if (problem.sink == AttentionSink::perHead)
    specs.push_back({"dSink", ElementType::f32, Access::output, {e.h}});
  return specs;
}

Tolerance gradientTolerance(const BackwardConfig &config, const AttentionExtents &e, Gradient output,
                            int64_t ranks) {
  const AttentionProblem &problem = config.problem;
  // Weights and gradients of scores are rounded before they are summed up, and results are. Over keys the
  // weights of a query sum up to 1; over queries a key's are about as large as the inverse number of keys,
  // or, where a mask lets queries see fewer, a harmonic series.
  double terms = 1;
  if (output != Gradient::ofQueries) {
    double group = double(e.h) / double(e.hkv), most = 0;
    for (size_t i = 0; i < std::max<size_t>(e.queries.size(), 1); ++i) // uniform ones are all alike
      most = std::max(most,
                      std::sqrt(double(e.queriesOf(i)) * group) / double(std::max<int64_t>(e.keysOf(i), 1)));
    terms = most + 1.3 * std::sqrt(group);
  }
  // The terms of ranks are rounded, too.
  bool isOfKeys = output == Gradient::ofKeys || output == Gradient::ofValues;
  if (isOfKeys && ranks > 1 && config.gradients == GradientType::same)
    terms += std::sqrt(double(ranks));
  double limit = roundingError(problem.dtype) * (3 + terms) + scoreError(problem);
  if (output == Gradient::ofValues)
    return {.limit = limit, .floor = 1};
  double ofProduct = std::sqrt(double(problem.dv)) / 3; // the size of a sum of products of numbers up to 1
  if (output == Gradient::ofSinks)
    return {.limit = limit, .floor = ofProduct};
  return {.limit = limit, .floor = problem.scoreScale() * ofProduct};
}

double backwardFlops(const AttentionShape &shape) {
  double pairs = 0;
  for (const SequenceRows &sequence : shape.sequences)
    pairs += double(visiblePairs(shape.problem.mask, sequence.queries, sequence.keys));
  return 2 * double(shape.h) * pairs * double(3 * shape.problem.d + 2 * shape.problem.dv);
}

} // namespace tlc::kernels
