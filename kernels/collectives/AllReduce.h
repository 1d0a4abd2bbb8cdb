// SPDX-License-Identifier: Apache-2.0
/// \file
/// The sum of a tensor over all ranks, on every rank, the same bits everywhere.
#pragma once

#include "compiler/dsl/dsl.h"

namespace tlc::kernels {

enum class Exchange : uint8_t {
  loads,     ///< of other ranks' memory
  multicast, ///< NVLink multicast, which adds up and stores to all ranks
};

struct AllReduceConfig {
  ElementType dtype = ElementType::bf16; ///< of X and Y; sums are in f32
  Exchange exchange = Exchange::loads;
  int64_t tile = 8192; ///< elements that a block reduces at once
  int64_t blocks = 2;  ///< for each multiprocessor: more copies are in flight
};

/// Y = the sum over ranks of X[n], in three launches. The first reduces the tiles of this rank, every
/// `ranks`-th one, by loads of all ranks' X in the order of the ranks, rounds once and leaves the tiles in
/// memory that other ranks read. The second loads all tiles from their owners. The third ends when no rank
/// reads this one's memory any more. Blocks wait for earlier launches, and the first ones for nothing: no
/// number of blocks needs to run at once. The result is deterministic.
///
/// With multicast, one launch loads the sums of this rank's tiles and stores them to all ranks; in a second
/// one the ranks wait for each other. A rank's link carries (ranks + 1) / ranks times n elements each way,
/// with loads 2 (ranks - 1) / ranks times n. The order of a sum is the hardware's. X and Y have a multiple of
/// 16 bytes.
dsl::Program allReduceProgram(const AllReduceConfig &config, const dsl::TraceOptions &options = {});

} // namespace tlc::kernels
