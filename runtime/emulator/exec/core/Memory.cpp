// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/exec/core/Memory.h"

#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/core/State.h"

#include <algorithm>
#include <fmt/format.h>

namespace tlc::emulator {

namespace {

/// Addresses below are elements and fields of a null pointer; nothing is ever there.
constexpr uint64_t nullBytes = 4096;

std::string_view toString(AccessKind kind) {
  switch (kind) {
  case AccessKind::read:
    return "read";
  case AccessKind::write:
  case AccessKind::initialise:
    return "write";
  case AccessKind::atomic:
  case AccessKind::mbarrier:
    return "atomic access";
  }
  return "access";
}

std::byte *refuse(Warp &warp, const Instruction &instruction, const Touch &access, std::string_view problem,
                  std::string where) {
  const std::string lane = access.lane == noLane ? "" : fmt::format(" by lane {}", access.lane);
  fault(warp, instruction,
        fmt::format("{} {} of {} bytes{} at {}", problem, toString(access.kind), access.bytes, lane, where));
  return nullptr;
}

/// The first byte of an access that is none of the tensor's elements.
uint64_t firstOutside(const MemoryRange *range, const Touch &access) {
  if (!range)
    return access.address;
  const uint64_t offset = access.address - range->address;
  return access.address + (range->runs ? range->runs->bytesFrom(offset) : range->bytes - offset);
}

std::byte *touchGlobal(Warp &warp, const Instruction &instruction, const Touch &access) {
  MemoryRange &last = clusterOf(warp).lastRange;
  if (!last.holds(access.address, access.bytes)) {
    const MemoryMap &memory = *gridOf(warp).memory;
    const std::span<const NamedTensor> tensors = gridOf(warp).tensors;
    const MemoryRange *range = memory.find(access.address);
    if (const NamedTensor *tensor = tensorOf(tensors, access.address);
        tensor && (!range || !range->holds(access.address, access.bytes)))
      return refuse(warp, instruction, access, "out-of-bounds",
                    describeOutside(*tensor, firstOutside(range, access)));
    if (access.address < nullBytes)
      return refuse(warp, instruction, access, "out-of-bounds",
                    access.address == 0 ? "a null pointer"
                                        : fmt::format("offset {} of a null pointer", access.address));
    if (memory.findMulticast(access.address))
      return refuse(warp, instruction, access, "illegal",
                    fmt::format("global address {:#x}, multicast memory, which multimem instructions alone "
                                "access",
                                access.address));
    if (!range || !range->holds(access.address, access.bytes)) {
      std::string near = "outside of all allocations";
      if (const MemoryRange *next = memory.nearest(access.address)) {
        near = fmt::format("{} of the allocation of {} bytes at {:#x}",
                           access.address < next->address
                               ? fmt::format("{} bytes before the start", next->address - access.address)
                               : fmt::format("offset {}", access.address - next->address),
                           next->bytes, next->address);
        if (const auto element = describeElement(tensors, access.address))
          near += ", from " + *element + " on";
        else if (const auto missed =
                     describeMissed(tensors, next->address, next->address + next->bytes, access.address))
          near += ", " + *missed;
      }
      return refuse(warp, instruction, access, "out-of-bounds",
                    fmt::format("global address {:#x}, {}", access.address, near));
    }
    if (!range->reachable)
      return refuse(
          warp, instruction, access, "illegal",
          fmt::format("global address {:#x}, memory of device {}, which kernels of device {} cannot "
                      "access before it enables peer access",
                      access.address, range->device, gridOf(warp).device));
    last = *range;
  }
  if (access.address % access.alignment != 0)
    return refuse(warp, instruction, access, "misaligned",
                  fmt::format("global address {:#x}, which must be a multiple of {}", access.address,
                              access.alignment));
  if (Observer *observer = clusterOf(warp).observer.get(); observer && access.space != Space::constant)
    observer->accessGlobal(warp, instruction, access);
  return last.at(access.address);
}

std::byte *touchShared(Warp &warp, const Instruction &instruction, const Touch &access) {
  Block *block = warp.block;
  const uint64_t rank = sharedRank(access.address, block->rank);
  const uint32_t address = uint32_t(access.address) & ((1u << sharedRankShift) - 1);
  if (rank != block->rank) {
    if (rank >= block->cluster->blocks.size())
      return refuse(warp, instruction, access, "out-of-bounds",
                    fmt::format("shared address {:#x}, beyond the cluster's {} blocks", access.address,
                                block->cluster->blocks.size()));
    if (access.space == Space::shared)
      return refuse(warp, instruction, access, "out-of-bounds",
                    fmt::format("shared offset {} of block rank {}, which .shared::cta cannot reach",
                                int64_t(address) - sharedBase, rank));
    block = &block->cluster->blocks[rank];
  }
  if (address < gridOf(warp).kernel->sharedStart || address > block->sharedEnd ||
      access.bytes > block->sharedEnd - address)
    return refuse(warp, instruction, access, "out-of-bounds",
                  fmt::format("shared offset {}, the block has {} bytes", int64_t(address) - sharedBase,
                              block->sharedEnd - sharedBase));
  if (address % access.alignment != 0)
    return refuse(warp, instruction, access, "misaligned",
                  fmt::format("shared offset {}, which must be a multiple of {}", address - sharedBase,
                              access.alignment));
  if (Observer *observer = block->cluster->observer.get())
    observer->access(warp, instruction, access, *block, address);
  return block->shared().data() + address;
}

std::byte *touchLocal(Warp &warp, const Instruction &instruction, const Touch &access) {
  const uint64_t size = gridOf(warp).kernel->localBytes;
  if (access.lane == noLane || access.address < localBase || access.address > size ||
      access.bytes > size - access.address)
    return refuse(warp, instruction, access, "out-of-bounds",
                  fmt::format("local offset {}, the thread has {} bytes", int64_t(access.address) - localBase,
                              size - localBase));
  if (access.address % access.alignment != 0)
    return refuse(warp, instruction, access, "misaligned",
                  fmt::format("local offset {}, which must be a multiple of {}", access.address - localBase,
                              access.alignment));
  if (Observer *observer = clusterOf(warp).observer.get())
    observer->accessLocal(warp, instruction, access);
  return warp.local.data() + access.lane * size + access.address;
}

std::byte *touchParameter(Warp &warp, const Instruction &instruction, Touch access) {
  if (access.address & functionParameterFlag) {
    access.address &= ~functionParameterFlag;
    return touchLocal(warp, instruction, access);
  }
  const std::span<const std::byte> parameters = gridOf(warp).parameters;
  if (access.kind != AccessKind::read)
    return refuse(warp, instruction, access, "illegal", fmt::format("parameter offset {}", access.address));
  if (access.address > parameters.size() || access.bytes > parameters.size() - access.address)
    return refuse(warp, instruction, access, "out-of-bounds",
                  fmt::format("parameter offset {}, the entry has {} bytes of parameters", access.address,
                              parameters.size()));
  if (access.address % access.alignment != 0)
    return refuse(
        warp, instruction, access, "misaligned",
        fmt::format("parameter offset {}, which must be a multiple of {}", access.address, access.alignment));
  // Only read, as checked above; the hook has one pointer type.
  return const_cast<std::byte *>(parameters.data() + access.address);
}

} // namespace

MemoryMap::MemoryMap(std::vector<MemoryRange> all, std::vector<MulticastRange> multicast)
    : ranges(std::move(all)), multicast(std::move(multicast)) {
  std::sort(ranges.begin(), ranges.end(),
            [](const MemoryRange &a, const MemoryRange &b) { return a.address < b.address; });
}

MemoryMap MemoryMap::with(std::span<const MemoryRange> more) const {
  std::vector<MemoryRange> all = ranges;
  all.insert(all.end(), more.begin(), more.end());
  return MemoryMap(std::move(all), multicast);
}

const MulticastRange *MemoryMap::findMulticast(uint64_t address) const {
  auto holds = [&](const MulticastRange &range) {
    return address >= range.address && address - range.address < range.bytes;
  };
  const auto found = std::ranges::find_if(multicast, holds);
  return found == multicast.end() ? nullptr : &*found;
}

const MemoryRange *MemoryMap::find(uint64_t address) const {
  auto after =
      std::upper_bound(ranges.begin(), ranges.end(), address,
                       [](uint64_t value, const MemoryRange &range) { return value < range.address; });
  if (after == ranges.begin())
    return nullptr;
  const MemoryRange &range = *--after;
  return address - range.address < range.bytes ? &range : nullptr;
}

const MemoryRange *MemoryMap::nearest(uint64_t address) const {
  auto distance = [&](const MemoryRange &range) {
    return address < range.address                 ? range.address - address
           : address - range.address < range.bytes ? 0
                                                   : address - range.address - range.bytes;
  };
  const MemoryRange *best = nullptr;
  for (const MemoryRange &range : ranges)
    if (!best || distance(range) < distance(*best))
      best = &range;
  return best;
}

std::byte *touch(Warp &warp, const Instruction &instruction, const Touch &access) {
  switch (access.space) {
  case Space::global:
  case Space::constant:
    return touchGlobal(warp, instruction, access);
  case Space::shared:
  case Space::sharedCluster:
    return touchShared(warp, instruction, access);
  case Space::local:
    return touchLocal(warp, instruction, access);
  case Space::parameter:
    return touchParameter(warp, instruction, access);
  case Space::generic:
    break;
  }
  Touch inner = access;
  inner.address &= (uint64_t(1) << windowShift) - 1;
  switch (Window(access.address >> windowShift)) {
  case Window::shared:
    inner.space = Space::sharedCluster;
    return touchShared(warp, instruction, inner);
  case Window::local:
    return touchLocal(warp, instruction, inner);
  case Window::parameter:
    return touchParameter(warp, instruction, inner);
  case Window::global:
  case Window::multicast: // of multimem instructions alone
  case Window::code:      // nothing lies there
    break;
  }
  return touchGlobal(warp, instruction, access);
}

SharedPlace sharedPlace(Warp &warp, uint64_t address) {
  if (address >> windowShift == uint64_t(Window::shared))
    address &= (uint64_t(1) << windowShift) - 1;
  const uint64_t rank = sharedRank(address, warp.block->rank);
  Cluster &cluster = clusterOf(warp);
  if (rank >= cluster.blocks.size())
    return {};
  return {&cluster.blocks[rank], uint32_t(address) & ((1u << sharedRankShift) - 1)};
}

uint32_t lanesAt(const LaneAddresses64 &addresses, uint32_t among, unsigned lane) {
  uint32_t lanes = 0;
  for (unsigned l = 0; l < warpSize; ++l)
    lanes |= uint32_t(among >> l & 1 && addresses.lane[l] == addresses.lane[lane]) << l;
  return lanes;
}

LaneAddresses64 laneAddresses(const Warp &warp, const Instruction &, Slot base, int64_t offset) {
  LaneAddresses64 result;
  const std::byte *from = warp.read(base);
  for (unsigned l = 0; l < warpSize; ++l) {
    if (base.bytes == 4) {
      uint32_t value;
      std::memcpy(&value, from + 4 * l, 4);
      result.lane[l] = uint32_t(value + uint64_t(offset)); // LLVM forms addresses that wrap around
    } else {
      uint64_t value;
      std::memcpy(&value, from + 8 * l, 8);
      result.lane[l] = value + uint64_t(offset);
    }
  }
  return result;
}

} // namespace tlc::emulator
