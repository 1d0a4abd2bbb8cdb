// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/check/AccessCheck.h"

#include "runtime/emulator/check/WrittenBytes.h"

#include <algorithm>
#include <fmt/format.h>

namespace tlc::emulator {

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

AccessCheck::AccessCheck(Cluster &cluster, LaunchRaces &launch, ThreadClocks &clocks, FlagOrder &flags,
                         const OperationOrder &operations, const RaceReport &reports)
    : cluster(cluster), launch(launch), clocks(clocks), flags(flags), operations(operations),
      reports(reports), endings(cluster.blocks.size()) {
  for (const Block &block : cluster.blocks)
    shadows.emplace_back(block.sharedEnd, cluster.grid->kernel->sharedGranule);
}

Record AccessCheck::recordOf(WarpClock &warpClock, const Instruction &instruction,
                             const Touch &access) const {
  const AsyncOrder *running = operations.running;
  Record record;
  record.pc = uint32_t(&instruction - warpClock.warp->code);
  record.warp = uint16_t(clocks.indexOf(*warpClock.warp));
  record.entry = running ? running->entry : record.warp;
  record.number = running ? running->number : warpClock.number;
  record.repeat = running ? running->repeat : warpClock.repeatOf(record.pc);
  record.lane = access.lane == noLane || access.collective ? severalLanes : uint8_t(access.lane);
  record.kind = access.kind;
  record.proxy = access.proxy;
  if (access.ordering != AccessOrdering::weak || access.kind == AccessKind::atomic ||
      access.kind == AccessKind::mbarrier)
    record.strength = Strength::strong;
  record.collective = access.collective;
  record.reach = reachOf(access.scope);
  return record;
}

Point AccessCheck::pointOf(const WarpClock &warpClock, const Record &record, const Touch &access) const {
  const AsyncOrder *running = operations.running;
  const LaneSet &set = warpClock.laneSetOf(access.lane);
  Point point{.known = running ? running->knownOf(access.lane) : set.known,
              .entries = clocks.parts(),
              .warp = record.warp,
              .lane = record.lane,
              .own = warpClock.number,
              .copies = set.copies};
  if (running) {
    if (running->lane != severalLanes)
      point.lane = running->lane;
    point.own = running->own, point.copies = running->copiesOf(access.lane);
    point.uniform = running->uniform;
  }
  return point;
}

void AccessCheck::access(Warp &warp, const Instruction &instruction, const Touch &access, Block &block,
                         uint32_t address) {
  const AsyncOrder *running = operations.running;
  if (!block.mbarrierHistories.empty() &&
      (access.kind == AccessKind::write || access.kind == AccessKind::atomic ||
       access.kind == AccessKind::initialise))
    overwriteMbarriers(warp, instruction, block, address, uint64_t(address) + access.bytes);
  WarpClock &warpClock = clocks.clockOf(warp);
  Record record = recordOf(warpClock, instruction, access);
  if (running && running->readEntry != 0 && access.kind == AccessKind::read)
    record.entry = running->readEntry;
  if (const Record &end = endings[block.rank].exit; end.number != 0) {
    Warp &last = block.warps[end.warp % block.warps.size()];
    reports.report(last, last.code[end.pc], end, {Wrong::ended, record, address},
                   reports.placeOf(block.rank, address));
  }
  const bool isFlag = record.strength != Strength::weak && access.kind != AccessKind::mbarrier && !running;
  const uint64_t flag = uint64_t(block.rank) << 32 | address;
  if (isFlag && access.kind != AccessKind::write)
    flags.acquire(warpClock, access, flag);
  if (access.kind == AccessKind::initialise && clocks.parts().initialisers.of(record.warp, record.lane) == 0)
    clocks.parts().initialisers.set(record.warp, record.lane,
                                    clocks.addEntry({.kind = ClockOwner::Kind::lane, .warp = record.warp}));
  conflicts.clear();
  shadows[block.rank].access(address, address + uint32_t(access.bytes), record, access.laneBytes,
                             pointOf(warpClock, record, access), conflicts);
  for (const Conflict &conflict : conflicts) {
    if (conflict.wrong == Wrong::overlap)
      overlap = true;
    else
      reports.report(warp, instruction, record, conflict,
                     reports.placeOf(block.rank, uint32_t(conflict.address)));
  }
  if (isFlag && access.kind != AccessKind::read)
    flags.release(warpClock, access, flag);
}

void AccessCheck::checkWritten(Warp &warp, const Instruction &instruction, Record record,
                               const Touch &access) {
  const MemoryRange &range = cluster.lastRange; // as the caller has just looked it up
  if (!range.written)
    return;
  const uint64_t offset = range.offsetOf(access.address);
  if (access.kind != AccessKind::write)
    if (const std::optional<uint64_t> at = range.written->firstUnwritten(offset, access.bytes)) {
      if (access.laneBytes != 0 && record.lane < severalLanes)
        record.lane += uint8_t((*at - offset) / access.laneBytes);
      reports.report(warp, instruction, record, {Wrong::unwritten, Record(), 0},
                     reports.placeOfGlobal(range.memoryAt(*at)));
    }
  if (access.kind != AccessKind::read)
    range.written->mark(offset, access.bytes);
}

void AccessCheck::accessGlobal(Warp &warp, const Instruction &instruction, Touch access) {
  access.address += cluster.lastRange.toMemory; // one place by all addresses
  const AsyncOrder *running = operations.running;
  WarpClock &warpClock = clocks.clockOf(warp);
  Record record = recordOf(warpClock, instruction, access);
  record.cluster = launch.numberOf(cluster);
  record.device = uint16_t(cluster.grid->device);
  Point point = pointOf(warpClock, record, access);
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
    conflict.first = range.written && range.written->firstUnwritten(range.offsetOf(conflict.address), 1);
    reports.report(warp, instruction, record, conflict, reports.placeOfGlobal(conflict.address));
  }
  if (clocks.isEarly(point.known))
    reports.report(warp, instruction, record, {Wrong::early, Record(), access.address},
                   reports.placeOfGlobal(access.address));
  checkWritten(warp, instruction, record, access);
  if (record.strength == Strength::weak || running)
    return;
  if (access.kind != AccessKind::read)
    flags.releaseGlobal(warpClock, access);
  if (access.kind != AccessKind::write)
    flags.read(warpClock, access);
}

