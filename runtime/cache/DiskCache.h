// SPDX-License-Identifier: Apache-2.0
/// \file
/// Artifacts kept in a directory (EntryStore.h). A damaged one, or one of another version, is a miss.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/cache/EntryStore.h"

#include <optional>

namespace tlc {

class DiskCache {
public:
  static constexpr uint64_t defaultCapacity = EntryStore::defaultCapacity;
  using Pruned = EntryStore::Pruned;

  explicit DiskCache(std::filesystem::path directory, uint64_t capacity = defaultCapacity)
      : kept(std::move(directory), capacity) {}

  /// As the functions of `EntryStore`.
  Result<std::optional<Artifact>> load(const Key &key) const;
  Result<void> store(const Key &key, const Artifact &artifact) const;
  Result<std::vector<CacheEntry>> entries() const { return kept.entries(); }
  Result<Artifact> read(const Key &key) const;
  Result<Pruned> prune() const;
  std::filesystem::path pathOf(const Key &key) const { return kept.pathOf(key); }

private:
  EntryStore kept;
};

} // namespace tlc
