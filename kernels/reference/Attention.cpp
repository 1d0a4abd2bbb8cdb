// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward, row by row.
#include "kernels/reference/Reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tlc::kernels {

namespace {

/// The weights of one query's keys before they are divided by their sum.
struct QueryRow {
  std::vector<double> weights;
  double base = 0, sum = 0;
};

QueryRow weighRow(const AttentionShape &s, int64_t batch, int64_t head, int64_t query,
                  std::span<const double> q, std::span<const double> k) {
  QueryRow row;
  row.weights.assign(size_t(s.sk), -std::numeric_limits<double>::infinity());
  int64_t kvHead = head / (s.h / s.hkv);
  auto left = q.subspan(size_t(((batch * s.sq + query) * s.h + head) * s.d), size_t(s.d));
  double maximum = -std::numeric_limits<double>::infinity();
  for (int64_t key = 0; key < s.sk; ++key) {
    if (!s.visible(query, key))
      continue;
    auto right = k.subspan(size_t(((batch * s.sk + key) * s.hkv + kvHead) * s.d), size_t(s.d));
    double score = 0;
    for (int64_t i = 0; i < s.d; ++i)
      score += left[size_t(i)] * right[size_t(i)];
    row.weights[size_t(key)] = score * s.scale;
    maximum = std::max(maximum, score * s.scale);
  }
  row.base = std::isfinite(maximum) ? maximum : 0;
  for (double &weight : row.weights) {
    weight = std::exp(weight - row.base);
    row.sum += weight;
  }
  return row;
}

} // namespace

bool AttentionShape::visible(int64_t query, int64_t key) const {
  switch (causal) {
  case CausalAlignment::none:
    return true;
  case CausalAlignment::left:
    return key <= query;
  case CausalAlignment::right:
    return key <= query + sk - sq;
  }
  return true;
}

double attentionForwardFlops(const AttentionShape &s) {
  double pairs = double(s.sq) * double(s.sk);
  if (s.causal != CausalAlignment::none) {
    pairs = 0;
    int64_t offset = s.causal == CausalAlignment::right ? s.sk - s.sq : 0;
    for (int64_t i = 0; i < s.sq; ++i)
      pairs += double(std::clamp<int64_t>(i + 1 + offset, 0, s.sk));
  }
  return 2 * double(s.b) * double(s.h) * pairs * double(s.d + s.dv);
}

std::vector<double> referenceAttention(const AttentionShape &s, std::span<const double> q,
                                       std::span<const double> k, std::span<const double> v,
                                       std::span<const int64_t> elements) {
  std::vector<double> result;
  result.reserve(elements.size());
  int64_t current = -1;
  QueryRow row;
  for (int64_t element : elements) {
    int64_t column = element % s.dv, line = element / s.dv;
    int64_t head = line % s.h, query = line / s.h % s.sq, batch = line / s.h / s.sq;
    if (line != current)
      row = weighRow(s, batch, head, query, q, k);
    current = line;
    double sum = 0;
    for (int64_t key = 0; key < s.sk; ++key)
      if (double weight = row.weights[size_t(key)]; weight != 0)
        sum += weight * v[size_t(((batch * s.sk + key) * s.hkv + head / (s.h / s.hkv)) * s.dv + column)];
    result.push_back(row.sum == 0 ? 0 : sum / row.sum);
  }
  return result;
}

std::vector<double> referenceLogSumExp(const AttentionShape &s, std::span<const double> q,
                                       std::span<const double> k, std::span<const int64_t> elements) {
  std::vector<double> result;
  result.reserve(elements.size());
  for (int64_t element : elements) {
    QueryRow row = weighRow(s, element / s.sq / s.h, element / s.sq % s.h, element % s.sq, q, k);
    result.push_back(std::log(row.sum) + row.base);
  }
  return result;
}

} // namespace tlc::kernels
