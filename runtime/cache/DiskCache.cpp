// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/DiskCache.h"

#include "runtime/artifact/Serialize.h"
#include "runtime/cache/EntryFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

using namespace tlc;

namespace {

/// Larger files are none of ours.
constexpr size_t mostBytes = size_t(64) << 20;
/// After this time nobody is writing a file any more.
constexpr std::chrono::minutes abandonedAfter(10);

constexpr std::string_view suffix = ".tlc";

std::string nameOf(const Key &key) { return key.toHex().append(suffix); }

/// In front of the artifact: what the entry is the answer to.
std::string headerOf(const Key &key) { return "tlc cache entry " + key.toHex() + "\n"; }

using Folder = std::unique_ptr<DIR, decltype([](DIR *folder) { ::closedir(folder); })>;

struct Contents {
  std::vector<CacheEntry> entries; ///< the least recently used first
  std::vector<std::string> abandoned;
};

Result<Contents> contentsOf(const Descriptor &folder, const std::filesystem::path &directory) {
  // A position of its own in the folder.
  Folder listed(::fdopendir(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (!listed)
    return fileError("read", directory, errno);
  const auto now = std::chrono::system_clock::now();
  Contents contents;
  while (const dirent *file = ::readdir(listed.get())) {
    const std::string_view name = file->d_name;
    const size_t end = name.find(suffix);
    std::optional<Key> key = end == name.npos ? std::nullopt : Key::parse(name.substr(0, end));
    struct stat status = {};
    if (!key || ::fstatat(folder.get(), file->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    const auto changed = std::chrono::system_clock::time_point(
        std::chrono::seconds(status.st_mtim.tv_sec) + std::chrono::nanoseconds(status.st_mtim.tv_nsec));
    if (end + suffix.size() == name.size())
      contents.entries.push_back({*key, uint64_t(status.st_size), changed});
    else if (name[end + suffix.size()] == '.' && now - changed > abandonedAfter)
      contents.abandoned.emplace_back(name);
  }
  std::ranges::sort(contents.entries, {},
                    [](const CacheEntry &entry) { return std::pair(entry.lastUse, entry.key.toHex()); });
  return contents;
}

/// Removes what nobody writes any more, and the least recently used entries as long as they are too much.
DiskCache::Pruned makeRoom(const Descriptor &folder, const Contents &contents, uint64_t capacity) {
  DiskCache::Pruned pruned;
  for (const std::string &name : contents.abandoned)
    pruned.temporaries += ::unlinkat(folder.get(), name.c_str(), 0) == 0;
  uint64_t bytes = 0;
  for (const CacheEntry &entry : contents.entries)
    bytes += entry.bytes;
  for (const CacheEntry &entry : contents.entries) {
    if (bytes <= capacity)
      break;
    bytes -= entry.bytes;
    if (::unlinkat(folder.get(), nameOf(entry.key).c_str(), 0) != 0)
      continue;
    ++pruned.entries;
    pruned.bytes += entry.bytes;
  }
  return pruned;
}

Result<Artifact> decode(const Key &key, std::span<const std::byte> bytes) {
  const std::string header = headerOf(key);
  if (bytes.size() < header.size() || std::memcmp(bytes.data(), header.data(), header.size()) != 0)
    return Error{ErrorKind::environment, "it is the entry of another key, of another version or damaged"};
  return deserialize(bytes.subspan(header.size()));
}

Result<Descriptor> existingFolder(const std::filesystem::path &directory) {
  Result<Descriptor> folder = openFolder(directory);
  if (folder && !*folder)
    return fileError("open the cache directory", directory, ENOENT);
  return folder;
}

} // namespace

Result<std::optional<Artifact>> DiskCache::load(const Key &key) const {
  Result<Descriptor> folder = openFolder(directory);
  if (!folder)
    return folder.error();
  if (!*folder)
    return std::optional<Artifact>();
  Result<Descriptor> file = openEntry(*folder, nameOf(key), pathOf(key));
  if (!file)
    return file.error();
  if (!*file)
    return std::optional<Artifact>();
  Result<std::vector<std::byte>> bytes = readEntry(*file, pathOf(key), mostBytes);
  if (!bytes)
    return std::optional<Artifact>();
  Result<Artifact> artifact = decode(key, *bytes);
  if (!artifact)
    return std::optional<Artifact>();
  ::futimens(file->get(), nullptr);
  return std::optional(std::move(*artifact));
}

Result<void> DiskCache::store(const Key &key, const Artifact &artifact) const {
  if (Result<void> made = createFolder(directory); !made)
    return made;
  Result<Descriptor> folder = openFolder(directory);
  if (!folder)
    return folder.error();
  if (!*folder)
    return fileError("open the cache directory", directory, ENOTDIR);
  const std::string header = headerOf(key);
  std::vector<std::byte> bytes = serialize(artifact);
  const auto raw = std::as_bytes(std::span(header));
  bytes.insert(bytes.begin(), raw.begin(), raw.end());
  if (bytes.size() > mostBytes)
    return Error{ErrorKind::environment, fmt::format("expected programs of at most {} bytes for the cache, "
                                                     "but '{}' has {}",
                                                     mostBytes, artifact.name, bytes.size())};
  if (Result<void> written = writeEntry(*folder, nameOf(key), pathOf(key), bytes); !written)
    return written;
  Result<Contents> contents = contentsOf(*folder, directory);
  if (!contents)
    return contents.error();
  makeRoom(*folder, *contents, capacity);
  return {};
}

Result<std::vector<CacheEntry>> DiskCache::entries() const {
  Result<Descriptor> folder = existingFolder(directory);
  if (!folder)
    return folder.error();
  Result<Contents> contents = contentsOf(*folder, directory);
  if (!contents)
    return contents.error();
  return std::move(contents->entries);
}

Result<Artifact> DiskCache::read(const Key &key) const {
  Result<Descriptor> folder = existingFolder(directory);
  if (!folder)
    return folder.error();
  Result<Descriptor> file = openEntry(*folder, nameOf(key), pathOf(key));
  if (!file)
    return file.error();
  if (!*file)
    return Error{ErrorKind::environment, "it is no ordinary file that can be read"};
  Result<std::vector<std::byte>> bytes = readEntry(*file, pathOf(key), mostBytes);
  if (!bytes)
    return bytes.error();
  return decode(key, *bytes);
}

Result<DiskCache::Pruned> DiskCache::prune() const {
  Result<Descriptor> folder = existingFolder(directory);
  if (!folder)
    return folder.error();
  Result<Contents> contents = contentsOf(*folder, directory);
  if (!contents)
    return contents.error();
  Pruned unreadable;
  std::erase_if(contents->entries, [&](const CacheEntry &entry) {
    if (read(entry.key) || ::unlinkat(folder->get(), nameOf(entry.key).c_str(), 0) != 0)
      return false;
    ++unreadable.entries;
    unreadable.bytes += entry.bytes;
    return true;
  });
  Pruned pruned = makeRoom(*folder, *contents, capacity);
  pruned.entries += unreadable.entries;
  pruned.bytes += unreadable.bytes;
  return pruned;
}

std::filesystem::path DiskCache::pathOf(const Key &key) const { return directory / nameOf(key); }
