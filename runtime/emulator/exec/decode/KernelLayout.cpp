// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/exec/decode/KernelLayout.h"

#include "runtime/emulator/exec/decode/CallGraph.h"
#include "runtime/support/Excerpt.h"

#include <algorithm>
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
constexpr uint64_t maximumRegisterBytes = uint64_t(1) << 26; ///< of a warp

void collectNames(const Operand &operand, std::set<std::string_view> &names) {
  if (operand.kind == Operand::Kind::symbol)
    names.insert(operand.name);
  for (const Operand &element : operand.elements)
    collectNames(element, names);
}

/// The order in which a function's registers lie in the register file: the accumulators of a wgmma follow
/// each other, so that it need not copy them.
std::vector<uint32_t> registerOrder(const Function &function) {
  std::vector<uint32_t> order;
  std::vector<bool> isPlaced(function.registers.size());
  const auto place = [&](uint32_t reg) {
    if (!isPlaced[reg])
      order.push_back(reg);
    isPlaced[reg] = true;
  };
  for (const Statement &item : function.body)
    if (item.name == "wgmma" && !item.operands.empty())
      for (const Operand &element : item.operands[0].elements)
        if (element.kind == Operand::Kind::reg)
          place(element.reg);
  for (uint32_t reg = 0; reg < function.registers.size(); ++reg)
    place(reg);
  return order;
}

Error layoutError(std::string message) { return Error{ErrorKind::invalidArgument, std::move(message)}; }

} // namespace

uint32_t KernelLayout::allocateRegister(unsigned bytes) {
  const uint32_t size = bytes == 0 ? 4 : 32 * bytes;
  const uint32_t offset = uint32_t(alignUp(kernel.registerBytes, std::clamp(size, registerGranule, 64u)));
  // Too many are an error in the end; until then nothing may wrap around.
  const bool fits = offset + size <= maximumRegisterBytes;
  kernel.registerBytes = fits ? offset + size : uint32_t(maximumRegisterBytes) + 1;
  return fits ? offset : 0;
}

Slot KernelLayout::newRegister(unsigned bytes, Frame *frame) {
  const Slot slot{allocateRegister(bytes), uint8_t(bytes), false};
  if (frame)
    frame->saved.push_back(slot);
  return slot;
}

Result<void> KernelLayout::checkRegisters() const {
  if (kernel.registerBytes > maximumRegisterBytes)
    return layoutError(formatMessage("PTX line {}: '{}' and what it calls have too many registers; the limit "
                                     "is {} bytes of a thread",
                                     kernel.function->line, kernel.name, maximumRegisterBytes / 32));
  return {};
}

Slot KernelLayout::stackPointer() {
  if (!stackSlot)
    stackSlot = newRegister(8, nullptr);
  return *stackSlot;
}

Slot KernelLayout::returnedFrame() {
  if (!returnedFrameSlot)
    returnedFrameSlot = newRegister(8, nullptr);
  return *returnedFrameSlot;
}

void KernelLayout::giveFrames(std::span<const Function *const> order) {
  const std::set<const Function *> recursive = recursiveFunctions(program.module, order);
  for (const Function *function : order) {
    const bool allocates =
        std::any_of(function->body.begin(), function->body.end(), [](const Statement &item) {
          return item.name == "alloca" || item.name == "stacksave" || item.name == "stackrestore";
        });
    if (!allocates && !recursive.contains(function))
      continue;
    hasStack = true;
    if (!function->isEntry)
      functions[function].frame = std::make_shared<Frame>();
  }
}

/// Static shared memory holds the module's variables that these functions use
/// and their own; then comes the dynamic part.
Result<void> KernelLayout::placeShared(std::span<const Function *const> order) {
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
    return layoutError(formatMessage("'{}' has {} bytes of static shared memory, more than {}", kernel.name,
                                     end - sharedBase, maximumSharedBytes));
  kernel.staticSharedEnd = uint32_t(end);
  kernel.dynamicSharedStart = uint32_t(alignUp(end, dynamicAlignment));
  for (const Variable &variable : program.module.variables)
    if (variable.space == StateSpace::shared && variable.isExtern)
      sharedVariables[variable.name] = {StateSpace::shared, kernel.dynamicSharedStart, 0};
  return {};
}

void KernelLayout::placeFunction(const Function &function) {
  FunctionLayout &layout = functions[&function];
  Frame *frame = layout.frame.get();
  if (frame) {
    frame->saved.push_back(stackPointer());
    frame->base = newRegister(8, frame);
    kernel.payloads.push_back(layout.frame);
  }
  layout.function = &function;
  layout.returnAddress = newRegister(4, frame);
  layout.registers.resize(function.registers.size());
  for (const uint32_t index : registerOrder(function)) {
    const Register &reg = function.registers[index];
    layout.registers[index] = newRegister(sizeInBytes(reg.type), frame);
    kernel.registerNames.push_back({layout.registers[index].offset, reg.name});
  }
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

Result<void> KernelLayout::place(std::span<const Function *const> order) {
  kernel.localBytes = localBase;
  giveFrames(order);
  if (auto done = placeShared(order); !done)
    return done;
  for (const Function *function : order)
    placeFunction(*function);
  const uint32_t stackStart = uint32_t(alignUp(kernel.localBytes, 16));
  if (hasStack)
    kernel.localBytes = stackStart + stackBytes;
  if (kernel.parameterBytes > maximumParameterBytes)
    return layoutError(
        formatMessage("'{}' has more than {} bytes of parameters", kernel.name, maximumParameterBytes));
  if (kernel.localBytes > maximumLocalBytes)
    return layoutError(
        formatMessage("'{}' needs more than {} bytes of local memory", kernel.name, maximumLocalBytes));
  return {};
}

std::optional<VariablePlace> KernelLayout::find(const FunctionLayout &from, std::string_view name) const {
  if (auto found = from.variables.find(name); found != from.variables.end())
    return found->second;
  if (auto found = sharedVariables.find(name); found != sharedVariables.end())
    return found->second;
  if (auto found = program.storage.find(name); found != program.storage.end())
    return VariablePlace{found->second.variable->space, found->second.address,
                         uint32_t(found->second.variable->bytes)};
  if (const Function *function = findFunction(program.module, name); function && !function->isEntry)
    return VariablePlace{StateSpace::global, codeAddress(size_t(function - program.module.functions.data())),
                         0};
  return std::nullopt;
}

} // namespace tlc::emulator
