// SPDX-License-Identifier: Apache-2.0
/// \file
/// Asynchronous operations, and accesses.
#include "runtime/emulator/check/RaceChecker.h"

#include "runtime/emulator/check/WrittenBytes.h"
#include "runtime/emulator/exec/core/State.h"

#include <algorithm>
#include <fmt/format.h>

namespace tlc::emulator {

RaceChecker::RaceChecker(Cluster &cluster, LaunchRaces &launch)
    : cluster(cluster), launch(launch), warpsOfBlock(unsigned(cluster.blocks[0].warps.size())),
      parts(cluster.blocks.size() * warpsOfBlock) {
  const Kernel &kernel = *cluster.grid->kernel;
  std::vector<uint32_t> written(kernel.registerBytes / registerGranule + 1, ~0u);
  for (const RegisterName &reg : kernel.registerNames)
    written[reg.offset / registerGranule] = 0;
  for (const Block &block : cluster.blocks)
    for (const Warp &warp : block.warps) {
      Agent &agent = agents.emplace_back();
      agent.warp = &warp;
      agent.executions.resize(kernel.code.size());
      agent.written = written;
      agent.writtenLocal.resize(warp.local.size());
      if (kernel.sharesRegisters)
        agent.uses.resize(written.size());
      agent.parties.resize(1);
      agent.parties[0].lanes = warp.live;
      agent.parties[0].known.foreign = launch.known();
      addColumn({.kind = ColumnInfo::Kind::warp, .warp = indexOf(warp)});
    }
  for (const Block &block : cluster.blocks) {
    shadows.emplace_back(block.sharedEnd, cluster.grid->kernel->sharedGranule);
    for (size_t group = 0; group < block.warpgroups.size(); ++group)
      warpgroups.push_back(
          addColumn({.kind = ColumnInfo::Kind::wgmma, .warp = indexOf(block.warps[4 * group])}));
  }
  endings.resize(cluster.blocks.size());
  named.resize(cluster.blocks.size() * namedBarriers);
  if (cluster.grid->ordered)
    gridBefore = addColumn({.kind = ColumnInfo::Kind::grid});
}

uint32_t RaceChecker::number() const { return launch.numberOf(cluster); }

unsigned RaceChecker::indexOf(const Warp &warp) const { return warp.block->rank * warpsOfBlock + warp.index; }

Column RaceChecker::addColumn(ColumnInfo info) {
  columns.push_back(info);
  return Column(columns.size() - 1);
}

uint32_t RaceChecker::repeatOf(Agent &agent, uint32_t pc) {
  Execution &execution = agent.executions[pc];
  // All lanes that run it together are one step.
  if (const uint32_t step = uint32_t(agent.warp->steps) + 1; execution.step != step) {
    execution.step = step;
    ++execution.count;
  }
  return execution.count - 1;
}

// --- asynchronous operations ------------------------------------------------------------

RaceChecker::Stream *RaceChecker::stream(Agent &agent, AsyncEngine engine, unsigned lane) {
  auto found = agent.streams.find({engine, lane});
  return found == agent.streams.end() ? nullptr : &found->second;
}

std::shared_ptr<OperationNote> RaceChecker::issueCopy(const Warp &warp, const Instruction &instruction,
                                                      AsyncEngine engine, uint32_t lanes, bool uniform) {
  Agent &agent = agentOf(warp);
  const unsigned lane = unsigned(std::countr_zero(lanes));
  const bool perLane = engine == AsyncEngine::copy;
  const auto [found, isNew] = agent.streams.try_emplace({engine, perLane ? 0 : lane});
  Stream &stream = found->second;
  if (isNew) {
    const ColumnInfo info{.kind = perLane ? ColumnInfo::Kind::laneCopies : ColumnInfo::Kind::bulkCopies,
                          .warp = indexOf(warp)};
    stream.column = addColumn(info);
    stream.readColumn = perLane ? 0 : addColumn(info);
    if (perLane)
      parts.copies[indexOf(warp)] = stream.column;
  }
  auto order = issue(warp, instruction, lane, uniform);
  order->column = stream.column, order->readColumn = stream.readColumn, order->number = ++stream.issued;
  if (perLane)
    order->lane = severalLanes;
  return order;
}

std::shared_ptr<OperationNote> RaceChecker::issueOnMbarrier(const Warp &warp, const Instruction &instruction,
                                                            unsigned lane, bool uniform) {
  return issue(warp, instruction, lane, uniform);
}

std::shared_ptr<AsyncOrder> RaceChecker::issue(const Warp &warp, const Instruction &instruction,
                                               unsigned lane, bool uniform) {
  Agent &agent = agentOf(warp);
  const Party &party = partyOf(agent, lane);
  auto order = std::make_shared<AsyncOrder>();
  order->known = party.known;
  order->lane = uint8_t(lane);
  order->own = agent.number++;
  order->copies = party.copies;
  order->repeat = repeatOf(agent, uint32_t(&instruction - warp.code));
  order->uniform = uniform;
  return order;
}

void RaceChecker::commitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes) {
  for (auto &[key, stream] : agentOf(warp).streams)
    if (key.first == engine && (engine == AsyncEngine::copy || lanes >> key.second & 1))
      stream.commits.push_back(stream.issued);
}

