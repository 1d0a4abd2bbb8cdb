// SPDX-License-Identifier: Apache-2.0
/// \file
/// bar and barrier, of the block and of the cluster.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/decode/Decoder.h"

#include <algorithm>

namespace tlc::emulator {

namespace {

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
  if (Observer *observer = block.cluster->observer.get())
    observer->arriveNamed(warp, id,
                          use.action == BarrierAction::arrive ? NamedArrival::leaves : NamedArrival::waits);
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

Step arriveCluster(Warp &warp, uint32_t active, const Instruction &instruction) {
  Cluster &cluster = clusterOf(warp);
  if (warp.clusterArrivals.lanes & active)
    return fault(warp, instruction, "a second arrival at the cluster's barrier without a wait between");
  warp.clusterArrivals.lanes |= active;
  for (unsigned l = 0; l < warpSize; ++l)
    if (active >> l & 1)
      warp.clusterArrivals.generation[l] = cluster.barrier.generation;
  cluster.barrier.arrived += uint32_t(std::popcount(active));
  if (cluster.observer)
    cluster.observer->arriveCluster(warp, active, Ordering(instruction.immediate));
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
    if (Observer *observer = clusterOf(warp).observer.get())
      observer->waitCluster(warp, active);
    return Step::next;
  }
  Wait wait;
  wait.kind = Wait::Kind::cluster;
  wait.count = generation;
  return suspend(warp, std::move(wait));
}

/// bar.warp.sync. slots: mask
Step syncWarp(Warp &warp, uint32_t active, const Instruction &instruction) {
  Observer *observer = clusterOf(warp).observer.get();
  return runTogether(warp, active, instruction, instruction.slots[0], [&](const Members &members) {
    if (observer)
      observer->syncLanes(warp, members.lanes());
  });
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

constexpr DecodeEntry entries[] = {
    {"bar", decodeBarrier},
    {"barrier", decodeBarrier},
};

} // namespace

std::span<const DecodeEntry> barrierInstructions() { return entries; }

} // namespace tlc::emulator
