// SPDX-License-Identifier: Apache-2.0
/// \file
/// mbarrier.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/memory/MemoryModifiers.h"

#include <algorithm>

namespace tlc::emulator {

namespace {

enum class MbarrierAction : uint8_t {
  init,
  inval,
  expectBytes,
  completeBytes,
  arrive,
  arriveNoComplete,
  arriveDrop,
  arriveDropNoComplete,
  arriveExpectBytes,
  arriveDropExpectBytes,
  testState,
  testParity,
  tryState,
  tryParity,
};

struct MbarrierUse {
  MbarrierAction action = MbarrierAction::init;
  Space space = Space::generic;
  Ordering ordering = Ordering::acquireRelease;
  Scope scope = Scope::cluster;
};

bool fitsByteCount(int64_t bytes) { return bytes > -(1 << 20) && bytes < (1 << 20); }

/// slots: address, count, bytes, state (out)
Step changeMbarrier(Warp &warp, uint32_t active, const Instruction &instruction) {
  const MbarrierUse &use = instruction.payloadAs<MbarrierUse>();
  const LaneAddresses64 addresses =
      laneAddresses(warp, instruction, instruction.slots[0], instruction.immediate);
  const In<uint32_t> counts = lanesOf<uint32_t>(warp, instruction.slots[1]),
                     bytes = lanesOf<uint32_t>(warp, instruction.slots[2]);
  uint64_t states[warpSize] = {};
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    const bool fresh = use.action == MbarrierAction::init;
    const SharedPlace place = findMbarrier(warp, instruction, use.space, l, addresses.lane[l],
                                           fresh ? MbarrierState::any : MbarrierState::initialised);
    if (!place.block)
      return Step::fault;
    const auto name = [&] { return describeMbarrier(*place.block, place.address); };
    Mbarrier barrier = loadMbarrier(*place.block, place.address);
    states[l] = barrier.encode();
    uint32_t arrivals = 0;
    bool drop = false, expect = false;
    switch (use.action) {
    case MbarrierAction::init:
      if (counts[l] == 0 || counts[l] > maximumMbarrierCount)
        return fault(warp, instruction,
                     fmt::format("{} is initialised with count {}, the limits are 1 and {}", name(),
                                 counts[l], maximumMbarrierCount));
      barrier = {false, counts[l], counts[l], 0};
      place.block->mbarrierHistories[place.address] = {};
      break;
    case MbarrierAction::inval: {
      const uint64_t none = 0;
      std::memcpy(place.block->shared().data() + place.address, &none, sizeof(none));
      place.block->mbarrierHistories.erase(place.address);
      continue;
    }
    case MbarrierAction::completeBytes:
      if (!fitsByteCount(int64_t(barrier.bytes) - bytes[l]))
        return fault(warp, instruction, fmt::format("the byte count of {} leaves its range", name()));
      barrier.bytes -= int32_t(bytes[l]);
      break;
    case MbarrierAction::expectBytes:
      expect = true;
      break;
    case MbarrierAction::arriveDropExpectBytes:
      drop = true;
      [[fallthrough]];
    case MbarrierAction::arriveExpectBytes:
      expect = true;
      arrivals = 1;
      break;
    case MbarrierAction::arriveDrop:
    case MbarrierAction::arriveDropNoComplete:
      drop = true;
      [[fallthrough]];
    default:
      arrivals = counts[l];
    }
    if (expect) {
      if (!fitsByteCount(int64_t(barrier.bytes) + bytes[l]))
        return fault(warp, instruction,
                     fmt::format("{} expects {} more bytes on top of {}, the limit is {}", name(), bytes[l],
                                 barrier.bytes, (1 << 20) - 1));
      barrier.bytes += int32_t(bytes[l]);
    }
    if (arrivals > barrier.pending)
      return fault(
          warp, instruction,
          fmt::format(
              "{} arrivals at {}, but only {} of {} are pending; missing: a wait for that phase before it "
              "(of a channel: get a slot before it is released), or "
              "a count of as many arrivals",
              arrivals, name(), barrier.pending, barrier.expected));
    barrier.pending -= arrivals;
    if (drop)
      barrier.expected -= std::min(barrier.expected, arrivals);
    const bool noComplete =
        use.action == MbarrierAction::arriveNoComplete || use.action == MbarrierAction::arriveDropNoComplete;
    if (noComplete && barrier.pending == 0)
      return fault(warp, instruction, fmt::format("arrive.noComplete would end the phase of {}", name()));
    if (arrivals != 0 || use.action == MbarrierAction::completeBytes)
      noteArrival(*place.block, place.address, warp, instruction);
    // Lanes that arrive at the same mbarrier do so together.
    if (Observer *observer = clusterOf(warp).observer.get(); observer && arrivals != 0)
      if (const uint32_t lanes = lanesAt(addresses, active, l); unsigned(std::countr_zero(lanes)) == l)
        observer->arriveMbarrier(warp, lanes, place, use.ordering, use.scope);
    storeMbarrier(*place.block, place.address, barrier);
  }
  store(warp, instruction.slots[3], active, states);
  return Step::next;
}

/// slots: p, address, state or parity
Step testMbarrier(Warp &warp, uint32_t active, const Instruction &instruction) {
  const MbarrierUse &use = instruction.payloadAs<MbarrierUse>();
  const bool parity = use.action == MbarrierAction::testParity || use.action == MbarrierAction::tryParity;
  const bool mayWait = use.action == MbarrierAction::tryState || use.action == MbarrierAction::tryParity;
  const LaneAddresses64 addresses =
      laneAddresses(warp, instruction, instruction.slots[1], instruction.immediate);
  uint32_t passed = 0;
  Wait wait;
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    const SharedPlace place =
        findMbarrier(warp, instruction, use.space, l, addresses.lane[l], MbarrierState::initialised);
    if (!place.block)
      return Step::fault;
    bool phase;
    if (parity) {
      const uint32_t value = lanesOf<uint32_t>(warp, instruction.slots[2])[l];
      if (value > 1)
        return fault(warp, instruction,
                     fmt::format("the phase parity in lane {} is {}, not 0 or 1", l, value));
      phase = value;
    } else {
      phase = Mbarrier::decode(lanesOf<uint64_t>(warp, instruction.slots[2])[l]).phase;
    }
    const MbarrierWait one{place.block, place.address, phase};
    if (phasePassed(one)) {
      passed |= 1u << l;
    } else if (std::none_of(wait.barriers.begin(), wait.barriers.end(), [&](const MbarrierWait &other) {
                 return other.block == one.block && other.address == one.address && other.phase == one.phase;
               })) {
      wait.barriers.push_back(one);
    }
  }
  Group &group = warp.group();
  if (mayWait && passed == 0 && !group.timedOut && !clusterOf(warp).schedule->givesUp()) {
    wait.kind = Wait::Kind::mbarrier;
    return suspend(warp, std::move(wait));
  }
  group.timedOut = false;
  if (Observer *observer = clusterOf(warp).observer.get())
    for (uint32_t left = passed, lanes; left != 0; left &= ~lanes) {
      const unsigned lane = unsigned(std::countr_zero(left));
      lanes = lanesAt(addresses, left, lane);
      observer->waitMbarrier(warp, lanes, sharedPlace(warp, addresses.lane[lane]), use.ordering, use.scope);
    }
  warp.setPredicate(instruction.slots[0], active, passed);
  return Step::next;
}

