// SPDX-License-Identifier: Apache-2.0
/// \file
/// What kernels should compute, in double precision, element by element and
/// with no thought of speed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tlc::kernels {

/// How the right factor of a product lies in memory.
enum class GemmLayout : uint8_t {
  tn, ///< n x k: both factors run along k
  nn, ///< k x n
};

/// Elements of A B; A is m x k.
std::vector<double> referenceGemm(GemmLayout layout, int64_t n, int64_t k, std::span<const double> a,
                                  std::span<const double> b, std::span<const int64_t> elements);

/// Elements of the softmax along rows. A row without a finite maximum counts from
/// 0 instead: one that is -inf everywhere gives zeros, not NaN.
std::vector<double> referenceSoftmax(int64_t columns, std::span<const double> x,
                                     std::span<const int64_t> elements);

} // namespace tlc::kernels
