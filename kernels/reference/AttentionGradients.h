// SPDX-License-Identifier: Apache-2.0
/// \file
/// What attention backward should compute, in double precision, from Q, K, V and the gradient of O alone.
#pragma once

#include "kernels/reference/Attention.h"

#include <map>
#include <utility>

namespace tlc::kernels {

/// Shapes are those of the forward's tensors; `dO` has the shape of O. `sink` is empty if there is none.
struct GradientInputs {
  std::span<const double> q, k, v, dO, sink = {};
};

/// Elements of gradients, computed row by row, rows of keys and values once. Rows of no sequence, queries
/// that see nothing and keys that nobody sees have gradients of 0.
class AttentionGradients {
public:
  AttentionGradients(AttentionShape shape, const GradientInputs &inputs) : s(std::move(shape)), in(inputs) {}

  std::vector<double> ofQueries(std::span<const int64_t> elements);
  std::vector<double> ofKeys(std::span<const int64_t> elements);
  std::vector<double> ofValues(std::span<const int64_t> elements);
  /// Of heads.
  std::vector<double> ofSinks(std::span<const int64_t> heads);

private:
  /// What one query with one head, a line, adds up to.
  struct Line {
    double base = 0, sum = 0;
    double delta = 0; ///< of its weights, the mean of the gradients of their factors
  };
  const Line &lineOf(int64_t line);
  /// Of one key, for the queries that see it.
  struct KeyRows {
    std::vector<double> key, value;
  };
  const KeyRows &rowsOfKey(int64_t keyLine);
  double gradientOfProduct(const Line &line, double score, double gradientOfWeight) const;

  AttentionShape s;
  GradientInputs in;
  std::map<int64_t, Line> lines;
  std::map<int64_t, KeyRows> keyRows;
};

} // namespace tlc::kernels
