// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/exec/decode/Call.h"

#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"

#include <fmt/format.h>

namespace tlc::emulator {

namespace {

uint64_t laneOf(const Warp &warp, Slot slot, unsigned lane) { return lanesOf<uint64_t>(warp, slot)[lane]; }

void setLane(Warp &warp, Slot slot, unsigned lane, uint64_t value) {
  std::memcpy(warp.at(slot) + lane * 8, &value, 8);
}

std::byte *localMemory(Warp &warp, unsigned lane) {
  return warp.local.data() + size_t(lane) * gridOf(warp).kernel->localBytes;
}

/// Calls visit(host bytes, count) for a lane of a register; a predicate is a bit.
template <class Visit> void visitLane(Warp &warp, Slot slot, unsigned lane, Visit visit) {
  if (slot.bytes == 16) {
    visit(warp.at(slot) + lane * 8, 8u);
    visit(warp.at(slot) + (lane + warpSize) * 8, 8u);
  } else {
    visit(warp.at(slot) + lane * slot.bytes, unsigned(slot.bytes));
  }
}

void saveRegisters(Warp &warp, unsigned lane, const Frame &frame) {
  warp.savedRegisters.resize(warpSize);
  std::vector<std::byte> &saved = warp.savedRegisters[lane];
  for (const Slot &slot : frame.saved) {
    if (slot.bytes == 0)
      saved.push_back(std::byte(warp.predicate(slot) >> lane & 1));
    else
      visitLane(warp, slot, lane,
                [&](std::byte *at, unsigned bytes) { saved.insert(saved.end(), at, at + bytes); });
  }
}

void restoreRegisters(Warp &warp, unsigned lane, const Frame &frame) {
  std::vector<std::byte> &saved = warp.savedRegisters[lane];
  size_t size = 0;
  for (const Slot &slot : frame.saved)
    size += slot.bytes == 0 ? 1 : slot.bytes;
  const std::byte *from = saved.data() + (saved.size() - size);
  for (const Slot &slot : frame.saved) {
    if (slot.bytes == 0)
      warp.setPredicate(slot, 1u << lane, uint32_t(*from++ != std::byte(0)) << lane);
    else
      visitLane(warp, slot, lane, [&](std::byte *at, unsigned bytes) {
        std::memcpy(at, from, bytes);
        from += bytes;
      });
  }
  saved.resize(saved.size() - size);
}

/// The plan that a pointer to a function leads to; null with the error set.
const CallPlan *findPlan(Warp &warp, const Instruction &instruction, const Call &call, unsigned lane) {
  if (!call.indirect)
    return &call.plans[0];
  const uint64_t pointer = laneOf(warp, instruction.slots[1], lane);
  const auto &functions = gridOf(warp).program->module.functions;
  for (const CallPlan &plan : call.plans) {
    if (codeAddress(size_t(plan.function - functions.data())) != pointer)
      continue;
    if (plan.mismatch.empty())
      return &plan;
    fault(warp, instruction, plan.mismatch);
    return nullptr;
  }
  fault(warp, instruction, fmt::format("{:#x} in lane {} is not the address of a function", pointer, lane));
  return nullptr;
}

/// Copies parameters, and enters the function's frame between.
bool enter(Warp &warp, const Instruction &instruction, const Call &call, const CallPlan &plan,
           unsigned lane) {
  std::byte *local = localMemory(warp, lane);
  const uint64_t callerBase = call.callerFrame ? laneOf(warp, call.callerFrame->base, lane) : 0;
  // The callee's variables may be the caller's, in a recursion.
  std::vector<std::byte> values;
  for (const ParameterCopy &copy : plan.parameters)
    values.insert(values.end(), local + callerBase + copy.caller,
                  local + callerBase + copy.caller + copy.bytes);
  uint64_t calleeBase = 0;
  if (plan.frame) {
    calleeBase = laneOf(warp, call.stackPointer, lane);
    const uint32_t limit = gridOf(warp).kernel->localBytes;
    if (calleeBase + plan.frame->bytes > limit) {
      fault(warp, instruction,
            fmt::format("the stack of lane {} overflows: '{}' needs {} bytes more, {} of {} are free", lane,
                        plan.function->name, plan.frame->bytes, limit - calleeBase, stackBytes));
      return false;
    }
    saveRegisters(warp, lane, *plan.frame);
    setLane(warp, call.stackPointer, lane, calleeBase + plan.frame->bytes);
    setLane(warp, plan.frame->base, lane, calleeBase);
  }
  const std::byte *from = values.data();
  Observer *observer = clusterOf(warp).observer.get();
  for (const ParameterCopy &copy : plan.parameters) {
    if (observer)
      observer->copyLocal(warp, lane, calleeBase + copy.callee, callerBase + copy.caller, copy.bytes);
    std::memcpy(local + calleeBase + copy.callee, from, copy.bytes);
    from += copy.bytes;
  }
  const uint32_t back = warp.group().pc + 1;
  std::memcpy(warp.at(plan.returnAddress) + lane * 4, &back, 4);
  return true;
}

} // namespace

Step callFunction(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Call &call = instruction.payloadAs<Call>();
  uint32_t pcs[warpSize] = {}, numbers[warpSize] = {};
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    const CallPlan *plan = findPlan(warp, instruction, call, l);
    if (!plan)
      return Step::fault;
    pcs[l] = plan->pc;
    numbers[l] = uint32_t(plan - call.plans.data());
  }
  store(warp, instruction.slots[0], active, numbers);
  for (unsigned l = 0; l < warpSize; ++l)
    if (active >> l & 1 && !enter(warp, instruction, call, call.plans[numbers[l]], l))
      return Step::fault;
  return call.indirect ? jumpLanes(warp, active, pcs) : branch(warp, active, call.plans[0].pc);
}