void AccessCheck::forRuns(const Warp &warp, uint32_t lanes, const Touch &each,
                          const LaneAddresses64 &addresses, const std::function<void(const Touch &)> &act) {
  Touch run = each;
  run.bytes = 0;
  run.laneBytes = uint32_t(each.bytes);
  uint32_t set = 0;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const unsigned lane = unsigned(std::countr_zero(left));
    const uint64_t address = addresses.lane[lane];
    if (run.bytes != 0 && address == run.address + run.bytes && lane == run.lane + run.bytes / each.bytes &&
        set >> lane & 1) {
      run.bytes += each.bytes;
      continue;
    }
    if (run.bytes != 0)
      act(run);
    set = clocks.clockOf(warp).laneSetOf(lane).lanes;
    run.lane = lane, run.address = address, run.bytes = each.bytes;
  }
  act(run);
}

void AccessCheck::exit(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  WarpClock &warpClock = clocks.clockOf(warp);
  Block &block = *warp.block;
  Ending &ending = endings[block.rank];
  const Record exit = recordOf(warpClock, instruction, {.kind = AccessKind::write, .lane = noLane});
  clocks.release(warpClock, lanes, Ordering::acquireRelease, ending.known);
  if (std::any_of(block.warps.begin(), block.warps.end(),
                  [&](const Warp &other) { return (other.live & ~(&other == &warp ? lanes : 0)) != 0; }))
    return;
  ending.exit = exit;
  conflicts.clear();
  shadows[block.rank].end({.known = ending.known, .entries = clocks.parts(), .warp = exit.warp}, conflicts);
  for (const Conflict &conflict : conflicts)
    reports.report(warp, instruction, exit, conflict,
                   reports.placeOf(block.rank, uint32_t(conflict.address)));
}

std::shared_ptr<const Foreign> AccessCheck::knownAtExit() const {
  Knowledge all;
  for (const Ending &ending : endings)
    joinForeign(all.foreign, ending.known.foreign);
  return all.foreign;
}

} // namespace tlc::emulator
