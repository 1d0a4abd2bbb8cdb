// SPDX-License-Identifier: Apache-2.0
/// \file
/// Accesses of all lanes of a warp at once. Mostly one bounds check and one
/// alignment check hold for all lanes; where they do not, each lane is touched
/// by itself, which finds out whether and where something is wrong.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"

#include <algorithm>

namespace tlc::emulator {

namespace {

/// The addresses of the active lanes taken together.
struct Extent {
  uint64_t first = 0;      ///< the lowest
  uint64_t bytes = 0;      ///< from there to the end of the highest access; 0: too far apart to say
  uint64_t anyBits = 0;    ///< set in some address
  bool contiguous = false; ///< all lanes are active, and each continues where the one before it ends
};

Extent extentOf(uint32_t active, uint64_t bytes, LaneAddresses64 addresses) {
  uint64_t (&lane)[warpSize] = addresses.lane;
  const uint64_t some = lane[std::countr_zero(active)];
  if (active != allLanes)
    for (unsigned l = 0; l < warpSize; ++l)
      lane[l] = active & laneBits[l] ? lane[l] : some;
  Extent extent;
  uint64_t gaps = 0;
  for (unsigned l = 0; l < warpSize; ++l) {
    extent.anyBits |= lane[l];
    gaps |= lane[l] - (lane[0] + l * bytes);
  }
  extent.contiguous = gaps == 0;
  uint64_t low = lane[0], high = lane[warpSize - 1];
  if (!extent.contiguous)
    for (unsigned l = 0; l < warpSize; ++l)
      low = std::min(low, lane[l]), high = std::max(high, lane[l]);
  extent.first = low;
  extent.bytes = high - low < uint64_t(1) << 48 && high >= low ? high - low + bytes : 0;
  return extent;
}

std::byte *findGlobal(Warp &warp, const Extent &extent) {
  MemoryRange &last = clusterOf(warp).lastRange;
  if (!last.holds(extent.first, extent.bytes)) {
    const MemoryRange *range = gridOf(warp).memory->find(extent.first);
    if (!range || !range->reachable || !range->holds(extent.first, extent.bytes))
      return nullptr;
    last = *range;
  }
  return last.at(extent.first);
}

/// The memory of `extent.first`, or null where the lanes have to be looked at one by one.
std::byte *find(Warp &warp, const Instruction &instruction, uint32_t active, const Touch &each,
                const LaneAddresses64 &addresses, Extent extent) {
  if (extent.bytes == 0 || (extent.anyBits & (each.alignment - 1)) != 0)
    return nullptr;
  Space space = each.space;
  if (space == Space::generic) {
    const Window window = Window(extent.first >> windowShift);
    if (window == Window::global)
      space = Space::global;
    else if (window == Window::shared)
      space = Space::sharedCluster;
    extent.first &= (uint64_t(1) << windowShift) - 1;
  }
  Block *block = warp.block;
  switch (space) {
  case Space::global:
  case Space::constant: {
    Observer *observer = clusterOf(warp).observer.get();
    if (!observer || space == Space::constant)
      return findGlobal(warp, extent);
    if (each.ordering != AccessOrdering::weak)
      return nullptr;
    std::byte *host = findGlobal(warp, extent);
    if (host)
      observer->accessGlobalLanes(warp, instruction, active, each, addresses);
    return host;
  }
  case Space::shared:
  case Space::sharedCluster: {
    const uint64_t rank = sharedRank(extent.first, block->rank);
    const uint32_t address = uint32_t(extent.first) & ((1u << sharedRankShift) - 1);
    if (rank != block->rank) {
      if (rank >= block->cluster->blocks.size() || space == Space::shared)
        return nullptr;
      block = &block->cluster->blocks[rank];
    }
    if (address < gridOf(warp).kernel->sharedStart || address > block->sharedEnd ||
        extent.bytes > block->sharedEnd - address)
      return nullptr;
    if (Observer *observer = block->cluster->observer.get()) {
      // Each strong access is a flag of its own.
      if (each.ordering != AccessOrdering::weak)
        return nullptr;
      observer->accessLanes(warp, instruction, active, each, addresses, *block);
    }
    return block->shared().data() + address;
  }
  case Space::parameter: {
    const std::span<const std::byte> parameters = gridOf(warp).parameters;
    if (each.kind != AccessKind::read || extent.first > parameters.size() ||
        extent.bytes > parameters.size() - extent.first)
      return nullptr;
    return const_cast<std::byte *>(parameters.data() + extent.first); // only read
  }
  case Space::local:
  case Space::generic:
    return nullptr;
  }
  return nullptr;
}

} // namespace

bool touchLanes(Warp &warp, const Instruction &instruction, uint32_t active, const Touch &each,
                const LaneAddresses64 &addresses, LaneMemory &memory) {
  const Extent extent = extentOf(active, each.bytes, addresses);
  if (std::byte *host = find(warp, instruction, active, each, addresses, extent)) {
    memory.contiguous = extent.contiguous;
    for (unsigned l = 0; l < warpSize; ++l)
      // Lanes that are not active may be anywhere: no arithmetic of pointers.
      memory.lane[l] = reinterpret_cast<std::byte *>(reinterpret_cast<uintptr_t>(host) +
                                                     (addresses.lane[l] - extent.first));
    return true;
  }
  memory.contiguous = false;
  Touch access = each;
  for (uint32_t left = active; left != 0; left &= left - 1) {
    access.lane = unsigned(std::countr_zero(left));
    access.address = addresses.lane[access.lane];
    memory.lane[access.lane] = touch(warp, instruction, access);
    if (!memory.lane[access.lane])
      return false;
  }
  return true;
}

} // namespace tlc::emulator
