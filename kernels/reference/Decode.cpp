// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention of a few queries per sequence, row by row.
#include "kernels/reference/Decode.h"

#include "runtime/support/Math.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tlc::kernels {

namespace {

/// A row of scores: of a query, of a head.
struct Line {
  int64_t batch = 0, query = 0, kvHead = 0, head = 0; ///< head of the group
};

class Row {
public:
  Row(const DecodeShape &s, const DecodeInputs &in, const Line &line) : s(s), in(in), line(line) {
    int64_t length = std::clamp<int64_t>(int64_t(in.lengths[size_t(line.batch)]), 0, s.keys);
    double sink = in.sinks.empty() ? -std::numeric_limits<double>::infinity()
                                   : in.sinks[size_t(line.kvHead * s.group + line.head)];
    double maximum = sink;
    for (int64_t key = 0; key < length; ++key) {
      bool visible = isVisible(s.problem.mask, line.query, key, s.queries, length);
      weights.push_back(visible ? score(key) : -std::numeric_limits<double>::infinity());
      maximum = std::max(maximum, weights.back());
    }
    base = std::isfinite(maximum) ? maximum : 0;
    sum = std::exp(sink - base);
    for (double &weight : weights) {
      weight = std::exp(weight - base);
      sum += weight;
    }
  }

  double output(int64_t column) const {
    double result = 0;
    for (size_t key = 0; key < weights.size(); ++key)
      if (weights[key] != 0)
        result += weights[key] *
                  in.v[size_t(rowOf(int64_t(key)) * (s.valuesInKeys ? s.problem.d : s.problem.dv) + column)];
    return sum == 0 ? 0 : result / sum;
  }
  double logSumExp() const {
    double natural = std::log(sum) + base;
    return s.problem.logBase == LogBase::two ? natural / std::log(2.0) : natural;
  }

private:
  int64_t rowOf(int64_t key) const {
    int64_t outer = line.batch, inner = key, room = s.keys;
    if (s.pageSize > 0) {
      int64_t pagesOfSequence = ceilDiv(s.keys, s.pageSize);
      outer = int64_t(in.table[size_t(line.batch * pagesOfSequence + key / s.pageSize)]);
      inner = key % s.pageSize;
      room = s.pageSize;
    }
    return (outer * room + inner) * s.kvHeads + line.kvHead;
  }
  double score(int64_t key) const {
    int64_t row = ((line.batch * s.queries + line.query) * s.kvHeads + line.kvHead) * s.group + line.head;
    double product = 0;
    for (int64_t i = 0; i < s.problem.d; ++i)
      product += in.q[size_t(row * s.problem.d + i)] * in.k[size_t(rowOf(key) * s.problem.d + i)];
    product *= s.problem.scoreScale();
    return s.problem.softCap == 0 ? product : s.problem.softCap * std::tanh(product / s.problem.softCap);
  }

  const DecodeShape &s;
  const DecodeInputs &in;
  Line line;
  std::vector<double> weights;
  double base = 0, sum = 0;
};

} // namespace

std::vector<double> referenceDecode(const DecodeShape &s, const DecodeInputs &in,
                                    std::span<const int64_t> elements) {
  std::vector<double> result;
  result.reserve(elements.size());
  int64_t current = -1;
  std::optional<Row> row;
  for (int64_t element : elements) {
    int64_t number = element / s.problem.dv, head = number / s.group;
    if (number != current)
      row.emplace(s, in,
                  Line{.batch = head / s.kvHeads / s.queries,
                       .query = head / s.kvHeads % s.queries,
                       .kvHead = head % s.kvHeads,
                       .head = number % s.group});
    current = number;
    result.push_back(row->output(element % s.problem.dv));
  }
  return result;
}

std::vector<double> referenceDecodeLogSumExp(const DecodeShape &s, const DecodeInputs &in,
                                             std::span<const int64_t> elements) {
  std::vector<double> result;
  result.reserve(elements.size());
  for (int64_t element : elements) {
    int64_t head = element / s.queries, kvHead = head / s.group;
    Line line = {.batch = kvHead / s.kvHeads,
                 .query = element % s.queries,
                 .kvHead = kvHead % s.kvHeads,
                 .head = head % s.group};
    result.push_back(Row(s, in, line).logSumExp());
  }
  return result;
}

} // namespace tlc::kernels
