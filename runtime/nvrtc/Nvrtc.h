// SPDX-License-Identifier: Apache-2.0
/// \file
/// CUDA C++ to PTX by NVIDIA's run-time compiler (NVRTC, CUDA 11 or later), which is opened when it is
/// needed.
#pragma once

#include "runtime/support/Result.h"

#include <string>
#include <vector>

namespace tlc {

class Nvrtc {
public:
  /// Opens the library that the loader finds, or that of the toolkit in /usr/local/cuda. Without one, an
  /// error says what to install.
  static Result<Nvrtc> open();

  /// "13.0".
  const std::string &version() const { return name; }
  /// The folder of the toolkit's headers (cuda_fp16.h); empty if there is none beside the library.
  const std::string &headers() const { return includes; }

  /// The PTX of one translation unit, which messages call `name`. An error holds what the compiler says.
  Result<std::string> compile(const std::string &source, const std::string &name,
                              const std::vector<std::string> &options) const;

private:
  void *library = nullptr; // stays open: closing it costs more than it gives back
  std::string name, includes;
};

} // namespace tlc
