// SPDX-License-Identifier: Apache-2.0
/// \file
/// What all launches of attention backward have in common: arguments, tiles, and what becomes of scores.
#pragma once

#include "kernels/attention/backward/Backward.h"
#include "kernels/attention/backward/TermsOfRanks.h"
#include "kernels/attention/backward/TermsOfRing.h"
#include "kernels/attention/logits/AppliedMask.h"
#include "kernels/attention/logits/Dropout.h"
#include "kernels/attention/logits/Scores.h"
#include "kernels/attention/problem/Inputs.h"
#include "kernels/attention/schedule/TileScheduler.h"

#include <functional>
#include <optional>

namespace tlc::kernels {

/// Rows of keys or of queries of one head of one sequence.
struct GradientTile {
  dsl::Index row, kvHead;
  Sequence sequence; ///< with a head of Q, but of a tile of keys that is for all that share its head
};

/// The gradient of the rows of an axis.
struct GradientSum {
  Axis axis = Axis::queries;
  int64_t length = 0; ///< of a row
  double scale = 1;   ///< of what is summed up
  dsl::Global result;
  dsl::Global shares = {}; ///< a workspace in which blocks leave what they have summed up, if they do
  std::optional<TermsOfRanks> terms = {};    ///< if each rank has some of the rows, and sums them up
  std::optional<TermsOfRing> ringTerms = {}; ///< if it does so step by step
};

class BackwardArguments {
public:
  BackwardArguments(dsl::Scope &k, const BackwardConfig &config, const MaskMaker &makeMask,
                    dsl::TensorFacts facts);

  /// In a ring keys and mask are those of a step from now on.
  void beginStep(int64_t step);

  /// Of keys, or of queries in a launch of their own.
  int64_t rowsOfTile(Axis axis) const;
  TileScheduler::Space tileSpace(Axis axis) const;
  GradientTile tileAt(Axis axis, const Sequences::Fields &fields) const;
  /// The tiles of the other axis that a tile visits.
  VisitedTiles queriesSeeing(const GradientTile &tile, const Sequence &sequence) const;
  /// Whether tiles of keys that no query sees leave nothing: a launch writes their zeros, or sums of blocks,
  /// each with a head of Q, are taken to be zeros there. The launch that sums up packed sequences does not
  /// know their tiles.
  bool skipsUnseenKeys() const;
  /// Whether the head of Q that a tile of keys is for has queries that see it.
  dsl::Predicate isSeen(const GradientTile &keys) const;
  /// Does `seen` once if a head of Q that the tile of keys is for has queries that see it, else `unseen`.
  void ifSeen(const GradientTile &keys, const std::function<void()> &seen,
              const std::function<void()> &unseen) const;
  VisitedTiles keysSeen(const GradientTile &tile, int64_t keysOfTile) const;
  /// Does `body` for the sequence with each head of Q that the tile of keys is for.
  void forEachHead(const GradientTile &keys, const std::function<void(const Sequence &)> &body) const;

  // Boxes of columns of tensors, from a row of a sequence on. What lies after its last row reads as zeros and
  // is not written.
  dsl::Slice queries(const Sequence &sequence, const dsl::Index &row, int64_t count,
                     const ColumnRange &columns) const;
  dsl::Slice outputGradients(const Sequence &sequence, const dsl::Index &row, int64_t count,
                             const ColumnRange &columns) const;
  dsl::Slice keys(const Sequence &sequence, const dsl::Index &row, const dsl::Index &kvHead, int64_t count,
                  const ColumnRange &columns) const;
  dsl::Slice values(const Sequence &sequence, const dsl::Index &row, const dsl::Index &kvHead, int64_t count,
                    const ColumnRange &columns) const;
  /// Does `body` for the box of a gradient that a tile's rows have; of keys that are sharded, for each rank's
  /// box that has some of them. Those in no box are not written.
  void forEachResult(const GradientSum &gradient, const GradientTile &tile, const ColumnRange &columns,
                     const std::function<void(const dsl::Slice &)> &body) const;
  /// Where blocks that have tiles of keys add to dQ.
  dsl::Slice querySums(const Sequence &sequence, const dsl::Index &row, const ColumnRange &columns) const;
  /// Adds to it, in order if that is asked for: then it is this block's turn.
  void addQuerySums(const dsl::Fragment &sum, const Sequence &sequence, const dsl::Index &row,
                    const ColumnRange &columns) const;

  bool isOrdered() const { return config.dq == QuerySum::ordered; }
  /// Whether the TMA adds to dQ.
  bool addsByTma() const { return config.dq == QuerySum::tma; }
  // In order, the blocks of a head add to dQ from its last tile of keys to its first, and visit tiles of
  // queries from the first to the last. Each counts the tiles of queries that it has passed, visited or not,
  // and passes none that the block before it has not passed: so that one has to be known only. A block's tile
  // of keys is the number that it took when it started, so that it waits only for blocks that have started.
  /// Waits until the block before this one has passed so many tiles of queries.
  void awaitTurn(const Sequence &sequence, const dsl::Index &keyRow, const dsl::Index &tiles) const;
  /// This one has passed more of them, which it was its turn to.
  void passTurn(const Sequence &sequence, const dsl::Index &keyRow, const dsl::Index &tiles) const;
  /// Before the first visit, and after visit `i`, and after the last one, which it waits for.
  void passBefore(const Sequence &sequence, const dsl::Index &keyRow, const VisitedTiles &visited) const;
  void passAfter(const Sequence &sequence, const dsl::Index &keyRow, const VisitedTiles &visited,
                 const dsl::Index &i) const;
  void passRest(const Sequence &sequence, const dsl::Index &keyRow, const VisitedTiles &visited) const;

