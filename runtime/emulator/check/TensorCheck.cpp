// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/check/TensorCheck.h"

#include <fmt/format.h>

namespace tlc::emulator {

namespace {

/// Lanes of a shadow's cell.
constexpr unsigned cellLanes = 16;

std::string_view nameOf(AccessKind kind) { return kind == AccessKind::read ? "read" : "write"; }

} // namespace

TensorCheck::TensorStream &TensorCheck::streamOf(const Warp &warp, TensorEngine engine) {
  TensorStream &stream = stateOf(warp).streams[size_t(engine)];
  if (stream.entry == 0) {
    constexpr ClockOwner::Kind kinds[] = {ClockOwner::Kind::tensorLoads, ClockOwner::Kind::tensorStores,
                                          ClockOwner::Kind::tensorPipe};
    const ClockOwner info{.kind = kinds[size_t(engine)], .warp = clocks.indexOf(warp)};
    stream.entry = clocks.addEntry(info);
    stream.plain = clocks.addEntry(info);
    stream.issue = engine == TensorEngine::pipe ? clocks.addEntry(info) : 0;
  }
  return stream;
}

Clock TensorCheck::orderOf(const Warp &warp, TensorEngine engine, Fences fences) {
  Clock clock = stateOf(warp).before;
  if (fences == Fences::assumed)
    clock.join(clocks.knownToWarp(clocks.clockOf(warp)).seen);
  for (const State &other : states)
    for (size_t i = 0; i < tensorEngines; ++i) {
      const TensorStream &stream = other.streams[i];
      const bool pipe = TensorEngine(i) == TensorEngine::pipe;
      if (stream.entry == 0)
        continue;
      if (pipe && engine == TensorEngine::pipe)
        clock.raise(stream.entry, &other == &stateOf(warp) ? stream.issued : clock.at(stream.issue));
      if (fences == Fences::assumed && pipe == (engine == TensorEngine::pipe && pipe))
        clock.raise(stream.entry, clock.at(stream.plain));
    }
  return clock;
}

void TensorCheck::access(Warp &warp, const Instruction &instruction, TensorEngine engine,
                         std::span<const TensorTouch> touches) {
  TensorStream &stream = streamOf(warp, engine);
  Record record;
  record.entry = stream.entry;
  record.number = ++stream.issued;
  record.pc = uint32_t(&instruction - warp.code);
  record.warp = uint16_t(clocks.indexOf(warp));
  record.proxy = Proxy::tensor;
  Knowledge known;
  known.seen = orderOf(warp, engine, Fences::assumed);
  known.fencedIn(FencedSpace::shared) = orderOf(warp, engine, Fences::needed);
  const Point point{.known = known, .entries = clocks.parts(), .warp = record.warp};
  for (const TensorTouch &touch : touches) {
    record.kind = touch.kind;
    conflicts.clear();
    for (unsigned lane = touch.lane; lane < touch.lane + touch.lanes; lane += cellLanes) {
      const uint32_t first = lane / cellLanes * tensorColumns + touch.column;
      shadowOf(*touch.block).access(first, first + touch.columns, record, 0, point, conflicts);
    }
    for (const Conflict &conflict : conflicts)
      report(warp, instruction, record, conflict, *touch.block);
  }
}

Shadow &TensorCheck::shadowOf(const Block &block) {
  if (shadows.empty())
    shadows.assign(cluster.blocks.size(), Shadow(tensorLanes / cellLanes * tensorColumns, 1));
  return shadows[block.rank];
}

std::shared_ptr<AsyncOrder> TensorCheck::issueOnPipe(Warp &warp, const Instruction &instruction,
                                                     std::span<const TensorTouch> touches) {
  access(warp, instruction, TensorEngine::pipe, touches);
  WarpClock &warpClock = clocks.clockOf(warp);
  const TensorStream &stream = streamOf(warp, TensorEngine::pipe);
  auto order = std::make_shared<AsyncOrder>();
  order->known = clocks.knownToWarp(warpClock);
  order->entry = stream.entry, order->number = stream.issued;
  order->repeat = warpClock.repeatOf(uint32_t(&instruction - warp.code));
  stateOf(warp).before.raise(stream.issue, stream.issued);
  for (LaneSet &set : warpClock.laneSets)
    set.known.seen.raise(stream.plain, stream.issued);
  ++warpClock.number;
  return order;
}

std::shared_ptr<AsyncOrder> TensorCheck::commitPipe(const Warp &warp) {
  WarpClock &warpClock = clocks.clockOf(warp);
  const TensorStream &stream = streamOf(warp, TensorEngine::pipe);
  fenceBefore(warp); // which a commit implies
  auto order = std::make_shared<AsyncOrder>();
  order->known = clocks.knownToWarp(warpClock);
  order->entry = stream.entry, order->number = stream.issued;
  ++warpClock.number;
  return order;
}

void TensorCheck::completePipe(const AsyncOrder &order, const SharedPlace &place) {
  // Whoever waits for the operations is ordered after all that they are ordered after.
  Knowledge &arrived =
      barriers.phasesOf(*place.block, place.address).arrived.from(*place.block, Scope::cluster);
  arrived.join(order.known);
  arrived.seen.raise(order.entry, order.number);
}

void TensorCheck::wait(const Warp &warp, TensorEngine engine) {
  WarpClock &warpClock = clocks.clockOf(warp);
  const TensorStream &stream = streamOf(warp, engine);
  stateOf(warp).before.raise(stream.entry, stream.issued);
  for (LaneSet &set : warpClock.laneSets)
    set.known.seen.raise(stream.plain, stream.issued);
}

void TensorCheck::fenceBefore(const Warp &warp) {
  WarpClock &warpClock = clocks.clockOf(warp);
  for (LaneSet &set : warpClock.laneSets)
    set.known.seen.join(stateOf(warp).before);
}

void TensorCheck::fenceAfter(const Warp &warp) {
  WarpClock &warpClock = clocks.clockOf(warp);
  stateOf(warp).before.join(clocks.knownToWarp(warpClock).seen);
}

void TensorCheck::allocate(const Block &block, uint32_t column, uint32_t count) {
  for (unsigned lane = 0; lane < tensorLanes; lane += cellLanes) {
    const uint32_t first = lane / cellLanes * tensorColumns + column;
    shadowOf(block).forget(first, first + count);
  }
}

void TensorCheck::free(Warp &warp, const Instruction &instruction, uint32_t column, uint32_t count) {
  // Not asynchronous itself: it needs no fence to be ordered after complete operations.
  WarpClock &warpClock = clocks.clockOf(warp);
  Knowledge known;
  known.seen = orderOf(warp, TensorEngine::load, Fences::assumed);
  Record record;
  record.entry = clocks.indexOf(warp);
  record.number = warpClock.number;
  record.pc = uint32_t(&instruction - warp.code);
  record.warp = uint16_t(clocks.indexOf(warp));
  record.kind = AccessKind::write;
  conflicts.clear();
  const Point point{.known = known, .entries = clocks.parts(), .warp = record.warp};
  for (unsigned lane = 0; lane < tensorLanes; lane += cellLanes) {
    const uint32_t first = lane / cellLanes * tensorColumns + column;
    shadowOf(*warp.block).access(first, first + count, record, 0, point, conflicts);
  }
  for (const Conflict &conflict : conflicts)
    report(warp, instruction, record, conflict, *warp.block);
}

std::string TensorCheck::missingFence(const Record &before, const Record &now) const {
  return fmt::format("tcgen05.fence::before_thread_sync in {}, or tcgen05.fence::after_thread_sync in {}",
                     reports.nameOfWarp(before.warp), reports.nameOfWarp(now.warp));
}

std::string TensorCheck::missing(const Record &before, const Record &now) const {
  std::string wait;
  switch (clocks.ownerOf(before.entry).kind) {
  case ClockOwner::Kind::tensorLoads:
    wait = "tcgen05.wait::ld";
    break;
  case ClockOwner::Kind::tensorStores:
    wait = "tcgen05.wait::st";
    break;
  default:
    if (clocks.ownerOf(now.entry).kind == ClockOwner::Kind::tensorPipe)
      return fmt::format("a barrier or mbarrier at which {} waits for {}", reports.nameOfWarp(now.warp),
                         reports.nameOfWarp(before.warp));
    return fmt::format("a wait in {} for the mbarrier of a tcgen05.commit after it",
                       reports.nameOfWarp(now.warp));
  }
  if (before.warp == now.warp)
    return wait + " between them";
  return fmt::format("{} in {} and a barrier or mbarrier at which {} waits for it", wait,
                     reports.nameOfWarp(before.warp), reports.nameOfWarp(now.warp));
}

void TensorCheck::report(Warp &warp, const Instruction &instruction, const Record &now,
                         const Conflict &conflict, const Block &block) {
  const Record &before = conflict.before;
  const bool unwritten = conflict.wrong == Wrong::unwritten;
  const Instruction *first = unwritten ? nullptr : &clocks.warps()[before.warp].warp->code[before.pc];
  Finding finding;
  finding.kind = unwritten ? FindingKind::unwritten : FindingKind::race;
  const uint32_t lane = conflict.address / tensorColumns * cellLanes;
  finding.memory = fmt::format("column {} of lanes {} to {} of tensor memory",
                               conflict.address % tensorColumns, lane, lane + cellLanes - 1);
  if (cluster.blocks.size() > 1)
    finding.memory += fmt::format(" of block rank {}", block.rank);
  const bool isFirstWrite = conflict.first && first && conflict.wrong == Wrong::unordered;
  // All practice leaves the fences out where hardware orders the operations.
  if (conflict.wrong == Wrong::unfenced)
    finding.level = FindingLevel::warning;
  if (isFirstWrite)
    cluster.findings.replaceUnwritten(first->line, finding.memory);
  if (cluster.findings.repeats(finding.kind, instruction.line, first ? first->line : 0, finding.reach,
                               finding.level))
    return;
  finding.site.what = nameOf(now.kind);
  if (unwritten) {
    finding.missing = "the write, or a wait for it";
    record(warp, instruction,
           fmt::format("read of {}, which nothing has written; missing: {}", finding.memory, finding.missing),
           finding);
    return;
  }
  finding.before = siteOf(*clocks.warps()[before.warp].warp, *first);
  finding.before->what = nameOf(before.kind);
  // A read that saw nothing should have come after the write.
  finding.missing = conflict.wrong == Wrong::unfenced ? missingFence(before, now)
                    : isFirstWrite                    ? missing(now, before)
                                                      : missing(before, now);
  record(warp, instruction,
         fmt::format("race between the {} of {} and the {} by '{}' at PTX line {} ({}, {}); missing: {}",
                     finding.site.what, finding.memory, finding.before->what, first->name, first->line,
                     finding.before->location(), finding.before->place(), finding.missing),
         finding);
}

} // namespace tlc::emulator
