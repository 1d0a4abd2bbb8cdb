// SPDX-License-Identifier: Apache-2.0
/// \file
/// The memory of devices that are emulated together: host memory, each
/// allocation of which belongs to one device.
#pragma once

#include "runtime/emulator/check/RaceCheck.h"
#include "runtime/emulator/check/WrittenBytes.h"
#include "runtime/emulator/exec/core/Memory.h"
#include "runtime/support/Result.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

namespace tlc {

class EmulatedMemory {
public:
  /// With the check on it is known which bytes something has written.
  Result<void *> allocate(int device, size_t bytes, RaceCheck check);
  Result<void> free(int device, void *address);
  void freeAll(int device);

  /// An error unless the bytes lie inside one allocation of the device.
  Result<void> check(int device, const void *address, size_t bytes) const;
  /// The host writes bytes inside one allocation.
  void markWritten(const void *address, size_t bytes);
  /// The host copies bytes from one allocation to another.
  void copyWritten(const void *to, const void *from, size_t bytes);
  /// Whose memory the address is; nothing: nobody's.
  std::optional<int> ownerOf(const void *address) const;

  /// What a launch may access. Lives on where it is freed while the launch runs.
  struct View {
    std::vector<emulator::MemoryRange> ranges;
    std::vector<std::shared_ptr<void>> kept;
  };
  /// For a launch on `device`, whose kernels reach the memory of `peers` too.
  View viewOf(int device, const std::set<int> &peers) const;

private:
  struct Allocation {
    std::shared_ptr<void> memory;
    std::shared_ptr<emulator::WrittenBytes> written; ///< null: not tracked
    size_t bytes = 0;
    int device = 0;
  };
  /// Memory far from that of all allocations (docs/emulator.md); aligned as allocations of GPUs are, and to
  /// no more. Null: there is none.
  std::shared_ptr<void> allocateApart(size_t bytes);
  /// The lowest address in [from, end) that leaves at least `distance` bytes between these `bytes` and every
  /// allocation.
  std::optional<uint64_t> findSpace(uint64_t from, uint64_t end, uint64_t bytes, uint64_t distance) const;
  /// The allocation that begins at or closest below the address; null if there is none.
  const std::pair<const uint64_t, Allocation> *below(const void *address) const;

  mutable std::mutex mutex;
  std::map<uint64_t, Allocation> allocations;
};

} // namespace tlc
