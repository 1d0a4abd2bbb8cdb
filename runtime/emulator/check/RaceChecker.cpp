// SPDX-License-Identifier: Apache-2.0
/// \file
/// The happens-before relation. A release joins what a warp knows into the
/// barrier and opens a new number in the warp's column, so that what it does
/// next is not among that; an acquire joins it back.
#include "runtime/emulator/check/RaceChecker.h"

#include "runtime/emulator/exec/State.h"

namespace tlc::emulator {

RaceChecker::RaceChecker(Cluster &cluster)
    : cluster(cluster), warpsOfBlock(unsigned(cluster.blocks[0].warps.size())) {
  for (const Block &block : cluster.blocks)
    for (const Warp &warp : block.warps) {
      Agent &agent = agents.emplace_back();
      agent.warp = &warp;
      const Column own = addColumn({.kind = ColumnInfo::Kind::warp, .warp = indexOf(warp)});
      agent.known.seen.raise(own, 1);
    }
  for (const Block &block : cluster.blocks) {
    shadows.emplace_back(block.sharedEnd, cluster.grid->kernel->sharedGranule);
    for (size_t group = 0; group < block.warpgroups.size(); ++group)
      warpgroups.push_back(
          addColumn({.kind = ColumnInfo::Kind::wgmma, .warp = indexOf(block.warps[4 * group])}));
  }
  named.resize(cluster.blocks.size() * namedBarriers);
}

unsigned RaceChecker::indexOf(const Warp &warp) const { return warp.block->rank * warpsOfBlock + warp.index; }

void RaceChecker::advance(Agent &agent) {
  const Column own = indexOf(*agent.warp);
  agent.known.seen.raise(own, agent.known.seen.at(own) + 1);
}

Column RaceChecker::addColumn(ColumnInfo info) {
  columns.push_back(info);
  return Column(columns.size() - 1);
}

// --- threads ---------------------------------------------------------------------------

void RaceChecker::proxyFence(const Warp &warp) {
  Agent &agent = agentOf(warp);
  agent.known.fenced.join(agent.known.seen);
  advance(agent);
}

void RaceChecker::fence(const Warp &warp) {
  Agent &agent = agentOf(warp);
  agent.known.join(agent.observed);
  agent.observed = {};
  agent.released = agent.known;
  advance(agent);
}

void RaceChecker::arriveNamed(const Warp &warp, unsigned id, NamedArrival arrival) {
  Agent &agent = agentOf(warp);
  NamedPhase &phase = named[warp.block->rank * namedBarriers + id];
  phase.arrived.join(agent.known);
  if (arrival == NamedArrival::waits)
    phase.waiting.push_back(indexOf(warp));
  advance(agent);
}

void RaceChecker::completeNamed(const Block &block, unsigned id) {
  NamedPhase &phase = named[block.rank * namedBarriers + id];
  for (unsigned index : phase.waiting)
    agents[index].known.join(phase.arrived);
  phase = {};
}

void RaceChecker::arriveCluster(const Warp &warp, Ordering ordering) {
  Agent &agent = agentOf(warp);
  clusterArrived.join(ordering == Ordering::relaxed ? agent.released : agent.known);
  advance(agent);
}

void RaceChecker::completeCluster() {
  clusterDone.join(clusterArrived);
  clusterArrived = {};
}

void RaceChecker::waitCluster(const Warp &warp) { agentOf(warp).known.join(clusterDone); }

RaceChecker::Phases &RaceChecker::phasesOf(const Block &block, uint32_t address) {
  const auto [found, isNew] = mbarriers.try_emplace(uint64_t(block.rank) << 32 | address);
  if (isNew)
    found->second.column =
        addColumn({.kind = ColumnInfo::Kind::mbarrier, .block = block.rank, .address = address});
  return found->second;
}

void RaceChecker::arriveMbarrier(const Warp &warp, const SharedPlace &place, Ordering ordering) {
  Agent &agent = agentOf(warp);
  phasesOf(*place.block, place.address)
      .arrived.join(ordering == Ordering::relaxed ? agent.released : agent.known);
  advance(agent);
}

void RaceChecker::completePhase(const Block &block, uint32_t address) {
  Phases &phases = phasesOf(block, address);
  ++phases.completed;
  phases.done.join(phases.arrived);
  phases.done.seen.raise(phases.column, phases.completed);
  phases.arrived = {};
}

void RaceChecker::waitMbarrier(const Warp &warp, const SharedPlace &place, Ordering ordering) {
  Agent &agent = agentOf(warp);
  (ordering == Ordering::relaxed ? agent.observed : agent.known)
      .join(phasesOf(*place.block, place.address).done);
}

// --- asynchronous operations ------------------------------------------------------------

RaceChecker::Stream *RaceChecker::stream(Agent &agent, AsyncEngine engine, unsigned lane) {
  auto found = agent.streams.find({engine, lane});
  return found == agent.streams.end() ? nullptr : &found->second;
}

std::shared_ptr<AsyncOrder> RaceChecker::issueCopy(const Warp &warp, const Instruction &instruction,
                                                   AsyncEngine engine, unsigned lane) {
  Agent &agent = agentOf(warp);
  const auto [found, isNew] = agent.streams.try_emplace({engine, lane});
  Stream &stream = found->second;
  if (isNew)
    stream.column = addColumn(
        {.kind = engine == AsyncEngine::copy ? ColumnInfo::Kind::laneCopies : ColumnInfo::Kind::bulkCopies,
         .warp = indexOf(warp)});
  stream.pc = uint32_t(&instruction - warp.code);
  auto order = std::make_shared<AsyncOrder>(AsyncOrder{agent.known, stream.column, ++stream.issued});
  advance(agent);
  return order;
}

std::shared_ptr<AsyncOrder> RaceChecker::issueOnMbarrier(const Warp &warp) {
  Agent &agent = agentOf(warp);
  auto order = std::make_shared<AsyncOrder>(AsyncOrder{agent.known, 0, 0});
  advance(agent);
  return order;
}

void RaceChecker::commitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes) {
  for (auto &[key, stream] : agentOf(warp).streams)
    if (key.first == engine && (engine == AsyncEngine::copy || lanes >> key.second & 1))
      stream.commits.push_back(stream.issued);
}

