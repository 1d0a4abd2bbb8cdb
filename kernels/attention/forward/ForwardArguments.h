// SPDX-License-Identifier: Apache-2.0
/// \file
/// What all forms of attention forward have in common: arguments, tiles of queries, and the end of a tile.
#pragma once

#include "kernels/attention/forward/Forward.h"
#include "kernels/attention/logits/AppliedMask.h"
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

/// How a tile of O leaves in the explicit form.
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
  dsl::Slice logSums(const QueryTile &tile) const;

  LazySoftmax softmax(const Scores::Scale &scale) const {
    return LazySoftmax(k, config.problem.dtype, config.bq, scale.softmax);
  }
  /// -inf where a row does not see the key.
  dsl::FragmentValue masked(const QueryTile &tile, const dsl::FragmentValue &scores, const dsl::Index &j,
                            dsl::Loc loc = dsl::Loc::current()) const {
    return applyMask(k, mask, tile.sequence, {tile.row, j * config.bk}, scores, loc);
  }
  FinishedRows finish(const QueryTile &tile, const WeightedRows &rows) const;

  const ForwardConfig &config;
  dsl::Scope &k;
  Inputs inputs;
  Scores scores;
  dsl::Index sq, sk; ///< of packed sequences: rows of all of them

private:
  Mask mask;
  dsl::Global O, LSE;
};

} // namespace tlc::kernels
