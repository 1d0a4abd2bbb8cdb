// SPDX-License-Identifier: Apache-2.0
/// \file
/// Weights that dropout takes away, the same ones in forward and in backward.
#pragma once

#include "kernels/attention/logits/AppliedMask.h"
#include "kernels/attention/problem/Inputs.h"

namespace tlc::kernels {

/// 16 bits of Philox 4 x 32 with 7 rounds (reference/Philox.h) decide whether a weight stays. The key is the
/// seed. The counter consists of the positions of the weight's query and key in their sequence, the number of
/// the sequence x heads + head, and the offset. A counter has four words of two halves, for queries 8 apart
/// and keys 8, 16 and 24 apart. One thread has these eight of an accumulator with rows of queries, and four
/// of them with rows of keys.
class Dropout {
public:
  /// Reads seed and offset where the problem has dropout.
  Dropout(dsl::Scope &k, const Inputs &inputs);

  /// Whether the weight of a pair stays, for each of a tile of pairs. There is dropout.
  dsl::Predicate stays(const Sequence &sequence, const ScoreTile &at, const dsl::Shape &tile) const;

private:
  dsl::Scope &k;
  const Inputs &inputs;
  dsl::Fragment seed, offset; ///< if there is dropout
};

} // namespace tlc::kernels
