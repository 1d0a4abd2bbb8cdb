// SPDX-License-Identifier: Apache-2.0
/// \file
/// What readers have in common, and those of the cache, of DLPack and of reports.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::fuzz {

using Folder = std::filesystem::path;

inline std::span<const std::byte> bytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::string textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}
inline void require(bool holds, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "expected %s\n", what);
  std::abort();
}

/// With the size and checksum of its content, as a program writes it that gets a field wrong.
void signArtifact(std::string &bytes);

std::vector<std::string> entrySeeds(const Folder &folder);
bool readEntryFile(std::string_view bytes, const Folder &folder);
std::vector<std::string> exportSeeds(const Folder &folder);
bool readExport(std::string_view bytes, const Folder &folder);
std::vector<std::string> dlpackSeeds(const Folder &folder);
bool readDlpack(std::string_view bytes, const Folder &folder);
std::vector<std::string> reportSeeds(const Folder &folder);
bool readReport(std::string_view bytes, const Folder &folder);
std::vector<std::string> tuningSeeds(const Folder &folder);
bool readTuning(std::string_view bytes, const Folder &folder);

} // namespace tlc::fuzz
