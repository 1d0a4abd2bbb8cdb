// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention backward, row by row.
#include "kernels/reference/AttentionGradients.h"

#include "kernels/reference/AttentionRow.h"

#include <algorithm>
#include <cmath>

namespace tlc::kernels {

namespace {
/// Row `number` of rows of that length.
std::span<const double> rowOf(std::span<const double> rows, int64_t number, int64_t length) {
  return rows.subspan(size_t(number * length), size_t(length));
}

void add(std::vector<double> &sum, double factor, std::span<const double> row) {
  for (size_t i = 0; i < sum.size(); ++i)
    sum[i] += factor * row[i];
}
} // namespace

/// From the gradient of a key's weight, before weights are divided by their sum, to that of a product of rows
/// of Q and K.
double AttentionGradients::gradientOfProduct(const Line &line, double score, double gradientOfWeight) const {
  double weight = std::exp(score - line.base) / line.sum;
  double ofCap = s.problem.softCap == 0 ? 1 : 1 - std::pow(score / s.problem.softCap, 2);
  return weight * (gradientOfWeight - line.delta) * ofCap * s.problem.scoreScale();
}

const AttentionGradients::Line &AttentionGradients::lineOf(int64_t number) {
  auto [at, isNew] = lines.try_emplace(number);
  if (!isNew)
    return at->second;
  AttentionRow row = AttentionRow::of(s, number, in.q, in.k, in.sink);
  Line &line = at->second;
  line.base = row.base;
  line.sum = row.sum;
  int64_t kvHead = number % s.h / (s.h / s.hkv), dv = s.problem.dv;
  for (int64_t key = 0; key < row.sequence.keys; ++key)
    if (double weight = row.probability(key); weight != 0)
      line.delta +=
          weight * s.keptShare(row.number, number % s.h, row.query, key) *
          dot(rowOf(in.dO, number, dv), rowOf(in.v, (row.sequence.firstKey + key) * s.hkv + kvHead, dv));
  return line;
}

const AttentionGradients::KeyRows &AttentionGradients::rowsOfKey(int64_t keyLine) {
  auto [at, isNew] = keyRows.try_emplace(keyLine);
  KeyRows &rows = at->second;
  if (!isNew)
    return rows;
  int64_t d = s.problem.d, dv = s.problem.dv;
  rows = {std::vector<double>(size_t(d)), std::vector<double>(size_t(dv))};
  int64_t keyRow = keyLine / s.hkv, group = s.h / s.hkv;
  auto sequence = std::ranges::find_if(s.sequences, [&](const SequenceRows &candidate) {
    return keyRow >= candidate.firstKey && keyRow < candidate.firstKey + candidate.keys;
  });
  if (sequence == s.sequences.end())
    return rows;
  std::span<const double> k = rowOf(in.k, keyLine, d), v = rowOf(in.v, keyLine, dv);
  for (int64_t query = 0; query < sequence->queries; ++query) {
    if (!isVisible(s.problem.mask, query, keyRow - sequence->firstKey, sequence->queries, sequence->keys))
      continue;
    for (int64_t i = 0; i < group; ++i) {
      int64_t number = (sequence->firstQuery + query) * s.h + keyLine % s.hkv * group + i;
      std::span<const double> q = rowOf(in.q, number, d), dO = rowOf(in.dO, number, dv);
      if (std::ranges::all_of(dO, [](double each) { return each == 0; }))
        continue; // it adds zeros, and its line would take long
      const Line &line = lineOf(number);
      double score = dot(q, k) * s.problem.scoreScale();
      if (s.problem.softCap != 0)
        score = s.problem.softCap * std::tanh(score / s.problem.softCap);
      const double share = s.keptShare(size_t(sequence - s.sequences.begin()), number % s.h, query,
                                       keyRow - sequence->firstKey);
      add(rows.value, share * std::exp(score - line.base) / line.sum, dO);
      add(rows.key, gradientOfProduct(line, score, share * dot(dO, v)), q);
    }
  }
  return rows;
}

namespace {
/// Elements of rows that `rowAt` gives, each once as long as elements of one row follow each other.
template <class F>
std::vector<double> elementsOf(std::span<const int64_t> elements, int64_t length, F &&rowAt) {
  std::vector<double> result, row;
  result.reserve(elements.size());
  int64_t current = -1;
  for (int64_t element : elements) {
    if (element / length != current)
      row = rowAt(current = element / length);
    result.push_back(row[size_t(element % length)]);
  }
  return result;
}
} // namespace

std::vector<double> AttentionGradients::ofQueries(std::span<const int64_t> elements) {
  int64_t d = s.problem.d, dv = s.problem.dv;
  return elementsOf(elements, d, [&](int64_t number) {
    std::vector<double> sum(static_cast<size_t>(d));
    AttentionRow row = AttentionRow::of(s, number, in.q, in.k, in.sink);
    const Line &line = lineOf(number);
    for (int64_t key = 0; key < row.sequence.keys; ++key) {
      if (row.weights[size_t(key)] == 0)
        continue;
      int64_t keyLine = (row.sequence.firstKey + key) * s.hkv + number % s.h / (s.h / s.hkv);
      double ofWeight = s.keptShare(row.number, number % s.h, row.query, key) *
                        dot(rowOf(in.dO, number, dv), rowOf(in.v, keyLine, dv));
      add(sum, gradientOfProduct(line, row.scores[size_t(key)], ofWeight), rowOf(in.k, keyLine, d));
    }
    return sum;
  });
}

std::vector<double> AttentionGradients::ofKeys(std::span<const int64_t> elements) {
  return elementsOf(elements, s.problem.d, [&](int64_t keyLine) { return rowsOfKey(keyLine).key; });
}

std::vector<double> AttentionGradients::ofValues(std::span<const int64_t> elements) {
  return elementsOf(elements, s.problem.dv, [&](int64_t keyLine) { return rowsOfKey(keyLine).value; });
}

std::vector<double> AttentionGradients::ofSinks(std::span<const int64_t> heads) {
  return elementsOf(heads, 1, [&](int64_t head) {
    double sum = 0;
    for (const SequenceRows &sequence : s.sequences)
      for (int64_t query = 0; query < sequence.queries; ++query) {
        const Line &line = lineOf((sequence.firstQuery + query) * s.h + head);
        sum -= std::exp(in.sink[size_t(head)] - line.base) / line.sum * line.delta;
      }
    return std::vector<double>{sum};
  });
}

} // namespace tlc::kernels
