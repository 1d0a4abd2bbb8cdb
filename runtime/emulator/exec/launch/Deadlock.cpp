// SPDX-License-Identifier: Apache-2.0
/// \file
/// Says why a cluster is stuck.
#include "runtime/emulator/exec/launch/Cluster.h"
#include "runtime/emulator/report/NamedTensor.h"
#include "runtime/emulator/report/SymbolName.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tlc::emulator {

namespace {

/// "; warps 0 1 (load) arrived ... at PTX line 20 (x.cpp:3:5)", one part for each instruction.
std::string describeSites(const std::vector<FindingSite> &sites, std::string_view did, bool withBlock) {
  struct Part {
    const FindingSite *site;
    std::vector<unsigned> warps;
  };
  std::vector<Part> parts;
  for (const FindingSite &site : sites) {
    const auto same = std::find_if(parts.begin(), parts.end(), [&](const Part &part) {
      return part.site->ptxLine == site.ptxLine && part.site->block == site.block &&
             part.site->role == site.role;
    });
    if (same != parts.end())
      same->warps.push_back(site.warp);
    else
      parts.push_back({&site, {site.warp}});
  }
  std::string text;
  for (const Part &part : parts) {
    const FindingSite &site = *part.site;
    text += fmt::format("; warp{} {}", part.warps.size() > 1 ? "s" : "", fmt::join(part.warps, " "));
    if (!site.role.empty())
      text += fmt::format(" ({})", site.role);
    if (withBlock)
      text += fmt::format(" of block ({}, {}, {})", site.block[0], site.block[1], site.block[2]);
    text += fmt::format(" {}", did);
    if (!site.instruction.empty())
      text += fmt::format(" by '{}' at PTX line {}", site.instruction, site.ptxLine);
    if (site.line != 0)
      text += fmt::format(" ({})", site.location());
  }
  return text;
}

bool arrivesAtMbarrier(std::string_view name) {
  return name.starts_with("mbarrier.arrive") || name.starts_with("cp.async.mbarrier.arrive") ||
         name.starts_with("tcgen05.commit");
}

/// Those of the program that arrive at mbarriers; which, only a run says.
std::vector<FindingSite> mbarrierArrivers(const Warp &warp) {
  std::vector<FindingSite> sites;
  for (const Instruction &instruction : gridOf(warp).kernel->code)
    if (arrivesAtMbarrier(instruction.name) &&
        std::none_of(sites.begin(), sites.end(),
                     [&](const FindingSite &site) { return site.ptxLine == instruction.line; }))
      sites.push_back(siteOf(warp, instruction));
  return sites;
}

std::string describeArrivers(const std::vector<FindingSite> &sites) {
  constexpr size_t shown = 4;
  std::string text = "; nothing has ever arrived there";
  if (sites.empty())
    return text + ", and nothing in the program arrives at mbarriers";
  text += "; the program arrives at mbarriers by ";
  for (size_t i = 0; i < std::min(shown, sites.size()); ++i) {
    text += fmt::format("{}'{}' at PTX line {}", i == 0 ? "" : ", ", sites[i].instruction, sites[i].ptxLine);
    if (sites[i].line != 0)
      text += fmt::format(" ({})", sites[i].location());
  }
  return sites.size() > shown ? text + fmt::format(" and {} more", sites.size() - shown) : text;
}

std::string describeBarrier(const Warp &warp, const MbarrierWait &wait, WaitingWarp &waiting) {
  const Mbarrier state = loadMbarrier(*wait.block, wait.address);
  std::string text = describeMbarrier(*wait.block, wait.address);
  if (wait.block != warp.block)
    text += fmt::format(" of block rank {}", wait.block->rank);
  text +=
      fmt::format(" to end phase {}; {} of {} arrivals", unsigned(wait.phase), state.pending, state.expected);
  if (state.bytes != 0)
    text += fmt::format(" and {} bytes", state.bytes);
  text += " are pending";
  waiting.mbarrier = wait.address - sharedBase, waiting.mbarrierRank = wait.block->rank;
  waiting.phase = wait.phase;
  waiting.missing = state.pending, waiting.expected = state.expected, waiting.missingBytes = state.bytes;
  const MbarrierHistory &history = wait.block->mbarrierHistories[wait.address];
  waiting.arrived.clear(), waiting.earlier.clear(), waiting.arrivers.clear();
  for (const MbarrierHistory::Arrival &arrival : history.arrivals)
    (arrival.phase == history.phase ? waiting.arrived : waiting.earlier)
        .push_back(siteOf(*arrival.warp, *arrival.instruction));
  const bool clustered = clusterOf(warp).blocks.size() > 1;
  text += describeSites(waiting.arrived, "arrived in this phase", clustered) +
          describeSites(waiting.earlier, "last arrived in an earlier phase", clustered);
  if (history.arrivals.empty()) {
    waiting.arrivers = mbarrierArrivers(warp);
    text += describeArrivers(waiting.arrivers);
  }
  return text;
}

/// Warps of the mask, without instructions.
std::vector<FindingSite> sitesOf(const Block &block, uint32_t warps) {
  std::vector<FindingSite> sites;
  for (const Warp &warp : block.warps)
    if (warps >> warp.index & 1) {
      FindingSite &site = sites.emplace_back();
      site.block = block.id, site.warp = warp.index;
      if (const WarpRole *role = gridOf(warp).names->roleOf(warp.index))
        site.role = role->name;
    }
  return sites;
}

std::string describeNamed(const Warp &warp, unsigned id, WaitingWarp &waiting) {
  const Block &block = *warp.block;
  const NamedBarrier &barrier = block.barriers[id];
  waiting.barrier = id;
  waiting.expected = barrier.expected == 0 ? liveThreads(block) : barrier.expected;
  waiting.missing = waiting.expected - barrier.arrived;
  waiting.arrived = sitesOf(block, barrier.warps);
  std::string text = fmt::format("waits at barrier {}; {} of {} threads have arrived, {} are missing", id,
                                 barrier.arrived, waiting.expected, waiting.missing);
  text += describeSites(waiting.arrived, "arrived", false);
  // All warps were to come, or those that came before.
  uint32_t live = 0;
  for (const Warp &other : block.warps)
    live |= uint32_t(other.live != 0) << other.index;
  if (barrier.expected == 0) {
    waiting.earlier = sitesOf(block, live & ~barrier.warps);
    return text + describeSites(waiting.earlier, "did not", false);
  }
  waiting.earlier = sitesOf(block, barrier.earlier & ~barrier.warps);
  return text + describeSites(waiting.earlier, "last arrived in an earlier phase", false);
}

/// A group that runs and gets nowhere.
std::string describePoll(const Warp &warp) {
  const Poll &poll = warp.lastPoll;
  if (!poll.instruction)
    return "runs in an endless loop";
  std::string text = fmt::format("runs in a loop: '{}' at PTX line {} reads {:#x} again and again",
                                 poll.instruction->name, poll.instruction->line, poll.address);
  const Grid &grid = gridOf(warp);
  const MemoryRange *range = grid.memory->find(poll.address);
  if (range && range->device != grid.device)
    text += fmt::format(", memory of device {}", range->device);
  text += ", and no running warp writes there";
  const std::optional<std::string> element =
      describeElement(grid.tensors, poll.address + (range ? range->toMemory : 0));
  if (!element || !range || !poll.instruction->name.ends_with("32"))
    return text;
  int32_t seen = 0;
  std::memcpy(&seen, range->at(poll.address), sizeof seen);
  return text + fmt::format(": {} is {}", *element, seen);
}

std::string describeMembers(const Warp &warp, const Group &group) {
  const uint32_t missing = group.wait.mask & warp.live & ~group.mask;
  uint32_t others = 0; // that stand here with another mask
  for (const Group &other : warp.groups)
    if (other.pc == group.pc && other.wait.kind == Wait::Kind::lanes && other.wait.mask != group.wait.mask)
      others |= other.mask & missing;
  std::string text = fmt::format("waits for lanes {:#010x} to come to the same instruction", missing);
  if (others != 0)
    text += fmt::format(" with its member mask {:#010x}; of them {:#010x} wait there with another one",
                        group.wait.mask, others);
  return text;
}

std::string describe(Warp &warp, const Group &group, WaitingWarp &waiting) {
  const Wait &wait = group.wait;
  switch (wait.kind) {
  case Wait::Kind::none:
  case Wait::Kind::yield:
    return describePoll(warp);
  case Wait::Kind::lanes:
    return describeMembers(warp, group);
  case Wait::Kind::mbarrier: {
    std::vector<std::string> parts;
    for (const MbarrierWait &barrier : wait.barriers)
      parts.push_back(describeBarrier(warp, barrier, waiting));
    return fmt::format("waits for {}", fmt::join(parts, ", or for "));
  }
  case Wait::Kind::barrier:
    return describeNamed(warp, wait.id, waiting);
  case Wait::Kind::cluster: {
    const Cluster &cluster = clusterOf(warp);
    return fmt::format("waits at the cluster's barrier; {} of {} threads have arrived",
                       cluster.barrier.arrived, liveLanes(cluster));
  }
  case Wait::Kind::registers:
    return fmt::format(
        "waits for {} more registers per thread; the block's pool has {} free for each thread of a warp",
        wait.count, warp.block->freeRegisters);
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
        WaitingWarp waiting;
        waiting.site = site;
        waiting.text = describe(warp, group, waiting);
        Line line{fmt::format("block ({}, {}, {})", block.id[0], block.id[1], block.id[2]),
                  fmt::format("{}: '{}' at PTX line {} {}", site.location(), instruction.name,
                              instruction.line, waiting.text),
                  {warp.index}};
        finding.waiting.push_back(std::move(waiting));
        if (!lines.empty() && lines.back().place == line.place && lines.back().text == line.text)
          lines.back().warps.push_back(warp.index);
        else
          lines.push_back(std::move(line));
      }
  finding.message =
      fmt::format("{}: deadlock in '{}'", finding.site.location(), readableName(finding.kernel));
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
