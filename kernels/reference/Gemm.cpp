// SPDX-License-Identifier: Apache-2.0
/// \file
/// The product of two matrices.
#include "kernels/reference/Reference.h"

namespace tlc::kernels {

std::vector<double> referenceGemm(GemmLayout layout, int64_t m, int64_t n, int64_t k,
                                  std::span<const double> a, std::span<const double> b,
                                  std::span<const int64_t> elements) {
  bool runsAlongK[] = {layout == GemmLayout::tn || layout == GemmLayout::nn,
                       layout == GemmLayout::tn || layout == GemmLayout::tt};
  std::vector<double> result;
  result.reserve(elements.size());
  for (int64_t element : elements) {
    int64_t image = element / (m * n), row = element / n % m, column = element % n;
    const double *imageA = a.data() + image * m * k, *imageB = b.data() + image * n * k;
    double sum = 0;
    for (int64_t i = 0; i < k; ++i)
      sum += (runsAlongK[0] ? imageA[row * k + i] : imageA[i * m + row]) *
             (runsAlongK[1] ? imageB[column * k + i] : imageB[i * n + column]);
    result.push_back(sum);
  }
  return result;
}

} // namespace tlc::kernels
