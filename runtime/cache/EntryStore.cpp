// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/EntryStore.h"

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
constexpr size_t mostBytes = size_t(256) << 20;

constexpr std::string_view suffix = ".tlc";

std::string nameOf(const Key &key) { return key.toHex().append(suffix); }

/// In front of the content: what the entry is the answer to.
std::string headerOf(const Key &key) { return "tlc cache entry " + key.toHex() + "\n"; }

using Folder = std::unique_ptr<DIR, decltype([](DIR *folder) { ::closedir(folder); })>;

struct Contents {
  std::vector<CacheEntry> entries; ///< the least recently used first
  std::vector<std::string> temporaries;
};

Result<Contents> contentsOf(const Descriptor &folder, const std::filesystem::path &directory) {
  // A position of its own in the folder.
  Folder listed(::fdopendir(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (!listed)
    return fileError("read", directory, errno);
  Contents contents;
  while (const dirent *file = ::readdir(listed.get())) {
    const std::string_view name = file->d_name;
    const size_t end = name.find(suffix);
    std::optional<Key> key = end == name.npos ? std::nullopt : Key::parse(name.substr(0, end));
    if (!key)
      continue;
    if (end + suffix.size() != name.size()) {
      if (name[end + suffix.size()] == '.')
        contents.temporaries.emplace_back(name);
      continue;
    }
    struct stat status = {};
    if (::fstatat(folder.get(), file->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    const auto changed = std::chrono::system_clock::time_point(
        std::chrono::seconds(status.st_mtim.tv_sec) + std::chrono::nanoseconds(status.st_mtim.tv_nsec));
    contents.entries.push_back({*key, uint64_t(status.st_size), changed});
  }
  std::ranges::sort(contents.entries, {},
                    [](const CacheEntry &entry) { return std::pair(entry.lastUse, entry.key.toHex()); });
  return contents;
}

uint64_t removeAbandonedOf(const Descriptor &folder, const std::filesystem::path &directory,
                           const Contents &contents) {
  return uint64_t(std::ranges::count_if(contents.temporaries, [&](const std::string &name) {
    return removeIfAbandoned(folder, name, directory / name);
  }));
}

/// Removes what no process writes any more, and the least recently used entries beyond the capacity.
EntryStore::Pruned makeRoom(const Descriptor &folder, const std::filesystem::path &directory,
                            const Contents &contents, uint64_t capacity) {
  EntryStore::Pruned pruned;
  pruned.temporaries = removeAbandonedOf(folder, directory, contents);
  uint64_t bytes = 0;
  for (const CacheEntry &entry : contents.entries)
    bytes += entry.bytes;
  for (const CacheEntry &entry : contents.entries) {
    if (bytes <= capacity)
      break;
    bytes -= entry.bytes;
    if (!removeEntry(directory / nameOf(entry.key)))
      continue;
    ++pruned.entries;
    pruned.bytes += entry.bytes;
  }
  return pruned;
}

/// What comes after the header.
Result<EntryStore::Bytes> readContent(const Key &key, const Descriptor &file,
                                      const std::filesystem::path &path) {
  const std::string header = headerOf(key);
  std::string own(header.size(), '\0');
  size_t size = 0;
  while (size != own.size()) {
    const ssize_t got = ::read(file.get(), own.data() + size, own.size() - size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      break;
    size += size_t(got);
  }
  if (own != header)
    return Error{ErrorKind::environment, "it is the entry of another key, of another version or damaged"};
  return readEntry(file, path, mostBytes);
}

Result<Descriptor> existingFolder(const std::filesystem::path &directory) {
  Result<Descriptor> folder = openFolder(directory);
  if (folder && !*folder)
    return fileError("open the cache directory", directory, ENOENT);
  return folder;
}

} // namespace

Result<Descriptor> EntryStore::makeFolder() const {
  if (Result<void> made = createFolder(directory); !made)
    return made.error();
  Result<Descriptor> folder = openFolder(directory);
  if (folder && !*folder)
    return fileError("open the cache directory", directory, ENOTDIR);
  if (folder)
    if (Result<void> own = checkOwn(*folder, directory); !own)
      return own.error();
  return folder;
}

Result<std::optional<EntryStore::Bytes>> EntryStore::load(const Key &key) const {
  Result<Descriptor> folder = openFolder(directory);
  if (!folder)
    return folder.error();
  if (!*folder)
    return std::optional<Bytes>();
  Result<Descriptor> file = openEntry(*folder, nameOf(key), pathOf(key));
  if (!file)
    return file.error();
  if (!*file)
    return std::optional<Bytes>();
  Result<Bytes> content = readContent(key, *file, pathOf(key));
  if (!content)
    return std::optional<Bytes>();
  ::futimens(file->get(), nullptr);
  return std::optional(std::move(*content));
}

Result<void> EntryStore::store(const Key &key, std::span<const std::byte> content) const {
  if (Result<void> added = add(key, content); !added)
    return added;
  Result<Pruned> pruned = makeRoom();
  return pruned ? Result<void>() : pruned.error();
}

Result<void> EntryStore::add(const Key &key, std::span<const std::byte> content) const {
  Result<Descriptor> folder = makeFolder();
  if (!folder)
    return folder.error();
  const std::string header = headerOf(key);
  const auto raw = std::as_bytes(std::span(header));
  Bytes bytes(raw.begin(), raw.end());
  bytes.insert(bytes.end(), content.begin(), content.end());
  if (bytes.size() > mostBytes)
    return Error{ErrorKind::environment,
                 fmt::format("expected at most {} bytes for an entry of the cache, but got {}", mostBytes,
                             bytes.size())};
  return writeEntry(*folder, nameOf(key), pathOf(key), bytes);
}

Result<EntryStore::Pruned> EntryStore::makeRoom() const {
  Result<Descriptor> folder = existingFolder(directory);
  if (!folder)
    return folder.error();
  Result<Contents> contents = contentsOf(*folder, directory);
  if (!contents)
    return contents.error();
  return ::makeRoom(*folder, directory, *contents, capacity);
}

Result<std::vector<CacheEntry>> EntryStore::entries() const {
  Result<Descriptor> folder = existingFolder(directory);
  if (!folder)
    return folder.error();
  Result<Contents> contents = contentsOf(*folder, directory);
  if (!contents)
    return contents.error();
  return std::move(contents->entries);
}

Result<EntryStore::Bytes> EntryStore::read(const Key &key) const {
  Result<Descriptor> folder = existingFolder(directory);
  if (!folder)
    return folder.error();
  Result<Descriptor> file = openEntry(*folder, nameOf(key), pathOf(key));
  if (!file)
    return file.error();
  if (!*file)
    return Error{ErrorKind::environment, "it is no ordinary file that can be read"};
  return readContent(key, *file, pathOf(key));
}

Result<EntryStore::Pruned> EntryStore::prune(const Check &check) const {
  Result<Descriptor> folder = existingFolder(directory);
  if (!folder)
    return folder.error();
  if (Result<void> own = checkOwn(*folder, directory); !own)
    return own.error();
  Result<Contents> contents = contentsOf(*folder, directory);
  if (!contents)
    return contents.error();
  Pruned unreadable;
  std::erase_if(contents->entries, [&](const CacheEntry &entry) {
    const Result<Bytes> content = read(entry.key);
    if ((content && check(*content)) || !removeEntry(pathOf(entry.key)))
      return false;
    ++unreadable.entries;
    unreadable.bytes += entry.bytes;
    return true;
  });
  Pruned pruned = ::makeRoom(*folder, directory, *contents, capacity);
  pruned.entries += unreadable.entries;
  pruned.bytes += unreadable.bytes;
  return pruned;
}

Result<TemporaryFolder> EntryStore::makeTemporaryFolder(const Key &key) const {
  Result<Descriptor> folder = makeFolder();
  if (!folder)
    return folder.error();
  return TemporaryFolder::make(directory, nameOf(key) + ".");
}

void EntryStore::removeAbandoned() const {
  if (Result<Descriptor> folder = openFolder(directory); folder && *folder)
    if (Result<Contents> contents = contentsOf(*folder, directory))
      removeAbandonedOf(*folder, directory, *contents);
}

std::filesystem::path EntryStore::pathOf(const Key &key) const { return directory / nameOf(key); }
