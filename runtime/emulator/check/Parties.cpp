// SPDX-License-Identifier: Apache-2.0
/// \file
/// What threads know, and how synchronisation passes it on. A release gives
/// away what the lanes know and did, and opens a new number in the warp's
/// column, so that what they do next is not among that; an acquire joins it to
/// what others know.
#include "runtime/emulator/check/RaceChecker.h"
#include "runtime/emulator/exec/State.h"

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
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    if (!(lanes >> lane & 1))
      continue;
    if (laneColumns.of(warp, lane) == 0) {
      laneColumns.set(warp, lane, addColumn({.kind = ColumnInfo::Kind::lane, .warp = warp}));
      lanesWithColumn.push_back({laneColumns.of(warp, lane), warp});
    }
    clock.raise(laneColumns.of(warp, lane), number);
  }
}

void RaceChecker::release(Agent &agent, uint32_t lanes, Ordering ordering, Knowledge &into) {
  for (const Party &party : agent.parties) {
    if ((party.lanes & lanes) == 0)
      continue;
    if (ordering == Ordering::relaxed) {
      into.join(party.released);
      if (party.releasedOwn != 0)
        addOwn(agent, lanes & party.lanes, party.releasedOwn, into.seen);
      continue;
    }
    into.join(party.known);
    if (party.copies != 0)
      into.seen.raise(stream(agent, AsyncEngine::copy, 0)->column, party.copies);
  }
  if (ordering != Ordering::relaxed)
    addOwn(agent, lanes, agent.number, into.seen);
  ++agent.number;
}

void RaceChecker::acquire(Agent &agent, uint32_t lanes, Ordering ordering, const Knowledge &from) {
  forParties(agent, lanes, [&](Party &party) {
    (ordering == Ordering::relaxed ? party.observed : party.known).join(from);
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
  all.copies = all.releasedOwn = ~0u;
  std::erase_if(agent.parties, [&](Party &party) {
    const uint32_t common = party.lanes & lanes;
    if (common == 0)
      return false;
    all.lanes |= common;
    all.known.join(party.known);
    all.released.join(party.released);
    all.releasedOwn = std::min(all.releasedOwn, party.releasedOwn);
    all.fencedByOthers |= party.fencedByOthers;
    all.observed.join(party.observed);
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
  return known;
}

void RaceChecker::syncLanes(const Warp &warp, uint32_t lanes) {
  Agent &agent = agentOf(warp);
  lanes &= warp.live;
  unite(agent, lanes);
  Party &party = const_cast<Party &>(partyOf(agent, unsigned(std::countr_zero(lanes))));
  addOwn(agent, lanes, agent.number, party.known.seen);
  if (party.copies != 0)
    party.known.seen.raise(stream(agent, AsyncEngine::copy, 0)->column, party.copies);
  ++agent.number;
}

void RaceChecker::waitGrid(const Warp &warp, uint32_t lanes) {
  if (gridBefore)
    forParties(agentOf(warp), lanes, [&](Party &party) { party.known.seen.raise(*gridBefore, 1); });
}

void RaceChecker::proxyFence(const Warp &warp, uint32_t lanes, std::span<const FencedSpace> spaces) {
  Agent &agent = agentOf(warp);
  forParties(agent, lanes, [&](Party &party) {
    for (FencedSpace space : spaces) {
      party.known.fence(space);
      addOwn(agent, lanes, agent.number, party.known.fencedIn(space));
    }
  });
  ++agent.number;
}

void RaceChecker::publishMbarriers(const Warp &warp, uint32_t lanes) {
  Agent &agent = agentOf(warp);
  forParties(agent, lanes, [&](Party &party) {
    for (unsigned lane = 0; lane < warpSize; ++lane)
      if (const Column column = initialisers.of(indexOf(warp), lane);
          column != 0 && (party.lanes & lanes) >> lane & 1) {
        party.known.seen.raise(column, agent.number);
        party.released.seen.raise(column, agent.number);
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

void RaceChecker::fence(const Warp &warp, uint32_t lanes) {
  Agent &agent = agentOf(warp);
  forParties(agent, lanes, [&](Party &party) {
    party.known.join(party.observed);
    party.observed = {};
    party.released = party.known;
    party.releasedOwn = agent.number;
  });
  ++agent.number;
}

// --- barriers ----------------------------------------------------------------------------

void RaceChecker::arriveNamed(const Warp &warp, unsigned id, NamedArrival arrival) {
  NamedPhase &phase = named[warp.block->rank * namedBarriers + id];
  Agent &agent = agentOf(warp);
  // Who waits may pass on by a relaxed write what was fenced before.
  if (std::any_of(agent.parties.begin(), agent.parties.end(),
                  [](const Party &party) { return party.releasedOwn != 0; }))
    release(agent, warp.live, Ordering::relaxed, phase.released);
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
    party.released.join(phase.released);
    if (party.releasedOwn == 0 && !phase.released.seen.empty())
      party.fencedByOthers = true;
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
  const Party &party = partyOf(agent, access.lane);
  if (!releases && party.releasedOwn == 0 && !party.fencedByOthers)
    return;
  release(agent, 1u << access.lane, releases ? Ordering::acquireRelease : Ordering::relaxed,
          flags[flag].from(*agent.warp->block, access.scope));
}

void RaceChecker::releaseGlobalFlag(Agent &agent, const Touch &access) {
  const bool releases =
      access.ordering == AccessOrdering::release || access.ordering == AccessOrdering::acquireRelease;
  const Party &party = partyOf(agent, access.lane);
  if (!releases && party.releasedOwn == 0 && !party.fencedByOthers)
    return;
  Knowledge known;
  release(agent, 1u << access.lane, releases ? Ordering::acquireRelease : Ordering::relaxed, known);
  auto all = known.foreign ? std::make_shared<Foreign>(*known.foreign) : std::make_shared<Foreign>();
  ForeignClocks &own = (*all)[cluster.index + 1];
  // Other clusters take the lanes of a warp as one.
  const Clock &fenced = known.fencedIn(FencedSpace::global);
  for (Clock *clock : {&known.seen, &known.fencedIn(FencedSpace::global)})
    for (const auto &[lane, warp] : lanesWithColumn)
      clock->raise(warp, clock->at(lane));
  own.seen.join(known.seen);
  own.fenced.join(fenced);
  cluster.grid->globalShadow->release(access.address, access.scope, all);
}

void RaceChecker::takeFlagReads(Agent &agent) {
  for (const FlagRead &read : agent.flagReads) {
    const GlobalShadow::Flag flag = cluster.grid->globalShadow->acquire(read.address);
    if (!flag.wide && !flag.narrow)
      continue;
    const bool acquires =
        read.ordering == AccessOrdering::acquire || read.ordering == AccessOrdering::acquireRelease;
    Knowledge known;
    for (const auto &foreign : {flag.wide, flag.narrow}) {
      if (!foreign)
        continue;
      // Inside the cluster a scope is always wide enough.
      if (const auto own = foreign->find(cluster.index + 1); own != foreign->end()) {
        known.seen.join(own->second.seen);
        known.fencedIn(FencedSpace::global).join(own->second.fenced);
      }
      joinForeign(foreign == flag.wide && read.scope >= Scope::gpu ? known.foreign : known.narrow, foreign);
    }
    acquire(agent, 1u << read.lane, acquires ? Ordering::acquireRelease : Ordering::relaxed, known);
  }
  agent.flagReads.clear();
}

} // namespace tlc::emulator
