// SPDX-License-Identifier: Apache-2.0
/// \file
/// Bytes kept by key in a directory, one file per entry, shared by any number of
/// processes of one user; a directory of root's is read by all users. An entry appears
/// whole (written to a temporary file, synchronised, renamed) and holds its key.
/// Whatever cannot be read back (of another key or version, no ordinary file, absent)
/// is a miss. The least recently used entries make room for new ones. A process locks
/// its temporary files and folders; those that no process locks are removed.
#pragma once

#include "runtime/cache/EntryFile.h"
#include "runtime/cache/Key.h"
#include "runtime/support/Result.h"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tlc {

/// An entry by the looks of its file; `EntryStore::read` returns its content.
struct CacheEntry {
  Key key;
  uint64_t bytes = 0;
  std::chrono::system_clock::time_point lastUse;
};

class EntryStore {
public:
  static constexpr uint64_t defaultCapacity = uint64_t(1) << 30;
  using Bytes = std::vector<std::byte>;
  /// Returns why the content of an entry cannot be used.
  using Check = std::function<Result<void>(std::span<const std::byte>)>;

  /// `directory` is created with the first entry. Its entries have `capacity` bytes together, at most.
  explicit EntryStore(std::filesystem::path directory, uint64_t capacity = defaultCapacity)
      : directory(std::move(directory)), capacity(capacity) {}

  /// The entry, which now is the one used last; nothing if it is a miss. An error if the directory cannot be
  /// read, or others than this user and root may have written it or the entry: whoever writes there chooses
  /// what runs here.
  Result<std::optional<Bytes>> load(const Key &key) const;
  /// An error if the directory is not this user's own: root's is only read.
  Result<void> store(const Key &key, std::span<const std::byte> content) const;
  /// What `store` does, without room for the entry, which `makeRoom` makes for several.
  Result<void> add(const Key &key, std::span<const std::byte> content) const;

  /// All entries, the least recently used first.
  Result<std::vector<CacheEntry>> entries() const;
  /// The entry as it is; the error says why it would be a miss.
  Result<Bytes> read(const Key &key) const;

  /// What was removed.
  struct Pruned {
    uint64_t entries = 0, temporaries = 0, bytes = 0;
  };
  /// Removes entries that cannot be read or fail the check, what interrupted processes left, and the least
  /// recently used entries beyond the capacity.
  Result<Pruned> prune(const Check &check) const;

  /// Removes what interrupted processes left, and the least recently used entries beyond the capacity.
  Result<Pruned> makeRoom() const;

  /// A folder for what a process writes while it makes an entry.
  Result<TemporaryFolder> makeTemporaryFolder(const Key &key) const;
  /// Removes the temporary files and folders of processes that ended.
  void removeAbandoned() const;

  std::filesystem::path pathOf(const Key &key) const;
  const std::filesystem::path &folder() const { return directory; }

private:
  Result<Descriptor> makeFolder() const;

  std::filesystem::path directory;
  uint64_t capacity;
};

} // namespace tlc
