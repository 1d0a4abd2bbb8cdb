// SPDX-License-Identifier: Apache-2.0
/// \file
/// bar, barrier, mbarrier and fences.
#include "runtime/emulator/check/RaceChecker.h"
#include "runtime/emulator/exec/Lanes.h"
#include "runtime/emulator/exec/MemoryModifiers.h"

#include <algorithm>
#include <atomic>

namespace tlc::emulator {

namespace {

// --- bar, barrier -------------------------------------------------------------------

enum class BarrierAction : uint8_t { sync, arrive, popc, conjunction, disjunction };

struct NamedBarrierUse {
  BarrierAction action = BarrierAction::sync;
  bool counted = false;
};

bool isReduction(BarrierAction action) { return action >= BarrierAction::popc; }

/// slots: barrier, count, predicate, generation (of a reduction)
Step arriveNamed(Warp &warp, uint32_t active, const Instruction &instruction) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  const NamedBarrierUse &use = instruction.payloadAs<NamedBarrierUse>();
  const unsigned lane = unsigned(std::countr_zero(active));
  const uint32_t id = lanesOf<uint32_t>(warp, instruction.slots[0])[lane];
  const uint32_t count = use.counted ? lanesOf<uint32_t>(warp, instruction.slots[1])[lane] : 0;
  if (id >= namedBarriers)
    return fault(warp, instruction,
                 fmt::format("barrier {} does not exist, there are {}", id, namedBarriers));
  if (use.counted && (count == 0 || count % warpSize != 0))
    return fault(warp, instruction,
                 fmt::format("barrier {} needs a count that is a multiple of 32, but got {}", id, count));
  Block &block = *warp.block;
  NamedBarrier &barrier = block.barriers[id];
  if (barrier.arrived != 0 && barrier.expected != count)
    return fault(warp, instruction,
                 fmt::format("barrier {} is in use with {} threads, but this warp says {}", id,
                             barrier.expected == 0 ? liveThreads(block) : barrier.expected,
                             count == 0 ? liveThreads(block) : count));
  if (barrier.warps >> warp.index & 1)
    return fault(
        warp, instruction,
        fmt::format("the warp arrives at barrier {} for the second time in one phase; missing: a wait "
                    "for the phase between them",
                    id));
  const uint64_t generation = barrier.generation;
  barrier.expected = count;
  barrier.arrived += warpSize;
  barrier.warps |= 1u << warp.index;
  if (isReduction(use.action)) {
    const uint32_t bits = warp.predicate(instruction.slots[2]) & active;
    barrier.count += uint32_t(std::popcount(bits));
    barrier.all &= bits == active;
    barrier.any |= bits != 0;
    uint32_t parity[warpSize];
    std::fill(parity, parity + warpSize, uint32_t(generation & 1));
    store(warp, instruction.slots[3], active, parity);
  }
  ++block.cluster->progress;
  const uint32_t expected = count == 0 ? liveThreads(block) : count;
  if (barrier.arrived > expected)
    return fault(
        warp, instruction,
        fmt::format("{} threads arrive at barrier {}, which expects {}", barrier.arrived, id, expected));
  if (RaceChecker *checker = block.cluster->raceChecker.get())
    checker->arriveNamed(warp, id,
                         use.action == BarrierAction::arrive ? RaceChecker::NamedArrival::leaves
                                                             : RaceChecker::NamedArrival::waits);
  if (barrier.arrived == expected) {
    completeNamedBarrier(block, barrier);
    return Step::next;
  }
  if (use.action == BarrierAction::arrive)
    return Step::next;
  Wait wait;
  wait.kind = Wait::Kind::barrier;
  wait.advance = true;
  wait.id = uint8_t(id);
  wait.count = generation;
  return suspend(warp, std::move(wait));
}

/// slots: d, barrier, generation. Reads what the barrier's reduction gave.
Step takeReduction(Warp &warp, uint32_t active, const Instruction &instruction) {
  const unsigned lane = unsigned(std::countr_zero(active));
  const uint32_t id = lanesOf<uint32_t>(warp, instruction.slots[1])[lane];
  const uint32_t parity = lanesOf<uint32_t>(warp, instruction.slots[2])[lane];
  const NamedBarrier::Reduction &result = warp.block->barriers[id].results[parity & 1];
  switch (BarrierAction(instruction.immediate)) {
  case BarrierAction::popc: {
    uint32_t counts[warpSize];
    std::fill(counts, counts + warpSize, result.count);
    store(warp, instruction.slots[0], active, counts);
    break;
  }
  case BarrierAction::conjunction:
    warp.setPredicate(instruction.slots[0], active, result.all ? ~0u : 0);
    break;
  default:
    warp.setPredicate(instruction.slots[0], active, result.any ? ~0u : 0);
    break;
  }
  return Step::next;
}

/// slots: mask
Step syncWarp(Warp &warp, uint32_t active, const Instruction &instruction) {
  const uint32_t members = lanesOf<uint32_t>(warp, instruction.slots[0])[std::countr_zero(active)];
  if (!gather(warp, active, members))
    return Step::wait;
  if (RaceChecker *checker = clusterOf(warp).raceChecker.get())
    checker->syncLanes(warp, members & active);
  return Step::next;
}

Step arriveCluster(Warp &warp, uint32_t active, const Instruction &instruction) {
  Cluster &cluster = clusterOf(warp);
  if (warp.clusterArrivals.lanes & active)
    return fault(warp, instruction, "a second arrival at the cluster's barrier without a wait between");
  warp.clusterArrivals.lanes |= active;
  for (unsigned l = 0; l < warpSize; ++l)
    if (active >> l & 1)
      warp.clusterArrivals.generation[l] = cluster.barrier.generation;
  cluster.barrier.arrived += uint32_t(std::popcount(active));
  if (cluster.raceChecker)
    cluster.raceChecker->arriveCluster(warp, active, Ordering(instruction.immediate));
  ++cluster.progress;
  if (cluster.barrier.arrived >= liveLanes(cluster))
    completeClusterBarrier(cluster);
  return Step::next;
}

Step waitCluster(Warp &warp, uint32_t active, const Instruction &instruction) {
  if ((warp.clusterArrivals.lanes & active) != active)
    return fault(warp, instruction, "a wait at the cluster's barrier without an arrival before");
  const uint64_t generation = clusterOf(warp).barrier.generation;
  bool passed = true;
  for (unsigned l = 0; l < warpSize; ++l)
    passed &= !(active >> l & 1) || warp.clusterArrivals.generation[l] != generation;
  if (passed) {
    warp.clusterArrivals.lanes &= ~active;
    if (RaceChecker *checker = clusterOf(warp).raceChecker.get())
      checker->waitCluster(warp, active);
    return Step::next;
  }
  Wait wait;
  wait.kind = Wait::Kind::cluster;
  wait.count = generation;
  return suspend(warp, std::move(wait));
}

void decodeBarrier(Decoder &d) {
  if (d.take("cluster")) {
    const bool arrive = d.take("arrive");
    if (!arrive && !d.take("wait"))
      d.fail("'{}' needs .arrive or .wait", d.at().fullName());
    const Ordering ordering = d.take("relaxed") ? Ordering::relaxed : Ordering::acquireRelease;
    d.ignore({"release", "acquire", "aligned"});
    d.expectOperands(0);
    d.emit(arrive ? arriveCluster : waitCluster, {}, int64_t(ordering));
    return;
  }
  if (d.take("warp")) {
    d.take("sync");
    d.expectOperands(1);
    d.emit(syncWarp, {d.in(0, Type::b32)});
    return;
  }
  d.ignore({"cta", "aligned"});
  NamedBarrierUse use;
  if (d.take("arrive"))
    use.action = BarrierAction::arrive;
  else if (d.take("red"))
    use.action = d.takeOneOf<BarrierAction>({{"popc", BarrierAction::popc},
                                             {"and", BarrierAction::conjunction},
                                             {"or", BarrierAction::disjunction}})
                     .value_or(BarrierAction::popc);
  else if (!d.take("sync"))
    return d.fail("'{}' needs .sync, .arrive or .red", d.at().fullName());
  if (!isReduction(use.action)) {
    d.expectOperands(1, 2);
    use.counted = d.operandCount() == 2;
    if (use.action == BarrierAction::arrive && !use.counted)
      return d.fail("'{}' needs a thread count", d.at().fullName());
    d.emitWith(arriveNamed,
               {d.in(0, Type::u32), use.counted ? d.in(1, Type::u32) : d.constant(0, 4), d.constant(0, 0),
                d.constant(0, 4)},
               use);
    return;
  }
  const Type type = d.type();
  if (type != (use.action == BarrierAction::popc ? Type::u32 : Type::pred))
    return d.fail("'{}' has no form for type .{}", d.at().fullName(), toString(type));
  d.expectOperands(3, 4);
  use.counted = d.operandCount() == 4;
  const Slot id = d.in(1, Type::u32), generation = d.temporary(4);
  d.emitWith(arriveNamed,
             {id, use.counted ? d.in(2, Type::u32) : d.constant(0, 4), d.in(use.counted ? 3 : 2, Type::pred),
              generation},
             use);
  d.emit(takeReduction, {d.out(0, type), id, generation}, int64_t(use.action));
}

// --- mbarrier -------------------------------------------------------------------------

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
};

