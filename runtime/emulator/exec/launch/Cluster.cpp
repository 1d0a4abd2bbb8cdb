// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/exec/launch/Cluster.h"

#include "runtime/support/Math.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace tlc::emulator {

std::array<uint32_t, 3> blockId(const std::array<uint32_t, 3> &blocks,
                                const std::array<uint32_t, 3> &blocksOfCluster, uint32_t cluster,
                                uint32_t rank) {
  std::array<uint32_t, 3> id;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const uint32_t count = blocks[axis] / blocksOfCluster[axis];
    id[axis] = cluster % count * blocksOfCluster[axis] + rank % blocksOfCluster[axis];
    cluster /= count;
    rank /= blocksOfCluster[axis];
  }
  return id;
}

std::optional<uint32_t> takeCluster(Grid &grid) {
  const uint32_t next = grid.started.fetch_add(1);
  if (next < grid.clusters)
    return grid.firstCluster + grid.startOrder.at(next);
  grid.started = grid.clusters;
  return std::nullopt;
}

namespace {

/// `ended` is a block of the grid whose memory is free, or null.
void initialiseBlock(Block &block, uint32_t threads, Block *ended) {
  const Grid &grid = *block.cluster->grid;
  const Kernel &kernel = *grid.kernel;
  block.sharedEnd = kernel.dynamicSharedStart + grid.dynamicSharedBytes;
  // All ones is a NaN of every floating-point type: reading what nobody wrote shows.
  CacheLine poison;
  std::memset(&poison, 0xFF, sizeof(poison));
  if (ended)
    block.sharedMemory = std::move(ended->sharedMemory);
  block.sharedMemory.assign(block.sharedEnd / sizeof(CacheLine) + 1, poison);
  if (block.cluster->blocks.size() > 1) {
    block.constants = kernel.constants;
    for (const Slot &address : kernel.sharedAddresses)
      for (unsigned l = 0; l < warpSize; ++l) {
        std::byte *lane = block.constants.data() + address.offset + l * address.bytes;
        uint32_t low;
        std::memcpy(&low, lane, sizeof(low));
        low |= uint32_t(sharedWindow(block.rank));
        std::memcpy(lane, &low, sizeof(low));
      }
  }
  block.warps = std::vector<Warp>(ceilDiv(threads, warpSize));
  block.warpgroups = std::vector<Warpgroup>(block.warps.size() / 4);
  for (unsigned i = 0; i < block.warps.size(); ++i) {
    Warp &warp = block.warps[i];
    warp.block = &block;
    warp.index = i;
    warp.code = kernel.code.data();
    if (ended) {
      warp.registerFile = std::move(ended->warps[i].registerFile);
      warp.local = std::move(ended->warps[i].local);
    }
    warp.registerFile.assign(kernel.registerBytes / sizeof(CacheLine) + 1, CacheLine());
    warp.registers = reinterpret_cast<std::byte *>(warp.registerFile.data());
    warp.constants = (block.constants.empty() ? kernel.constants : block.constants).data();
    warp.local.assign(kernel.localBytes > localBase ? size_t(kernel.localBytes) * warpSize : 0, std::byte());
    warp.threadRegisters = grid.threadRegisters;
    const uint32_t lanes = std::min(threads - i * warpSize, warpSize);
    warp.live = lanes == warpSize ? allLanes : (1u << lanes) - 1;
    Group group;
    group.pc = kernel.start;
    group.mask = warp.live;
    warp.groups.push_back(std::move(group));
  }
}

bool isDone(const Cluster &cluster) {
  return std::all_of(cluster.blocks.begin(), cluster.blocks.end(), [](const Block &block) {
    return std::all_of(block.warps.begin(), block.warps.end(), [](const Warp &warp) { return warp.done(); });
  });
}

/// False if there are none.
bool expireAllWaits(Cluster &cluster) {
  bool any = false;
  // Groups that wait for an mbarrier give up once: try_wait has a time limit.
  for (Block &block : cluster.blocks)
    for (Warp &warp : block.warps)
      for (Group &group : warp.groups)
        if (group.wait.kind == Wait::Kind::mbarrier)
          group.timedOut = any = true;
  return any;
}

} // namespace

bool expireWaits(Cluster &cluster) {
  // If nothing has changed since waits expired last, nothing comes of it again.
  if (cluster.progress == cluster.progressAtExpiry)
    return false;
  cluster.progressAtExpiry = cluster.progress;
  return expireAllWaits(cluster);
}

std::unique_ptr<Cluster> createCluster(Grid &grid, uint32_t index, std::unique_ptr<Cluster> ended) {
  auto cluster = std::make_unique<Cluster>();
  cluster->grid = &grid;
  cluster->index = index;
  const uint32_t blocks = grid.cluster[0] * grid.cluster[1] * grid.cluster[2];
  cluster->blocks = std::vector<Block>(blocks);
  for (uint32_t rank = 0; rank < blocks; ++rank) {
    Block &block = cluster->blocks[rank];
    block.cluster = cluster.get();
    block.rank = rank;
    block.id = blockId(grid.blocks, grid.cluster, index, rank);
    initialiseBlock(block, grid.threads[0] * grid.threads[1] * grid.threads[2],
                    ended ? &ended->blocks[rank] : nullptr);
  }
  if (grid.observer)
    cluster->observer = grid.observer->observe(*cluster);
  cluster->schedule = grid.makeSchedule ? grid.makeSchedule(*cluster) : createRoundRobin();
  return cluster;
}

ClusterOutcome runCluster(Cluster &cluster) {
  Schedule &schedule = *cluster.schedule;
  while (true) {
    const Turn turn = schedule.next(cluster);
    switch (turn.kind) {
    case Turn::Kind::warp: {
      const RunState state = runWarp(*turn.warp, turn.instructions);
      if (state == RunState::fault)
        return ClusterOutcome::failed;
      schedule.ran(*turn.warp, state);
      continue;
    }
    case Turn::Kind::operation:
      if (!cluster.queue.complete(turn.operation))
        return ClusterOutcome::failed;
      ++cluster.progress;
      schedule.completed(cluster);
      if (std::exchange(cluster.yields, false))
        return ClusterOutcome::yielded;
      continue;
    case Turn::Kind::pause:
      return ClusterOutcome::yielded;
    case Turn::Kind::nothing:
      break;
    }
    if (isDone(cluster))
      return ClusterOutcome::done;
    if (expireWaits(cluster))
      continue;
    // A wait that gives up may look at the clock, so these waits are polls as long as time passes.
    if (cluster.grid->kernel->readsTime && expireAllWaits(cluster))
      return ClusterOutcome::yielded;
    cluster.findings.add(deadlockReport(cluster));
    cluster.faulted = true;
    return ClusterOutcome::failed;
  }
}

} // namespace tlc::emulator
