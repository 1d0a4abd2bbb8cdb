// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lengths of sequences, and what follows from them and from the other parameters.
#include "kernels/attention/dispatch/RegisteredForward.h"

#include "kernels/attention/forward/Describe.h"

#include <fmt/format.h>

namespace tlc::kernels {

namespace {
std::vector<Parameter> allOf(const ForwardConfig &defaults, const std::string &length) {
  std::vector<Parameter> all = extentParameters(length);
  auto add = [&](const std::vector<Parameter> &more) { all.insert(all.end(), more.begin(), more.end()); };
  std::vector<Parameter> problem = parametersOf(defaults.problem), config = parametersOf(defaults);
  add(problem);
  add(packedParameters());
  add(paddedParameters());
  std::vector<std::string> forms = {"auto", "explicit", "plain"};
  if (!defaults.problem.hasBytes())
    forms.emplace_back("split-keys");
  add({choiceParameter("form",
                       "roles written by hand, one loop that takes tensors of any alignment, or blocks that "
                       "see parts of the keys; auto: by hand where the other parameters and the target allow "
                       "it, with split keys where few queries meet many",
                       forms)});
  add({config.begin() + std::ptrdiff_t(problem.size()), config.end()});
  return all;
}

ForwardExtents forwardExtentsOf(const Parameters &values) {
  AttentionExtents e = extentsOf(values);
  return {.b = e.b, .sq = e.sq, .sk = e.sk, .h = e.h, .hkv = e.hkv};
}

std::string conflictOfDataflow(Dataflow dataflow, std::optional<int64_t> bq) {
  if (dataflow == Dataflow::oneChain && bq.value_or(tcgen05Rows) != tcgen05Rows)
    return fmt::format(
        "expected bq = {} with dataflow = wasp because a block computes with one tile of as many "
        "queries, but got bq = {}",
        tcgen05Rows, *bq);
  if (dataflow == Dataflow::shared && bq.value_or(tcgen05Rows) > tcgen05Rows)
    return fmt::format("expected bq up to {} with dataflow = ss because weights in shared memory are of one "
                       "product's rows, but got bq = {}",
                       tcgen05Rows, *bq);
  return {};
}
} // namespace

RegisteredForward::RegisteredForward(std::string_view name, std::string_view summary,
                                     const ForwardConfig &defaults, const std::string &length)
    : Kernel(name, summary, allOf(defaults, length)), defaults(defaults) {}

std::string RegisteredForward::conflict(const Parameters &values) const {
  if (std::string sequences = conflictOfSequences(problemOf(values).problem, values); !sequences.empty())
    return sequences;
  if (std::string tiles = conflictOfDataflow(problemOf(values).dataflow, values.integer("bq"));
      !tiles.empty())
    return tiles;
  if (std::string why = whyNotExplicit(values); values.choice("form") == "explicit" && !why.empty())
    return fmt::format("expected form = plain or auto because {}, but got form = explicit", why);
  if (std::string why = whyNotSplitKeys(values); values.choice("form") == "split-keys" && !why.empty())
    return fmt::format("expected form = auto, explicit or plain because {}, but got form = split-keys", why);
  return {};
}

std::string RegisteredForward::whyNotSplitKeys(const Parameters &values) const {
  for (const char *name : {"bq", "bk", "stages", "q_stages"})
    if (values.integer(name))
      return fmt::format("{} is of the other forms", name);
  if (std::string why = whyNotExplicit(values); !why.empty())
    return why;
  AttentionExtents e = extentsOf(values);
  return kernels::whyNotSplitKeys(problemOf(values).problem, e.hkv == 0 ? 0 : e.h / e.hkv);
}

ForwardChoice RegisteredForward::formOf(const Parameters &values, const Target &target,
                                        const dsl::TraceOptions &options) const {
  std::string_view form = values.choice("form");
  if (form != "auto")
    return {form == "plain"      ? AttentionForm::plain
            : form == "explicit" ? AttentionForm::explicitRoles
                                 : AttentionForm::splitKeys};
  std::string why = whyNotExplicit(values);
  if (why.empty())
    why = kernels::whyNotExplicit(target);
  ForwardChoice choice = chooseForm(problemOf(values).problem, forwardExtentsOf(values), why, target);
  bool isOpen = whyNotSplitKeys(values).empty() && !options.fixedDimensions.contains("h");
  return choice.form == AttentionForm::splitKeys && !isOpen ? ForwardChoice{} : choice;
}

std::string RegisteredForward::whyNotExplicit(const Parameters &values) const {
  ForwardConfig config = problemOf(values);
  if (config.dataflow != Dataflow::automatic)
    return fmt::format("dataflow = {} is of the plain form", values.choice("dataflow"));
  return kernels::whyNotExplicit(config.problem, config.sum,
                                 {.bq = values.integer("bq"), .bk = values.integer("bk")});
}

std::vector<Remark> RegisteredForward::remarks(const Parameters &values, const Target &target) const {
  ForwardChoice choice = formOf(values, target);
  if (values.choice("form") != "auto" || choice.form == AttentionForm::explicitRoles)
    return {};
  bool splitsKeys = choice.form == AttentionForm::splitKeys;
  return {{.id = std::string(splitsKeys ? splitKeysRemark : plainFormRemark),
           .location = {},
           .message = fmt::format("'{}' {}: {}", name(),
                                  splitsKeys ? "splits keys among blocks, as decoding does"
                                             : "takes the plain form, not the one with roles written by hand",
                                  choice.why)}};
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

ForwardConfig RegisteredForward::configOf(const Parameters &values, AttentionForm form,
                                          const Target &target) const {
  ForwardConfig config = problemOf(values);
  config.form = form;
  chooseTiles(config, forwardExtentsOf(values), target,
              {.bq = values.integer("bq"), .bk = values.integer("bk")});
  read(values, config); // what is given
  if (!values.integer("q_stages"))
    chooseQueryStages(config, target);
  return config;
}

dsl::Program RegisteredForward::build(const Parameters &values, const Target &target,
                                      const dsl::TraceOptions &options) const {
  AttentionForm form = formOf(values, target, options).form;
  if (form != AttentionForm::splitKeys)
    return forwardProgram(configOf(values, form, target), options);
  return decodeProgram(splitKeys(problemOf(values).problem, forwardExtentsOf(values), target), options);
}

AttentionShape RegisteredForward::shapeOf(const Parameters &values) const {
  return attentionShape(problemOf(values).problem, extentsOf(values));
}

Reference RegisteredForward::reference(const Parameters &values,
                                       std::span<const std::vector<double>> inputs) const {
  AttentionShape shape = shapeOf(values);
  std::span<const double> sink;
  if (problemOf(values).problem.sink == AttentionSink::perHead)
    sink = inputs.back();
  int64_t queries = extentsOf(values).sq;
  return [=](size_t output, std::span<const int64_t> elements) {
    if (output == 0)
      return referenceAttention(shape, inputs[0], inputs[1], inputs[2], sink, elements);
    std::vector<int64_t> lines = linesOf(elements, shape.h, queries);
    return referenceLogSumExp(shape, inputs[0], inputs[1], sink, lines);
  };
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