/// The lanes among some that have the address of `lane`.
uint32_t lanesAt(const LaneAddresses64 &addresses, uint32_t among, unsigned lane) {
  uint32_t lanes = 0;
  for (unsigned l = 0; l < warpSize; ++l)
    lanes |= uint32_t(among >> l & 1 && addresses.lane[l] == addresses.lane[lane]) << l;
  return lanes;
}

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
    const auto name = [&] {
      return fmt::format("the mbarrier at shared offset {}", place.address - sharedBase);
    };
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
      return fault(warp, instruction,
                   fmt::format("{} arrivals at {}, but only {} of {} are pending", arrivals, name(),
                               barrier.pending, barrier.expected));
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
    if (RaceChecker *checker = clusterOf(warp).raceChecker.get(); checker && arrivals != 0)
      if (const uint32_t lanes = lanesAt(addresses, active, l); unsigned(std::countr_zero(lanes)) == l)
        checker->arriveMbarrier(warp, lanes, place, use.ordering);
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
  if (mayWait && passed == 0 && !group.timedOut) {
    wait.kind = Wait::Kind::mbarrier;
    return suspend(warp, std::move(wait));
  }
  group.timedOut = false;
  if (RaceChecker *checker = clusterOf(warp).raceChecker.get())
    for (uint32_t left = passed, lanes; left != 0; left &= ~lanes) {
      const unsigned lane = unsigned(std::countr_zero(left));
      lanes = lanesAt(addresses, left, lane);
      checker->waitMbarrier(warp, lanes, sharedPlace(warp, addresses.lane[lane]), use.ordering);
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

// --- fences -----------------------------------------------------------------------------

enum class FenceKind : uint8_t {
  memory,
  mbarriers, ///< fence.mbarrier_init
  async,     ///< proxy fences of all spaces, or of one
  asyncShared,
  asyncGlobal,
  releaseMaps,
  acquireMap, ///< slots: address
  other,
};

Step fence(Warp &warp, uint32_t active, const Instruction &instruction) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  RaceChecker *checker = clusterOf(warp).raceChecker.get();
  if (!checker)
    return Step::next;
  constexpr FencedSpace shared[] = {FencedSpace::shared}, global[] = {FencedSpace::global};
  const FenceKind kind = instruction.payloadAs<FenceKind>();
  switch (kind) {
  case FenceKind::memory:
    checker->fence(warp, active);
    break;
  case FenceKind::mbarriers:
    checker->publishMbarriers(warp, active);
    break;
  case FenceKind::async:
    checker->proxyFence(warp, active, fencedSpaces);
    break;
  case FenceKind::asyncShared:
    checker->proxyFence(warp, active, shared);
    break;
  case FenceKind::asyncGlobal:
    checker->proxyFence(warp, active, global);
    break;
  case FenceKind::releaseMaps:
    checker->releaseMaps(warp, active);
    break;
  case FenceKind::acquireMap: {
    const LaneAddresses64 addresses =
        laneAddresses(warp, instruction, instruction.slots[0], instruction.immediate);
    for (uint32_t left = active, lanes; left != 0; left &= ~lanes) {
      const unsigned lane = unsigned(std::countr_zero(left));
      lanes = lanesAt(addresses, left, lane);
      checker->acquireMap(warp, lanes, addresses.lane[lane]);
    }
    break;
  }
  case FenceKind::other:
    break;
  }
  return Step::next;
}

