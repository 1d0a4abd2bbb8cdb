// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/exec/Cluster.h"

#include <algorithm>
#include <fmt/format.h>

namespace tlc::emulator {

namespace {

/// Rounds over the warps before other clusters get their turn.
constexpr unsigned roundsPerTurn = 16;

void initialiseBlock(Block &block, uint32_t threads) {
  const Grid &grid = *block.cluster->grid;
  const Kernel &kernel = *grid.kernel;
  block.sharedEnd = kernel.dynamicSharedStart + grid.dynamicSharedBytes;
  // All ones is a NaN of every floating-point type: reading what nobody wrote shows.
  CacheLine poison;
  std::memset(&poison, 0xFF, sizeof(poison));
  block.sharedMemory.assign(block.sharedEnd / sizeof(CacheLine) + 1, poison);
  block.warps = std::vector<Warp>((threads + warpSize - 1) / warpSize);
  block.warpgroups = std::vector<Warpgroup>(block.warps.size() / 4);
  for (unsigned i = 0; i < block.warps.size(); ++i) {
    Warp &warp = block.warps[i];
    warp.block = &block;
    warp.index = i;
    warp.code = kernel.code.data();
    warp.registerFile.resize(kernel.registerBytes / sizeof(CacheLine) + 1);
    warp.registers = reinterpret_cast<std::byte *>(warp.registerFile.data());
    warp.constants = kernel.constants.data();
    warp.local.resize(kernel.localBytes > localBase ? size_t(kernel.localBytes) * warpSize : 0);
    warp.threadRegisters = grid.threadRegisters;
    const uint32_t lanes = std::min(threads - i * warpSize, warpSize);
    warp.live = lanes == warpSize ? allLanes : (1u << lanes) - 1;
    Group group;
    group.pc = kernel.start;
    group.mask = warp.live;
    warp.groups.push_back(std::move(group));
  }
}

/// Groups that wait for an mbarrier give up once: try_wait has a time limit.
bool expireWaits(Cluster &cluster) {
  bool any = false;
  for (Block &block : cluster.blocks)
    for (Warp &warp : block.warps)
      for (Group &group : warp.groups)
        if (group.wait.kind == Wait::Kind::mbarrier)
          group.timedOut = any = true;
  return any;
}

} // namespace

std::unique_ptr<Cluster> createCluster(Grid &grid, uint32_t index) {
  auto cluster = std::make_unique<Cluster>();
  cluster->grid = &grid;
  cluster->index = index;
  std::array<uint32_t, 3> origin;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const uint32_t count = grid.blocks[axis] / grid.cluster[axis];
    origin[axis] = index % count * grid.cluster[axis];
    index /= count;
  }
  const uint32_t blocks = grid.cluster[0] * grid.cluster[1] * grid.cluster[2];
  cluster->blocks = std::vector<Block>(blocks);
  for (uint32_t rank = 0; rank < blocks; ++rank) {
    Block &block = cluster->blocks[rank];
    block.cluster = cluster.get();
    block.rank = rank;
    uint32_t rest = rank;
    for (unsigned axis = 0; axis < 3; ++axis) {
      block.id[axis] = origin[axis] + rest % grid.cluster[axis];
      rest /= grid.cluster[axis];
    }
    initialiseBlock(block, grid.threads[0] * grid.threads[1] * grid.threads[2]);
  }
  if (grid.raceCheck == RaceCheck::on)
    cluster->raceChecker = std::make_unique<RaceChecker>(*cluster);
  return cluster;
}

ClusterOutcome runCluster(Cluster &cluster) {
  uint64_t progressAtExpiry = ~uint64_t(0);
  for (unsigned round = 0; round < roundsPerTurn;) {
    bool ran = false, alive = false;
    for (Block &block : cluster.blocks)
      for (Warp &warp : block.warps) {
        if (warp.done())
          continue;
        const RunState state = runWarp(warp);
        if (state == RunState::fault)
          return ClusterOutcome::failed;
        ran |= state == RunState::ran;
        alive |= !warp.done();
      }
    if (ran && alive) {
      // Warps that only spin would keep the queue from ever completing.
      ++round;
      if (round % 8 != 0)
        continue;
    }
    switch (cluster.queue.completeOne()) {
    case AsyncQueue::Outcome::fault:
      return ClusterOutcome::failed;
    case AsyncQueue::Outcome::completed:
      ++cluster.progress;
      continue;
    case AsyncQueue::Outcome::none:
      break;
    }
    if (!alive)
      return ClusterOutcome::done;
    if (ran)
      continue;
    // Nothing can run. If nothing has changed since waits expired last, nothing ever will.
    if (cluster.progress != progressAtExpiry && expireWaits(cluster)) {
      progressAtExpiry = cluster.progress;
      continue;
    }
    cluster.findings.add(deadlockReport(cluster));
    cluster.faulted = true;
    return ClusterOutcome::failed;
  }
  return ClusterOutcome::yielded;
}

} // namespace tlc::emulator
