// SPDX-License-Identifier: Apache-2.0
/// \file
/// What threads know, and how synchronisation passes it on. A release gives
/// away what the lanes know and did, and opens a new number in the warp's
/// column, so that what they do next is not among that; an acquire joins it to
/// what others know.
#include "runtime/emulator/check/RaceChecker.h"
#include "runtime/emulator/exec/core/State.h"

#include <algorithm>

namespace tlc::emulator {

void RaceChecker::forParties(Agent &agent, uint32_t lanes, const std::function<void(Party &)> &act) {
  for (size_t i = 0, count = agent.parties.size(); i < count; ++i) {
    const uint32_t common = agent.parties[i].lanes & lanes;
    if (common == 0)
      continue;
    if ((agent.parties[i].lanes & agent.warp->live & ~lanes) == 0) {
      act(agent.parties[i]);
      continue;
    }
    Party part = agent.parties[i];
    part.lanes = common;
    agent.parties[i].lanes &= ~common;
    act(part);
    agent.parties.push_back(std::move(part));
  }
}

const RaceChecker::Party &RaceChecker::partyOf(const Agent &agent, unsigned lane) const {
  if (lane < warpSize)
    for (const Party &party : agent.parties)
      if (party.lanes >> lane & 1)
        return party;
  return agent.parties.front();
}

void RaceChecker::addOwn(const Agent &agent, uint32_t lanes, uint32_t number, Clock &clock) {
  const unsigned warp = indexOf(*agent.warp);
  if ((agent.warp->live & ~lanes) == 0) {
    clock.raise(warp, number);
    return;
  }
  for (uint32_t left = lanes; left != 0; left &= left - 1)
    raiseLane(parts.lanes, agent, unsigned(std::countr_zero(left)), ColumnInfo::Kind::lane, warp, number,
              clock);
}

void RaceChecker::raiseLane(LaneColumns &of, const Agent &agent, unsigned lane, ColumnInfo::Kind kind,
                            Column whole, uint32_t number, Clock &clock) {
  const unsigned warp = indexOf(*agent.warp);
  if (of.of(warp, lane) == 0) {
    of.set(warp, lane, addColumn({.kind = kind, .warp = warp}));
    lanesWithColumn.push_back({of.of(warp, lane), whole});
  }
  clock.raise(of.of(warp, lane), number);
}

void RaceChecker::addCopies(const Agent &agent, uint32_t lanes, uint32_t number, Clock &clock) {
  const Column column = parts.copies[indexOf(*agent.warp)];
  if (column == 0 || number == 0)
    return;
  if ((agent.warp->live & ~lanes) == 0) {
    clock.raise(column, number);
    return;
  }
  for (uint32_t left = lanes; left != 0; left &= left - 1)
    raiseLane(parts.lanesCopies, agent, unsigned(std::countr_zero(left)), ColumnInfo::Kind::laneCopies,
              column, number, clock);
}

void RaceChecker::addCopies(const Agent &agent, uint32_t lanes, Clock &clock) {
  if (parts.copies[indexOf(*agent.warp)] == 0)
    return;
  uint32_t byAll = ~0u;
  for (const Party &party : agent.parties)
    if ((party.lanes & lanes) != 0)
      byAll = std::min(byAll, party.copies);
  addCopies(agent, lanes, byAll, clock);
  for (const Party &party : agent.parties)
    if ((party.lanes & lanes) != 0 && party.copies > byAll)
      addCopies(agent, party.lanes & lanes, party.copies, clock);
}

void RaceChecker::release(Agent &agent, uint32_t lanes, Ordering ordering, Knowledge &into, Reach reach) {
  for (const Party &party : agent.parties) {
    if ((party.lanes & lanes) == 0)
      continue;
    if (ordering == Ordering::relaxed) {
      const Released &released = party.releasedTo(reach);
      into.join(released.known);
      if (released.own != 0)
        addOwn(agent, lanes & party.lanes, released.own, into.seen);
      addCopies(agent, lanes & party.lanes, released.copies, into.seen);
      continue;
    }
    into.join(party.known);
  }
  if (ordering != Ordering::relaxed) {
    addOwn(agent, lanes, agent.number, into.seen);
    addCopies(agent, lanes, into.seen);
  }
  ++agent.number;
}

void RaceChecker::acquire(Agent &agent, uint32_t lanes, Ordering ordering, const Knowledge &from,
                          Reach reach) {
  forParties(agent, lanes, [&](Party &party) {
    (ordering == Ordering::relaxed ? party.observedFrom(reach) : party.known).join(from);
  });
}

void RaceChecker::acquire(Agent &agent, uint32_t lanes, Ordering ordering, const Passed &from, Scope scope) {
  for (const Passed::Part &part : from.all())
    if (part.reaches(agent.warp->block->rank, scope))
      acquire(agent, lanes, ordering, part.known);
    else
      agent.missed.join(part.known.seen);
}

Knowledge &RaceChecker::Passed::from(const Block &block, Scope scope) {
  const bool wide = scope >= Scope::cluster || block.cluster->blocks.size() == 1;
  for (Part &part : parts)
    if (part.block == block.rank && part.wide == wide)
      return part.known;
  parts.push_back({block.rank, wide, {}});
  return parts.back().known;
}

void RaceChecker::Passed::join(const Passed &other) {
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

void RaceChecker::unite(Agent &agent, uint32_t lanes) {
  if (agent.parties.size() == 1 && (agent.warp->live & ~lanes) == 0)
    return;
  Party all;
  all.copies = ~0u;
  for (Released &released : all.released)
    released.own = released.copies = ~0u;
  std::erase_if(agent.parties, [&](Party &party) {
    const uint32_t common = party.lanes & lanes;
    if (common == 0)
      return false;
    all.lanes |= common;
    all.known.join(party.known);
    for (Reach reach : reaches) {
      Released &released = all.releasedTo(reach);
      released.known.join(party.releasedTo(reach).known);
      released.own = std::min(released.own, party.releasedTo(reach).own);
      released.copies = std::min(released.copies, party.releasedTo(reach).copies);
      released.byOthers |= party.releasedTo(reach).byOthers;
      all.observedFrom(reach).join(party.observedFrom(reach));
    }
    all.copies = std::min(all.copies, party.copies);
    party.lanes &= ~common;
    return (party.lanes & agent.warp->live) == 0;
  });
  agent.parties.push_back(std::move(all));
}

Knowledge RaceChecker::knownToWarp(const Agent &agent) {
  Knowledge known;
  for (const Party &party : agent.parties)
    known.join(party.known);
  addOwn(agent, allLanes, agent.number, known.seen);
  addCopies(agent, allLanes, known.seen);
  return known;
}

void RaceChecker::syncLanes(const Warp &warp, uint32_t lanes) {
  Agent &agent = agentOf(warp);
  lanes &= warp.live;
  Clock own;
  addOwn(agent, lanes, agent.number, own);
  addCopies(agent, lanes, own);
  unite(agent, lanes);
  const_cast<Party &>(partyOf(agent, unsigned(std::countr_zero(lanes)))).known.seen.join(own);
  ++agent.number;
}

void RaceChecker::waitGrid(const Warp &warp, uint32_t lanes) {
  if (gridBefore)
    forParties(agentOf(warp), lanes, [&](Party &party) { party.known.seen.raise(*gridBefore, 1); });
}

void RaceChecker::proxyFence(const Warp &warp, uint32_t lanes, std::span<const FencedSpace> spaces) {
  Agent &agent = agentOf(warp);
  Clock own;
  addOwn(agent, lanes, agent.number, own);
  addCopies(agent, lanes, own);
  forParties(agent, lanes, [&](Party &party) {
    for (FencedSpace space : spaces) {
      party.known.fence(space);
      party.known.fencedIn(space).join(own);
    }
  });
  ++agent.number;
}

void RaceChecker::publishMbarriers(const Warp &warp, uint32_t lanes) {
  Agent &agent = agentOf(warp);
  forParties(agent, lanes, [&](Party &party) {
    for (unsigned lane = 0; lane < warpSize; ++lane)
      if (const Column column = parts.initialisers.of(indexOf(warp), lane);
          column != 0 && (party.lanes & lanes) >> lane & 1) {
        party.known.seen.raise(column, agent.number);
        party.releasedTo(Reach::cluster).known.seen.raise(column, agent.number);
      }
  });
  ++agent.number;
}

void RaceChecker::releaseMaps(const Warp &warp, uint32_t lanes) {
  Agent &agent = agentOf(warp);
  forParties(agent, lanes, [&](Party &party) {
    Clock own;
    addOwn(agent, lanes, agent.number, own);
    party.known.releaseMaps(own);
  });
  ++agent.number;
}

void RaceChecker::acquireMap(const Warp &warp, uint32_t lanes, uint64_t address) {
  forParties(agentOf(warp), lanes, [&](Party &party) { party.known.acquireMap(address); });
}

void RaceChecker::fence(const Warp &warp, uint32_t lanes, Scope scope) {
  Agent &agent = agentOf(warp);
  forParties(agent, lanes, [&](Party &party) {
    for (Reach reach : reaches) {
      Knowledge &observed = party.observedFrom(reach);
      if (reach > reachOf(scope)) {
        joinForeign(party.known.narrow, observed.foreign);
        continue;
      }
      party.known.join(observed);
      observed = {};
    }
    for (Reach reach : reaches)
      if (reach <= reachOf(scope))
        party.releasedTo(reach) = {party.known, agent.number, party.copies};
  });
  ++agent.number;
}

// --- barriers ----------------------------------------------------------------------------

void RaceChecker::arriveNamed(const Warp &warp, unsigned id, NamedArrival arrival) {
  NamedPhase &phase = named[warp.block->rank * namedBarriers + id];
  Agent &agent = agentOf(warp);
  // Who waits may pass on by a relaxed write what was fenced before.
  for (Reach reach : reaches)
    if (std::any_of(agent.parties.begin(), agent.parties.end(),
                    [&](const Party &party) { return party.releasedTo(reach).own != 0; }))
      release(agent, warp.live, Ordering::relaxed, phase.released[size_t(reach)], reach);
  release(agent, warp.live, Ordering::acquireRelease, phase.arrived);
  if (arrival == NamedArrival::waits)
    phase.waiting.push_back(indexOf(warp));
}

void RaceChecker::completeNamed(const Block &block, unsigned id) {
  NamedPhase &phase = named[block.rank * namedBarriers + id];
  for (unsigned index : phase.waiting) {
    unite(agents[index], allLanes);
    Party &party = agents[index].parties[0];
    party.known.join(phase.arrived);
    for (Reach reach : reaches) {
      Released &released = party.releasedTo(reach);
      const Knowledge &others = phase.released[size_t(reach)];
      released.known.join(others);
      released.byOthers |= released.own == 0 && !others.seen.empty();
    }
  }
  phase = {};
}

void RaceChecker::arriveCluster(const Warp &warp, uint32_t lanes, Ordering ordering) {
  release(agentOf(warp), lanes, ordering, clusterArrived);
}

void RaceChecker::completeCluster() {
  clusterDone.join(clusterArrived);
  clusterArrived = {};
}

void RaceChecker::waitCluster(const Warp &warp, uint32_t lanes) {
  acquire(agentOf(warp), lanes, Ordering::acquireRelease, clusterDone);
}

RaceChecker::Phases &RaceChecker::phasesOf(const Block &block, uint32_t address) {
  const auto [found, isNew] = mbarriers.try_emplace(uint64_t(block.rank) << 32 | address);
  if (isNew)
    found->second.column =
        addColumn({.kind = ColumnInfo::Kind::mbarrier, .block = block.rank, .address = address});
  return found->second;
}

void RaceChecker::arriveMbarrier(const Warp &warp, uint32_t lanes, const SharedPlace &place,
                                 Ordering ordering, Scope scope) {
  release(agentOf(warp), lanes, ordering,
          phasesOf(*place.block, place.address).arrived.from(*warp.block, scope));
}

void RaceChecker::completePhase(const Block &block, uint32_t address) {
  Phases &phases = phasesOf(block, address);
  ++phases.completed;
  phases.done.join(phases.arrived);
  phases.done.from(block, Scope::cluster).seen.raise(phases.column, phases.completed);
  phases.arrived = {};
}

void RaceChecker::waitMbarrier(const Warp &warp, uint32_t lanes, const SharedPlace &place, Ordering ordering,
                               Scope scope) {
  acquire(agentOf(warp), lanes, ordering, phasesOf(*place.block, place.address).done, scope);
}

// --- flags: what threads pass through strong accesses ---------------------------------------

void RaceChecker::acquireFlag(Agent &agent, const Touch &access, uint64_t flag) {
  const auto found = flags.find(flag);
  if (found == flags.end())
    return;
  const bool acquires =
      access.ordering == AccessOrdering::acquire || access.ordering == AccessOrdering::acquireRelease;
  acquire(agent, 1u << access.lane, acquires ? Ordering::acquireRelease : Ordering::relaxed, found->second,
          access.scope);
}

void RaceChecker::releaseFlag(Agent &agent, const Touch &access, uint64_t flag) {
  const bool releases =
      access.ordering == AccessOrdering::release || access.ordering == AccessOrdering::acquireRelease;
  if (!releases && partyOf(agent, access.lane).releasedTo(Reach::cluster).isEmpty())
    return;
  release(agent, 1u << access.lane, releases ? Ordering::acquireRelease : Ordering::relaxed,
          flags[flag].from(*agent.warp->block, access.scope));
}

void RaceChecker::releaseGlobalFlag(Agent &agent, const Touch &access) {
  if (access.ordering == AccessOrdering::release || access.ordering == AccessOrdering::acquireRelease) {
    Knowledge known;
    release(agent, 1u << access.lane, Ordering::acquireRelease, known);
    publishFlag(access.address, reachOf(access.scope), std::move(known));
    return;
  }
  uint32_t last = 0;
  for (Reach reach : {Reach::system, Reach::device, Reach::cluster}) {
    const Released &released = partyOf(agent, access.lane).releasedTo(reach);
    // A fence that reaches further is one that does not, too.
    if (released.isEmpty() || (last != 0 && released.own == last))
      continue;
    last = released.own;
    Knowledge known;
    release(agent, 1u << access.lane, Ordering::relaxed, known, reach);
    publishFlag(access.address, std::min(reach, reachOf(access.scope)), std::move(known));
  }
}

void RaceChecker::publishFlag(uint64_t address, Reach reach, Knowledge known) {
  auto all = known.foreign ? std::make_shared<Foreign>(*known.foreign) : std::make_shared<Foreign>();
  ForeignClocks &own = all->clusters[number()];
  // Other clusters take the lanes of a warp as one.
  const Clock &fenced = known.fencedIn(FencedSpace::global);
  for (Clock *clock : {&known.seen, &known.fencedIn(FencedSpace::global)})
    for (const auto &[lane, warp] : lanesWithColumn)
      clock->raise(warp, clock->at(lane));
  own.seen.join(known.seen);
  own.fenced.join(fenced);
  launch.shadow().release(address, {cluster.grid->device, reach, all});
}

void RaceChecker::takeFlagReads(Agent &agent) {
  for (const FlagRead &read : agent.flagReads) {
    const bool acquires =
        read.ordering == AccessOrdering::acquire || read.ordering == AccessOrdering::acquireRelease;
    const Ordering ordering = acquires ? Ordering::acquireRelease : Ordering::relaxed;
    for (const GlobalShadow::Released &part : launch.shadow().acquire(read.address)) {
      // Inside the cluster a scope is always wide enough.
      if (const auto own = part.known->clusters.find(number()); own != part.known->clusters.end()) {
        Knowledge known;
        known.seen = own->second.seen;
        known.fencedIn(FencedSpace::global) = own->second.fenced;
        acquire(agent, 1u << read.lane, ordering, known);
      }
      const Reach needed = part.device == cluster.grid->device ? Reach::device : Reach::system;
      Knowledge known;
      (std::min(part.reach, reachOf(read.scope)) >= needed ? known.foreign : known.narrow) = part.known;
      acquire(agent, 1u << read.lane, ordering, known, needed);
    }
  }
  agent.flagReads.clear();
}

} // namespace tlc::emulator