  /// The number of this block, of a launch over all tiles: as many blocks as multiprocessors, or, in order,
  /// one for each tile.
  dsl::Index numberOfBlock(const TileScheduler &scheduler) const;
  /// The tiles of such a block.
  TileScheduler::Share tilesOfBlock(const TileScheduler &scheduler) const {
    return scheduler.shareOf(numberOfBlock(scheduler), k.blocks());
  }
  bool takesTiles() const { return kernels::takesTiles(config); }
  /// The next tile of keys, where blocks take them after one each.
  dsl::Index takeTile() const;

  /// A sum as elements of its gradient.
  dsl::FragmentValue finished(const GradientSum &gradient, const dsl::FragmentValue &sum) const;
  /// What a block has summed up for columns of a tile leaves its registers.
  void store(const GradientSum &gradient, const GradientTile &tile, const dsl::Fragment &sum,
             const ColumnRange &columns) const;

  /// Of the queries of a tile, as a row or a column of the tile of scores: what is subtracted from exponents,
  /// so that weights of queries that see nothing and of those that do not exist are 0; and the sums of O dO.
  struct RowNumbers {
    dsl::FragmentValue exponent, delta;
  };
  RowNumbers rowNumbers(const Sequence &sequence, const dsl::Index &row, const dsl::Shape &shape) const;
  /// Where these are, for a loop that copies them ahead: logarithms of sums, which `exponents` takes, and
  /// sums of O dO. Those of queries that do not exist read as 0; then weights of 1 are multiplied by rows of
  /// zeros.
  struct RowSlices {
    dsl::Slice logSums, deltas;
  };
  RowSlices rowSlices(const Sequence &sequence, const dsl::Index &row, int64_t count) const;
  /// What is subtracted from exponents of two. That of a query that sees nothing makes all weights 0.
  dsl::FragmentValue exponents(const dsl::FragmentValue &logSums) const;

  /// Of scores, -inf where nothing is seen.
  dsl::FragmentValue weights(const dsl::FragmentValue &scores, const dsl::FragmentValue &exponent) const;
  /// What gradients of scores are a multiple of: weights, times the slope of the cap, if there is one.
  dsl::FragmentValue slopes(const dsl::FragmentValue &weights, const dsl::FragmentValue &scores) const;
  /// Gradients of products of Q and K, but for the scale, from those of weights; `scores` are not masked.
  dsl::FragmentValue gradients(const dsl::FragmentValue &weights, const dsl::FragmentValue &ofWeights,
                               const dsl::FragmentValue &scores, const dsl::FragmentValue &delta) const;
  /// -inf where a query does not see a key.
  dsl::FragmentValue masked(const Sequence &sequence, const ScoreTile &at,
                            const dsl::FragmentValue &scores) const {
    return applyMask(k, mask, sequence, at, scores);
  }

  /// Launches before and after: sums of O dO, zeros of keys that no query sees, gradients from what blocks
  /// have left, gradients of sinks.
  void writeDeltas() const;
  void writeUnseenKeys() const;
  void convertSums(Axis axis) const;
  void writeSinkGradients() const;

  const BackwardConfig &config;
  dsl::Scope &k;
  Inputs inputs;
  Scores scores;
  GradientSum ofQueries, ofKeys, ofValues;

private:
  /// Heads of Q that share one of K and V.
  dsl::Index group() const { return inputs.heads / inputs.kvHeads; }
  dsl::Slice rows(const dsl::Global &tensor, Axis axis, const Sequence &sequence, const dsl::Index &row,
                  int64_t count, const dsl::Index &head, const ColumnRange &columns) const;
  void forEachResult(const GradientSum &gradient, const Sequence &sequence, const dsl::Index &row,
                     int64_t count, const dsl::Index &head, const ColumnRange &columns,
                     const std::function<void(const dsl::Slice &)> &body) const;
  /// Of h x rows, or b x h x rows.
  dsl::Slice numbers(const dsl::Global &tensor, const Sequence &sequence, const dsl::Index &row,
                     int64_t count) const;
  /// Of what blocks have left for a head.
  dsl::Slice shares(const GradientSum &gradient, const Sequence &sequence, const dsl::Index &head,
                    const dsl::Index &row, int64_t count, const ColumnRange &columns) const;
  void convert(const GradientSum &gradient, const Sequence &sequence, const dsl::Index &row) const;
  /// The launch has a block for each tile of so many rows of each head.
  void forEachTileOfRows(Axis axis, int64_t count,
                         const std::function<void(const Sequence &, const dsl::Index &row)> &body,
                         bool isReversed = false) const;
  Sequence sequenceOf(Axis axis, const dsl::Index &batch, const dsl::Index &head) const;

  MaskMaker makeMask;
  Mask mask;
  dsl::Global O, dO, LSE, dSink, delta;
  std::optional<dsl::Global> stridedGradient; ///< what `dO` is a copy of, if it is one
  // In order: blocks in each step, and tiles of queries by head and tile of keys, of all steps so far.
  dsl::Global started, passed;
  dsl::Global taken; ///< tiles of keys in each step, if blocks take them
};

} // namespace tlc::kernels