void RaceChecker::waitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes, uint64_t pending,
                             CopyWait until) {
  Agent &agent = agentOf(warp);
  for (auto &[key, stream] : agent.streams) {
    if (key.first != engine || (engine != AsyncEngine::copy && !(lanes >> key.second & 1)) ||
        stream.commits.size() <= pending)
      continue;
    const uint32_t over = stream.commits[stream.commits.size() - 1 - pending];
    if (until == CopyWait::complete)
      stream.commits.erase(stream.commits.begin(), stream.commits.end() - ptrdiff_t(pending));
    // Each lane waits for its own copies.
    if (engine == AsyncEngine::copy)
      forParties(agent, lanes, [&](Party &party) { party.copies = std::max(party.copies, over); });
    else
      forParties(agent, 1u << key.second, [&, &stream = stream](Party &party) {
        party.known.seen.raise(stream.readColumn, over);
        if (until == CopyWait::complete)
          party.known.seen.raise(stream.column, over);
      });
  }
}

void RaceChecker::completesOn(const SharedPlace &place) {
  const Phases &phases = phasesOf(*place.block, place.address);
  running->column = phases.column;
  running->number = phases.completed + 1;
}

std::shared_ptr<OperationNote> RaceChecker::copiesUntilNow(const Warp &warp) {
  auto order = std::make_shared<AsyncOrder>();
  if (const Stream *copies = stream(agentOf(warp), AsyncEngine::copy, 0))
    order->column = copies->column, order->number = copies->issued;
  return order;
}

void RaceChecker::arriveAfter(const OperationNote &note, const SharedPlace &place) {
  const auto &copies = static_cast<const AsyncOrder &>(note);
  if (copies.number != 0)
    phasesOf(*place.block, place.address)
        .arrived.from(*place.block, Scope::cluster)
        .seen.raise(copies.column, copies.number);
}

void RaceChecker::issueWgmma(Warp &warp, const Instruction &instruction, const ProductRegisters &used,
                             uint32_t number, std::shared_ptr<OperationNote> &note) {
  Agent &agent = agentOf(warp);
  takeRegisters(warp, instruction, used, number);
  Knowledge known;
  const uint32_t own = agent.number;
  release(agent, warp.live, Ordering::acquireRelease, known);
  auto order = std::static_pointer_cast<AsyncOrder>(note);
  if (!order) {
    note = order = std::make_shared<AsyncOrder>();
    order->known = std::move(known);
    order->column = warpgroups[indexOf(warp) / warpsOfBlock * (warpsOfBlock / warpsPerWarpgroup) +
                               warp.index / warpsPerWarpgroup];
    order->number = number;
    order->repeat = repeatOf(agent, uint32_t(&instruction - warp.code));
  } else {
    order->known.meet(known); // what a warp does not know, its part of the product may overtake
  }
  if (warp.index % warpsPerWarpgroup == 0)
    order->own = own;
}

void RaceChecker::fenceWgmma(const Warp &warp) { ++agentOf(warp).fences; }

void RaceChecker::run(OperationNote *operation) { running = static_cast<AsyncOrder *>(operation); }

bool RaceChecker::takeOverlap() { return std::exchange(overlap, false); }

void RaceChecker::waitWgmma(const Warp &warp, uint64_t completed) {
  Agent &agent = agentOf(warp);
  const Column column = warpgroups[indexOf(warp) / warpsOfBlock * (warpsOfBlock / warpsPerWarpgroup) +
                                   warp.index / warpsPerWarpgroup];
  for (Party &party : agent.parties)
    party.known.seen.raise(column, uint32_t(completed));
  agent.wgmmaWaited = std::max(agent.wgmmaWaited, uint32_t(completed));
}

// --- accesses ------------------------------------------------------------------------------

Record RaceChecker::recordOf(Agent &agent, const Instruction &instruction, const Touch &access) {
  Record record;
  record.pc = uint32_t(&instruction - agent.warp->code);
  record.warp = uint16_t(indexOf(*agent.warp));
  record.column = running ? running->column : record.warp;
  record.number = running ? running->number : agent.number;
  record.repeat = running ? running->repeat : repeatOf(agent, record.pc);
  record.lane = access.lane == noLane || access.collective ? severalLanes : uint8_t(access.lane);
  record.kind = access.kind;
  record.proxy = access.proxy;
  if (access.ordering == AccessOrdering::volatileRelaxed)
    record.strength =
        access.kind == AccessKind::read || partyOf(agent, access.lane).releasedTo(Reach::cluster).isEmpty()
            ? Strength::bare
            : Strength::strong;
  else if (access.ordering != AccessOrdering::weak || access.kind == AccessKind::atomic ||
           access.kind == AccessKind::mbarrier)
    record.strength = Strength::strong;
  record.collective = access.collective;
  record.reach = reachOf(access.scope);
  return record;
}

