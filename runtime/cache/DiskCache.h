// SPDX-License-Identifier: Apache-2.0
/// \file
/// Artifacts kept in a directory, one file per entry, shared by any number of
/// processes of one user. An entry appears whole (written beside, synchronised,
/// renamed) and holds its key. Whatever cannot be read back (damaged, of another
/// key or version, no ordinary file, absent) is a miss. The least recently used
/// entries make room for new ones.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/cache/Key.h"
#include "runtime/support/Result.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <vector>

namespace tlc {

/// An entry by the looks of its file; `DiskCache::read` says what is in it.
struct CacheEntry {
  Key key;
  uint64_t bytes = 0;
  std::chrono::system_clock::time_point lastUse;
};

class DiskCache {
public:
  static constexpr uint64_t defaultCapacity = uint64_t(1) << 30;

  /// `directory` is created with the first entry. Its entries have `capacity` bytes together, at most.
  explicit DiskCache(std::filesystem::path directory, uint64_t capacity = defaultCapacity)
      : directory(std::move(directory)), capacity(capacity) {}

  /// The entry, which now is the one used last; nothing if it is a miss. An error if the directory cannot be
  /// read, or it or the entry is not this user's alone: whoever writes there chooses what runs here.
  Result<std::optional<Artifact>> load(const Key &key) const;
  Result<void> store(const Key &key, const Artifact &artifact) const;

  /// All entries, the least recently used first.
  Result<std::vector<CacheEntry>> entries() const;
  /// The entry as it is; the error says why it would be a miss.
  Result<Artifact> read(const Key &key) const;

  /// What was removed.
  struct Pruned {
    uint64_t entries = 0, temporaries = 0, bytes = 0;
  };
  /// Removes entries that cannot be read, what interrupted processes left, and as many entries as are too
  /// much.
  Result<Pruned> prune() const;

  std::filesystem::path pathOf(const Key &key) const;

private:
  std::filesystem::path directory;
  uint64_t capacity;
};

} // namespace tlc
