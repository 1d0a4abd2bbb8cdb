// SPDX-License-Identifier: Apache-2.0
/// \file
/// Artifacts kept in a directory, one file per entry, shared by any number of
/// processes. An entry appears whole (written beside, synchronised, renamed).
/// Whatever cannot be read back (damaged, other version, absent) is a miss.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/cache/Key.h"
#include "runtime/support/Result.h"

#include <filesystem>
#include <optional>

namespace tlc {

class DiskCache {
public:
  /// `directory` is created with the first entry.
  explicit DiskCache(std::filesystem::path directory) : directory(std::move(directory)) {}

  std::optional<Artifact> load(const Key &key) const;
  Result<void> store(const Key &key, const Artifact &artifact) const;
  /// The file of an entry; an ordinary artifact file.
  std::filesystem::path pathOf(const Key &key) const;

private:
  std::filesystem::path directory;
};

} // namespace tlc
