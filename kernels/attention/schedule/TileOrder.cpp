// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arithmetic of the order of tiles.
#include "kernels/attention/schedule/TileOrder.h"

namespace tlc::kernels {

using namespace dsl;

Index headsInCache(const ForwardConfig &config, const Index &keys) {
  constexpr int64_t cachedBytes = 32 << 20; // half of an H200's L2
  int64_t rowBytes = (config.d + config.dv) * sizeInBytes(config.dtype);
  return Index(cachedBytes / rowBytes) / max(keys, 1);
}

TileOrder::TileOrder(const ForwardConfig &config, RowOrder rows, const Space &space, const Index &block,
                     const Index &blocks)
    : config(config), rows(rows), space(space), rounds{blocks}, block(block),
      pairs(space.heads * space.batches) {
  if (rows == RowOrder::any) {
    count = rounds.countOf(pairs * space.rowTiles, block);
    return;
  }
  Index headsPerKv = space.heads / space.kvHeads, cached = headsInCache(config, space.keys);
  Index atLeast = ceilDiv(blocks, max(space.rowTiles * headsPerKv, 1)); // a tile for each block
  groupSize = max(min(max(cached, atLeast), space.kvHeads * space.batches), 1) * headsPerKv;
  Index tiles = groupSize * space.rowTiles;
  fullGroups = pairs / groupSize;
  forwards = rounds.countOf(tiles, block);
  backwards = rounds.countOf(tiles, rounds.opposite(block));
  inFullGroups = fullGroups / 2 * (forwards + backwards) + where(fullGroups % 2 == 0, Index(0), forwards);
  count = inFullGroups + rounds.countOf(pairs % groupSize * space.rowTiles, placeIn(fullGroups));
}

std::array<Index, 3> TileOrder::at(const Index &n) const {
  if (rows == RowOrder::any) {
    Index tile = rounds.tileAt(n, block), pair = tile / space.rowTiles;
    return {tile % space.rowTiles * config.bq, pair % space.heads, pair / space.heads};
  }
  Index twoGroups = max(forwards + backwards, 1), rest = n % twoGroups;
  Index isSecond = where(rest < forwards, Index(0), Index(1));
  Predicate isFull = n < inFullGroups;
  Index group = where(isFull, n / twoGroups * 2 + isSecond, fullGroups);
  Index round = where(isFull, rest - isSecond * forwards, n - inFullGroups);
  Index tile = rounds.tileAt(round, placeIn(group));
  Index width = min(pairs - group * groupSize, groupSize), line = tile / width;
  Index pair = group * groupSize + tile % width;
  return {rowTileAt(rows, line, space.rowTiles) * config.bq, pair % space.heads, pair / space.heads};
}

Index rowTileAt(RowOrder rows, const Index &line, const Index &rowTiles) {
  Index fromEnd = rowTiles - 1 - line;
  switch (rows) {
  case RowOrder::any:
    return line;
  case RowOrder::lastFirst:
    return fromEnd;
  case RowOrder::lastOfHalfFirst: { // one from each half in turn; the second half has the odd tile, at its
                                    // end
    Index half = rowTiles / 2, odd = rowTiles % 2;
    Index inHalf = (line - odd) / 2;
    return where(line < odd, rowTiles - 1,
                 where((line - odd) % 2 == 0, half - 1 - inHalf, 2 * half - 1 - inHalf));
  }
  }
  return line;
}

Index TileOrder::placeIn(const Index &group) const {
  return where(group % 2 == 0, block, rounds.opposite(block));
}

} // namespace tlc::kernels
