// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/trace/Recorder.h"

#include "runtime/emulator/trace/CostModel.h"
#include "runtime/target/Timing.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace tlc::emulator {

Recorder::Recorder(Cluster &cluster, std::span<const NamedTensor> tensors, Trace &trace)
    : cluster(cluster), tensors(tensors), trace(trace) {
  const Grid &grid = *cluster.grid;
  const TimingFacts &facts = timingOf(*grid.target);
  trace.kernel = grid.kernel->name;
  trace.target = grid.target->name;
  trace.grid = grid.blocks, trace.threads = grid.threads, trace.cluster = grid.cluster;
  trace.block = cluster.blocks.front().id;
  trace.blocks = uint32_t(cluster.blocks.size());
  trace.clockGhz = facts.clockGhz;
  trace.loadBytesPerCycle = facts.loadBytesPerCycle, trace.storeBytesPerCycle = facts.storeBytesPerCycle;
  const auto addTrack = [&](TraceTrack track) {
    trace.tracks.push_back(std::move(track));
    return uint32_t(trace.tracks.size() - 1);
  };
  for (Block &block : cluster.blocks) {
    std::vector<WarpState> states;
    for (const Warp &warp : block.warps) {
      const WarpRole *role = grid.names->roleOf(warp.index);
      WarpState state;
      state.track = addTrack(
          {TraceTrack::Kind::warp, block.rank,
           role ? fmt::format("{}, warp {}", role->name, warp.index) : fmt::format("warp {}", warp.index),
           role ? role->name : "", warp.index});
      states.push_back(std::move(state));
    }
    warps.push_back(std::move(states));
    firstEngine.push_back(addTrack({TraceTrack::Kind::loads, block.rank, "copies in", "", 0}));
    addTrack({TraceTrack::Kind::stores, block.rank, "copies out", "", 0});
    addTrack({TraceTrack::Kind::tensorCores, block.rank, "tensor cores", "", 0});
    for (const SharedObject &object : grid.names->shared) {
      if (object.kind != SharedObject::Kind::ring)
        continue;
      for (unsigned i = 0; i < object.slots; ++i) {
        RingSlot slot;
        slot.block = &block;
        slot.full = grid.kernel->dynamicSharedStart + object.offset + i * 8;
        slot.empty = slot.full + object.slots * 8;
        slot.track = addTrack(
            {TraceTrack::Kind::slot, block.rank, fmt::format("{}[{}]", object.name, i), object.name, i});
        slots.push_back(std::move(slot));
      }
    }
  }
}

uint32_t Recorder::warpTrack(const Warp &warp) const { return warps[warp.block->rank][warp.index].track; }

uint32_t Recorder::engineTrack(const Block &block, AsyncWork::Unit unit) const {
  const uint32_t first = firstEngine[block.rank];
  switch (unit) {
  case AsyncWork::Unit::store:
  case AsyncWork::Unit::remote:
    return first + 1;
  case AsyncWork::Unit::tensorCores:
    return first + 2;
  case AsyncWork::Unit::none:
  case AsyncWork::Unit::load:
    break;
  }
  return first;
}

std::string Recorder::locationOf(const Instruction &instruction) const {
  // Without a location of its own an instruction is named by its line of PTX.
  const SourceLocation &at = cluster.grid->program->module.locations[instruction.location];
  if (at.line == 0)
    return fmt::format("PTX line {}", instruction.line);
  std::string &known = locations[instruction.location];
  if (known.empty())
    known = fmt::format("{}:{}:{}", at.file.substr(at.file.rfind('/') + 1), at.line, at.column);
  return known;
}

std::string Recorder::sharedName(uint64_t address) const {
  const Grid &grid = *cluster.grid;
  const uint32_t inBlock = uint32_t(address) & ((1u << sharedRankShift) - 1);
  std::string name;
  if (inBlock >= grid.kernel->dynamicSharedStart)
    name = grid.names->nameOf(inBlock - grid.kernel->dynamicSharedStart);
  return name.empty() ? fmt::format("shared offset {}", inBlock - sharedBase) : name;
}

std::string Recorder::waitName(const Warp &warp, const Wait &wait) const {
  switch (wait.kind) {
  case Wait::Kind::mbarrier: {
    std::string name = sharedName(wait.barriers.front().address);
    if (const Block *block = wait.barriers.front().block; block != warp.block)
      name += fmt::format(" of block {}", block->rank);
    return name;
  }
  case Wait::Kind::barrier:
    return fmt::format("barrier {}", wait.id);
  case Wait::Kind::cluster:
    return "the cluster's barrier";
  case Wait::Kind::registers:
    return "registers";
  case Wait::Kind::asyncGroups:
    return wait.engine == AsyncEngine::bulk ? "bulk copies" : "copies";
  case Wait::Kind::warpgroup:
    return "products";
  case Wait::Kind::tensorMemory:
    return "tensor memory";
  case Wait::Kind::none:
  case Wait::Kind::yield:
  case Wait::Kind::lanes:
    break;
  }
  return "other lanes";
}

void Recorder::endRun(WarpState &state) {
  if (state.run && state.run->end > state.run->begin)
    trace.spans.push_back(std::move(*state.run));
  state.run.reset();
}

