// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which block computes which tiles, in which order: for tiles of queries and tiles of keys, of uniform,
/// padded and packed sequences.
#pragma once

#include "kernels/attention/mask/Mask.h"
#include "kernels/attention/schedule/TileOrder.h"

namespace tlc::kernels {

/// Blocks stay on their multiprocessors and compute tiles one after the other. Where tiles take equally long,
/// those of one head come after those of the one before: blocks read the same rows of the other axis at the
/// same time, and L2 need not keep any; if these are no more than a tile has, the heads of a sequence are
/// side by side, as their rows are in memory. Otherwise heads whose rows stay in L2 together make a group,
/// those that share K and V side by side. In a group the longest tiles come first and are dealt out in
/// rounds, every other one backwards: who got the longest of one round gets the shortest of the next. Every
/// other group is dealt out backwards, so that what does not fill a round evens out.
///
/// Instead, blocks may take tiles, the next one when they are ready for it. Groups are then as small as L2
/// wants them, but for the last one.
///
/// The number and the lengths of packed sequences are known to the device alone: a launch of its own finds
/// out their order. Sequences with the most rows of the other axis come first. Groups are as above, within a
/// sequence; in a group the longest tiles come first, in the next one last, so that neighbours take about
/// the same time.
class TileScheduler {
public:
  struct Space {
    Axis axis = Axis::queries; ///< of which a tile has rows
    int64_t rowsOfTile = 128;
    RowOrder order = RowOrder::any;
    dsl::Index heads, kvHeads;
    HeadGroups groups = HeadGroups::loads;
    dsl::Index cachedRowBytes = 0; ///< of a row of the other axis, of all tensors of a head that tiles share
    TileDealing dealing = TileDealing::fixed;
    /// One head after the other, each from its last tile to its first, however long they take: for blocks
    /// that wait for those before them.
    bool descends = false;
  };

  /// Declares the workspaces of packed sequences.
  TileScheduler(dsl::Scope &k, const Sequences &sequences, Space space);

  /// Whether there is a launch that writes the order.
  bool hasLaunch() const { return sequences.isPacked(); }
  void writeOrder() const;

  /// Tiles of all heads and sequences; of packed sequences at most so many.
  dsl::Index tilesAtMost() const;
  /// The same, counted by the device.
  dsl::Index tileCount() const;
  /// Tile `number` of them in the order in which they are taken.
  TilePlace at(const dsl::Index &number) const;
  /// Tiles that a block takes at most: twice the mean.
  dsl::Index takenAtMost() const;

  /// The tiles of one of `blocks` blocks.
  class Share {
  public:
    /// Tile number `n` of them.
    TilePlace at(const dsl::Index &n) const;

    dsl::Index count;

  private:
    friend class TileScheduler;
    Share(const TileScheduler &all, const dsl::Index &block, const dsl::Index &blocks);
    dsl::Index placeIn(const dsl::Index &group) const;

    const TileScheduler &all;
    dsl::Index block, blocks;
    // Of groups; there are none where all tiles take equally long, and of packed sequences.
    dsl::Index groupSize; ///< pairs of a head and a sequence
    dsl::Index fullGroups, forwards, backwards, inFullGroups;
  };
  Share shareOf(const dsl::Index &block, const dsl::Index &blocks) const { return {*this, block, blocks}; }

private:
  dsl::Index tilesOfHead() const;
  dsl::Index tilesOfSequence(const dsl::Index &batch) const;
  dsl::Index pairs() const { return space.heads * sequences.count; } ///< of a head and a sequence
  dsl::Index sizeOfGroup() const;
  dsl::Index kvHeadsTogether(const dsl::Index &all, const dsl::Index &tilesOfEach, const dsl::Index &rows,
                             const dsl::Index &least) const;
  TilePlace tileOfPair(const dsl::Index &pair, const dsl::Index &line) const;
  dsl::Index kvHeadsToFill(const dsl::Index &tilesOfEach) const;
  TilePlace tileAmong(const dsl::Index &firstPair, const dsl::Index &count, const dsl::Index &number) const;
  TilePlace packedTile(const dsl::Index &number) const;
  Axis otherAxis() const { return space.axis == Axis::queries ? Axis::keys : Axis::queries; }

  dsl::Scope &k;
  const Sequences &sequences;
  Space space;
  // Of packed sequences.
  dsl::Global lines;     ///< of each tile of rows: its sequence, and the first and the number of its tiles
  dsl::Global lineCount; ///< of tiles of rows
};

} // namespace tlc::kernels