Point RaceChecker::pointOf(Agent &agent, const Record &record, const Touch &access) {
  const Party &party = partyOf(agent, access.lane);
  Point point{.known = running ? running->known : party.known,
              .columns = parts,
              .warp = record.warp,
              .lane = record.lane,
              .own = agent.number,
              .copies = party.copies};
  if (running) {
    if (running->lane != severalLanes)
      point.lane = running->lane;
    point.own = running->own, point.copies = running->copies;
    point.uniform = running->uniform;
  }
  return point;
}

namespace {

bool isAwaited(Block &block, uint32_t address) {
  for (const Block &other : block.cluster->blocks)
    for (const Warp &warp : other.warps)
      for (const Group &group : warp.groups)
        if (group.wait.kind == Wait::Kind::mbarrier)
          for (const MbarrierWait &wait : group.wait.barriers)
            if (wait.block == &block && wait.address == address)
              return true;
  return false;
}

/// A write, also one that initialises again, ends the mbarriers that it touches.
void overwriteMbarriers(Warp &warp, const Instruction &instruction, Block &block, uint32_t begin,
                        uint64_t end) {
  MbarrierHistories &mbarriers = block.mbarrierHistories;
  auto at = mbarriers.lower_bound(begin - std::min(begin, uint32_t(sizeof(uint64_t) - 1)));
  while (at != mbarriers.end() && at->first < end) {
    const Mbarrier state = loadMbarrier(block, at->first);
    const bool awaited = isAwaited(block, at->first);
    if (state.pending != state.expected || state.bytes != 0 || awaited)
      record(warp, instruction,
             fmt::format("{} is overwritten during a phase; {} of {} arrivals and {} bytes are pending{}; "
                         "missing: the end of the phase before the write",
                         describeMbarrier(block, at->first), state.pending, state.expected, state.bytes,
                         awaited ? ", and a warp waits there" : ""),
             {.kind = FindingKind::fault});
    at = mbarriers.erase(at);
  }
}

} // namespace

void RaceChecker::access(Warp &warp, const Instruction &instruction, const Touch &access, Block &block,
                         uint32_t address) {
  if (!block.mbarrierHistories.empty() &&
      (access.kind == AccessKind::write || access.kind == AccessKind::atomic ||
       access.kind == AccessKind::initialise))
    overwriteMbarriers(warp, instruction, block, address, uint64_t(address) + access.bytes);
  Agent &agent = agentOf(warp);
  Record record = recordOf(agent, instruction, access);
  if (running && running->readColumn != 0 && access.kind == AccessKind::read)
    record.column = running->readColumn;
  if (const Record &end = endings[block.rank].exit; end.number != 0) {
    Warp &last = block.warps[end.warp % warpsOfBlock];
    report(last, last.code[end.pc], end, {Wrong::ended, record, address}, placeOf(block.rank, address));
  }
  const bool isFlag = record.strength != Strength::weak && access.kind != AccessKind::mbarrier && !running;
  const uint64_t flag = uint64_t(block.rank) << 32 | address;
  if (isFlag && access.kind != AccessKind::write)
    acquireFlag(agent, access, flag);
  if (access.kind == AccessKind::initialise && parts.initialisers.of(record.warp, record.lane) == 0)
    parts.initialisers.set(record.warp, record.lane,
                           addColumn({.kind = ColumnInfo::Kind::lane, .warp = record.warp}));
  conflicts.clear();
  shadows[block.rank].access(address, address + uint32_t(access.bytes), record, access.laneBytes,
                             pointOf(agent, record, access), conflicts);
  for (const Conflict &conflict : conflicts) {
    if (conflict.wrong == Wrong::overlap)
      overlap = true;
    else
      report(warp, instruction, record, conflict, placeOf(block.rank, uint32_t(conflict.address)));
  }
  if (isFlag && access.kind != AccessKind::read)
    releaseFlag(agent, access, flag);
}