Step takeResults(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Call &call = instruction.payloadAs<Call>();
  const In<uint32_t> numbers = lanesOf<uint32_t>(warp, instruction.slots[0]);
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    const CallPlan &plan = call.plans[numbers[l]];
    std::byte *local = localMemory(warp, l);
    const uint64_t callerBase = call.callerFrame ? laneOf(warp, call.callerFrame->base, l) : 0;
    const uint64_t calleeBase = plan.frame ? laneOf(warp, call.returnedFrame, l) : 0;
    Observer *observer = clusterOf(warp).observer.get();
    for (const ParameterCopy &copy : plan.results) {
      if (observer)
        observer->copyLocal(warp, l, callerBase + copy.caller, calleeBase + copy.callee, copy.bytes);
      std::memmove(local + callerBase + copy.caller, local + calleeBase + copy.callee, copy.bytes);
    }
  }
  return Step::next;
}

Step returnToCaller(Warp &warp, uint32_t active, const Instruction &instruction) {
  uint32_t pcs[warpSize];
  std::memcpy(pcs, warp.read(instruction.slots[0]), sizeof(pcs));
  return jumpLanes(warp, active, pcs);
}

Step returnFromFrame(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Frame &frame = *instruction.payloadAs<const Frame *>();
  uint32_t pcs[warpSize];
  std::memcpy(pcs, warp.read(instruction.slots[0]), sizeof(pcs));
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    setLane(warp, instruction.slots[2], l, laneOf(warp, instruction.slots[1], l));
    restoreRegisters(warp, l, frame);
  }
  return jumpLanes(warp, active, pcs);
}

Step allocateOnStack(Warp &warp, uint32_t active, const Instruction &instruction) {
  const uint64_t limit = gridOf(warp).kernel->localBytes, alignment = uint64_t(instruction.immediate);
  uint64_t results[warpSize] = {};
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    const uint64_t bytes = laneOf(warp, instruction.slots[1], l), top = laneOf(warp, instruction.slots[2], l);
    results[l] = (top + alignment - 1) & ~(alignment - 1);
    if (results[l] > limit || bytes > limit - results[l])
      return fault(warp, instruction,
                   fmt::format("the stack of lane {} overflows: {} bytes are wanted, {} of {} are free", l,
                               bytes, limit - top, stackBytes));
    setLane(warp, instruction.slots[2], l, (results[l] + bytes + 15) & ~uint64_t(15));
  }
  store(warp, instruction.slots[0], active, results);
  return Step::next;
}

Step beginStack(Warp &warp, uint32_t active, const Instruction &instruction) {
  uint64_t values[warpSize];
  std::fill(values, values + warpSize, uint64_t(instruction.immediate));
  store(warp, instruction.slots[0], active, values);
  return Step::next;
}

} // namespace tlc::emulator
