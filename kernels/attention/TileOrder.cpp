// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arithmetic of the order of tiles.
#include "kernels/attention/TileOrder.h"

namespace tlc::kernels {

using namespace dsl;

TileOrder::TileOrder(const ForwardConfig &config, const Space &space, const Index &block, const Index &blocks)
    : config(config), space(space), block(block), blocks(blocks), pairs(space.heads * space.batches) {
  constexpr int64_t cachedBytes = 32 << 20; // half of an H200's L2
  int64_t rowBytes = (config.d + config.dv) * sizeInBytes(config.dtype);
  Index headsPerKv = space.heads / space.kvHeads;
  Index cached = Index(cachedBytes / rowBytes) / max(space.keys, 1);
  Index atLeast = ceilDiv(blocks, max(space.rowTiles * headsPerKv, 1)); // a tile for each block
  groupSize = max(min(max(cached, atLeast), space.kvHeads * space.batches), 1) * headsPerKv;
  Index tiles = groupSize * space.rowTiles;
  fullGroups = pairs / groupSize;
  forwards = countAmong(tiles, block);
  backwards = countAmong(tiles, opposite(block));
  inFullGroups = fullGroups / 2 * (forwards + backwards) + where(fullGroups % 2 == 0, Index(0), forwards);
  count = inFullGroups + countAmong(pairs % groupSize * space.rowTiles, placeIn(fullGroups));
}

std::array<Index, 3> TileOrder::at(const Index &n) const {
  Index twoGroups = max(forwards + backwards, 1), rest = n % twoGroups;
  Index isSecond = where(rest < forwards, Index(0), Index(1));
  Predicate isFull = n < inFullGroups;
  Index group = where(isFull, n / twoGroups * 2 + isSecond, fullGroups);
  Index round = where(isFull, rest - isSecond * forwards, n - inFullGroups);
  Index tile = round * blocks + inRound(round, placeIn(group));
  Index width = min(pairs - group * groupSize, groupSize), line = tile / width;
  Index pair = group * groupSize + tile % width;
  bool lastIsLongest = config.causal != CausalAlignment::none;
  return {(lastIsLongest ? space.rowTiles - 1 - line : line) * config.bq, pair % space.heads,
          pair / space.heads};
}

Index TileOrder::opposite(const Index &place) const { return blocks - 1 - place; }

Index TileOrder::placeIn(const Index &group) const { return where(group % 2 == 0, block, opposite(block)); }

Index TileOrder::inRound(const Index &round, const Index &place) const {
  return where(round % 2 == 0, place, opposite(place));
}

Index TileOrder::countAmong(const Index &tiles, const Index &place) const {
  Index whole = tiles / blocks;
  return whole + where(inRound(whole, place) < tiles % blocks, Index(1), Index(0));
}

} // namespace tlc::kernels
