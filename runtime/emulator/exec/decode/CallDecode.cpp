// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/exec/decode/CallDecode.h"

#include "runtime/emulator/exec/decode/Builtins.h"
#include "runtime/emulator/exec/decode/Call.h"
#include "runtime/emulator/exec/decode/CallGraph.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/support/Excerpt.h"

#include <algorithm>

namespace tlc::emulator {

namespace {

/// Where the .param variables of a call's list lie, without what marks them as parameters.
std::vector<VariablePlace> parameterPlaces(Decoder &d, const std::vector<std::string> &names) {
  std::vector<VariablePlace> result;
  for (const std::string &name : names) {
    auto found = d.function().variables.find(name);
    if (found == d.function().variables.end() || !(found->second.value & functionParameterFlag)) {
      d.fail("'{}' is not a .param variable", excerpt(name));
      return {};
    }
    result.push_back(found->second);
    result.back().value &= ~functionParameterFlag;
  }
  return result;
}

std::optional<CallPlan> planCall(Decoder &d, const Function &callee) {
  const FunctionLayout &there = d.layout().of(callee);
  CallPlan plan;
  plan.function = &callee;
  plan.returnAddress = there.returnAddress;
  plan.frame = there.frame.get();
  const auto match = [&](const std::vector<std::string> &actual, const std::vector<Variable> &formal,
                         std::string_view kind, std::vector<ParameterCopy> &into) {
    const std::vector<VariablePlace> here = parameterPlaces(d, actual);
    if (here.size() != formal.size()) {
      plan.mismatch =
          formatMessage("call of '{}' with {} {}s, it has {}", callee.name, here.size(), kind, formal.size());
      return;
    }
    for (size_t i = 0; i < here.size(); ++i) {
      const VariablePlace &to = there.variables.find(formal[i].name)->second;
      if (here[i].bytes != to.bytes)
        plan.mismatch = formatMessage("{} {} of '{}' has {} bytes, but got {}", kind, i, callee.name,
                                      to.bytes, here[i].bytes);
      into.push_back({uint32_t(here[i].value), uint32_t(to.value & ~functionParameterFlag),
                      std::min(here[i].bytes, to.bytes)});
    }
  };
  match(d.at().callArguments, callee.parameters, "parameter", plan.parameters);
  match(d.at().callResults, callee.results, "result", plan.results);
  return d.failed() ? std::nullopt : std::optional(std::move(plan));
}

void emitCall(Decoder &d, std::vector<CallPlan> plans, bool indirect) {
  auto call = std::make_shared<Call>();
  call->callerFrame = d.function().frame.get();
  if (d.layout().usesStack()) {
    call->stackPointer = d.layout().stackPointer();
    call->returnedFrame = d.layout().returnedFrame();
  }
  call->indirect = indirect;
  call->plans = std::move(plans);
  const Slot number = d.temporary(4);
  if (indirect) {
    const Slot pointer = d.in(0, Type::u64);
    d.emit(callFunction, {number, pointer}).payload = call.get();
  } else {
    d.emit(callFunction, {number}).payload = call.get();
  }
  d.emit(takeResults, {number}).payload = call.get();
  d.kernel.payloads.push_back(call);
  d.addCall(std::move(call));
}

void decodeBuiltin(Decoder &d, std::string_view name) {
  const Builtin *builtin = findBuiltin(name);
  BuiltinCall call;
  call.callerFrame = d.function().frame.get();
  for (const VariablePlace &address : parameterPlaces(d, d.at().callArguments))
    call.parameters.push_back({uint32_t(address.value), address.bytes});
  for (const VariablePlace &address : parameterPlaces(d, d.at().callResults))
    call.results.push_back({uint32_t(address.value), address.bytes});
  if (d.failed())
    return;
  const auto sizesAre = [](const std::vector<BuiltinCall::Place> &places, std::span<const uint8_t> bytes) {
    return std::equal(places.begin(), places.end(), bytes.begin(), bytes.end(),
                      [](const BuiltinCall::Place &place, uint8_t size) { return place.bytes == size; });
  };
  if (!sizesAre(call.parameters, builtin->parameters()) || !sizesAre(call.results, builtin->results()))
    return d.fail("call of '{}' with other parameters than it has", excerpt(name));
  d.emitWith(builtin->eval, {}, call);
}

} // namespace

void decodeCall(Decoder &d) {
  d.take("uni");
  if (d.at().operands.empty())
    return d.fail("'{}' lacks a function", d.at().fullName());
  if (isIndirectCall(d.at())) {
    std::vector<CallPlan> plans;
    for (const Function *callee : functionsPointedTo(d.program.module))
      if (auto plan = planCall(d, *callee))
        plans.push_back(std::move(*plan));
    return emitCall(d, std::move(plans), true);
  }
  const std::string &name = d.operand(0).name;
  const Function *callee = findFunction(d.program.module, name);
  if (!callee || !callee->hasBody)
    return decodeBuiltin(d, name);
  auto plan = planCall(d, *callee);
  if (!plan)
    return;
  if (!plan->mismatch.empty())
    return d.fail("{}", plan->mismatch);
  emitCall(d, {std::move(*plan)}, false);
}

void decodeReturn(Decoder &d) {
  const FunctionLayout &function = d.function();
  const Frame *frame = function.frame.get();
  if (frame)
    d.emitWith(returnFromFrame, {function.returnAddress, frame->base, d.layout().returnedFrame()}, frame);
  else
    d.emit(returnToCaller, {function.returnAddress});
}

} // namespace tlc::emulator
