// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs kept in a directory (EntryStore.h), and which of them have a name. A damaged entry, or one of
/// another version, is a miss.
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

/// Which program a name has (`ProgramName`), in an entry of its own.
struct CachedAlias {
  Key program;
  std::string text; ///< the name, for those who list entries
};
std::vector<std::byte> serialize(const CachedAlias &alias);
/// The error says what is wrong with the bytes.
Result<CachedAlias> deserializeAlias(std::span<const std::byte> content);
/// True for the content of such an entry, damaged or not.
bool isAlias(std::span<const std::byte> content);
/// An error if its program is not among the entries: then it is of no use.
Result<void> checkProgramOf(const EntryStore &store, const CachedAlias &alias);

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
  /// The program of a name; nothing if it is a miss, or the folder cannot be used.
  std::optional<Key> findAlias(const Key &name) const;
  Result<void> storeAlias(const Key &name, const CachedAlias &alias) const;
  Result<CachedProgram> read(const Key &key) const;
  Result<Pruned> prune() const;
  Result<TemporaryFolder> makeTemporaryFolder(const Key &key) const { return kept.makeTemporaryFolder(key); }
  std::filesystem::path pathOf(const Key &key) const { return kept.pathOf(key); }

private:
  EntryStore kept;
};

} // namespace tlc
