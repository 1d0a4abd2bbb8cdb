// SPDX-License-Identifier: Apache-2.0
/// \file
/// CUDA C++ to PTX by NVIDIA's run-time compiler: where there is no toolkit the tests say so and count as
/// skipped.
#pragma once

#include "runtime/support/Result.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace tlc::test {

/// As `nvcc -O3` and as `nvcc -G` translate.
enum class Translation : uint8_t { optimized, debug };

/// Whether there are the compiler and its headers.
bool hasToolkit();
/// For sm_90a. The error holds the compiler's messages.
Result<std::string> translate(const std::string &source, Translation translation);
/// Keeps translations in this folder, and takes from there what the same compiler has translated before.
void keepTranslations(std::filesystem::path folder);

} // namespace tlc::test
