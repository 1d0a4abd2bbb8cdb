// SPDX-License-Identifier: Apache-2.0
/// \file
/// Scores and weights of one query, which forward and backward both sum up.
#pragma once

#include "kernels/reference/Attention.h"

namespace tlc::kernels {

struct AttentionRow {
  /// Of a line: a row of Q times h plus a head. `sink` is empty if there is none.
  static AttentionRow of(const AttentionShape &shape, int64_t line, std::span<const double> q,
                         std::span<const double> k, std::span<const double> sink);

  /// The weight of a key, of all keys and the sink together 1; 0 where nothing is seen.
  double probability(int64_t key) const { return sum == 0 ? 0 : weights[size_t(key)] / sum; }

  SequenceRows sequence;       ///< of which the query is; one of no rows where it is of none
  size_t number = 0;           ///< of the sequence
  int64_t query = 0;           ///< in the sequence
  std::vector<double> scores;  ///< of its keys, capped; -inf where they are not seen
  std::vector<double> weights; ///< exponentials of scores less `base`
  double base = 0, sum = 0;    ///< `sum` counts the sink
};

/// The product of a row of Q and one of K, of the same length.
double dot(std::span<const double> a, std::span<const double> b);

} // namespace tlc::kernels
