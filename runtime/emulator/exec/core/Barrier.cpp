// SPDX-License-Identifier: Apache-2.0
/// \file
/// The state of barriers: what an arrival and a completion do.
#include "runtime/emulator/exec/core/Barrier.h"

#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/core/State.h"

#include <fmt/format.h>

namespace tlc::emulator {

namespace {

constexpr unsigned countBits = 20, byteBits = 21;

} // namespace

Mbarrier Mbarrier::decode(uint64_t bits) {
  Mbarrier result;
  result.phase = bits >> 63;
  result.expected = bits & maximumMbarrierCount;
  result.pending = bits >> countBits & maximumMbarrierCount;
  // Sign extended from 21 bits.
  result.bytes = int32_t(uint32_t(bits >> (2 * countBits)) << (32 - byteBits)) >> (32 - byteBits);
  return result;
}

uint64_t Mbarrier::encode() const {
  return uint64_t(phase) << 63 | uint64_t(uint32_t(bytes) & ((1u << byteBits) - 1)) << (2 * countBits) |
         uint64_t(pending) << countBits | expected;
}

Mbarrier loadMbarrier(Block &block, uint32_t address) {
  uint64_t bits;
  std::memcpy(&bits, block.shared().data() + address, sizeof(bits));
  return Mbarrier::decode(bits);
}

bool isInitialised(Block &block, uint32_t address) {
  uint64_t bits;
  std::memcpy(&bits, block.shared().data() + address, sizeof(bits));
  return bits != ~uint64_t(0) && Mbarrier::decode(bits).expected != 0;
}

std::string describeShared(const Block &block, uint32_t address) {
  if (address < sharedBase)
    return fmt::format("offset {} of the reserved shared memory", address);
  std::string text = fmt::format("shared offset {}", address - sharedBase);
  const Grid &grid = *block.cluster->grid;
  const uint32_t dynamic = grid.kernel->dynamicSharedStart;
  if (const std::string name = address < dynamic ? "" : grid.names->nameOf(address - dynamic); !name.empty())
    text += fmt::format(" ({})", name);
  return text;
}

std::string describeMbarrier(const Block &block, uint32_t address) {
  return "the mbarrier at " + describeShared(block, address);
}

namespace {

/// Those who still wait for the phase before while this one ends: they see a parity that is theirs
/// no more, and wait for a phase too far.
void reportOvertaken(Block &block, uint32_t address, bool ending) {
  for (Block &other : block.cluster->blocks)
    for (Warp &warp : other.warps)
      for (const Group &group : warp.groups)
        if (group.wait.kind == Wait::Kind::mbarrier && !group.timedOut)
          for (const MbarrierWait &wait : group.wait.barriers)
            if (wait.block == &block && wait.address == address && wait.phase != ending)
              record(warp, warp.code[group.pc],
                     fmt::format(
                         "the wait for phase {} of {} is overtaken: the next phase ends too; missing: an "
                         "order between this wait and the arrivals of the next phase",
                         unsigned(wait.phase), describeMbarrier(block, address)),
                     {.kind = FindingKind::fault});
}

} // namespace

void storeMbarrier(Block &block, uint32_t address, Mbarrier barrier) {
  if (barrier.pending == 0 && barrier.bytes == 0) {
    reportOvertaken(block, address, barrier.phase);
    barrier.phase = !barrier.phase;
    barrier.pending = barrier.expected;
    ++block.mbarrierHistories[address].phase;
    if (Observer *observer = block.cluster->observer.get())
      observer->completePhase(block, address);
  }
  const uint64_t bits = barrier.encode();
  std::memcpy(block.shared().data() + address, &bits, sizeof(bits));
  ++block.cluster->progress;
}

void noteArrival(Block &block, uint32_t address, const Warp &warp, const Instruction &instruction) {
  MbarrierHistory &history = block.mbarrierHistories[address];
  for (MbarrierHistory::Arrival &arrival : history.arrivals)
    if (arrival.warp == &warp && arrival.instruction == &instruction) {
      arrival.phase = history.phase;
      return;
    }
  history.arrivals.push_back({&warp, &instruction, history.phase});
}

bool phasePassed(const MbarrierWait &wait) {
  return loadMbarrier(*wait.block, wait.address).phase != wait.phase;
}

void completeBytes(Block &block, uint32_t address, uint32_t bytes) {
  Mbarrier barrier = loadMbarrier(block, address);
  barrier.bytes -= int32_t(bytes);
  storeMbarrier(block, address, barrier);
}

void completeNamedBarrier(Block &block, NamedBarrier &barrier) {
  if (Observer *observer = block.cluster->observer.get())
    observer->completeNamed(block, unsigned(&barrier - block.barriers.data()));
  barrier.results[barrier.generation & 1] = {barrier.count, barrier.all, barrier.any};
  ++barrier.generation;
  barrier.arrived = 0;
  barrier.expected = 0;
  barrier.earlier |= std::exchange(barrier.warps, 0);
  barrier.count = 0;
  barrier.all = true;
  barrier.any = false;
  ++block.cluster->progress;
}

uint32_t liveThreads(const Block &block) {
  uint32_t warps = 0;
  for (const Warp &warp : block.warps)
    warps += warp.live != 0;
  return warps * warpSize;
}

uint32_t liveLanes(const Cluster &cluster) {
  uint32_t lanes = 0;
  for (const Block &block : cluster.blocks)
    for (const Warp &warp : block.warps)
      lanes += uint32_t(std::popcount(warp.live));
  return lanes;
}

void completeClusterBarrier(Cluster &cluster) {
  if (cluster.observer)
    cluster.observer->completeCluster();
  ++cluster.barrier.generation;
  cluster.barrier.arrived = 0;
  ++cluster.progress;
}

void leaveBarriers(Block &block) {
  for (NamedBarrier &barrier : block.barriers)
    if (barrier.arrived != 0 && barrier.expected == 0 && barrier.arrived >= liveThreads(block))
      completeNamedBarrier(block, barrier);
  Cluster &cluster = *block.cluster;
  if (cluster.barrier.arrived != 0 && cluster.barrier.arrived >= liveLanes(cluster))
    completeClusterBarrier(cluster);
}

} // namespace tlc::emulator