void RaceChecker::waitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes, uint64_t pending) {
  Agent &agent = agentOf(warp);
  for (auto &[key, stream] : agent.streams) {
    if (key.first != engine || (engine == AsyncEngine::bulk && !(lanes >> key.second & 1)) ||
        stream.commits.size() <= pending)
      continue;
    agent.known.seen.raise(stream.column, stream.commits[stream.commits.size() - 1 - pending]);
    stream.commits.erase(stream.commits.begin(), stream.commits.end() - ptrdiff_t(pending));
  }
}

void RaceChecker::completesOn(const SharedPlace &place) {
  const Phases &phases = phasesOf(*place.block, place.address);
  running->column = phases.column;
  running->number = phases.completed + 1;
}

std::shared_ptr<AsyncOrder> RaceChecker::copiesUntilNow(const Warp &warp) {
  auto order = std::make_shared<AsyncOrder>();
  if (const Stream *copies = stream(agentOf(warp), AsyncEngine::copy, 0))
    order->column = copies->column, order->number = copies->issued;
  return order;
}

void RaceChecker::arriveAfter(const AsyncOrder &copies, const SharedPlace &place) {
  if (copies.number != 0)
    phasesOf(*place.block, place.address).arrived.seen.raise(copies.column, copies.number);
}

void RaceChecker::issueWgmma(const Warp &warp, const Instruction &instruction,
                             std::span<const Slot> registers, uint32_t number,
                             std::shared_ptr<AsyncOrder> &order) {
  Agent &agent = agentOf(warp);
  if (!order)
    order = std::make_shared<AsyncOrder>(AsyncOrder{
        agent.known, warpgroups[indexOf(warp) / warpsOfBlock * (warpsOfBlock / 4) + warp.index / 4], number});
  else
    order->known.meet(agent.known); // what a warp does not know, its part of the product may overtake
  advance(agent);
  agent.inFlight.resize(cluster.grid->kernel->registerBytes / 4 + 1);
  for (const Slot &slot : registers)
    if (!slot.constant)
      agent.inFlight[slot.offset / 4] = number;
  agent.wgmmaIssued = number;
  agent.wgmmaPcs[number] = uint32_t(&instruction - warp.code);
}

void RaceChecker::waitWgmma(const Warp &warp, uint64_t completed) {
  Agent &agent = agentOf(warp);
  agent.known.seen.raise(warpgroups[indexOf(warp) / warpsOfBlock * (warpsOfBlock / 4) + warp.index / 4],
                         uint32_t(completed));
  for (; agent.wgmmaWaited < completed; ++agent.wgmmaWaited)
    agent.wgmmaPcs.erase(agent.wgmmaWaited + 1);
}

// --- accesses ------------------------------------------------------------------------------

void RaceChecker::access(Warp &warp, const Instruction &instruction, const Touch &access, Block &block,
                         uint32_t address) {
  Agent &agent = agentOf(warp);
  Record record;
  record.column = running ? running->column : indexOf(warp);
  record.number = running ? running->number : agent.known.seen.at(record.column);
  record.pc = uint32_t(&instruction - warp.code);
  record.warp = uint16_t(indexOf(warp));
  record.kind = access.kind;
  record.proxy = access.proxy;
  record.strong = access.ordering == AccessOrdering::strong || access.kind == AccessKind::atomic ||
                  access.kind == AccessKind::mbarrier;
  // Flags that threads pass through strong accesses order what lies before and
  // behind them, whatever their semantics say.
  const bool isFlag = record.strong && access.kind != AccessKind::mbarrier && !running;
  const uint64_t flag = uint64_t(block.rank) << 32 | address;
  if (isFlag && access.kind != AccessKind::write)
    agent.known.join(flags[flag]);
  conflicts.clear();
  shadows[block.rank].access(address, address + uint32_t(access.bytes), record,
                             running ? running->known : agent.known, conflicts);
  for (const Conflict &conflict : conflicts)
    report(warp, instruction, record, conflict, block);
  if (isFlag && access.kind != AccessKind::read) {
    flags[flag].join(agent.known);
    advance(agent);
  }
}

void RaceChecker::exit(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  const Agent &agent = agentOf(warp);
  for (const auto &[key, stream] : agent.streams) {
    if (key.first != AsyncEngine::bulk || !(lanes >> key.second & 1) ||
        agent.known.seen.at(stream.column) >= stream.issued)
      continue;
    reportExit(warp, instruction, warp.code[stream.pc]);
  }
}

void RaceChecker::registers(Warp &warp, const Instruction &instruction) {
  const Agent &agent = agentOf(warp);
  if (agent.wgmmaIssued <= agent.wgmmaWaited)
    return;
  for (const Slot &slot : std::span(instruction.slots, instruction.slotCount)) {
    const uint32_t number = slot.constant ? 0 : agent.inFlight[slot.offset / 4];
    if (number > agent.wgmmaWaited)
      reportRegister(warp, instruction, warp.code[agent.wgmmaPcs.at(number)]);
  }
}

} // namespace tlc::emulator
