// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensor memory. What a warp's next tcgen05 instruction is behind is apart
/// from what the warp knows: only tcgen05.fence brings one to the other. The
/// pipe takes its operations in the order of issue, so there the issue of an
/// earlier one is enough; everybody else must know it complete. Accesses count
/// from their issue on. The lanes of a warp count as one.
#include "runtime/emulator/check/RaceChecker.h"
#include "runtime/emulator/exec/core/State.h"

#include <fmt/format.h>

namespace tlc::emulator {

namespace {

/// Lanes of a shadow's cell.
constexpr unsigned cellLanes = 16;

std::string_view nameOf(AccessKind kind) { return kind == AccessKind::read ? "read" : "write"; }

} // namespace

RaceChecker::TensorStream &RaceChecker::tensorStream(Agent &agent, TensorEngine engine) {
  TensorStream &stream = agent.tensorStreams[size_t(engine)];
  if (stream.column == 0) {
    constexpr ColumnInfo::Kind kinds[] = {ColumnInfo::Kind::tensorLoads, ColumnInfo::Kind::tensorStores,
                                          ColumnInfo::Kind::tensorPipe};
    const ColumnInfo info{.kind = kinds[size_t(engine)], .warp = indexOf(*agent.warp)};
    stream.column = addColumn(info);
    stream.plain = addColumn(info);
    stream.issue = engine == TensorEngine::pipe ? addColumn(info) : 0;
  }
  return stream;
}

Clock RaceChecker::tensorClock(const Agent &agent, TensorEngine engine, TensorFences fences) {
  Clock clock = agent.tensor;
  if (fences == TensorFences::assumed)
    clock.join(knownToWarp(agent).seen);
  for (const Agent &other : agents)
    for (size_t i = 0; i < tensorEngines; ++i) {
      const TensorStream &stream = other.tensorStreams[i];
      const bool pipe = TensorEngine(i) == TensorEngine::pipe;
      if (stream.column == 0)
        continue;
      if (pipe && engine == TensorEngine::pipe)
        clock.raise(stream.column, &other == &agent ? stream.issued : clock.at(stream.issue));
      if (fences == TensorFences::assumed && pipe == (engine == TensorEngine::pipe && pipe))
        clock.raise(stream.column, clock.at(stream.plain));
    }
  return clock;
}

void RaceChecker::accessTensor(Warp &warp, const Instruction &instruction, TensorEngine engine,
                               std::span<const TensorTouch> touches) {
  Agent &agent = agentOf(warp);
  TensorStream &stream = tensorStream(agent, engine);
  Record record;
  record.column = stream.column;
  record.number = ++stream.issued;
  record.pc = uint32_t(&instruction - warp.code);
  record.warp = uint16_t(indexOf(warp));
  Knowledge known;
  known.seen = tensorClock(agent, engine, TensorFences::needed);
  const Point point{.known = known, .columns = parts, .warp = record.warp};
  for (const TensorTouch &touch : touches) {
    record.kind = touch.kind;
    conflicts.clear();
    for (unsigned lane = touch.lane; lane < touch.lane + touch.lanes; lane += cellLanes) {
      const uint32_t first = lane / cellLanes * tensorColumns + touch.column;
      tensorShadow(*touch.block).access(first, first + touch.columns, record, 0, point, conflicts);
    }
    for (const Conflict &conflict : conflicts)
      reportTensor(warp, instruction, engine, record, conflict, *touch.block);
  }
}

Shadow &RaceChecker::tensorShadow(const Block &block) {
  if (tensorShadows.empty())
    tensorShadows.assign(cluster.blocks.size(), Shadow(tensorLanes / cellLanes * tensorColumns, 1));
  return tensorShadows[block.rank];
}

// --- what instructions tell ---------------------------------------------------------

std::shared_ptr<OperationNote> RaceChecker::issueOnPipe(Warp &warp, const Instruction &instruction,
                                                        std::span<const TensorTouch> touches) {
  accessTensor(warp, instruction, TensorEngine::pipe, touches);
  Agent &agent = agentOf(warp);
  const TensorStream &stream = tensorStream(agent, TensorEngine::pipe);
  auto order = std::make_shared<AsyncOrder>();
  order->known = knownToWarp(agent);
  order->column = stream.column, order->number = stream.issued;
  order->repeat = repeatOf(agent, uint32_t(&instruction - warp.code));
  agent.tensor.raise(stream.issue, stream.issued);
  for (Party &party : agent.parties)
    party.known.seen.raise(stream.plain, stream.issued);
  ++agent.number;
  return order;
}

std::shared_ptr<OperationNote> RaceChecker::commitPipe(const Warp &warp) {
  Agent &agent = agentOf(warp);
  const TensorStream &stream = tensorStream(agent, TensorEngine::pipe);
  fenceTensorBefore(warp); // which a commit implies
  auto order = std::make_shared<AsyncOrder>();
  order->known = knownToWarp(agent);
  order->column = stream.column, order->number = stream.issued;
  ++agent.number;
  return order;
}

void RaceChecker::completePipe(const OperationNote &commit, const SharedPlace &place) {
  const auto &order = static_cast<const AsyncOrder &>(commit);
  // What the operations came behind, who waits for them comes behind too.
  Knowledge &arrived = phasesOf(*place.block, place.address).arrived.from(*place.block, Scope::cluster);
  arrived.join(order.known);
  arrived.seen.raise(order.column, order.number);
}

void RaceChecker::moveTensor(Warp &warp, const Instruction &instruction, TensorEngine engine,
                             std::span<const TensorTouch> touches) {
  accessTensor(warp, instruction, engine, touches);
  if (engine != TensorEngine::load)
    return;
  Agent &agent = agentOf(warp);
  ++agent.tensorLoads;
  for (const Slot &slot : std::span(instruction.slots, instruction.slotCount))
    if (slot.written)
      agent.uses[indexOf(slot)] = {.pc = uint32_t(&instruction - warp.code), .tensorLoad = agent.tensorLoads};
}

void RaceChecker::waitTensor(const Warp &warp, TensorEngine engine) {
  Agent &agent = agentOf(warp);
  const TensorStream &stream = tensorStream(agent, engine);
  if (engine == TensorEngine::load)
    agent.tensorLoadsWaited = agent.tensorLoads;
  agent.tensor.raise(stream.column, stream.issued);
  for (Party &party : agent.parties)
    party.known.seen.raise(stream.plain, stream.issued);
}

void RaceChecker::fenceTensorBefore(const Warp &warp) {
  Agent &agent = agentOf(warp);
  for (Party &party : agent.parties)
    party.known.seen.join(agent.tensor);
}

void RaceChecker::fenceTensorAfter(const Warp &warp) {
  Agent &agent = agentOf(warp);
  agent.tensor.join(knownToWarp(agent).seen);
}

void RaceChecker::allocateTensor(const Block &block, uint32_t column, uint32_t count) {
  for (unsigned lane = 0; lane < tensorLanes; lane += cellLanes) {
    const uint32_t first = lane / cellLanes * tensorColumns + column;
    tensorShadow(block).forget(first, first + count);
  }
}

void RaceChecker::freeTensor(Warp &warp, const Instruction &instruction, uint32_t column, uint32_t count) {
  // Not asynchronous itself: it needs no fence to come behind what is complete.
  Agent &agent = agentOf(warp);
  Knowledge known;
  known.seen = tensorClock(agent, TensorEngine::load, TensorFences::assumed);
  Record record;
  record.column = indexOf(warp);
  record.number = agent.number;
  record.pc = uint32_t(&instruction - warp.code);
  record.warp = uint16_t(indexOf(warp));
  record.kind = AccessKind::write;
  conflicts.clear();
  const Point point{.known = known, .columns = parts, .warp = record.warp};
  for (unsigned lane = 0; lane < tensorLanes; lane += cellLanes) {
    const uint32_t first = lane / cellLanes * tensorColumns + column;
    tensorShadow(*warp.block).access(first, first + count, record, 0, point, conflicts);
  }
  for (const Conflict &conflict : conflicts)
    reportTensor(warp, instruction, TensorEngine::load, record, conflict, *warp.block);
}

// --- what a finding says ----------------------------------------------------------------

std::string RaceChecker::missingForTensor(const Agent &agent, TensorEngine engine, const Record &before,
                                          const Record &now) {
  if (tensorClock(agent, engine, TensorFences::assumed).at(before.column) >= before.number)
    return fmt::format("tcgen05.fence::before_thread_sync in {}, or tcgen05.fence::after_thread_sync in {}",
                       nameOfWarp(before.warp), nameOfWarp(now.warp));
  std::string wait;
  switch (columns[before.column].kind) {
  case ColumnInfo::Kind::tensorLoads:
    wait = "tcgen05.wait::ld";
    break;
  case ColumnInfo::Kind::tensorStores:
    wait = "tcgen05.wait::st";
    break;
  default:
    if (columns[now.column].kind == ColumnInfo::Kind::tensorPipe)
      return fmt::format("a barrier or mbarrier at which {} waits for {}", nameOfWarp(now.warp),
                         nameOfWarp(before.warp));
    return fmt::format("a wait in {} for the mbarrier of a tcgen05.commit behind it", nameOfWarp(now.warp));
  }
  if (before.warp == now.warp)
    return wait + " between them";
  return fmt::format("{} in {} and a barrier or mbarrier at which {} waits for it", wait,
                     nameOfWarp(before.warp), nameOfWarp(now.warp));
}

void RaceChecker::reportTensor(Warp &warp, const Instruction &instruction, TensorEngine engine,
                               const Record &now, const Conflict &conflict, const Block &block) {
  const Record &before = conflict.before;
  const bool unwritten = conflict.wrong == Wrong::unwritten;
  const Instruction *first = unwritten ? nullptr : &agents[before.warp].warp->code[before.pc];
  Finding finding;
  finding.kind = unwritten ? FindingKind::unwritten : FindingKind::race;
  const uint32_t lane = conflict.address / tensorColumns * cellLanes;
  finding.memory = fmt::format("column {} of lanes {} to {} of tensor memory",
                               conflict.address % tensorColumns, lane, lane + cellLanes - 1);
  if (cluster.blocks.size() > 1)
    finding.memory += fmt::format(" of block rank {}", block.rank);
  if (conflict.first && first)
    cluster.findings.replaceUnwritten(first->line, finding.memory);
  if (cluster.findings.repeats(finding.kind, instruction.line, first ? first->line : 0))
    return;
  finding.site.what = nameOf(now.kind);
  if (unwritten) {
    finding.missing = "the write, or a wait for it";
    record(warp, instruction,
           fmt::format("read of {}, which nothing has written; missing: {}", finding.memory, finding.missing),
           finding);
    return;
  }
  finding.before = siteOf(*agents[before.warp].warp, *first);
  finding.before->what = nameOf(before.kind);
  // A read that saw nothing should have come behind the write.
  const bool fromPipe = columns[before.column].kind == ColumnInfo::Kind::tensorPipe;
  finding.missing = conflict.first
                        ? missingForTensor(agents[before.warp],
                                           fromPipe ? TensorEngine::pipe : TensorEngine::load, now, before)
                        : missingForTensor(agentOf(warp), engine, before, now);
  record(warp, instruction,
         fmt::format("race between the {} of {} and the {} by '{}' at PTX line {} ({}, {}); missing: {}",
                     finding.site.what, finding.memory, finding.before->what, first->name, first->line,
                     finding.before->location(), finding.before->place(), finding.missing),
         finding);
}

} // namespace tlc::emulator
