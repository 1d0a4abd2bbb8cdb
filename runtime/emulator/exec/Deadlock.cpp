// SPDX-License-Identifier: Apache-2.0
/// \file
/// Says why a cluster is stuck.
#include "runtime/emulator/exec/Cluster.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tlc::emulator {

namespace {

std::string describeBarrier(const Warp &warp, const MbarrierWait &wait) {
  const Mbarrier state = loadMbarrier(*wait.block, wait.address);
  std::string text = fmt::format("the mbarrier at shared offset {}", wait.address - sharedBase);
  if (wait.block != warp.block)
    text += fmt::format(" of block rank {}", wait.block->rank);
  text +=
      fmt::format(" to end phase {}; {} of {} arrivals", unsigned(wait.phase), state.pending, state.expected);
  if (state.bytes != 0)
    text += fmt::format(" and {} bytes", state.bytes);
  return text + " are pending";
}

/// A group that runs and gets nowhere.
std::string describePoll(const Warp &warp) {
  const Poll &poll = warp.lastPoll;
  if (!poll.instruction)
    return "runs in a loop that nothing can end";
  std::string text = fmt::format("runs in a loop: '{}' at PTX line {} reads {:#x} again and again",
                                 poll.instruction->name, poll.instruction->line, poll.address);
  const Grid &grid = gridOf(warp);
  if (const MemoryRange *range = grid.memory->find(poll.address); range && range->device != grid.device)
    text += fmt::format(", memory of device {}", range->device);
  return text + ", and nothing that runs writes there";
}

std::string describe(Warp &warp, const Group &group) {
  const Wait &wait = group.wait;
  switch (wait.kind) {
  case Wait::Kind::none:
  case Wait::Kind::yield:
    return describePoll(warp);
  case Wait::Kind::lanes:
    return fmt::format("waits for lanes {:#010x} to come to the same instruction",
                       wait.mask & warp.live & ~group.mask);
  case Wait::Kind::mbarrier: {
    std::vector<std::string> parts;
    for (const MbarrierWait &barrier : wait.barriers)
      parts.push_back(describeBarrier(warp, barrier));
    return fmt::format("waits for {}", fmt::join(parts, ", or for "));
  }
  case Wait::Kind::barrier: {
    const NamedBarrier &barrier = warp.block->barriers[wait.id];
    return fmt::format("waits at barrier {}; {} of {} threads have arrived", wait.id, barrier.arrived,
                       barrier.expected == 0 ? liveThreads(*warp.block) : barrier.expected);
  }
  case Wait::Kind::cluster: {
    const Cluster &cluster = clusterOf(warp);
    return fmt::format("waits at the cluster's barrier; {} of {} threads have arrived",
                       cluster.barrier.arrived, liveLanes(cluster));
  }
  case Wait::Kind::registers:
    return fmt::format(
        "waits for {} registers a thread more, the block's pool has {} of a warp's threads free", wait.count,
        warp.block->freeRegisters);
  case Wait::Kind::asyncGroups:
    return fmt::format("waits until at most {} groups of copies are pending", wait.count);
  case Wait::Kind::warpgroup:
    return fmt::format("waits for wgmma operations that not all four warps of the warpgroup have issued");
  case Wait::Kind::tensorMemory: {
    const TensorMemory &memory = warp.block->tensorMemory;
    if (wait.count == 2 && !clusterOf(warp).blocks[warp.block->rank ^ 1].tensorMemory.request)
      return fmt::format("waits for block rank {} to allocate tensor memory too", warp.block->rank ^ 1);
    return fmt::format("waits for {} columns of tensor memory, {} are free", memory.request->columns,
                       memory.freeColumns());
  }
  }
  return "waits";
}

} // namespace

Finding deadlockReport(Cluster &cluster, uint32_t notStarted) {
  struct Line {
    std::string place, text;
    std::vector<unsigned> warps;
  };
  // Warps of a block that wait alike share a line.
  std::vector<Line> lines;
  Finding finding;
  finding.kind = FindingKind::deadlock;
  finding.kernel = cluster.grid->kernel->name;
  for (Block &block : cluster.blocks)
    for (Warp &warp : block.warps)
      for (const Group &group : warp.groups) {
        const Instruction &instruction = warp.code[group.pc];
        const FindingSite site = siteOf(warp, instruction);
        if (lines.empty())
          finding.site = site;
        Line line{fmt::format("block ({}, {}, {})", block.id[0], block.id[1], block.id[2]),
                  fmt::format("{}: '{}' at PTX line {} {}", site.location(), instruction.name,
                              instruction.line, describe(warp, group)),
                  {warp.index}};
        if (!lines.empty() && lines.back().place == line.place && lines.back().text == line.text)
          lines.back().warps.push_back(warp.index);
        else
          lines.push_back(std::move(line));
      }
  finding.message = fmt::format("{}: deadlock in '{}'", finding.site.location(), finding.kernel);
  for (const Line &line : lines)
    finding.message += fmt::format("\n  {}, warp{} {}: {}", line.place, line.warps.size() > 1 ? "s" : "",
                                   fmt::join(line.warps, " "), line.text);
  if (notStarted != 0)
    finding.message += fmt::format("\n  {} of {} clusters of the grid have not started: the device holds no "
                                   "more at the same time",
                                   notStarted, clusterCount(*cluster.grid));
  return finding;
}

} // namespace tlc::emulator
