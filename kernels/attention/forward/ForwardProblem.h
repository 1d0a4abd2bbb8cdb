// SPDX-License-Identifier: Apache-2.0
/// \file
/// What all forms of attention forward have in common: arguments, tiles, what is made of scores, and the end
/// of a tile.
#pragma once

#include "kernels/attention/forward/Forward.h"
#include "kernels/attention/problem/Columns.h"
#include "kernels/attention/scores/LazySoftmax.h"

namespace tlc::kernels {

/// A tile of O: rows of one head of one sequence.
struct ForwardTile {
  dsl::Index row, kvHead;
  Sequence sequence;
  KeyTiles keys;
};

/// How a tile of O leaves in the explicit form.
enum class WayOut : uint8_t {
  tileOfQueries, ///< through the memory of its own Q
  ownTile,       ///< through memory of its own
  registers,     ///< straight: there is no memory left
};
WayOut wayOut(const ForwardConfig &config);

class ForwardProblem {
public:
  ForwardProblem(dsl::Scope &k, const ForwardConfig &config, const MaskMaker &makeMask,
                 dsl::TensorFacts facts);

  /// What tells one tile from the others, so that one role can find out and hand it on.
  using Position = std::vector<dsl::Index>;
  int64_t positionSize() const { return config.lengths == Lengths::uniform ? 3 : 7; }
  Position positionOf(const dsl::Index &row, const dsl::Index &head, const dsl::Index &batch) const;
  ForwardTile tileAt(const Position &position) const;

  /// Tiles of all heads and sequences; of packed sequences at most so many.
  dsl::Index tiles() const;
  RowOrder rowOrder() const { return mask.order; }
  dsl::Index rowTiles() const { return ceilDiv(sq, config.bq); }
  /// Rows of Q and of K of a sequence.
  dsl::Index queriesOf(const dsl::Index &batch) const;
  dsl::Index keysOf(const dsl::Index &batch) const;
  /// Where its keys begin among packed rows.
  dsl::Index firstKeyOf(const dsl::Index &batch) const;

  /// Of packed sequences.
  const dsl::Global &queryBegins() const { return queryLengths; }
  const dsl::Global &keyBegins() const { return keyLengths; }

  // What a tile reads and writes; `j` counts tiles of keys.
  dsl::Slice queries(const ForwardTile &tile) const;
  dsl::Slice keys(const ForwardTile &tile, const dsl::Index &j) const;
  dsl::Slice values(const ForwardTile &tile, const dsl::Index &j, const Columns &columns) const;
  /// Rows of V from a sequence's key `row` on; those behind its last one are zeros.
  dsl::Slice values(const Sequence &sequence, const dsl::Index &kvHead, const dsl::Index &row, int64_t rows,
                    const Columns &columns) const;
  dsl::Slice output(const ForwardTile &tile, const Columns &columns) const;
  dsl::Slice logSums(const ForwardTile &tile) const;

  /// What scores are multiplied by: a number, or of 8-bit elements a variable that `setScale` sets for a
  /// tile.
  struct Scale {
    dsl::Fragment ofTile; ///< the variable
    dsl::Operand softmax; ///< with log2(e)
  };
  Scale scale() const;
  void setScale(Scale &scale, const ForwardTile &tile) const;
  LazySoftmax softmax(const Scale &scale) const {
    return LazySoftmax(k, config.dtype, config.bq, scale.softmax);
  }
  /// Of products of Q and K: scores as the softmax takes them.
  dsl::FragmentValue scores(const dsl::FragmentValue &products, const Scale &scale,
                            dsl::Loc loc = dsl::Loc::current()) const;
  /// -inf where a row does not see the key.
  dsl::FragmentValue masked(const ForwardTile &tile, const dsl::FragmentValue &scores, const dsl::Index &j,
                            dsl::Loc loc = dsl::Loc::current()) const;

  /// What rows come to.
  struct Result {
    dsl::FragmentValue o, logSum;
  };
  Result finish(const ForwardTile &tile, const dsl::FragmentValue &o, const dsl::FragmentValue &sum,
                const dsl::FragmentValue &base) const;

  const ForwardConfig &config;
  dsl::Index batches, sq, sk, heads, kvHeads; ///< `sq` and `sk` of packed sequences: rows of all of them
  dsl::Index factors;                         ///< of a head, as an extent: as many as batches
  dsl::Global Q, K, V;

private:
  bool isPacked() const { return config.lengths == Lengths::packed; }
  /// Rows of a tensor that begin at `row` of a sequence, with the first batch or row of it, for one head.
  dsl::Slice rowsOf(const dsl::Global &tensor, const Sequence &sequence, const dsl::Index &first,
                    const dsl::Index &row, int64_t rows, const dsl::Index &head,
                    const Columns &columns) const;

  /// A head's factor.
  dsl::Fragment factor(const dsl::Global &of, const dsl::Index &batch, const dsl::Index &head) const;
  bool isCapped() const { return config.softCap != 0; }

  dsl::Global scaleQ, scaleK, scaleV, sink, queryLengths, keyLengths, O, LSE;
  dsl::Scope &k;
  Mask mask;
  double unit; ///< of products, beside heads' factors
};

} // namespace tlc::kernels
