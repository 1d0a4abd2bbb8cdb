// SPDX-License-Identifier: Apache-2.0
/// \file
/// The product of two matrices.
#include "kernels/reference/Reference.h"

namespace tlc::kernels {

std::vector<double> referenceGemm(GemmLayout layout, int64_t n, int64_t k, std::span<const double> a,
                                  std::span<const double> b, std::span<const int64_t> elements) {
  std::vector<double> result;
  result.reserve(elements.size());
  for (int64_t element : elements) {
    int64_t row = element / n, column = element % n;
    double sum = 0;
    for (int64_t i = 0; i < k; ++i)
      sum += a[row * k + i] * (layout == GemmLayout::tn ? b[column * k + i] : b[i * n + column]);
    result.push_back(sum);
  }
  return result;
}

} // namespace tlc::kernels