void RaceChecker::checkWritten(Warp &warp, const Instruction &instruction, Record record,
                               const Touch &access) {
  const MemoryRange &range = cluster.lastRange; // as the caller has just looked it up
  if (!range.written)
    return;
  const uint64_t offset = access.address - range.address;
  if (access.kind != AccessKind::write)
    if (const std::optional<uint64_t> at = range.written->firstUnwritten(offset, access.bytes)) {
      if (access.laneBytes != 0 && record.lane < severalLanes)
        record.lane += uint8_t((*at - offset) / access.laneBytes);
      report(warp, instruction, record, {Wrong::unwritten, {}, 0}, placeOfGlobal(range.address + *at));
    }
  if (access.kind != AccessKind::read)
    range.written->mark(offset, access.bytes);
}

void RaceChecker::accessGlobal(Warp &warp, const Instruction &instruction, const Touch &access) {
  Agent &agent = agentOf(warp);
  Record record = recordOf(agent, instruction, access);
  record.cluster = number();
  record.device = uint16_t(cluster.grid->device);
  Point point = pointOf(agent, record, access);
  point.cluster = record.cluster;
  point.space = FencedSpace::global;
  point.map = access.address;
  conflicts.clear();
  launch.shadow().access(access.address, access.bytes, cluster.grid->kernel->globalGranule, record,
                         access.laneBytes, point, conflicts);
  for (Conflict &conflict : conflicts) {
    if (conflict.wrong == Wrong::overlap) {
      overlap = true;
      continue;
    }
    const MemoryRange &range = cluster.lastRange; // as the caller has just looked it up
    conflict.first = range.written && range.written->firstUnwritten(conflict.address - range.address, 1);
    report(warp, instruction, record, conflict, placeOfGlobal(conflict.address));
  }
  if (gridBefore && point.known.seen.at(*gridBefore) == 0)
    report(warp, instruction, record, {Wrong::early, {}, access.address}, placeOfGlobal(access.address));
  checkWritten(warp, instruction, record, access);
  if (record.strength == Strength::weak || running)
    return;
  if (access.kind != AccessKind::read)
    releaseGlobalFlag(agent, access);
  if (access.kind != AccessKind::write)
    agent.flagReads.push_back({access.address, access.lane, access.ordering, access.scope});
}

void RaceChecker::allocated(uint64_t address, uint64_t bytes) { launch.shadow().forget(address, bytes); }

void RaceChecker::forRuns(const Agent &agent, uint32_t lanes, const Touch &each,
                          const LaneAddresses64 &addresses, const std::function<void(const Touch &)> &act) {
  Touch run = each;
  run.bytes = 0;
  run.laneBytes = uint32_t(each.bytes);
  uint32_t party = 0;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const unsigned lane = unsigned(std::countr_zero(left));
    const uint64_t address = addresses.lane[lane];
    if (run.bytes != 0 && address == run.address + run.bytes && lane == run.lane + run.bytes / each.bytes &&
        party >> lane & 1) {
      run.bytes += each.bytes;
      continue;
    }
    if (run.bytes != 0)
      act(run);
    party = partyOf(agent, lane).lanes;
    run.lane = lane, run.address = address, run.bytes = each.bytes;
  }
  act(run);
}

void RaceChecker::accessLanes(Warp &warp, const Instruction &instruction, uint32_t lanes, const Touch &each,
                              const LaneAddresses64 &addresses, Block &block) {
  constexpr uint32_t inBlock = (1u << sharedRankShift) - 1;
  forRuns(agentOf(warp), lanes, each, addresses,
          [&](const Touch &run) { access(warp, instruction, run, block, uint32_t(run.address) & inBlock); });
}

void RaceChecker::accessGlobalLanes(Warp &warp, const Instruction &instruction, uint32_t lanes,
                                    const Touch &each, const LaneAddresses64 &addresses) {
  forRuns(agentOf(warp), lanes, each, addresses,
          [&](const Touch &run) { accessGlobal(warp, instruction, run); });
}

void RaceChecker::exit(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  Agent &agent = agentOf(warp);
  Block &block = *warp.block;
  Ending &ending = endings[block.rank];
  const Record exit = recordOf(agent, instruction, {.kind = AccessKind::write, .lane = noLane});
  release(agent, lanes, Ordering::acquireRelease, ending.known);
  if (std::any_of(block.warps.begin(), block.warps.end(),
                  [&](const Warp &other) { return (other.live & ~(&other == &warp ? lanes : 0)) != 0; }))
    return;
  ending.exit = exit;
  conflicts.clear();
  shadows[block.rank].end({.known = ending.known, .columns = parts, .warp = exit.warp}, conflicts);
  for (const Conflict &conflict : conflicts)
    report(warp, instruction, exit, conflict, placeOf(block.rank, uint32_t(conflict.address)));
}

void RaceChecker::clusterEnds() {
  if (cluster.grid->isAlone)
    return;
  Knowledge learnt;
  for (const Ending &ending : endings)
    joinForeign(learnt.foreign, ending.known.foreign);
  if (learnt.foreign)
    launch.learn(*learnt.foreign);
}

} // namespace tlc::emulator
