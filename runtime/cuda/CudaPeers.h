// SPDX-License-Identifier: Apache-2.0
/// \file
/// What ranks in processes of their own need of GPUs: memory of other processes of the machine, and flags for
/// which streams wait.
#pragma once

#include "runtime/device/RankGroup.h"

#include <array>

namespace tlc {

/// Memory of a GPU for another process, to which these bytes are sent by any means.
struct MemoryHandle {
  std::array<std::byte, 64> allocation = {}; ///< a CUipcMemHandle
  uint64_t offset = 0;                       ///< of the memory in its allocation
};

/// The handle of so many bytes of that GPU, of one allocation by cuMemAlloc or cudaMalloc. It is valid until
/// the memory is freed.
Result<MemoryHandle> exportMemory(int ordinal, const void *address, size_t bytes = 1);
/// The address of another process's memory, for kernels, copies and streams of that GPU. Valid until the
/// other process frees it, before which it has to be closed here.
Result<void *> importMemory(int ordinal, const MemoryHandle &handle);
/// `address` is what `importMemory` gave.
Result<void> closeMemory(int ordinal, const MemoryHandle &handle, void *address);

/// The GPU's name on the PCI bus, the same in all processes of the machine: "0000:3b:00.0".
Result<std::string> busIdOf(int ordinal);
/// Whether kernels of that GPU reach the memory of the one with this name, which the process has to see.
Result<void> checkReach(int ordinal, const std::string &busId);

/// `RankGroup::flagBytes` of zeros, for flags whose handle other processes get. Never freed, because it is
/// not known when the last one of them has closed it.
Result<void *> createFlagMemory(int ordinal);

/// Flags of ranks for a `RankGroup` on that GPU.
Result<std::unique_ptr<StreamFlags>> createCudaFlags(int ordinal);

} // namespace tlc
