// SPDX-License-Identifier: Apache-2.0
/// \file
/// Softmax along rows.
#include "kernels/reference/Reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tlc::kernels {

namespace {
struct RowSum {
  int64_t row = -1;
  double base = 0;
  double sum = 0;
};

RowSum sumRow(int64_t row, std::span<const double> x) {
  RowSum result{row};
  double maximum = -std::numeric_limits<double>::infinity();
  for (double value : x)
    maximum = std::max(maximum, value);
  result.base = std::isfinite(maximum) ? maximum : 0;
  for (double value : x)
    result.sum += std::exp(value - result.base);
  return result;
}
} // namespace

std::vector<double> referenceSoftmax(int64_t columns, std::span<const double> x,
                                     std::span<const int64_t> elements) {
  std::vector<double> result;
  result.reserve(elements.size());
  RowSum current; // elements of one row mostly follow each other
  for (int64_t element : elements) {
    if (element / columns != current.row)
      current = sumRow(element / columns, x.subspan(element / columns * columns, columns));
    result.push_back(current.sum == 0 ? 0 : std::exp(x[element] - current.base) / current.sum);
  }
  return result;
}

} // namespace tlc::kernels