Step pendingCount(Warp &warp, uint32_t active, const Instruction &instruction) {
  const In<uint64_t> states = lanesOf<uint64_t>(warp, instruction.slots[1]);
  uint32_t results[warpSize];
  for (unsigned l = 0; l < warpSize; ++l)
    results[l] = Mbarrier::decode(states[l]).pending;
  store(warp, instruction.slots[0], active, results);
  return Step::next;
}

MbarrierAction takeArrival(Decoder &d, bool drop) {
  if (d.take("expect_tx"))
    return drop ? MbarrierAction::arriveDropExpectBytes : MbarrierAction::arriveExpectBytes;
  if (d.take("noComplete"))
    return drop ? MbarrierAction::arriveDropNoComplete : MbarrierAction::arriveNoComplete;
  return drop ? MbarrierAction::arriveDrop : MbarrierAction::arrive;
}

void decodeArrival(Decoder &d, MbarrierUse use) {
  const bool expects =
      use.action == MbarrierAction::arriveExpectBytes || use.action == MbarrierAction::arriveDropExpectBytes;
  const size_t first = d.operand(0).kind == Operand::Kind::address ? 0 : 1;
  d.expectOperands(first + 1 + expects, first + 2);
  const AddressOperand address = d.address(first);
  const Slot state = first == 0 ? d.temporary(8) : d.out(0, Type::b64);
  const Slot value = d.operandCount() > first + 1 ? d.in(first + 1, Type::b32) : d.constant(1, 4);
  d.emitWith(changeMbarrier,
             {address.base, expects ? d.constant(1, 4) : value, expects ? value : d.constant(0, 4), state},
             use)
      .immediate = address.offset;
}

