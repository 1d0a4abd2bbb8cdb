// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks the tensors and options of a call, chooses the program, and launches it.
#include "kernels/library/Backward.h"

#include "kernels/attention/backward/Describe.h"
#include "kernels/library/call/Mistake.h"
#include "kernels/library/call/SequenceCall.h"
#include "runtime/target/Target.h"

#include <algorithm>

using namespace tlc;
using namespace tlc::attention;
using kernels::AttentionSink;
using kernels::BackwardConfig;
using kernels::ElementStride;
using kernels::GradientType;
using kernels::mistake;
using kernels::Schema;

namespace {

constexpr std::string_view callName = "attention::backward";
constexpr int64_t copyAlignment = TmaFacts().globalAlignment; ///< bytes

/// Programs that copy dO take its elements as rows of one.
bool isStrided(const TensorView &dO) {
  return !dO.shape.empty() && dO.strides.size() == dO.shape.size() && dO.shape.back() > 1 &&
         dO.strides.back() != 1;
}

Schema schemaOf(const BackwardTensors &tensors, Lengths lengths) {
  auto rows = [&](std::vector<std::string_view> axes) { return axesOfRows(lengths, std::move(axes)); };
  constexpr ElementType f32 = ElementType::f32;
  Schema schema(callName);
  ElementType element = tensors.q.element, gradient = tensors.dq.element;
  schema.add("q", element, Access::input, rows({"sq", "h", "d"}), tensors.q);
  schema.add("k", element, Access::input, rows({"sk", "hkv", "d"}), tensors.k);
  schema.add("v", element, Access::input, rows({"sk", "hkv", "dv"}), tensors.v);
  kernels::LengthTensors{tensors.queryLengths, tensors.keyLengths}.addTo(schema, lengths);
  if (tensors.sink)
    schema.add("sink", f32, Access::input, {"h"}, *tensors.sink);
  schema.add("o", element, Access::input, rows({"sq", "h", "dv"}), tensors.o);
  std::vector<std::string_view> ofGradient = rows({"sq", "h", "dv"});
  TensorView dO = tensors.dO;
  if (isStrided(dO)) {
    ofGradient.push_back(Schema::unit);
    dO.shape.push_back(1);
    dO.strides.push_back(1);
  }
  schema.add("dO", element, Access::input, ofGradient, dO);
  schema.add("lse", f32, Access::input, rows({"h", "sq"}), tensors.lse);
  schema.add("dq", gradient, Access::output, rows({"sq", "h", "d"}), tensors.dq);
  schema.add("dk", gradient, Access::output, rows({"sk", "hkv", "d"}), tensors.dk);
  schema.add("dv", gradient, Access::output, rows({"sk", "hkv", "dv"}), tensors.dv);
  if (tensors.dSink)
    schema.add("dSink", f32, Access::output, {"h"}, *tensors.dSink);
  return schema;
}

/// A call that is valid, but for addresses, and what is to be computed.
struct Call {
  Schema schema;
  BackwardConfig config;
};

Result<Call> checkCall(const BackwardTensors &tensors, const BackwardOptions &options) {
  ElementType element = tensors.q.element, gradient = tensors.dq.element;
  if (element != ElementType::f16 && element != ElementType::bf16)
    return mistake("argument 'q': expected element type f16 or bf16, but got {}", toString(element));
  if (gradient != element && gradient != ElementType::f32)
    return mistake("argument 'dq': expected element type {} or f32, but got {}", toString(element),
                   toString(gradient));
  if (tensors.sink.has_value() != tensors.dSink.has_value())
    return mistake("argument 'dSink': expected {} because there is {} sink, but got {}",
                   tensors.sink ? "one" : "none", tensors.sink ? "a" : "no", tensors.sink ? "none" : "one");
  if (Result<void> valid =
          kernels::LengthTensors{tensors.queryLengths, tensors.keyLengths}.check(options.lengths);
      !valid)
    return valid.error();
  Schema schema = schemaOf(tensors, options.lengths);
  if (Result<void> valid = schema.check(); !valid)
    return valid.error();
  BackwardConfig config{.problem = {.dtype = element,
                                    .d = schema.extent("d"),
                                    .dv = schema.extent("dv"),
                                    .mask = options.mask,
                                    .scale = options.scale,
                                    .softCap = options.softCap,
                                    .sink = tensors.sink ? AttentionSink::perHead : AttentionSink::none,
                                    .logBase = options.logBase,
                                    .lengths = options.lengths},
                        .gradients = gradient == element ? GradientType::same : GradientType::f32,
                        .strideOfOutputGradient =
                            isStrided(tensors.dO) ? ElementStride::any : ElementStride::one};
  if (Result<void> valid = checkProblem(schema, config.problem); !valid)
    return valid.error();
  if (int64_t longest = std::max(config.problem.d, config.problem.dv); longest > kernels::longestGradientRow)
    return mistake(
        "{}: expected d and dv of at most {} because gradients of a tile are in registers, but got "
        "{} and {}",
        callName, kernels::longestGradientRow, config.problem.d, config.problem.dv);
  for (auto [name, isWrong] : {std::pair("dq", options.dq && isUnordered(*options.dq)),
                               {"dkv", options.dkv && isUnordered(*options.dkv)}})
    if (options.isDeterministic && isWrong)
      return mistake("option '{}': expected no atomic sums because option 'isDeterministic' is set and they "
                     "add in any order; leave it open",
                     name);
  return Call{std::move(schema), config};
}

/// Its program.
Result<kernels::CallProgram> programOf(const Programs &programs, const Call &call,
                                       const BackwardOptions &options) {
  Result<const Target *> target = programs.target();
  if (!target)
    return target.error();
  if (options.form == AttentionForm::splitKeys)
    return mistake(
        "option 'form': expected the explicit or the plain form because backward has no other, but "
        "got split keys");
  BackwardConfig config = call.config;
  std::string why = kernels::whyNotExplicit(**target);
  if (why.empty())
    why = call.schema.unaligned({"q", "k", "v", "o", "dq", "dk", "dv"}, copyAlignment);
  if (why.empty() && config.strideOfOutputGradient == ElementStride::one)
    why = call.schema.unaligned({"dO"}, copyAlignment);
  if (options.form == AttentionForm::explicitRoles && !why.empty())
    return mistake("option 'form': expected arguments for the explicit form because it was requested, but "
                   "{}; leave 'form' "
                   "out to use the plain form",
                   why);
  config.form = options.form.value_or(why.empty() ? AttentionForm::explicitRoles : AttentionForm::plain);
  auto extent = [&](std::string_view name) { return call.schema.extent(name); };
  kernels::BackwardExtents extents = {options.lengths == Lengths::packed ? 1 : extent("b"), extent("sq"),
                                      extent("sk"), extent("h"), extent("hkv")};
  chooseSchedule(config, {.dq = options.dq, .dkv = options.dkv, .isDeterministic = options.isDeterministic},
                 extents, **target);
  if (std::string conflict = conflictOfSums(config); !conflict.empty())
    return mistake("{}: {}", callName, conflict);
  return backwardCall(config);
}

} // namespace

kernels::CallProgram attention::backwardCall(const BackwardConfig &config) {
  return kernels::callProgram(callName, config, [config] { return backwardProgram(config); });
}

Result<size_t> attention::workspaceSize(Programs &programs, const BackwardTensors &tensors,
                                        const BackwardOptions &options) {
  return kernels::workspaceSize(programs, checkCall(tensors, options),
                                [&](const Call &call) { return programOf(programs, call, options); });
}

Result<void> attention::backward(Programs &programs, Stream stream, const BackwardTensors &tensors,
                                 Workspace workspace, const BackwardOptions &options) {
  return kernels::launch(programs, stream, workspace, checkCall(tensors, options),
                         [&](const Call &call) { return programOf(programs, call, options); });
}
