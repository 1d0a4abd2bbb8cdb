// SPDX-License-Identifier: Apache-2.0
/// \file
/// A release gives away what the lanes know and did, and opens a new number in
/// the warp's entry, so that what they do next is not among that; an acquire
/// joins it to what others know.
#include "runtime/emulator/check/ThreadClocks.h"

#include <algorithm>

namespace tlc::emulator {

Knowledge &PassedKnowledge::from(const Block &block, Scope scope) {
  const bool wide = scope >= Scope::cluster || block.cluster->blocks.size() == 1;
  for (Part &part : parts)
    if (part.block == block.rank && part.wide == wide)
      return part.known;
  parts.push_back({block.rank, wide, {}});
  return parts.back().known;
}

void PassedKnowledge::join(const PassedKnowledge &other) {
  for (const Part &theirs : other.parts) {
    const auto same = std::find_if(parts.begin(), parts.end(), [&](const Part &part) {
      return part.block == theirs.block && part.wide == theirs.wide;
    });
    if (same == parts.end())
      parts.push_back(theirs);
    else
      same->known.join(theirs.known);
  }
}

uint32_t WarpClock::repeatOf(uint32_t pc) {
  Execution &execution = executions[pc];
  // All lanes that run it together are one step.
  if (const uint32_t step = uint32_t(warp->steps) + 1; execution.step != step) {
    execution.step = step;
    ++execution.count;
  }
  return execution.count - 1;
}

const LaneSet &WarpClock::laneSetOf(unsigned lane) const {
  if (lane < warpSize)
    for (const LaneSet &set : laneSets)
      if (set.lanes >> lane & 1)
        return set;
  return laneSets.front();
}

ThreadClocks::ThreadClocks(Cluster &cluster, const std::shared_ptr<const Foreign> &known)
    : warpsOfBlock(unsigned(cluster.blocks[0].warps.size())),
      partEntries(cluster.blocks.size() * warpsOfBlock) {
  for (const Block &block : cluster.blocks)
    for (const Warp &warp : block.warps) {
      WarpClock &warpClock = all.emplace_back();
      warpClock.warp = &warp;
      warpClock.executions.resize(cluster.grid->kernel->code.size());
      warpClock.laneSets.resize(1);
      warpClock.laneSets[0].lanes = warp.live;
      warpClock.laneSets[0].known.foreign = known;
      addEntry({.kind = ClockOwner::Kind::warp, .warp = indexOf(warp)});
    }
  if (cluster.grid->ordered)
    gridBefore = addEntry({.kind = ClockOwner::Kind::grid});
}

void ThreadClocks::raiseWarps(Clock &clock) const {
  for (const auto &[lane, warp] : lanesWithEntry)
    clock.raise(warp, clock.at(lane));
}

ClockEntry ThreadClocks::addEntry(ClockOwner info) {
  entries.push_back(info);
  return ClockEntry(entries.size() - 1);
}

void ThreadClocks::forLaneSets(WarpClock &warpClock, uint32_t lanes,
                               const std::function<void(LaneSet &)> &act) {
  for (size_t i = 0, count = warpClock.laneSets.size(); i < count; ++i) {
    const uint32_t common = warpClock.laneSets[i].lanes & lanes;
    if (common == 0)
      continue;
    if ((warpClock.laneSets[i].lanes & warpClock.warp->live & ~lanes) == 0) {
      act(warpClock.laneSets[i]);
      continue;
    }
    LaneSet part = warpClock.laneSets[i];
    part.lanes = common;
    warpClock.laneSets[i].lanes &= ~common;
    act(part);
    warpClock.laneSets.push_back(std::move(part));
  }
}

void ThreadClocks::addOwn(const WarpClock &warpClock, uint32_t lanes, uint32_t number, Clock &clock) {
  const unsigned warp = indexOf(*warpClock.warp);
  if ((warpClock.warp->live & ~lanes) == 0) {
    clock.raise(warp, number);
    return;
  }
  for (uint32_t left = lanes; left != 0; left &= left - 1)
    raiseLane(partEntries.lanes, warpClock, unsigned(std::countr_zero(left)), ClockOwner::Kind::lane, warp,
              number, clock);
}

void ThreadClocks::raiseLane(LaneEntries &of, const WarpClock &warpClock, unsigned lane,
                             ClockOwner::Kind kind, ClockEntry whole, uint32_t number, Clock &clock) {
  const unsigned warp = indexOf(*warpClock.warp);
  if (of.of(warp, lane) == 0) {
    of.set(warp, lane, addEntry({.kind = kind, .warp = warp}));
    lanesWithEntry.push_back({of.of(warp, lane), whole});
  }
  clock.raise(of.of(warp, lane), number);
}

void ThreadClocks::addCopies(const WarpClock &warpClock, uint32_t lanes, uint32_t number, Clock &clock) {
  const ClockEntry entry = partEntries.copies[indexOf(*warpClock.warp)];
  if (entry == 0 || number == 0)
    return;
  if ((warpClock.warp->live & ~lanes) == 0) {
    clock.raise(entry, number);
    return;
  }
  for (uint32_t left = lanes; left != 0; left &= left - 1)
    raiseLane(partEntries.lanesCopies, warpClock, unsigned(std::countr_zero(left)),
              ClockOwner::Kind::laneCopies, entry, number, clock);
}

void ThreadClocks::addCopies(const WarpClock &warpClock, uint32_t lanes, Clock &clock) {
  if (partEntries.copies[indexOf(*warpClock.warp)] == 0)
    return;
  uint32_t byAll = ~0u;
  for (const LaneSet &set : warpClock.laneSets)
    if ((set.lanes & lanes) != 0)
      byAll = std::min(byAll, set.copies);
  addCopies(warpClock, lanes, byAll, clock);
  for (const LaneSet &set : warpClock.laneSets)
    if ((set.lanes & lanes) != 0 && set.copies > byAll)
      addCopies(warpClock, set.lanes & lanes, set.copies, clock);
}

void ThreadClocks::release(WarpClock &warpClock, uint32_t lanes, Ordering ordering, Knowledge &into,
                           Reach reach) {
  for (const LaneSet &set : warpClock.laneSets) {
    if ((set.lanes & lanes) == 0)
      continue;
    if (ordering == Ordering::relaxed) {
      const Released &released = set.releasedTo(reach);
      into.join(released.known);
      if (released.own != 0)
        addOwn(warpClock, lanes & set.lanes, released.own, into.seen);
      addCopies(warpClock, lanes & set.lanes, released.copies, into.seen);
      continue;
    }
    into.join(set.known);
  }
  if (ordering != Ordering::relaxed) {
    addOwn(warpClock, lanes, warpClock.number, into.seen);
    addCopies(warpClock, lanes, into.seen);
  }
  ++warpClock.number;
}

void ThreadClocks::acquire(WarpClock &warpClock, uint32_t lanes, Ordering ordering, const Knowledge &from,
                           Reach reach) {
  forLaneSets(warpClock, lanes, [&](LaneSet &set) {
    (ordering == Ordering::relaxed ? set.observedFrom(reach) : set.known).join(from);
  });
}

void ThreadClocks::acquire(WarpClock &warpClock, uint32_t lanes, Ordering ordering,
                           const PassedKnowledge &from, Scope scope) {
  for (const PassedKnowledge::Part &part : from.all())
    if (part.reaches(warpClock.warp->block->rank, scope))
      acquire(warpClock, lanes, ordering, part.known);
    else
      warpClock.missed.join(part.known.seen);
}

void ThreadClocks::unite(WarpClock &warpClock, uint32_t lanes) {
  if (warpClock.laneSets.size() == 1 && (warpClock.warp->live & ~lanes) == 0)
    return;
  LaneSet all;
  all.copies = ~0u;
  for (Released &released : all.released)
    released.own = released.copies = ~0u;
  std::erase_if(warpClock.laneSets, [&](LaneSet &set) {
    const uint32_t common = set.lanes & lanes;
    if (common == 0)
      return false;
    all.lanes |= common;
    all.known.join(set.known);
    for (Reach reach : reaches) {
      Released &released = all.releasedTo(reach);
      released.known.join(set.releasedTo(reach).known);
      released.own = std::min(released.own, set.releasedTo(reach).own);
      released.copies = std::min(released.copies, set.releasedTo(reach).copies);
      released.byOthers |= set.releasedTo(reach).byOthers;
      all.observedFrom(reach).join(set.observedFrom(reach));
    }
    all.copies = std::min(all.copies, set.copies);
    set.lanes &= ~common;
    return (set.lanes & warpClock.warp->live) == 0;
  });
  warpClock.laneSets.push_back(std::move(all));
}

Knowledge ThreadClocks::knownToWarp(const WarpClock &warpClock) {
  Knowledge known;
  for (const LaneSet &set : warpClock.laneSets)
    known.join(set.known);
  addOwn(warpClock, allLanes, warpClock.number, known.seen);
  addCopies(warpClock, allLanes, known.seen);
  return known;
}

void ThreadClocks::syncLanes(const Warp &warp, uint32_t lanes) {
  WarpClock &warpClock = clockOf(warp);
  lanes &= warp.live;
  Clock own;
  addOwn(warpClock, lanes, warpClock.number, own);
  addCopies(warpClock, lanes, own);
  unite(warpClock, lanes);
  const_cast<LaneSet &>(warpClock.laneSetOf(unsigned(std::countr_zero(lanes)))).known.seen.join(own);
  ++warpClock.number;
}

void ThreadClocks::waitGrid(const Warp &warp, uint32_t lanes) {
  if (gridBefore)
    forLaneSets(clockOf(warp), lanes, [&](LaneSet &set) { set.known.seen.raise(*gridBefore, 1); });
}

void ThreadClocks::proxyFence(const Warp &warp, uint32_t lanes, std::span<const FencedSpace> spaces) {
  WarpClock &warpClock = clockOf(warp);
  Clock own;
  addOwn(warpClock, lanes, warpClock.number, own);
  addCopies(warpClock, lanes, own);
  forLaneSets(warpClock, lanes, [&](LaneSet &set) {
    for (FencedSpace space : spaces) {
      set.known.fence(space);
      set.known.fencedIn(space).join(own);
    }
  });
  ++warpClock.number;
}

void ThreadClocks::publishMbarriers(const Warp &warp, uint32_t lanes) {
  WarpClock &warpClock = clockOf(warp);
  forLaneSets(warpClock, lanes, [&](LaneSet &set) {
    for (unsigned lane = 0; lane < warpSize; ++lane)
      if (const ClockEntry entry = partEntries.initialisers.of(indexOf(warp), lane);
          entry != 0 && (set.lanes & lanes) >> lane & 1) {
        set.known.seen.raise(entry, warpClock.number);
        set.releasedTo(Reach::cluster).known.seen.raise(entry, warpClock.number);
      }
  });
  ++warpClock.number;
}

void ThreadClocks::releaseMaps(const Warp &warp, uint32_t lanes) {
  WarpClock &warpClock = clockOf(warp);
  forLaneSets(warpClock, lanes, [&](LaneSet &set) {
    Clock own;
    addOwn(warpClock, lanes, warpClock.number, own);
    set.known.releaseMaps(own);
  });
  ++warpClock.number;
}

void ThreadClocks::acquireMap(const Warp &warp, uint32_t lanes, uint64_t address) {
  forLaneSets(clockOf(warp), lanes, [&](LaneSet &set) { set.known.acquireMap(address); });
}

void ThreadClocks::fence(const Warp &warp, uint32_t lanes, Scope scope) {
  WarpClock &warpClock = clockOf(warp);
  forLaneSets(warpClock, lanes, [&](LaneSet &set) {
    for (Reach reach : reaches) {
      Knowledge &observed = set.observedFrom(reach);
      if (reach > reachOf(scope)) {
        joinForeign(set.known.narrow, observed.foreign);
        continue;
      }
      set.known.join(observed);
      observed = {};
    }
    for (Reach reach : reaches)
      if (reach <= reachOf(scope))
        set.releasedTo(reach) = {set.known, warpClock.number, set.copies};
  });
  ++warpClock.number;
}

} // namespace tlc::emulator
