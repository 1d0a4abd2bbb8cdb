// SPDX-License-Identifier: Apache-2.0
/// \file
/// From calls to plans: who may call whom, where variables of functions lie,
/// which functions need frames.
#include "runtime/emulator/exec/decode/Builtins.h"
#include "runtime/emulator/exec/decode/Call.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/support/Excerpt.h"

#include <algorithm>
#include <set>

namespace tlc::emulator {

namespace {

constexpr uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

constexpr uint64_t maximumParameterBytes = 32764, maximumLocalBytes = 512 * 1024;

bool isIndirect(const Statement &call) { return call.operands[0].kind != Operand::Kind::symbol; }

void collectSymbols(const Operand &operand, std::set<std::string_view> &names) {
  if (operand.kind == Operand::Kind::symbol)
    names.insert(operand.name);
  for (const Operand &element : operand.elements)
    collectSymbols(element, names);
}

/// The functions whose address the module takes somewhere.
std::vector<const Function *> pointedTo(const Module &module) {
  std::set<std::string_view> names;
  for (const Variable &variable : module.variables)
    for (const InitialAddress &initial : variable.initialAddresses)
      names.insert(initial.symbol);
  for (const Function &function : module.functions) {
    for (const Variable &variable : function.locals)
      for (const InitialAddress &initial : variable.initialAddresses)
        names.insert(initial.symbol);
    for (const Statement &item : function.body)
      if (item.name != "call")
        for (const Operand &operand : item.operands)
          collectSymbols(operand, names);
  }
  std::vector<const Function *> result;
  for (std::string_view name : names)
    if (const Function *function = findFunction(module, name);
        function && function->hasBody && !function->isEntry)
      if (std::find(result.begin(), result.end(), function) == result.end())
        result.push_back(function);
  return result;
}

} // namespace

std::vector<const Function *> Decoder::calleesOf(const Function &function) const {
  std::vector<const Function *> callees;
  for (const Statement &call : function.body) {
    if (call.name != "call" || call.operands.empty())
      continue;
    if (isIndirect(call)) {
      const auto all = pointedTo(program.module);
      callees.insert(callees.end(), all.begin(), all.end());
    } else if (const Function *callee = findFunction(program.module, call.operands[0].name);
               callee && callee->hasBody) {
      callees.push_back(callee);
    }
  }
  return callees;
}

Result<void> Decoder::collect(const Function &entry, std::vector<const Function *> &order) {
  // Depth first without recursion of our own: call chains may be long.
  std::set<const Function *> seen{&entry};
  struct Visit {
    const Function *function;
    std::vector<const Function *> callees;
    size_t next = 0;
  };
  std::vector<Visit> open{{&entry, calleesOf(entry)}};
  while (!open.empty()) {
    Visit &visit = open.back();
    if (visit.next == visit.callees.size()) {
      order.push_back(visit.function);
      open.pop_back();
      continue;
    }
    const Function *callee = visit.callees[visit.next++];
    if (seen.insert(callee).second)
      open.push_back({callee, calleesOf(*callee)});
  }
  for (const Function *function : order)
    for (const Statement &call : function->body) {
      if (call.name != "call" || call.operands.empty() || isIndirect(call))
        continue;
      const std::string &name = call.operands[0].name;
      const Function *callee = findFunction(program.module, name);
      if ((!callee || !callee->hasBody || callee->isEntry) && !findBuiltin(name))
        return Error{
            ErrorKind::invalidArgument,
            formatMessage("PTX line {}: call of '{}', which this module does not define", call.line, name)};
    }
  return {};
}

void Decoder::findRecursion(std::span<const Function *const> order) {
  // Take away, again and again, what calls nothing that is left: what remains
  // calls itself or leads to what does, and a frame more does no harm.
  std::map<const Function *, std::vector<const Function *>> callers;
  std::map<const Function *, size_t> left;
  for (const Function *function : order) {
    const auto callees = calleesOf(*function);
    left[function] = callees.size();
    for (const Function *callee : callees)
      callers[callee].push_back(function);
  }
  std::vector<const Function *> plain;
  for (const auto &[function, callees] : left)
    if (callees == 0)
      plain.push_back(function);
  while (!plain.empty()) {
    const Function *function = plain.back();
    plain.pop_back();
    left.erase(function);
    for (const Function *caller : callers[function])
      if (--left[caller] == 0)
        plain.push_back(caller);
  }
  for (const Function *function : order) {
    const bool allocates =
        std::any_of(function->body.begin(), function->body.end(), [](const Statement &item) {
          return item.name == "alloca" || item.name == "stacksave" || item.name == "stackrestore";
        });
    const bool recursive = left.contains(function);
    usesStack |= allocates || recursive;
    if (!function->isEntry && (allocates || recursive))
      functions[function].frame = std::make_shared<Frame>();
  }
}

void Decoder::layoutFunction(const Function &function) {
  FunctionState &layout = functions[&function];
  Frame *frame = layout.frame.get();
  if (frame) {
    frame->saved.push_back(stackPointer());
    frameBeingDecoded = frame;
    frame->base = temporary(8);
    kernel.payloads.push_back(layout.frame);
  }
  layout.callee.function = &function;
  layout.callee.returnAddress = temporary(4);
  for (const Register &reg : function.registers) {
    layout.registers.push_back(temporary(sizeInBytes(reg.type)));
    kernel.registerNames.push_back({layout.registers.back().offset, reg.name});
  }
  frameBeingDecoded = nullptr;
  auto place = [&](const Variable &variable, bool isParameter) {
    uint32_t &end = frame ? frame->bytes : kernel.localBytes;
    const uint64_t at = alignUp(end, variable.alignment);
    end = uint32_t(std::min<uint64_t>(at + variable.bytes, maximumLocalBytes + 1));
    layout.variables[variable.name] = {isParameter ? StateSpace::parameter : StateSpace::local,
                                       isParameter ? at | functionParameterFlag : at,
                                       uint32_t(variable.bytes), frame != nullptr};
  };
  uint64_t end = 0;
  for (const Variable &parameter : function.parameters) {
    if (!function.isEntry) {
      place(parameter, true);
      continue;
    }
    end = alignUp(end, parameter.alignment);
    layout.variables[parameter.name] = {StateSpace::parameter, end, uint32_t(parameter.bytes), false};
    kernel.parameterOffsets.push_back(uint32_t(end));
    end = std::min(end + parameter.bytes, maximumParameterBytes + 1);
    kernel.parameterBytes = uint32_t(end);
  }
  for (const Variable &result : function.results)
    place(result, true);
  for (const Variable &local : function.locals)
    if (local.space == StateSpace::local || local.space == StateSpace::parameter)
      place(local, local.space == StateSpace::parameter);
  if (frame) // frames are aligned, and an empty one still counts against the stack
    frame->bytes = uint32_t(std::max<uint64_t>(16, alignUp(frame->bytes, 16)));
}

Slot Decoder::stackPointer() {
  if (!stackSlot)
    stackSlot = Slot{allocateRegister(8), 8, false};
  return *stackSlot;
}

/// Where the .param variables of a call's list lie, without what marks them as parameters.
std::vector<Decoder::Address> Decoder::parameterAddresses(const std::vector<std::string> &names) {
  std::vector<Address> result;
  for (const std::string &name : names) {
    auto found = state->variables.find(name);
    if (found == state->variables.end() || !(found->second.value & functionParameterFlag)) {
      fail("'{}' is not a .param variable", excerpt(name));
      return {};
    }
    result.push_back(found->second);
    result.back().value &= ~functionParameterFlag;
  }
  return result;
}

std::optional<CallPlan> Decoder::planCall(const Function &callee) {
  const FunctionState &there = functions[&callee];
  CallPlan plan;
  plan.function = &callee;
  plan.returnAddress = there.callee.returnAddress;
  plan.frame = there.frame.get();
  const auto match = [&](const std::vector<std::string> &actual, const std::vector<Variable> &formal,
                         std::string_view kind, std::vector<ParameterCopy> &into) {
    const std::vector<Address> here = parameterAddresses(actual);
    if (here.size() != formal.size()) {
      plan.mismatch =
          formatMessage("call of '{}' with {} {}s, it has {}", callee.name, here.size(), kind, formal.size());
      return;
    }
    for (size_t i = 0; i < here.size(); ++i) {
      const Address &to = there.variables.find(formal[i].name)->second;
      if (here[i].bytes != to.bytes)
        plan.mismatch = formatMessage("{} {} of '{}' has {} bytes, but got {}", kind, i, callee.name,
                                      to.bytes, here[i].bytes);
      into.push_back({uint32_t(here[i].value), uint32_t(to.value & ~functionParameterFlag),
                      std::min(here[i].bytes, to.bytes)});
    }
  };
  match(statement->callArguments, callee.parameters, "parameter", plan.parameters);
  match(statement->callResults, callee.results, "result", plan.results);
  return failed() ? std::nullopt : std::optional(std::move(plan));
}

void Decoder::emitCall(std::vector<CallPlan> plans, bool indirect) {
  auto call = std::make_shared<Call>();
  call->callerFrame = state->frame.get();
  if (usesStack) {
    call->stackPointer = stackPointer();
    if (!returnedFrameSlot)
      returnedFrameSlot = Slot{allocateRegister(8), 8, false};
    call->returnedFrame = *returnedFrameSlot;
  }
  call->indirect = indirect;
  call->plans = std::move(plans);
  const Slot number = temporary(4);
  if (indirect) {
    const Slot pointer = in(0, Type::u64);
    emit(callFunction, {number, pointer}).payload = call.get();
  } else {
    emit(callFunction, {number}).payload = call.get();
  }
  emit(takeResults, {number}).payload = call.get();
  kernel.payloads.push_back(call);
  calls.push_back(std::move(call));
}

void Decoder::decodeCall() {
  take("uni");
  if (statement->operands.empty())
    return fail("'{}' lacks a function", fullName);
  if (isIndirect(*statement)) {
    std::vector<CallPlan> plans;
    for (const Function *callee : pointedTo(program.module))
      if (auto plan = planCall(*callee))
        plans.push_back(std::move(*plan));
    return emitCall(std::move(plans), true);
  }
  const std::string &name = operand(0).name;
  const Function *callee = findFunction(program.module, name);
  if (!callee || !callee->hasBody)
    return decodeBuiltin(name);
  auto plan = planCall(*callee);
  if (!plan)
    return;
  if (!plan->mismatch.empty())
    return fail("{}", plan->mismatch);
  emitCall({std::move(*plan)}, false);
}

void Decoder::emitReturn() {
  const Frame *frame = state->frame.get();
  if (!frame) {
    emit(returnToCaller, {current->returnAddress});
    return;
  }
  if (!returnedFrameSlot)
    returnedFrameSlot = Slot{allocateRegister(8), 8, false};
  emitWith(returnFromFrame, {current->returnAddress, frame->base, *returnedFrameSlot}, frame);
}

void Decoder::decodeBuiltin(std::string_view name) {
  const Builtin *builtin = findBuiltin(name);
  BuiltinCall call;
  call.callerFrame = state->frame.get();
  for (const Address &address : parameterAddresses(statement->callArguments))
    call.parameters.push_back({uint32_t(address.value), address.bytes});
  for (const Address &address : parameterAddresses(statement->callResults))
    call.results.push_back({uint32_t(address.value), address.bytes});
  if (failed())
    return;
  const auto sizesAre = [](const std::vector<BuiltinCall::Place> &places, std::span<const uint8_t> bytes) {
    return std::equal(places.begin(), places.end(), bytes.begin(), bytes.end(),
                      [](const BuiltinCall::Place &place, uint8_t size) { return place.bytes == size; });
  };
  if (!sizesAre(call.parameters, builtin->parameters()) || !sizesAre(call.results, builtin->results()))
    return fail("call of '{}' with other parameters than it has", excerpt(name));
  emitWith(builtin->eval, {}, call);
}

} // namespace tlc::emulator
