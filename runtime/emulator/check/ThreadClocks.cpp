// SPDX-License-Identifier: Apache-2.0
/// \file
/// A release gives away what the lanes know and did, and opens a new number in
/// the warp's column, so that what they do next is not among that; an acquire
/// joins it to what others know.
#include "runtime/emulator/check/ThreadClocks.h"

#include <algorithm>

namespace tlc::emulator {

Knowledge &Passed::from(const Block &block, Scope scope) {
  const bool wide = scope >= Scope::cluster || block.cluster->blocks.size() == 1;
  for (Part &part : parts)
    if (part.block == block.rank && part.wide == wide)
      return part.known;
  parts.push_back({block.rank, wide, {}});
  return parts.back().known;
}

void Passed::join(const Passed &other) {
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

uint32_t Agent::repeatOf(uint32_t pc) {
  Execution &execution = executions[pc];
  // All lanes that run it together are one step.
  if (const uint32_t step = uint32_t(warp->steps) + 1; execution.step != step) {
    execution.step = step;
    ++execution.count;
  }
  return execution.count - 1;
}

const Party &Agent::partyOf(unsigned lane) const {
  if (lane < warpSize)
    for (const Party &party : parties)
      if (party.lanes >> lane & 1)
        return party;
  return parties.front();
}

ThreadClocks::ThreadClocks(Cluster &cluster, const std::shared_ptr<const Foreign> &known)
    : warpsOfBlock(unsigned(cluster.blocks[0].warps.size())),
      partColumns(cluster.blocks.size() * warpsOfBlock) {
  for (const Block &block : cluster.blocks)
    for (const Warp &warp : block.warps) {
      Agent &agent = all.emplace_back();
      agent.warp = &warp;
      agent.executions.resize(cluster.grid->kernel->code.size());
      agent.parties.resize(1);
      agent.parties[0].lanes = warp.live;
      agent.parties[0].known.foreign = known;
      addColumn({.kind = ColumnInfo::Kind::warp, .warp = indexOf(warp)});
    }
  if (cluster.grid->ordered)
    gridBefore = addColumn({.kind = ColumnInfo::Kind::grid});
}

void ThreadClocks::raiseWarps(Clock &clock) const {
  for (const auto &[lane, warp] : lanesWithColumn)
    clock.raise(warp, clock.at(lane));
}

Column ThreadClocks::addColumn(ColumnInfo info) {
  columns.push_back(info);
  return Column(columns.size() - 1);
}

void ThreadClocks::forParties(Agent &agent, uint32_t lanes, const std::function<void(Party &)> &act) {
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

void ThreadClocks::addOwn(const Agent &agent, uint32_t lanes, uint32_t number, Clock &clock) {
  const unsigned warp = indexOf(*agent.warp);
  if ((agent.warp->live & ~lanes) == 0) {
    clock.raise(warp, number);
    return;
  }
  for (uint32_t left = lanes; left != 0; left &= left - 1)
    raiseLane(partColumns.lanes, agent, unsigned(std::countr_zero(left)), ColumnInfo::Kind::lane, warp,
              number, clock);
}

void ThreadClocks::raiseLane(LaneColumns &of, const Agent &agent, unsigned lane, ColumnInfo::Kind kind,
                             Column whole, uint32_t number, Clock &clock) {
  const unsigned warp = indexOf(*agent.warp);
  if (of.of(warp, lane) == 0) {
    of.set(warp, lane, addColumn({.kind = kind, .warp = warp}));
    lanesWithColumn.push_back({of.of(warp, lane), whole});
  }
  clock.raise(of.of(warp, lane), number);
}

void ThreadClocks::addCopies(const Agent &agent, uint32_t lanes, uint32_t number, Clock &clock) {
  const Column column = partColumns.copies[indexOf(*agent.warp)];
  if (column == 0 || number == 0)
    return;
  if ((agent.warp->live & ~lanes) == 0) {
    clock.raise(column, number);
    return;
  }
  for (uint32_t left = lanes; left != 0; left &= left - 1)
    raiseLane(partColumns.lanesCopies, agent, unsigned(std::countr_zero(left)), ColumnInfo::Kind::laneCopies,
              column, number, clock);
}

void ThreadClocks::addCopies(const Agent &agent, uint32_t lanes, Clock &clock) {
  if (partColumns.copies[indexOf(*agent.warp)] == 0)
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

void ThreadClocks::release(Agent &agent, uint32_t lanes, Ordering ordering, Knowledge &into, Reach reach) {
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

void ThreadClocks::acquire(Agent &agent, uint32_t lanes, Ordering ordering, const Knowledge &from,
                           Reach reach) {
  forParties(agent, lanes, [&](Party &party) {
    (ordering == Ordering::relaxed ? party.observedFrom(reach) : party.known).join(from);
  });
}

void ThreadClocks::acquire(Agent &agent, uint32_t lanes, Ordering ordering, const Passed &from, Scope scope) {
  for (const Passed::Part &part : from.all())
    if (part.reaches(agent.warp->block->rank, scope))
      acquire(agent, lanes, ordering, part.known);
    else
      agent.missed.join(part.known.seen);
}

void ThreadClocks::unite(Agent &agent, uint32_t lanes) {
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

Knowledge ThreadClocks::knownToWarp(const Agent &agent) {
  Knowledge known;
  for (const Party &party : agent.parties)
    known.join(party.known);
  addOwn(agent, allLanes, agent.number, known.seen);
  addCopies(agent, allLanes, known.seen);
  return known;
}

void ThreadClocks::syncLanes(const Warp &warp, uint32_t lanes) {
  Agent &agent = agentOf(warp);
  lanes &= warp.live;
  Clock own;
  addOwn(agent, lanes, agent.number, own);
  addCopies(agent, lanes, own);
  unite(agent, lanes);
  const_cast<Party &>(agent.partyOf(unsigned(std::countr_zero(lanes)))).known.seen.join(own);
  ++agent.number;
}

void ThreadClocks::waitGrid(const Warp &warp, uint32_t lanes) {
  if (gridBefore)
    forParties(agentOf(warp), lanes, [&](Party &party) { party.known.seen.raise(*gridBefore, 1); });
}

void ThreadClocks::proxyFence(const Warp &warp, uint32_t lanes, std::span<const FencedSpace> spaces) {
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

void ThreadClocks::publishMbarriers(const Warp &warp, uint32_t lanes) {
  Agent &agent = agentOf(warp);
  forParties(agent, lanes, [&](Party &party) {
    for (unsigned lane = 0; lane < warpSize; ++lane)
      if (const Column column = partColumns.initialisers.of(indexOf(warp), lane);
          column != 0 && (party.lanes & lanes) >> lane & 1) {
        party.known.seen.raise(column, agent.number);
        party.releasedTo(Reach::cluster).known.seen.raise(column, agent.number);
      }
  });
  ++agent.number;
}

void ThreadClocks::releaseMaps(const Warp &warp, uint32_t lanes) {
  Agent &agent = agentOf(warp);
  forParties(agent, lanes, [&](Party &party) {
    Clock own;
    addOwn(agent, lanes, agent.number, own);
    party.known.releaseMaps(own);
  });
  ++agent.number;
}

void ThreadClocks::acquireMap(const Warp &warp, uint32_t lanes, uint64_t address) {
  forParties(agentOf(warp), lanes, [&](Party &party) { party.known.acquireMap(address); });
}

void ThreadClocks::fence(const Warp &warp, uint32_t lanes, Scope scope) {
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

} // namespace tlc::emulator
