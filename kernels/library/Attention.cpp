// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks the tensors and options of a call, chooses the program, and launches it.
#include "kernels/library/Attention.h"

#include "kernels/attention/decode/Describe.h"
#include "kernels/attention/forward/Describe.h"
#include "kernels/library/call/Mistake.h"
#include "kernels/library/call/SequenceCall.h"
#include "runtime/target/Target.h"

#include <string_view>
#include <tuple>
#include <vector>

using namespace tlc;
using namespace tlc::attention;
using kernels::AttentionProblem;
using kernels::AttentionSink;
using kernels::ForwardConfig;
using kernels::mistake;
using kernels::Schema;

namespace {

constexpr std::string_view callName = "attention::forward";
constexpr int64_t copyAlignment = TmaFacts().globalAlignment; ///< bytes

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Schema schemaOf(const ForwardTensors &tensors, Lengths lengths) {
  auto rows = [&](std::vector<std::string_view> axes) { return axesOfRows(lengths, std::move(axes)); };
  Schema schema(callName);
  ElementType element = tensors.q.element;
  schema.add("q", element, Access::input, rows({"sq", "h", "d"}), tensors.q);
  schema.add("k", element, Access::input, rows({"sk", "hkv", "d"}), tensors.k);
  schema.add("v", element, Access::input, rows({"sk", "hkv", "dv"}), tensors.v);
  const auto scales = {std::tuple("scaleQ", "h", &tensors.scaleQ),
                       {"scaleK", "hkv", &tensors.scaleK},
                       {"scaleV", "hkv", &tensors.scaleV}};
  for (auto [name, heads, scale] : scales)
    if (*scale)
      schema.add(name, ElementType::f32, Access::input, {"b", heads}, **scale);
  kernels::LengthTensors{tensors.queryLengths, tensors.keyLengths}.addTo(schema, lengths);
  if (tensors.sink)
    schema.add("sink", ElementType::f32, Access::input, {"h"}, *tensors.sink);
  schema.add("o", element == ElementType::e4m3 ? tensors.o.element : element, Access::output,
             rows({"sq", "h", "dv"}), tensors.o);
  schema.add("lse", ElementType::f32, Access::output, rows({"h", "sq"}), tensors.lse);
  return schema;
}

//===----------------------------------------------------------------------===//
// Calls that are valid
//===----------------------------------------------------------------------===//

/// Everything about a call but addresses.
struct Call {
  Schema schema;
  AttentionProblem problem;
  kernels::OutputSum sum; ///< of e4m3
};

Result<Call> checkCall(const ForwardTensors &tensors, const ForwardOptions &options) {
  ElementType element = tensors.q.element;
  bool hasBytes = element == ElementType::e4m3;
  if (!hasBytes && element != ElementType::f16 && element != ElementType::bf16)
    return mistake("argument 'q': expected element type f16, bf16 or e4m3, but got {}", toString(element));
  if (ElementType out = tensors.o.element; hasBytes && out != ElementType::f16 && out != ElementType::bf16)
    return mistake("argument 'o': expected element type f16 or bf16, but got {}", toString(out));
  for (auto [name, scale] :
       {std::pair("scaleQ", &tensors.scaleQ), {"scaleK", &tensors.scaleK}, {"scaleV", &tensors.scaleV}})
    if (scale->has_value() != hasBytes)
      return mistake("argument '{}': expected {} because q is of {}, but got {}", name,
                     hasBytes ? "a factor for each sequence and head" : "none", toString(element),
                     hasBytes ? "none" : "one");
  if (Result<void> valid =
          kernels::LengthTensors{tensors.queryLengths, tensors.keyLengths}.check(options.lengths);
      !valid)
    return valid.error();
  Schema schema = schemaOf(tensors, options.lengths);
  if (Result<void> valid = schema.check(); !valid)
    return valid.error();
  AttentionProblem problem{.dtype = element,
                           .out = hasBytes ? tensors.o.element : AttentionProblem().out,
                           .d = schema.extent("d"),
                           .dv = schema.extent("dv"),
                           .mask = options.mask,
                           .scale = options.scale,
                           .softCap = options.softCap,
                           .sink = tensors.sink ? AttentionSink::perHead : AttentionSink::none,
                           .logBase = options.logBase,
                           .lengths = options.lengths};
  if (Result<void> valid = checkProblem(schema, problem); !valid)
    return valid.error();
  return Call{std::move(schema), problem, hasBytes ? options.sum : kernels::OutputSum::inPlace};
}

/// What keeps a call from the explicit form; empty if nothing does.
std::string whyNotExplicit(const Target &target, const Call &call) {
  std::string why = kernels::whyNotExplicit(target);
  if (why.empty())
    why = kernels::whyNotExplicit(call.problem, call.sum);
  return why.empty() ? call.schema.unaligned({"q", "k", "v", "o"}, copyAlignment) : why;
}

kernels::ForwardExtents extentsOf(const Call &call) {
  auto extent = [&](std::string_view name) { return call.schema.extent(name); };
  return {.b = call.problem.lengths == Lengths::packed ? extent("b + 1") - 1 : extent("b"),
          .sq = extent("sq"),
          .sk = extent("sk"),
          .h = extent("h"),
          .hkv = extent("hkv")};
}

Result<ForwardChoice> choose(const Target &target, const Call &call, const ForwardOptions &options) {
  if (options.form == AttentionForm::plain)
    return ForwardChoice{AttentionForm::plain, "option 'form' says so"};
  std::string why = whyNotExplicit(target, call);
  kernels::ForwardExtents extents = extentsOf(call);
  if (!options.form)
    return kernels::chooseForm(call.problem, extents, why, target);
  bool splitsKeys = options.form == AttentionForm::splitKeys;
  if (why.empty() && splitsKeys)
    why = kernels::whyNotSplitKeys(call.problem, extents.h / extents.hkv);
  if (!why.empty())
    return mistake("option 'form': expected arguments for {} because it was requested, but {}; leave 'form' "
                   "out to use {}",
                   splitsKeys ? "split keys" : "the explicit form", why,
                   splitsKeys ? "another form" : "the plain form");
  return ForwardChoice{*options.form, splitsKeys ? "option 'form' says so" : ""};
}

/// Its program.
Result<kernels::CallProgram> programOf(const Programs &programs, const Call &call,
                                       const ForwardOptions &options) {
  Result<const Target *> target = programs.target();
  if (!target)
    return target.error();
  Result<ForwardChoice> choice = choose(**target, call, options);
  if (!choice)
    return choice.error();
  if (choice->form == AttentionForm::splitKeys) {
    kernels::DecodeConfig config = splitKeys(call.problem, extentsOf(call), **target);
    return kernels::callProgram(callName, config, [config] { return decodeProgram(config); });
  }
  ForwardConfig config{.problem = call.problem, .form = choice->form, .sum = call.sum};
  chooseTiles(config, extentsOf(call), **target);
  return forwardCall(config);
}

} // namespace

kernels::CallProgram attention::forwardCall(const ForwardConfig &config) {
  return kernels::callProgram(callName, config, [config] { return forwardProgram(config); });
}

Result<ForwardChoice> attention::chooseForm(const Programs &programs, const ForwardTensors &tensors,
                                            const ForwardOptions &options) {
  Result<Call> call = checkCall(tensors, options);
  if (!call)
    return call.error();
  Result<const Target *> target = programs.target();
  if (!target)
    return target.error();
  return choose(**target, *call, options);
}

Result<size_t> attention::workspaceSize(Programs &programs, const ForwardTensors &tensors,
                                        const ForwardOptions &options) {
  return kernels::workspaceSize(programs, checkCall(tensors, options),
                                [&](const Call &call) { return programOf(programs, call, options); });
}

Result<void> attention::forward(Programs &programs, Stream stream, const ForwardTensors &tensors,
                                Workspace workspace, const ForwardOptions &options) {
  return kernels::launch(programs, stream, workspace, checkCall(tensors, options),
                         [&](const Call &call) { return programOf(programs, call, options); });
}
