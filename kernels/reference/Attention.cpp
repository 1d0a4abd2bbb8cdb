// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward, row by row.
#include "kernels/reference/AttentionRow.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tlc::kernels {

bool isVisible(const MaskConfig &mask, int64_t query, int64_t key, int64_t queries, int64_t keys) {
  int64_t place = mask.causal == CausalAlignment::left ? query : query + keys - queries;
  if (mask.causal != CausalAlignment::none && key > place)
    return false;
  if ((mask.windowLeft && key < place - *mask.windowLeft) ||
      (mask.windowRight && key > place + *mask.windowRight))
    return false;
  if (mask.blockCausal) {
    int64_t half = keys / 2, block = *mask.blockCausal;
    if (key < half)
      return query < half && key / block == query / block;
    return query < half ? (key - half) / block < query / block
                        : (key - half) / block <= (query - half) / block;
  }
  return true;
}

int64_t visiblePairs(const MaskConfig &mask, int64_t queries, int64_t keys) {
  int64_t pairs = 0;
  if (mask.blockCausal) {
    int64_t half = keys / 2, block = *mask.blockCausal;
    auto upTo = [&](int64_t blocks) { return std::min(half, blocks * block); };
    for (int64_t place = 0; place < half; ++place) { // a noisy query, and the clean one of the same place
      int64_t own = place / block;
      pairs += upTo(own + 1) - upTo(own) + upTo(own) + upTo(own + 1);
    }
    return pairs;
  }
  for (int64_t query = 0; query < queries; ++query) {
    int64_t place = mask.causal == CausalAlignment::left ? query : query + keys - queries;
    int64_t end = std::min(keys, mask.causal == CausalAlignment::none ? keys : place + 1);
    if (mask.windowRight)
      end = std::min(end, place + *mask.windowRight + 1);
    pairs += std::max<int64_t>(end - std::max<int64_t>(mask.windowLeft ? place - *mask.windowLeft : 0, 0), 0);
  }
  return pairs;
}

double AttentionShape::keptShare(size_t sequence, int64_t head, int64_t query, int64_t key) const {
  if (!problem.drops())
    return 1;
  const uint32_t bits = philox.bitsAt(uint32_t(int64_t(sequence) * h + head), uint32_t(query), uint32_t(key));
  return bits < problem.leastKept() ? 0 : problem.keptFactor();
}

double attentionForwardFlops(const AttentionShape &s) {
  double pairs = 0;
  for (const SequenceRows &sequence : s.sequences)
    pairs += double(visiblePairs(s.problem.mask, sequence.queries, sequence.keys));
  return 2 * double(s.h) * pairs * double(s.problem.d + s.problem.dv);
}

std::vector<double> referenceAttention(const AttentionShape &s, std::span<const double> q,
                                       std::span<const double> k, std::span<const double> v,
                                       std::span<const double> sink, std::span<const int64_t> elements) {
  const int64_t dv = s.problem.dv;
  std::vector<double> result, sums;
  result.reserve(elements.size());
  for (size_t begin = 0, end = 0; begin < elements.size(); begin = end) {
    // Elements of one row that come one after the other are summed up together: rows of V are read once.
    const int64_t line = elements[begin] / dv, kvHead = line % s.h / (s.h / s.hkv);
    int64_t first = dv, last = 0;
    for (; end < elements.size() && elements[end] / dv == line; ++end) {
      first = std::min(first, elements[end] % dv);
      last = std::max(last, elements[end] % dv);
    }
    const AttentionRow row = AttentionRow::of(s, line, q, k, sink);
    sums.assign(size_t(last - first + 1), 0);
    for (int64_t key = 0; key < row.sequence.keys; ++key) {
      const double weight = row.weights[size_t(key)];
      if (weight == 0) // of keys that are not seen, whose values may be anything
        continue;
      auto values =
          v.subspan(size_t(((row.sequence.firstKey + key) * s.hkv + kvHead) * dv + first), sums.size());
      const double share = s.keptShare(row.number, line % s.h, row.query, key);
      for (size_t column = 0; column < sums.size(); ++column)
        sums[column] += weight * share * values[column];
    }
    for (size_t i = begin; i < end; ++i)
      result.push_back(row.sum == 0 ? 0 : sums[size_t(elements[i] % dv - first)] / row.sum);
  }
  return result;
}

std::vector<int64_t> linesOf(std::span<const int64_t> elements, int64_t heads, int64_t rows) {
  std::vector<int64_t> lines;
  lines.reserve(elements.size());
  for (int64_t element : elements)
    lines.push_back((element / rows / heads * rows + element % rows) * heads + element / rows % heads);
  return lines;
}

std::vector<double> referenceLogSumExp(const AttentionShape &s, std::span<const double> q,
                                       std::span<const double> k, std::span<const double> sink,
                                       std::span<const int64_t> lines) {
  std::vector<double> result;
  result.reserve(lines.size());
  for (int64_t line : lines) {
    AttentionRow row = AttentionRow::of(s, line, q, k, sink);
    double natural = std::log(row.sum) + row.base;
    result.push_back(s.problem.logBase == LogBase::two ? natural * std::numbers::log2e : natural);
  }
  return result;
}

} // namespace tlc::kernels
