// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums of tensors.
#include "kernels/reference/Reference.h"

namespace tlc::kernels {

std::vector<double> referenceSum(std::span<const std::vector<double>> terms,
                                 std::span<const int64_t> elements) {
  std::vector<double> sums(elements.size());
  for (const std::vector<double> &term : terms)
    for (size_t i = 0; i < elements.size(); ++i)
      sums[i] += term[size_t(elements[i])];
  return sums;
}

} // namespace tlc::kernels
