// SPDX-License-Identifier: Apache-2.0
/// \file
/// Calls. A function's registers, parameters and local variables have one
/// place, as long as it cannot be active twice in a thread. Functions that can
/// (they call themselves, directly or not, or take memory with alloca) keep
/// their variables in frames on the thread's stack, and each call saves their
/// registers.
#pragma once

#include "runtime/emulator/exec/core/Program.h"

namespace tlc::emulator {

struct Warp;

/// Bytes of a thread's stack, in local memory above what has a fixed place.
inline constexpr uint32_t stackBytes = 16 * 1024;

/// What a call of a function with frames makes room for.
struct Frame {
  Slot base;               ///< where the frame begins, 8 bytes
  uint32_t bytes = 0;      ///< its variables
  std::vector<Slot> saved; ///< registers; filled while the function is decoded
};

/// A parameter from the caller's variable to the callee's, or a result back.
/// Offsets into local memory, or into the frame where there is one.
struct ParameterCopy {
  uint32_t caller = 0, callee = 0, bytes = 0;
};

/// How one function is called from one place.
struct CallPlan {
  const Function *function = nullptr;
  uint32_t pc = 0; ///< filled in when all is decoded
  Slot returnAddress;
  const Frame *frame = nullptr;
  std::vector<ParameterCopy> parameters, results;
  std::string mismatch; ///< why it cannot be called with these parameters
};

struct Call {
  const Frame *callerFrame = nullptr;
  Slot stackPointer, returnedFrame; ///< of the kernel: 8 bytes each
  bool indirect = false;
  std::vector<CallPlan> plans; ///< one, or all functions that a pointer may lead to
};

/// What pointers to functions hold: nothing that memory accesses accept.
inline constexpr uint64_t codeAddress(size_t function) {
  return windowBase(Window::code) | uint64_t(function + 1) * 16;
}

/// slots: place for the number of the plan, pointer if indirect
Step callFunction(Warp &warp, uint32_t active, const Instruction &instruction);
/// slots: number of the plan
Step takeResults(Warp &warp, uint32_t active, const Instruction &instruction);
/// slots: return address
Step returnToCaller(Warp &warp, uint32_t active, const Instruction &instruction);
/// The same from a function with a frame. slots: return address, frame, returned frame
Step returnFromFrame(Warp &warp, uint32_t active, const Instruction &instruction);
/// alloca. slots: d, bytes (each 8 bytes), stack pointer. The immediate is the alignment.
Step allocateOnStack(Warp &warp, uint32_t active, const Instruction &instruction);
/// slots: stack pointer. The immediate is where the stack begins.
Step beginStack(Warp &warp, uint32_t active, const Instruction &instruction);

} // namespace tlc::emulator
