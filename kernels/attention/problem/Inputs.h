// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tensors that kernels of attention on whole sequences read, whatever they compute: Q and K, V, factors,
/// lengths and sinks.
#pragma once

#include "kernels/attention/problem/ColumnParts.h"
#include "kernels/attention/problem/RankHeads.h"
#include "kernels/attention/problem/RingKeys.h"
#include "kernels/attention/problem/Sequences.h"
#include "kernels/attention/problem/ShardedKeys.h"

namespace tlc::kernels {

class Inputs {
public:
  /// Declares dimensions and tensors: Q is b x sq x h x d, K and V are b x sk x hkv x d (dv). `h` is a
  /// dimension, or a constant multiple of `hkv`.
  Inputs(dsl::Scope &k, const AttentionProblem &problem, dsl::TensorFacts facts,
         std::optional<int64_t> headsOfGroup = {});

  /// b x rows x heads x ..., or, of packed sequences, without b.
  std::vector<dsl::Index> shapeOf(std::vector<dsl::Index> axes) const {
    return sequences.withoutBatch(std::move(axes));
  }
  /// Rows of a tensor of that shape from a sequence's row `row` on, of one head.
  dsl::Slice rowsOf(const dsl::Global &tensor, Axis axis, const Sequence &sequence, const dsl::Index &row,
                    int64_t rows, const dsl::Index &head, const ColumnRange &columns,
                    ElementStride stride = ElementStride::one) const;
  /// Likewise; those after a sequence's last one are zeros, and are not written.
  dsl::Slice ownRowsOf(const dsl::Global &tensor, Axis axis, const Sequence &sequence, const dsl::Index &row,
                       int64_t rows, const dsl::Index &head, const ColumnRange &columns,
                       ElementStride stride = ElementStride::one) const;
  /// Likewise of V.
  dsl::Slice valueRowsOf(const Sequence &sequence, const dsl::Index &kvHead, const dsl::Index &row,
                         int64_t rows, const ColumnRange &columns) const;
  /// Before rows of K and V from a sequence's row `row` on are loaded: until they are there. See
  /// `ShardedKeys::await`.
  void awaitKeys(const Sequence &sequence, const dsl::Index &row, int64_t rows,
                 const std::optional<dsl::Index> &before = {}) const;
  // In a ring each launch is a step, with the keys of one rank, and has one block at least.
  /// K and V are those of a step from now on.
  void beginStep(int64_t number) {
    step = number;
    K = ring->keys(step), V = ring->values(step);
  }
  bool isLastStep() const { return !ring || step + 1 == ring->steps(); }
  dsl::Index blocksOfStep(const dsl::Index &blocks) const { return ring ? max(blocks, 1) : blocks; }
  /// By a thread or more of each block, when they have nothing else to do.
  void endStep(const dsl::Index &block) const {
    if (ring)
      ring->endStep(step, block);
  }
  bool awaitsKeys() const { return shards && shards->hasTransfer(); }

  const AttentionProblem &problem;
  Sequences sequences;
  dsl::Index heads, kvHeads;          ///< that this rank computes
  dsl::Index sinks;                   ///< heads of the tensor of sinks
  dsl::Index firstSink = 0;           ///< of this rank's heads
  dsl::Index factors;                 ///< of a head, as an extent: as many as sequences
  dsl::Global Q, K, V;                ///< K and V of all ranks; in a ring of one, that of the step
  std::optional<ShardedKeys> shards;  ///< if they are gathered first
  std::optional<RankHeads> exchange;  ///< if ranks exchange heads
  std::optional<RingKeys> ring;       ///< if they pass keys on
  int64_t step = 0;                   ///< of the ring
  dsl::Global scaleQ, scaleK, scaleV; ///< of 8-bit elements
  dsl::Global sink;                   ///< if there is one
  dsl::Global philox;                 ///< seed and offset, of dropout
};

} // namespace tlc::kernels