void decodeMbarrier(Decoder &d) {
  MbarrierUse use;
  if (d.take("pending_count")) {
    d.take("b64");
    d.expectOperands(2);
    d.emit(pendingCount, {d.out(0, Type::b32), d.in(1, Type::b64)});
    return;
  }
  const auto &modifiers = d.remaining();
  if (std::find(modifiers.begin(), modifiers.end(), "relaxed") != modifiers.end())
    use.ordering = Ordering::relaxed;
  // Without a scope the manual says .cta; programs of clusters rely on more.
  if (std::find(modifiers.begin(), modifiers.end(), "cta") != modifiers.end())
    use.scope = Scope::cta;
  takeOrdering(d);
  use.space = d.space();
  d.accesses(Space::shared, 8);
  d.take("b64");
  const bool parity = d.take("parity");
  bool tests = true;
  if (d.take("test_wait"))
    use.action = parity ? MbarrierAction::testParity : MbarrierAction::testState;
  else if (d.take("try_wait"))
    use.action = parity ? MbarrierAction::tryParity : MbarrierAction::tryState;
  else
    tests = false;
  if (tests) {
    d.expectOperands(3, 4); // the fourth is a time limit
    const AddressOperand address = d.address(1);
    d.emitWith(testMbarrier,
               {d.out(0, Type::pred), address.base, parity ? d.in(2, Type::b32) : d.in(2, Type::b64)}, use)
        .immediate = address.offset;
    return;
  }
  if (d.take("arrive_drop")) {
    use.action = takeArrival(d, true);
    return decodeArrival(d, use);
  }
  if (d.take("arrive")) {
    use.action = takeArrival(d, false);
    return decodeArrival(d, use);
  }
  if (d.take("init"))
    use.action = MbarrierAction::init;
  else if (d.take("inval"))
    use.action = MbarrierAction::inval;
  else if (d.take("expect_tx"))
    use.action = MbarrierAction::expectBytes;
  else if (d.take("complete_tx"))
    use.action = MbarrierAction::completeBytes;
  else
    return d.fail("'{}' is not a known form", d.at().fullName());
  const bool bare = use.action == MbarrierAction::inval;
  d.expectOperands(bare ? 1 : 2);
  const AddressOperand address = d.address(0);
  const Slot value = bare ? d.constant(0, 4) : d.in(1, Type::b32);
  d.emitWith(changeMbarrier, {address.base, value, value, d.temporary(8)}, use).immediate = address.offset;
}

constexpr DecodeEntry entries[] = {{"mbarrier", decodeMbarrier}};

} // namespace

SharedPlace findMbarrier(Warp &warp, const Instruction &instruction, Space space, unsigned lane,
                         uint64_t address, MbarrierState state) {
  if (space == Space::generic && address >> windowShift != uint64_t(Window::shared)) {
    fault(warp, instruction,
          fmt::format("the mbarrier's address {:#x} in lane {} is not in shared memory", address, lane));
    return {};
  }
  // Who makes it a barrier must come before those who use it as one.
  const AccessKind kind = state == MbarrierState::any ? AccessKind::initialise : AccessKind::mbarrier;
  if (!touch(warp, instruction, {space, kind, Proxy::generic, lane, address, 8, 8}))
    return {};
  const SharedPlace place = sharedPlace(warp, address);
  if (state == MbarrierState::any || isInitialised(*place.block, place.address))
    return place;
  fault(warp, instruction, describeMbarrier(*place.block, place.address) + " is not initialised");
  return {};
}

std::span<const DecodeEntry> mbarrierInstructions() { return entries; }

} // namespace tlc::emulator
