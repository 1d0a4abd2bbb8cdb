// SPDX-License-Identifier: Apache-2.0
/// \file
/// What files of kernels are compiled to, as entries of the cache.
#pragma once

#include "runtime/support/Result.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::kernels {

/// A shared object and the file that it was compiled from.
struct CompiledFile {
  std::string source, object;
};

/// The content of an entry, which has a hash of it.
std::vector<std::byte> serialize(const CompiledFile &file);
/// The error says what is wrong with the bytes.
Result<CompiledFile> deserializeCompiledFile(std::span<const std::byte> bytes);
/// The object alone, where it is in the bytes: a precompiled header has 80 MB.
Result<std::string_view> objectIn(std::span<const std::byte> bytes, std::string_view *source = nullptr);
/// True for the content of an entry of this kind, damaged or not.
bool isCompiledFile(std::span<const std::byte> bytes);

} // namespace tlc::kernels
