// SPDX-License-Identifier: Apache-2.0
/// \file
/// CUDA C++ to PTX by NVIDIA's run-time compiler, which is opened at run time:
/// where there is no toolkit the tests say so and count as skipped.
#pragma once

#include "runtime/support/Result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tlc::test {

/// As `nvcc -O3` and as `nvcc -G` translate.
enum class Translation : uint8_t { optimized, debug };

class Nvrtc {
public:
  static Result<Nvrtc> open();
  /// For sm_90a. The error holds the compiler's messages.
  Result<std::string> compile(std::string_view source, Translation translation) const;

private:
  void *library = nullptr;
  std::string includes; ///< the toolkit's headers
};

} // namespace tlc::test
