// SPDX-License-Identifier: Apache-2.0
/// \file
/// Addresses to host memory. Every access of every instruction, and of every
/// asynchronous operation, passes `touch`: it checks bounds and alignment and
/// is where the observer of a launch is told.
#pragma once

#include "runtime/emulator/exec/core/Program.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tlc::emulator {

struct Block;
struct Warp;

/// The global memory that a launch may touch, sorted by address.
class MemoryMap {
public:
  explicit MemoryMap(std::vector<MemoryRange> ranges, std::vector<MulticastRange> multicast = {});
  /// The same and more ranges.
  MemoryMap with(std::span<const MemoryRange> more) const;
  /// The range that holds the address, or nothing.
  const MemoryRange *find(uint64_t address) const;
  /// The closest range below or above, for messages; null when there is none.
  const MemoryRange *nearest(uint64_t address) const;
  /// The multicast memory that holds the address, or nothing.
  const MulticastRange *findMulticast(uint64_t address) const;

private:
  std::vector<MemoryRange> ranges;
  std::vector<MulticastRange> multicast;
};

enum class AccessKind : uint8_t {
  read,
  write,
  atomic,
  mbarrier,   ///< use of an mbarrier
  initialise, ///< mbarrier.init
};
/// By which way memory is accessed.
enum class Proxy : uint8_t {
  generic,   ///< by threads
  async,     ///< by the asynchronous units
  tensorMap, ///< their reads of tensor maps
  readOnly,  ///< ld.global.nc
  multicast, ///< by threads, through an address of several devices' memory
  tensor,    ///< tcgen05, to tensor memory
};
/// Threads may make all but weak accesses at the same time.
enum class AccessOrdering : uint8_t { weak, relaxed, acquire, release, acquireRelease };
/// The threads that an access or a fence orders with.
enum class Scope : uint8_t { cta, cluster, gpu, sys };

struct Touch {
  Space space = Space::generic;
  AccessKind kind = AccessKind::read;
  Proxy proxy = Proxy::generic;
  unsigned lane = 0; ///< for messages; `noLane` where the whole warp acts
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t alignment = 1;
  AccessOrdering ordering = AccessOrdering::weak;
  Scope scope = Scope::gpu;
  bool collective = false; ///< `lane` only says where, the whole warp makes the access
  /// Lanes from `lane` on make the access, each of so many bytes; 0: one lane, or all as one.
  uint32_t laneBytes = 0;
};
inline constexpr unsigned noLane = ~0u;

/// The host memory of an access by `warp`, or null after a fault.
std::byte *touch(Warp &warp, const Instruction &instruction, const Touch &access);

/// Whether an access in that space to that address is one to shared memory.
inline bool isSharedAddress(Space space, uint64_t address) {
  return space == Space::shared || space == Space::sharedCluster ||
         (space == Space::generic && address >> windowShift == uint64_t(Window::shared));
}

/// A shared address seen from `warp`: the block it lies in and the address
/// there. Null when the rank is not in the cluster.
struct SharedPlace {
  Block *block = nullptr;
  uint32_t address = 0;
};
SharedPlace sharedPlace(Warp &warp, uint64_t address);

/// Addresses of 32 lanes.
struct LaneAddresses64 {
  uint64_t lane[32];
};
/// The lanes among some that have the address of `lane`.
uint32_t lanesAt(const LaneAddresses64 &addresses, uint32_t among, unsigned lane);
LaneAddresses64 laneAddresses(const Warp &warp, const Instruction &instruction, Slot base, int64_t offset);

/// Where lanes find what they access.
struct LaneMemory {
  std::byte *lane[32];     ///< of the active lanes
  bool contiguous = false; ///< all are active, and each continues where the one before it ends
};
/// `touch` for each active lane at its own address, in one go where one check
/// does for all. False after a fault.
bool touchLanes(Warp &warp, const Instruction &instruction, uint32_t active, const Touch &each,
                const LaneAddresses64 &addresses, LaneMemory &memory);

} // namespace tlc::emulator