void Recorder::ran(const Warp &warp, const Instruction &instruction, uint64_t begin, uint64_t end) {
  WarpState &state = stateOf(warp);
  if (!state.run) {
    state.run = TraceSpan{.kind = TraceSpan::Kind::run, .track = state.track, .begin = begin};
    state.run->location = locationOf(instruction);
  }
  const std::string line = locationOf(instruction);
  state.run->lines[line] += end - std::max(begin, state.run->end);
  state.run->end = end;
}

void Recorder::stalled(const Warp &warp, const Instruction &instruction, uint64_t begin, uint64_t end) {
  WarpState &state = stateOf(warp);
  endRun(state);
  trace.spans.push_back({.kind = TraceSpan::Kind::stall,
                         .track = state.track,
                         .begin = begin,
                         .end = end,
                         .name = "operands",
                         .location = locationOf(instruction)});
}

void Recorder::waits(const Warp &warp, const Group &group, const Instruction &instruction, uint64_t time) {
  WarpState &state = stateOf(warp);
  if (state.run)
    state.run->end = std::max(state.run->end, time);
  endRun(state);
  state.wait = TraceSpan{.kind = TraceSpan::Kind::wait,
                         .track = state.track,
                         .begin = time,
                         .name = waitName(warp, group.wait),
                         .location = locationOf(instruction)};
}

void Recorder::goesOn(const Warp &warp, uint64_t time, std::optional<TracePoint> releasedBy) {
  WarpState &state = stateOf(warp);
  if (!state.wait)
    return;
  state.wait->end = time;
  state.wait->releasedBy = releasedBy;
  if (time > state.wait->begin)
    trace.spans.push_back(std::move(*state.wait));
  state.wait.reset();
}

void Recorder::operation(const AsyncOperation &operation, const Block &block, TracePoint issued,
                         uint64_t begin, uint64_t end) {
  const AsyncWork &work = operation.work;
  TraceSpan span{.kind = TraceSpan::Kind::copy,
                 .track = engineTrack(block, work.unit),
                 .begin = begin,
                 .end = end,
                 .location = locationOf(*operation.instruction),
                 .bytes = work.bytes,
                 .peakCycles =
                     arithmeticCycles(work.multiplyAdds, work.operandBits, timingOf(*cluster.grid->target)),
                 .issued = issued};
  std::string tensor = "global memory";
  const MemoryRange *range = cluster.grid->memory->find(work.globalAddress);
  const NamedTensor *nearest = tensorOf(tensors, work.globalAddress); // tensors may share an allocation
  for (const NamedTensor &memory : tensors)
    if (range && memory.address >= range->address && memory.address <= work.globalAddress &&
        (!nearest || memory.address > nearest->address))
      nearest = &memory;
  if (nearest)
    tensor = nearest->name;
  switch (work.unit) {
  case AsyncWork::Unit::tensorCores: {
    span.kind = TraceSpan::Kind::product;
    const std::string_view name = operation.instruction->name;
    const size_t shape = name.find(".m");
    span.name = shape == name.npos ? name : name.substr(shape + 1, name.find('.', shape + 1) - shape - 1);
    span.bytes = 0;
    break;
  }
  case AsyncWork::Unit::load:
    span.name = fmt::format("{} to {}", tensor, sharedName(work.sharedAddress));
    break;
  case AsyncWork::Unit::store:
    span.name = fmt::format("{} to {}", sharedName(work.sharedAddress), tensor);
    break;
  case AsyncWork::Unit::remote:
    span.name = fmt::format("to {} of another block", sharedName(work.sharedAddress));
    break;
  case AsyncWork::Unit::none:
    return;
  }
  trace.spans.push_back(std::move(span));
}

void Recorder::close(RingSlot &slot, uint64_t time) {
  if (!slot.open)
    return;
  slot.open->end = time;
  if (time > slot.open->begin)
    trace.spans.push_back(std::move(*slot.open));
  slot.open.reset();
}

void Recorder::lookAtRings(uint64_t time) {
  for (RingSlot &slot : slots) {
    if (!isInitialised(*slot.block, slot.full) || !isInitialised(*slot.block, slot.empty))
      continue;
    const Mbarrier full = loadMbarrier(*slot.block, slot.full), empty = loadMbarrier(*slot.block, slot.empty);
    const auto opens = [&](TraceSpan::Kind kind, std::string_view name) {
      close(slot, time);
      slot.open = TraceSpan{.kind = kind, .track = slot.track, .begin = time, .name = std::string(name)};
    };
    if (slot.emptyPhase && *slot.emptyPhase != empty.phase)
      close(slot, time);
    if (slot.fullPhase && *slot.fullPhase != full.phase)
      opens(TraceSpan::Kind::full, "full");
    else if (!slot.open && (full.bytes > 0 || full.pending != full.expected))
      opens(TraceSpan::Kind::filling, "filling");
    slot.fullPhase = full.phase, slot.emptyPhase = empty.phase;
  }
}

void Recorder::finish(uint64_t time) {
  for (std::vector<WarpState> &block : warps)
    for (WarpState &state : block)
      endRun(state);
  for (RingSlot &slot : slots)
    close(slot, time);
  trace.cycles = 0;
  for (const TraceSpan &span : trace.spans)
    trace.cycles = std::max(trace.cycles, span.end);
  std::sort(trace.spans.begin(), trace.spans.end(), [](const TraceSpan &a, const TraceSpan &b) {
    return std::tie(a.begin, a.track, a.end) < std::tie(b.begin, b.track, b.end);
  });
}

} // namespace tlc::emulator
