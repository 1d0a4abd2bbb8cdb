// SPDX-License-Identifier: Apache-2.0
/// \file
/// cuBLAS as the peer of our GEMM, opened at run time where it is installed.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/support/Result.h"

#include <memory>
#include <string>

namespace tlc::driver {

/// C = A · B with accumulation in f32, all in the device's memory.
struct GemmProblem {
  TensorView a; ///< m x k
  TensorView b; ///< n x k if transposed, else k x n
  TensorView c; ///< m x n
  bool transposedB = false;
};

class Cublas {
public:
  /// Opens `path`, or the library by its usual names if that is empty. A context must be current.
  static Result<std::unique_ptr<Cublas>> open(const std::string &path);
  ~Cublas();
  Cublas(const Cublas &) = delete;

  /// Whether cuBLAS has a product of these types.
  static bool supports(const GemmProblem &problem);
  /// Enqueues the product on the default stream.
  Result<void> launch(const GemmProblem &problem);

private:
  struct Functions;
  explicit Cublas(std::unique_ptr<Functions> functions);
  std::unique_ptr<Functions> functions;
  void *handle = nullptr;
};

} // namespace tlc::driver
