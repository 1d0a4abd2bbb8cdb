// SPDX-License-Identifier: Apache-2.0
/// \file
/// The sum of a tensor over all ranks, on every rank: deterministic, the same bits everywhere.
#pragma once

#include "compiler/dsl/dsl.h"

namespace tlc::kernels {

struct AllReduceConfig {
  ElementType dtype = ElementType::bf16; ///< of X and Y; sums are in f32
  int64_t tile = 8192;                   ///< elements that a block reduces at once
  int64_t blocks = 2;                    ///< for each multiprocessor: more copies are in flight
};

/// Y = the sum over ranks of X[n], in three launches. The first reduces the tiles of this rank, every
/// `ranks`-th one, by loads of all ranks' X in the order of the ranks, rounds once and leaves the tiles in
/// memory that other ranks read. The second loads all tiles from their owners. The third ends when no rank
/// reads this one's memory any more. Blocks wait for earlier launches, and the first ones for nothing: no
/// number of blocks needs to run at once.
dsl::Program allReduceProgram(const AllReduceConfig &config, const dsl::TraceOptions &options = {});

} // namespace tlc::kernels
