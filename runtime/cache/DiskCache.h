// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs kept in a directory (EntryStore.h). A damaged one, or one of another version, is a miss.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/cache/EntryStore.h"

#include <optional>
#include <string>

namespace tlc {

/// A program in an entry.
struct CachedProgram {
  Artifact artifact;
  std::string note = {}; ///< why no machine code could be added; empty: it has some, or none was asked for
};

/// The content of an entry with a program. Reading it says why it is none, or is damaged.
std::vector<std::byte> serialize(const CachedProgram &program);
Result<CachedProgram> deserializeCachedProgram(std::span<const std::byte> content);

class DiskCache {
public:
  static constexpr uint64_t defaultCapacity = EntryStore::defaultCapacity;
  using Pruned = EntryStore::Pruned;

  explicit DiskCache(std::filesystem::path directory, uint64_t capacity = defaultCapacity)
      : kept(std::move(directory), capacity) {}

  /// As the functions of `EntryStore`.
  Result<std::optional<CachedProgram>> load(const Key &key) const;
  Result<void> store(const Key &key, const CachedProgram &program) const;
  Result<std::vector<CacheEntry>> entries() const { return kept.entries(); }
  Result<CachedProgram> read(const Key &key) const;
  Result<Pruned> prune() const;
  Result<TemporaryFolder> makeTemporaryFolder(const Key &key) const { return kept.makeTemporaryFolder(key); }
  std::filesystem::path pathOf(const Key &key) const { return kept.pathOf(key); }

private:
  EntryStore kept;
};

} // namespace tlc
