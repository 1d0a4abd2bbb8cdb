// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which block computes which tiles, in which order: for tiles of queries and tiles of keys, of uniform,
/// padded and packed sequences.
#pragma once

#include "kernels/attention/mask/Mask.h"

namespace tlc::kernels {

/// Blocks stay on their multiprocessors and compute tiles one after the other. Where tiles take equally long,
/// those of one head come after those of the one before: blocks read the same rows of the other axis at the
/// same time, and L2 need not keep any. Otherwise heads whose rows stay in L2 together make a group, those
/// that share K and V side by side. In a group the longest tiles come first and are dealt out in rounds,
/// every other one backwards: who got the longest of one round gets the shortest of the next. Every other
/// group is dealt out backwards, so that what does not fill a round evens out.
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
    int64_t cachedRowBytes = 0; ///< of a row of the other axis, of all tensors of a head that tiles share
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
    dsl::Index pairs;     ///< of heads and sequences
    dsl::Index groupSize; ///< of these
    dsl::Index fullGroups, forwards, backwards, inFullGroups;
  };
  Share shareOf(const dsl::Index &block, const dsl::Index &blocks) const { return {*this, block, blocks}; }

private:
  dsl::Index tilesOfHead() const;
  dsl::Index tilesOfSequence(const dsl::Index &batch) const;
  dsl::Index headsInCache(const dsl::Index &rows) const;
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