FenceKind takeFence(Decoder &d) {
  if (d.take("mbarrier_init"))
    return FenceKind::mbarriers;
  if (!d.take("proxy"))
    return FenceKind::memory;
  if (d.take("tensormap::generic"))
    return d.take("acquire") ? FenceKind::acquireMap : FenceKind::releaseMaps;
  if (!d.take("async"))
    return FenceKind::other;
  if (d.take("global"))
    return FenceKind::asyncGlobal;
  return d.take("shared::cta") || d.take("shared::cluster") ? FenceKind::asyncShared : FenceKind::async;
}

void decodeFence(Decoder &d) {
  const FenceKind kind = takeFence(d);
  d.ignore({"sc", "acq_rel", "acquire", "release", "cta", "cluster", "gpu", "sys", "gl", "alias",
            "async::generic", "sync_restrict::shared::cta", "sync_restrict::shared::cluster"});
  if (kind != FenceKind::acquireMap) {
    d.emitWith(fence, {}, kind);
    return;
  }
  d.expectOperands(2);
  const AddressOperand address = d.address(0);
  if (d.immediate(1) != 128)
    return d.fail("'{}' is for the 128 bytes of a tensor map, but got {}", d.at().fullName(), d.immediate(1));
  d.emitWith(fence, {address.base}, kind).immediate = address.offset;
}

constexpr DecodeEntry entries[] = {
    {"bar", decodeBarrier}, {"barrier", decodeBarrier}, {"mbarrier", decodeMbarrier},
    {"fence", decodeFence}, {"membar", decodeFence},
};

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
  fault(warp, instruction,
        fmt::format("the mbarrier at shared offset {} is not initialised", place.address - sharedBase));
  return {};
}

std::span<const DecodeEntry> barrierInstructions() { return entries; }

} // namespace tlc::emulator
