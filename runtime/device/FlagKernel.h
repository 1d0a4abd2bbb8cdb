// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernel by which a stream writes flags of ranks and waits for them.
///
/// It is one warp, of which each lane performs one operation, so that all of a meeting take the time of one
/// launch; memory operations of a stream take microseconds each. While it waits it holds one warp and no
/// shared memory of a multiprocessor.
#pragma once

#include "runtime/device/RankGroup.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tlc {

/// The kernel's only parameter. Operations of one step are performed at the same time, steps one after the
/// other.
struct FlagBatch {
  static constexpr size_t capacity = 32; ///< lanes of a warp
  struct Operation {
    uint32_t *address = nullptr;
    uint32_t value = 0; ///< to write, or to wait for
    uint16_t step = 0;
    uint16_t waits = 0; ///< 1 if it waits, otherwise it writes
  };

  std::array<Operation, capacity> operations = {};
  uint32_t count = 0;
  uint32_t steps = 0;
};

/// The operations for launches of the kernel one after the other. Those in a row that are of one kind and at
/// different addresses are one step.
std::vector<FlagBatch> batchesOf(std::span<const FlagOperation> operations);

inline constexpr const char *flagKernelName = "tlc_flags";
/// PTX for all GPUs that are targets, of one block of `FlagBatch::capacity` threads. What the stream did
/// before is visible where a written flag is seen, by the release; what others did before they wrote a flag
/// that was waited for is visible to what the stream does next, by the acquire. (PTX ISA, Memory Consistency
/// Model)
extern const char *const flagKernelText;

} // namespace tlc
