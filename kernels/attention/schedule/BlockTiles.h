// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tiles of a block that stays while others come and go.
#pragma once

#include "kernels/attention/forward/ForwardProblem.h"
#include "kernels/attention/schedule/PackedOrder.h"
#include "kernels/attention/schedule/TileOrder.h"

namespace tlc::kernels {

/// The tiles that one of `blocks` blocks computes, one after the other: where sequences are packed those that
/// it gets of `packed` in Rounds, in TileOrder's order otherwise.
class BlockTiles {
public:
  BlockTiles(const ForwardConfig &config, const ForwardProblem &problem, const PackedOrder *packed,
             const dsl::Index &block, const dsl::Index &blocks);

  ForwardProblem::Position at(const dsl::Index &n) const;

  dsl::Index count;

private:
  const ForwardProblem &problem;
  const PackedOrder *packed;
  Rounds rounds;
  dsl::Index block;
  std::optional<TileOrder> order;
};

} // namespace tlc::kernels
