// SPDX-License-Identifier: Apache-2.0
/// \file
/// A choice between two orders.
#include "kernels/attention/schedule/BlockTiles.h"

namespace tlc::kernels {

using namespace dsl;

BlockTiles::BlockTiles(const ForwardConfig &config, const ForwardProblem &problem, const PackedOrder *packed,
                       const Index &block, const Index &blocks)
    : problem(problem), packed(packed), rounds{blocks}, block(block) {
  if (packed) {
    count = rounds.countOf(packed->tiles(), block);
    return;
  }
  TileOrder::Space space{.rowTiles = problem.rowTiles(),
                         .heads = problem.heads,
                         .kvHeads = problem.kvHeads,
                         .batches = problem.batches,
                         .keys = problem.sk};
  order.emplace(config, problem.rowOrder(), space, block, blocks);
  count = order->count;
}

ForwardProblem::Position BlockTiles::at(const Index &n) const {
  if (packed)
    return packed->at(rounds.tileAt(n, block));
  auto [row, head, batch] = order->at(n);
  return problem.positionOf(row, head, batch);
}

} // namespace tlc::kernels
