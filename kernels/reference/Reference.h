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

/// Which keys a causal query may see: query i sees key j where
enum class CausalAlignment : uint8_t {
  none,  ///< always
  left,  ///< j <= i
  right, ///< j <= i + sk - sq: the last query sees the last key
};

/// What a logarithm of a sum counts in.
enum class LogBase : uint8_t { e, two };

/// Q is b x sq x h x d, K b x sk x hkv x d, V b x sk x hkv x dv.
struct AttentionShape {
  int64_t b = 1, sq = 0, sk = 0, h = 1, hkv = 1, d = 0, dv = 0;
  double scale = 1; ///< of scores
  CausalAlignment causal = CausalAlignment::none;

  bool visible(int64_t query, int64_t key) const;
};

/// Of both products, visible pairs alone.
double attentionForwardFlops(const AttentionShape &shape);

/// Elements of softmax(scale Q K^T, masked) V, b x sq x h x dv; a query that sees nothing gives zeros.
std::vector<double> referenceAttention(const AttentionShape &shape, std::span<const double> q,
                                       std::span<const double> k, std::span<const double> v,
                                       std::span<const int64_t> elements);
/// Elements of the logarithm of each row's sum of exponentials, b x h x sq; -inf where nothing is seen.
std::vector<double> referenceLogSumExp(const AttentionShape &shape, std::span<const double> q,
                                       std::span<const double> k, std::span<const int64_t> elements);

} // namespace tlc::kernels
