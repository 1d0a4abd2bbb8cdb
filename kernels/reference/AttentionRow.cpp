// SPDX-License-Identifier: Apache-2.0
/// \file
/// The scores of a query.
#include "kernels/reference/AttentionRow.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace tlc::kernels {

double dot(std::span<const double> a, std::span<const double> b) {
  // Sums that do not wait for each other.
  std::array<double, 8> sums = {};
  size_t i = 0;
  for (; i + sums.size() <= a.size(); i += sums.size())
    for (size_t lane = 0; lane < sums.size(); ++lane)
      sums[lane] += a[i + lane] * b[i + lane];
  double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  for (; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

AttentionRow AttentionRow::of(const AttentionShape &s, int64_t line, std::span<const double> q,
                              std::span<const double> k, std::span<const double> sink) {
  AttentionRow row;
  int64_t head = line % s.h, kvHead = head / (s.h / s.hkv), queryRow = line / s.h;
  auto found = std::ranges::find_if(s.sequences, [&](const SequenceRows &sequence) {
    return queryRow >= sequence.firstQuery && queryRow < sequence.firstQuery + sequence.queries;
  });
  double maximum = -std::numeric_limits<double>::infinity();
  if (found != s.sequences.end()) {
    row.sequence = *found;
    row.number = size_t(found - s.sequences.begin());
    row.query = queryRow - found->firstQuery;
  } else
    return row.base = maximum, row;
  row.scores.assign(size_t(row.sequence.keys), maximum);
  auto left = q.subspan(size_t(line * s.problem.d), size_t(s.problem.d));
  for (int64_t key = 0; key < row.sequence.keys; ++key) {
    if (!isVisible(s.problem.mask, queryRow - row.sequence.firstQuery, key, row.sequence.queries,
                   row.sequence.keys))
      continue;
    auto right = k.subspan(size_t(((row.sequence.firstKey + key) * s.hkv + kvHead) * s.problem.d),
                           size_t(s.problem.d));
    double score = dot(left, right) * s.problem.scoreScale();
    if (s.problem.softCap != 0)
      score = s.problem.softCap * std::tanh(score / s.problem.softCap);
    row.scores[size_t(key)] = score;
    maximum = std::max(maximum, score);
  }
  if (!sink.empty())
    maximum = std::max(maximum, sink[size_t(head)]);
  row.base = std::isfinite(maximum) ? maximum : 0;
  row.weights.reserve(row.scores.size());
  for (double score : row.scores) {
    row.weights.push_back(std::exp(score - row.base));
    row.sum += row.weights.back();
  }
  if (!sink.empty())
    row.sum += std::exp(sink[size_t(head)] - row.base);
  return row;
}

} // namespace tlc::kernels
