// SPDX-License-Identifier: Apache-2.0
/// \file
/// What all forms of attention forward have in common: arguments, tiles of queries, and the end of a tile.
#pragma once

#include "kernels/attention/forward/Forward.h"
#include "kernels/attention/logits/AppliedMask.h"
#include "kernels/attention/logits/Dropout.h"
#include "kernels/attention/logits/FinishedRows.h"
#include "kernels/attention/logits/LazySoftmax.h"
#include "kernels/attention/logits/Scores.h"
#include "kernels/attention/problem/Inputs.h"
#include "kernels/attention/schedule/TileScheduler.h"

namespace tlc::kernels {

/// A tile of O: rows of one head of one sequence, and the tiles of keys that they visit.
struct QueryTile {
  dsl::Index row, kvHead;
  Sequence sequence;
  VisitedTiles keys;
};

/// How a tile of O leaves in the explicit form, in a ring after the last step.
enum class OutputPath : uint8_t {
  tileOfQueries, ///< through the memory of its own Q
  ownTile,       ///< through memory of its own
  registers,     ///< straight: there is no memory left
};
OutputPath outputPath(const ForwardConfig &config);

class ForwardArguments {
public:
  ForwardArguments(dsl::Scope &k, const ForwardConfig &config, const MaskMaker &makeMask,
                   dsl::TensorFacts facts);

  // In a ring steps before the last one leave rows that have not met all keys yet, in f32.
  void beginStep(int64_t step);
  /// None where no query of this rank sees the keys, so that the step changes nothing.
  dsl::Index tilesOfStep(const dsl::Index &tiles) const;

  TileScheduler::Space tileSpace() const;
  QueryTile tileAt(const Sequences::Fields &fields) const;

  // What a tile reads and writes; `j` counts tiles of keys.
  dsl::Slice queries(const QueryTile &tile) const;
  dsl::Slice keys(const QueryTile &tile, const dsl::Index &j) const;
  /// Until the keys and values of visit `i` are there, of sharded sequences; those of visit `before` are.
  void awaitKeys(const QueryTile &tile, const dsl::Index &i,
                 const std::optional<dsl::Index> &before = {}) const;
  dsl::Slice values(const QueryTile &tile, const dsl::Index &j, const ColumnRange &columns) const;
  dsl::Slice output(const QueryTile &tile, const ColumnRange &columns) const;
  ElementType outputType() const {
    return inputs.isLastStep() ? config.problem.outputType() : ElementType::f32;
  }

  LazySoftmax softmax(const Scores::Scale &scale) const {
    return LazySoftmax(k, config.problem.dtype, config.bq, scale.softmax);
  }
  /// -inf where a row does not see the key.
  dsl::FragmentValue masked(const QueryTile &tile, const dsl::FragmentValue &scores, const dsl::Index &j,
                            dsl::Loc loc = dsl::Loc::current()) const {
    return applyMask(k, mask, tile.sequence, {tile.row, j * config.bk}, scores, loc);
  }
  /// Rows of O; logarithms of sums, which come with each part of the columns, are stored.
  dsl::FragmentValue finish(const QueryTile &tile, const WeightedRows &rows,
                            const ColumnRange &columns) const;

  const ForwardConfig &config;
  dsl::Scope &k;
  Inputs inputs;
  Scores scores;
  dsl::Index sq, sk; ///< of packed sequences: rows of all of them

private:
  dsl::Slice logSums(const QueryTile &tile) const;
  // Of columns of O, what steps of a ring before the last one leave.
  dsl::Slice partialOutput(const QueryTile &tile, const ColumnRange &columns) const;
  dsl::Slice partialLogSums(const QueryTile &tile, const ColumnRange &columns) const;

  MaskMaker makeMask;
  Mask mask;
  dsl::Global O, LSE;
  dsl::Global partialO,
      partialLse; ///< each part of the columns, whose role may be ahead, has sums of its own
};

} // namespace tlc::kernels
