// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arrays in .npy files, numpy's format: versions 1.0 to 3.0 are read, 1.0 is
/// written. Elements are plain numbers, little endian, the last axis innermost.
#pragma once

#include "runtime/support/Result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tlc {

/// What numpy calls the dtype: `<f4` is {'f', 4}.
struct NpyType {
  char kind = 'V'; ///< b: bool, i and u: integers, f: floating point, V: bytes without a meaning
  unsigned bytes = 0;
  bool operator==(const NpyType &) const = default;
};
/// "<f4", "|u1"
std::string toString(NpyType type);

struct NpyArray {
  NpyType type;
  std::vector<int64_t> shape; ///< outermost first; empty for a single element
  std::vector<std::byte> bytes;
};

/// The array in the bytes of a file.
Result<NpyArray> parseNpy(std::span<const std::byte> file);
/// What stands before the elements.
std::string npyHeader(NpyType type, std::span<const int64_t> shape);

/// Errors name the file.
Result<NpyArray> readNpy(const std::string &path);
Result<void> writeNpy(const std::string &path, NpyType type, std::span<const int64_t> shape,
                      std::span<const std::byte> bytes);

} // namespace tlc
