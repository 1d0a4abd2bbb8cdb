// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a module to kernels: which functions an entry calls, where registers
/// and variables lie, where jumps go.
#include "runtime/emulator/exec/decode/Call.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/ptx/Parser.h"
#include "runtime/support/Excerpt.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace tlc::emulator {

namespace {

constexpr uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

/// PTX limits: 4 KB of parameters before sm_70, 32764 bytes since; 512 KB of
/// local memory a thread; no shared memory is larger than a megabyte.
constexpr uint64_t maximumParameterBytes = 32764;
constexpr uint64_t maximumLocalBytes = 512 * 1024;
constexpr uint64_t maximumSharedBytes = 1024 * 1024;
constexpr uint64_t maximumRegisterBytes = uint64_t(1) << 30;

void collectNames(const Operand &operand, std::set<std::string_view> &names) {
  if (operand.kind == Operand::Kind::symbol)
    names.insert(operand.name);
  for (const Operand &element : operand.elements)
    collectNames(element, names);
}

Error linkError(std::string message) { return Error{ErrorKind::invalidArgument, std::move(message)}; }

} // namespace

uint32_t Decoder::allocateRegister(unsigned bytes) {
  const uint32_t size = bytes == 0 ? 4 : 32 * bytes;
  const uint32_t offset = uint32_t(alignUp(kernel.registerBytes, std::clamp(size, registerGranule, 64u)));
  // Too many are an error in the end; until then nothing may wrap around.
  const bool fits = offset + size <= maximumRegisterBytes;
  kernel.registerBytes = fits ? offset + size : uint32_t(maximumRegisterBytes) + 1;
  return fits ? offset : 0;
}

/// Static shared memory holds the module's variables that these functions use
/// and their own; then comes the dynamic part.
Result<void> Decoder::layoutShared(std::span<const Function *const> order) {
  std::set<std::string_view> names;
  uint64_t end = sharedBase;
  for (const Function *function : order) {
    for (const Statement &item : function->body)
      for (const Operand &operand : item.operands)
        collectNames(operand, names);
    for (const Variable &variable : function->locals) {
      if (variable.space != StateSpace::shared)
        continue;
      end = alignUp(end, variable.alignment);
      functions[function].variables[variable.name] = {StateSpace::shared, end, uint32_t(variable.bytes)};
      end += variable.bytes;
    }
  }
  uint64_t dynamicAlignment = 16;
  for (const Variable &variable : program.module.variables) {
    if (variable.space != StateSpace::shared || !names.contains(variable.name))
      continue;
    if (variable.isExtern) {
      dynamicAlignment = std::max(dynamicAlignment, variable.alignment);
      continue;
    }
    end = alignUp(end, variable.alignment);
    sharedVariables[variable.name] = {StateSpace::shared, end, uint32_t(variable.bytes)};
    end += variable.bytes;
  }
  if (end > maximumSharedBytes)
    return linkError(formatMessage("'{}' has {} bytes of static shared memory, more than {}", kernel.name,
                                   end - sharedBase, maximumSharedBytes));
  kernel.staticSharedEnd = uint32_t(end);
  kernel.dynamicSharedStart = uint32_t(alignUp(end, dynamicAlignment));
  for (const Variable &variable : program.module.variables)
    if (variable.space == StateSpace::shared && variable.isExtern)
      sharedVariables[variable.name] = {StateSpace::shared, kernel.dynamicSharedStart, 0};
  return {};
}

std::optional<Decoder::Address> Decoder::findVariable(std::string_view name) const {
  if (auto found = state->variables.find(name); found != state->variables.end())
    return found->second;
  if (auto found = sharedVariables.find(name); found != sharedVariables.end())
    return found->second;
  if (auto found = program.storage.find(name); found != program.storage.end())
    return Address{found->second.variable->space, found->second.address,
                   uint32_t(found->second.variable->bytes)};
  if (const Function *function = findFunction(program.module, name); function && !function->isEntry)
    return Address{StateSpace::global, codeAddress(size_t(function - program.module.functions.data())), 0};
  return std::nullopt;
}

void Decoder::jumpTo(size_t target) { jumps.push_back({kernel.code.size() - 1, target}); }

void Decoder::branchTargets(std::string_view name, std::vector<uint32_t> &into) {
  for (const BranchTargets &targets : state->callee.function->branchTargets)
    if (targets.name == name) {
      targetLists.push_back({&into, &targets});
      return;
    }
  fail("unknown list of branch targets '{}'", excerpt(name));
}

Result<void> Decoder::decodeFunction(const Function &function) {
  state = &functions[&function];
  current = &state->callee;
  state->callee.pc = nextPc();
  frameBeingDecoded = state->frame.get();
  jumps.clear();
  targetLists.clear();
  if (function.isEntry && usesStack) {
    Statement start;
    start.name = "entry";
    start.line = function.line;
    statement = &start;
    emit(beginStack, {stackPointer()}, int64_t(kernel.localBytes - stackBytes));
  }
  for (const Statement &next : function.body) {
    statement = &next;
    state->statementPcs.push_back(nextPc());
    decodeStatement();
    if (error)
      return *error;
  }
  // A body may end without ret.
  Statement end;
  end.name = "ret";
  end.line = function.body.empty() ? function.line : function.body.back().line;
  statement = &end;
  state->statementPcs.push_back(nextPc());
  decodeStatement();
  if (error)
    return *error;
  for (const Jump &jump : jumps) {
    const uint32_t target = state->statementPcs[jump.statement], from = uint32_t(jump.instruction);
    kernel.code[from].immediate = target;
    if (target <= from)
      kernel.loops.push_back({target, from});
  }
  for (const TargetList &list : targetLists)
    for (const Operand &label : list.targets->labels)
      list.into->push_back(state->statementPcs[label.bits]);
  statement = nullptr;
  frameBeingDecoded = nullptr;
  return {};
}

