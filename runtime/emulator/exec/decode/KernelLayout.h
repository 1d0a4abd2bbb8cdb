// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where registers and variables of an entry and of the functions that it calls
/// lie: in the register file, shared and local memory, frames on the stack.
#pragma once

#include "runtime/emulator/exec/decode/Call.h"
#include "runtime/support/Result.h"

#include <optional>
#include <span>

namespace tlc::emulator {

struct VariablePlace {
  StateSpace space = StateSpace::global;
  uint64_t value = 0; ///< its address
  uint32_t bytes = 0;
  bool inFrame = false; ///< `value` is an offset into the function's frame
};

struct FunctionLayout {
  const Function *function = nullptr;
  uint32_t pc = 0; ///< of its first instruction
  Slot returnAddress;
  std::shared_ptr<Frame> frame; ///< null: it is active once in a thread at most
  std::vector<Slot> registers;
  std::map<std::string, VariablePlace, std::less<>> variables;
  std::vector<uint32_t> statementPcs;
};

class KernelLayout {
public:
  KernelLayout(const Program &program, Kernel &kernel) : program(program), kernel(kernel) {}

  /// Callees come before their callers, the entry last.
  Result<void> place(std::span<const Function *const> functions);
  FunctionLayout &of(const Function &function) { return functions[&function]; }
  /// What a name means in a function.
  std::optional<VariablePlace> find(const FunctionLayout &from, std::string_view name) const;

  /// A register; calls of the function with that frame, if it is not null, save it.
  Slot newRegister(unsigned bytes, Frame *frame);
  /// An error if there are too many of them.
  Result<void> checkRegisters() const;
  /// Where the next frame of the thread's stack goes, and where that of the function lay that has returned;
  /// 8 bytes each.
  Slot stackPointer();
  Slot returnedFrame();
  bool usesStack() const { return hasStack; }

private:
  void giveFrames(std::span<const Function *const> order);
  Result<void> placeShared(std::span<const Function *const> order);
  void placeFunction(const Function &function);
  uint32_t allocateRegister(unsigned bytes);

  const Program &program;
  Kernel &kernel;
  std::map<const Function *, FunctionLayout> functions;
  std::map<std::string, VariablePlace, std::less<>> sharedVariables;
  std::optional<Slot> stackSlot, returnedFrameSlot;
  bool hasStack = false;
};

} // namespace tlc::emulator
