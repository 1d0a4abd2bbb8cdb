// SPDX-License-Identifier: Apache-2.0
/// \file
/// What attention should compute, in double precision, row by row.
#pragma once

#include "kernels/attention/problem/Options.h"
#include "kernels/reference/Philox.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tlc::kernels {

/// Whether a query sees a key, of so many.
bool isVisible(const MaskConfig &mask, int64_t query, int64_t key, int64_t queries, int64_t keys);
/// How many pairs of a query and a key are visible.
int64_t visiblePairs(const MaskConfig &mask, int64_t queries, int64_t keys);

/// Rows of Q and of K of one sequence.
struct SequenceRows {
  int64_t firstQuery = 0, queries = 0, firstKey = 0, keys = 0;
};

/// Q is rows x h x d, K rows x hkv x d, V rows x hkv x dv, O rows x h x dv: sequences one after the other.
struct AttentionShape {
  AttentionProblem problem = {}; ///< but for types, sink and lengths
  std::vector<SequenceRows> sequences = {};
  int64_t h = 1, hkv = 1;
  PhiloxState philox = {};

  /// What dropout multiplies the weight of a key by; query and key count from where this sequence begins.
  double keptShare(size_t sequence, int64_t head, int64_t query, int64_t key) const;
};

/// Of both products, visible pairs alone.
double attentionForwardFlops(const AttentionShape &shape);

/// Elements of softmax(scale Q Kᵀ, masked) V; queries that see nothing, and rows of no sequence, give zeros.
/// `sink` has a further score of each head, whose key has the value 0; empty: there is none.
std::vector<double> referenceAttention(const AttentionShape &shape, std::span<const double> q,
                                       std::span<const double> k, std::span<const double> v,
                                       std::span<const double> sink, std::span<const int64_t> elements);
/// Logarithms of the sums of exponentials of `lines`, each a row of Q times h plus a head; -inf where nothing
/// is seen.
std::vector<double> referenceLogSumExp(const AttentionShape &shape, std::span<const double> q,
                                       std::span<const double> k, std::span<const double> sink,
                                       std::span<const int64_t> lines);

/// The lines that elements of LSE, b x h x rows, stand for.
std::vector<int64_t> linesOf(std::span<const int64_t> elements, int64_t heads, int64_t rows);

} // namespace tlc::kernels