Result<void> Decoder::run(const Function &entry) {
  for (auto group :
       {integerInstructions(),  bitInstructions(),     floatInstructions(),   floatChoiceInstructions(),
        compareInstructions(),  moveInstructions(),    convertInstructions(), memoryInstructions(),
        atomicInstructions(),   controlInstructions(), warpInstructions(),    barrierInstructions(),
        mbarrierInstructions(), fenceInstructions(),   asyncInstructions(),   matrixInstructions(),
        videoInstructions(),    mmaInstructions(),     wmmaInstructions(),    tensorInstructions()})
    for (const DecodeEntry &item : group)
      table.emplace(item.name, item.decode);
  kernel.name = entry.name;
  code = *parseCodeTarget(program.module.target); // the parser has checked it
  kernel.function = &entry;
  kernel.localBytes = localBase;
  std::vector<const Function *> order;
  if (auto done = collect(entry, order); !done)
    return done;
  findRecursion(order);
  if (auto done = layoutShared(order); !done)
    return done;
  for (const Function *function : order)
    layoutFunction(*function);
  const uint32_t stackStart = uint32_t(alignUp(kernel.localBytes, 16));
  if (usesStack)
    kernel.localBytes = stackStart + stackBytes;
  if (kernel.parameterBytes > maximumParameterBytes)
    return linkError(
        formatMessage("'{}' has more than {} bytes of parameters", kernel.name, maximumParameterBytes));
  if (kernel.localBytes > maximumLocalBytes)
    return linkError(
        formatMessage("'{}' needs more than {} bytes of local memory", kernel.name, maximumLocalBytes));
  for (const Function *function : order)
    if (auto done = decodeFunction(*function); !done)
      return done;
  if (kernel.registerBytes > maximumRegisterBytes)
    return linkError(formatMessage("'{}' has too many registers", kernel.name));
  for (const auto &call : calls)
    for (CallPlan &plan : call->plans)
      plan.pc = functions[plan.function].callee.pc;
  kernel.start = functions[&entry].callee.pc;
  return {};
}

Result<std::shared_ptr<const Program>> loadProgram(std::string_view ptx) {
  auto module = parseModule(ptx);
  if (!module)
    return module.error();
  auto program = std::make_shared<Program>();
  program->module = std::move(*module);
  auto allocate = [&](const Variable &variable) -> Result<void> {
    if (variable.space != StateSpace::global && variable.space != StateSpace::constant)
      return {};
    Program::Storage &storage = program->storage[variable.name];
    if (storage.variable && (variable.isExtern || !storage.variable->isExtern))
      return variable.isExtern ? Result<void>()
                               : linkError(formatMessage("variable '{}' is defined twice", variable.name));
    storage.variable = &variable;
    const uint64_t alignment = std::max<uint64_t>(256, variable.alignment);
    // Pages that nobody touches cost nothing.
    storage.memory.reset(std::calloc(1, variable.bytes + alignment));
    if (!storage.memory)
      return Error{ErrorKind::environment,
                   formatMessage("the host has no memory left for the {} bytes of '{}'", variable.bytes,
                                 variable.name)};
    storage.address = alignUp(reinterpret_cast<uint64_t>(storage.memory.get()), alignment);
    if (!variable.initial.empty())
      std::memcpy(reinterpret_cast<void *>(storage.address), variable.initial.data(),
                  variable.initial.size());
    return {};
  };
  for (const Variable &variable : program->module.variables)
    if (auto done = allocate(variable); !done)
      return done.error();
  for (const Function &function : program->module.functions)
    for (const Variable &variable : function.locals)
      if (auto done = allocate(variable); !done)
        return done.error();
  for (auto &[name, storage] : program->storage) {
    program->ranges.push_back({storage.address, storage.variable->bytes});
    for (const InitialAddress &initial : storage.variable->initialAddresses) {
      auto target = program->storage.find(initial.symbol);
      const Function *function = findFunction(program->module, initial.symbol);
      if (target == program->storage.end() && !function)
        return linkError(formatMessage("the initial value of '{}' names unknown '{}'", name, initial.symbol));
      const uint64_t address = target != program->storage.end()
                                   ? target->second.address
                                   : codeAddress(size_t(function - program->module.functions.data()));
      const uint64_t value = (address + uint64_t(initial.addend)) >> initial.shift;
      std::memcpy(reinterpret_cast<void *>(storage.address + initial.offset), &value, initial.bytes);
    }
  }
  const auto usesHeap = [](const Statement &item) {
    return item.name == "call" && !item.operands.empty() &&
           (item.operands[0].name == "malloc" || item.operands[0].name == "free");
  };
  for (const Function &function : program->module.functions)
    if (!program->heap && std::any_of(function.body.begin(), function.body.end(), usesHeap)) {
      program->heap = std::make_unique<Heap>();
      program->ranges.push_back({program->heap->address(), Heap::bytes});
    }
  for (const Function &function : program->module.functions) {
    if (!function.isEntry || !function.hasBody)
      continue;
    auto kernel = std::make_unique<Kernel>();
    if (auto done = Decoder(*program, *kernel).run(function); !done)
      return done.error();
    program->kernels[function.name] = std::move(kernel);
  }
  return std::shared_ptr<const Program>(std::move(program));
}

} // namespace tlc::emulator
