// SPDX-License-Identifier: Apache-2.0
/// \file
/// What kernels should compute, in double precision, element by element and
/// with no thought of speed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tlc::kernels {

/// How the factors of a product lie in memory: the first letter says whether B is transposed, the second
/// whether A is.
enum class GemmLayout : uint8_t {
  tn, ///< B is n x k, A is m x k: both run along k
  nn, ///< B is k x n, A is m x k
  tt, ///< B is n x k, A is k x m
  nt, ///< B is k x n, A is k x m
};

/// Elements of A B, of each image of a batch one after the other.
std::vector<double> referenceGemm(GemmLayout layout, int64_t m, int64_t n, int64_t k,
                                  std::span<const double> a, std::span<const double> b,
                                  std::span<const int64_t> elements);

/// Elements of the softmax along rows. A row without a finite maximum counts from
/// 0 instead: one that is -inf everywhere gives zeros, not NaN.
std::vector<double> referenceSoftmax(int64_t columns, std::span<const double> x,
                                     std::span<const int64_t> elements);

/// Elements of the sum of tensors of one shape.
std::vector<double> referenceSum(std::span<const std::vector<double>> terms,
                                 std::span<const int64_t> elements);

} // namespace tlc::kernels
