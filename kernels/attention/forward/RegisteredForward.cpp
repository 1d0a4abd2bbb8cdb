// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lengths of sequences, and what follows from them and from the other parameters.
#include "kernels/attention/forward/RegisteredForward.h"

#include "kernels/attention/forward/Describe.h"

#include <fmt/format.h>

namespace tlc::kernels {

namespace {
std::vector<Parameter> allOf(const ForwardConfig &defaults, const std::string &length) {
  std::vector<Parameter> all = extentParameters(length);
  auto add = [&](const std::vector<Parameter> &more) { all.insert(all.end(), more.begin(), more.end()); };
  std::vector<Parameter> problem = parametersOf(defaults.problem), config = parametersOf(defaults);
  add(problem);
  add(lengthParameters());
  add({choiceParameter("form",
                       "roles written by hand, or one loop that takes tensors of any alignment; auto: by "
                       "hand where the other parameters and the target allow it",
                       {"auto", "explicit", "plain"})});
  add({config.begin() + std::ptrdiff_t(problem.size()), config.end()});
  return all;
}
} // namespace

RegisteredForward::RegisteredForward(std::string_view name, std::string_view summary,
                                     const ForwardConfig &defaults, const std::string &length)
    : Kernel(name, summary, allOf(defaults, length)), defaults(defaults) {}

std::string RegisteredForward::conflict(const Parameters &values) const {
  if (std::string sequences = conflictOfSequences(problemOf(values).problem, values); !sequences.empty())
    return sequences;
  if (std::string why = whyNotExplicit(values); values.choice("form") == "explicit" && !why.empty())
    return fmt::format("expected form = plain or auto because {}, but got form = explicit", why);
  return {};
}

std::string RegisteredForward::whyNotExplicit(const Parameters &values) const {
  ForwardConfig config = problemOf(values);
  return kernels::whyNotExplicit(config.problem, config.sum,
                                 {.bq = values.integer("bq"), .bk = values.integer("bk")});
}

std::vector<Remark> RegisteredForward::remarks(const Parameters &values, const Target &target) const {
  if (values.choice("form") != "auto" || configOf(values, target).form == AttentionForm::explicitRoles)
    return {};
  std::string why = whyNotExplicit(values);
  return {{.id = std::string(plainFormRemark),
           .location = {},
           .message = fmt::format("'{}' takes the plain form, not the one with roles written by hand: {}",
                                  name(), why.empty() ? kernels::whyNotExplicit(target) : why)}};
}

std::vector<TensorSpec> RegisteredForward::tensors(const Parameters &values) const {
  const AttentionProblem problem = problemOf(values).problem;
  AttentionExtents e = extentsOf(values);
  std::vector<TensorSpec> specs = inputSpecs(problem, e);
  specs.push_back(
      {"O", problem.outputType(), Access::output, shapeOfRows(problem, {e.b, e.sq, e.h, problem.dv})});
  specs.push_back({"LSE", ElementType::f32, Access::output, shapeOfRows(problem, {e.b, e.h, e.sq})});
  return specs;
}

ForwardConfig RegisteredForward::problemOf(const Parameters &values) const {
  ForwardConfig config = defaults;
  read(values, config);
  config.problem.lengths = lengthsOf(values);
  return config;
}

ForwardConfig RegisteredForward::configOf(const Parameters &values, const Target &target) const {
  ForwardConfig config = problemOf(values);
  std::string_view form = values.choice("form");
  bool isPlain =
      form == "plain" ||
      (form == "auto" && !(whyNotExplicit(values).empty() && kernels::whyNotExplicit(target).empty()));
  config.form = isPlain ? AttentionForm::plain : AttentionForm::explicitRoles;
  chooseTiles(config, extentsOf(values).sq, target);
  read(values, config); // what is given
  chooseOverlap(config, target);
  return config;
}

dsl::Program RegisteredForward::build(const Parameters &values, const Target &target,
                                      const dsl::TraceOptions &options) const {
  return forwardProgram(configOf(values, target), options);
}

AttentionShape RegisteredForward::shapeOf(const Parameters &values) const {
  return attentionShape(problemOf(values).problem, extentsOf(values));
}

Result<std::vector<double>> RegisteredForward::reference(const Parameters &values,
                                                         std::span<const std::vector<double>> inputs,
                                                         size_t output,
                                                         std::span<const int64_t> elements) const {
  AttentionShape shape = shapeOf(values);
  std::span<const double> sink;
  if (problemOf(values).problem.sink == AttentionSink::perHead)
    sink = inputs.back();
  if (output == 0)
    return referenceAttention(shape, inputs[0], inputs[1], inputs[2], sink, elements);
  std::vector<int64_t> lines = linesOf(elements, shape.h, extentsOf(values).sq);
  return referenceLogSumExp(shape, inputs[0], inputs[1], sink, lines);
}

double RegisteredForward::flops(const Parameters &values) const {
  return attentionForwardFlops(shapeOf(values));
}

Definitions RegisteredForward::emulatorSizes() const {
  return {{"b", "1"}, {"sq", "512"}, {"sk", "512"}, {"h", "2"}, {"hkv", "2"}};
}

std::vector<Definitions> RegisteredForward::suiteOf(std::initializer_list<Sizes> sizes) {
  std::vector<Definitions> rows;
  for (const char *causal : {"none", "right"})
    for (const Sizes &size : sizes)
      rows.push_back({{"b", size.b},
                      {"sq", size.s},
                      {"sk", size.s},
                      {"h", size.h},
                      {"hkv", size.hkv},
                      {"causal", causal}});
  return rows;
}

} // namespace tlc::kernels
