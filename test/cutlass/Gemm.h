// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the tests see of a product that CUTLASS makes. C++17, as both compilers read it.
#pragma once

#include <cstddef>

namespace tlc::test {

enum class Element { f16, bf16, e4m3, f32 };

/// D = relu?(alpha A B + beta C + bias), of each batch. Matrices are dense, addresses the device's.
struct GemmCall {
  int m = 0, n = 0, k = 0, batches = 1;
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  void *d = nullptr;
  const void *bias = nullptr; ///< f32, one for each row
  float alpha = 1, beta = 0;
  int multiprocessors = 0; ///< that a persistent grid is for
  int splits = 0;          ///< of the depth, where a kernel shares tiles; 0: stream-K
};

/// A kernel that CUTLASS made, as its types say.
struct Gemm {
  Element a, b, d;                ///< C as D
  bool aByRows, bByRows, dByRows; ///< whether rows are contiguous
  bool hasBias;                   ///< and relu after it
  size_t (*workspaceBytes)(const GemmCall &);
  /// Whether CUTLASS took it. Launches by the CUDA runtime.
  bool (*run)(const GemmCall &, void *workspace);
};

} // namespace tlc::test
