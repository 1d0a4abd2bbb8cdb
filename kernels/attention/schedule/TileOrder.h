// SPDX-License-Identifier: Apache-2.0
/// \file
/// The order in which blocks that stay on their multiprocessors compute the tiles of O.
#pragma once

#include "kernels/attention/forward/Forward.h"
#include "kernels/attention/schedule/Rounds.h"

#include <array>

namespace tlc::kernels {

/// How many heads' K and V, of so many rows, stay in L2 together; may be 0.
dsl::Index headsInCache(const ForwardConfig &config, const dsl::Index &keys);
/// Which of a head's row tiles comes as number `line`.
dsl::Index rowTileAt(RowOrder rows, const dsl::Index &line, const dsl::Index &rowTiles);

/// Which tiles a block computes, and in which order. Where all of a sequence take equally long, those of one
/// head come after those of the one before: blocks read the same K and V at the same time, and L2 need not
/// keep any. Otherwise heads whose K and V stay in L2 together make a group, those that share K and V side by
/// side. In a group the longest tiles come first and are dealt out in Rounds. Every other group is dealt out
/// backwards, so that what does not fill a round evens out.
class TileOrder {
public:
  struct Space {
    dsl::Index rowTiles, heads, kvHeads, batches, keys;
  };

  TileOrder(const ForwardConfig &config, RowOrder rows, const Space &space, const dsl::Index &block,
            const dsl::Index &blocks);

  /// First row, head and batch of this block's tile number n.
  std::array<dsl::Index, 3> at(const dsl::Index &n) const;

  dsl::Index count; ///< of this block's tiles

private:
  dsl::Index placeIn(const dsl::Index &group) const;

  const ForwardConfig &config;
  RowOrder rows;
  Space space;
  Rounds rounds;
  dsl::Index block, pairs;
  // Of groups; there are none where all tiles take equally long.
  dsl::Index groupSize; ///< heads of Q, over all batches
  dsl::Index fullGroups, forwards, backwards, inFullGroups;
};

} // namespace tlc::kernels
