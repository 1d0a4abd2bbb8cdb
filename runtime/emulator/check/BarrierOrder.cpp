// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/check/BarrierOrder.h"

#include <algorithm>

namespace tlc::emulator {

void BarrierOrder::arriveNamed(const Warp &warp, unsigned id, NamedArrival arrival) {
  NamedPhase &phase = named[warp.block->rank * namedBarriers + id];
  WarpClock &warpClock = clocks.clockOf(warp);
  // Who waits may pass on by a relaxed write what was fenced before.
  for (Reach reach : reaches)
    if (std::any_of(warpClock.laneSets.begin(), warpClock.laneSets.end(),
                    [&](const LaneSet &set) { return set.releasedTo(reach).own != 0; }))
      clocks.release(warpClock, warp.live, Ordering::relaxed, phase.released[size_t(reach)], reach);
  clocks.release(warpClock, warp.live, Ordering::acquireRelease, phase.arrived);
  if (arrival == NamedArrival::waits)
    phase.waiting.push_back(&warp);
}

void BarrierOrder::completeNamed(const Block &block, unsigned id) {
  NamedPhase &phase = named[block.rank * namedBarriers + id];
  for (const Warp *warp : phase.waiting) {
    WarpClock &warpClock = clocks.clockOf(*warp);
    clocks.unite(warpClock, allLanes);
    LaneSet &set = warpClock.laneSets[0];
    set.known.join(phase.arrived);
    for (Reach reach : reaches) {
      Released &released = set.releasedTo(reach);
      const Knowledge &others = phase.released[size_t(reach)];
      released.known.join(others);
      released.byOthers |= released.own == 0 && !others.seen.empty();
    }
  }
  phase = {};
}

void BarrierOrder::arriveCluster(const Warp &warp, uint32_t lanes, Ordering ordering) {
  clocks.release(clocks.clockOf(warp), lanes, ordering, clusterArrived);
}

void BarrierOrder::completeCluster() {
  clusterDone.join(clusterArrived);
  clusterArrived = {};
}

void BarrierOrder::waitCluster(const Warp &warp, uint32_t lanes) {
  clocks.acquire(clocks.clockOf(warp), lanes, Ordering::acquireRelease, clusterDone);
}

BarrierOrder::Phases &BarrierOrder::phasesOf(const Block &block, uint32_t address) {
  const auto [found, isNew] = mbarriers.try_emplace(uint64_t(block.rank) << 32 | address);
  if (isNew)
    found->second.entry =
        clocks.addEntry({.kind = ClockOwner::Kind::mbarrier, .block = block.rank, .address = address});
  return found->second;
}

void BarrierOrder::arriveMbarrier(const Warp &warp, uint32_t lanes, const SharedPlace &place,
                                  Ordering ordering, Scope scope) {
  clocks.release(clocks.clockOf(warp), lanes, ordering,
                 phasesOf(*place.block, place.address).arrived.from(*warp.block, scope));
}

void BarrierOrder::completePhase(const Block &block, uint32_t address) {
  Phases &phases = phasesOf(block, address);
  ++phases.completed;
  phases.done.join(phases.arrived);
  phases.done.from(block, Scope::cluster).seen.raise(phases.entry, phases.completed);
  phases.arrived = {};
}

void BarrierOrder::waitMbarrier(const Warp &warp, uint32_t lanes, const SharedPlace &place, Ordering ordering,
                                Scope scope) {
  clocks.acquire(clocks.clockOf(warp), lanes, ordering, phasesOf(*place.block, place.address).done, scope);
}

} // namespace tlc::emulator
