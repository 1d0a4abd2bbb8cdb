// SPDX-License-Identifier: Apache-2.0
/// \file
/// Readers of untrusted bytes: artifacts, kernels of archives, entries and exports of the cache, tensors of
/// DLPack, descriptions of a file's kernels, descriptions and machine code for `tlc wrap`, reports, and lines
/// of tuning.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::fuzz {

/// Reads any bytes, and does with what it has read what callers do. Files are in the folder. Ends the process
/// where what it has read contradicts itself.
struct Reader {
  std::string_view name;
  std::vector<std::string> (*seeds)(const std::filesystem::path &folder);
  /// True if the bytes are taken.
  bool (*read)(std::string_view bytes, const std::filesystem::path &folder);
};

std::span<const Reader> readers();

} // namespace tlc::fuzz
