// SPDX-License-Identifier: Apache-2.0
/// \file
/// Files of the disk cache: opened without following links and without waiting, trusted only if nobody else
/// can have written them, written whole or not at all.
#pragma once

#include "runtime/support/Result.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tlc {

/// An open file, closed with the object.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int number) : number(number) {}
  Descriptor(Descriptor &&other) noexcept : number(std::exchange(other.number, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~Descriptor();

  explicit operator bool() const { return number >= 0; }
  int get() const { return number; }

private:
  int number = -1;
};

/// "cannot open 'path': No such file or directory", for a code of errno.
Error fileError(std::string_view action, const std::filesystem::path &path, int code);

/// Makes the folder, and those above it that are missing, for this user alone.
Result<void> createFolder(const std::filesystem::path &path);

/// The folder; none if it does not exist. An error if it belongs to another user than this one and root, or
/// others may write it: they could choose what runs here.
Result<Descriptor> openFolder(const std::filesystem::path &path);

/// An error if the folder is root's, not this user's: then it is only read.
Result<void> checkOwn(const Descriptor &folder, const std::filesystem::path &path);

/// The file of that name in the folder; none if there is no ordinary file. An error as for folders.
Result<Descriptor> openEntry(const Descriptor &folder, const std::string &name,
                             const std::filesystem::path &path);

/// What the file holds, `most` bytes at most.
Result<std::vector<std::byte>> readEntry(const Descriptor &file, const std::filesystem::path &path,
                                         size_t most);

/// Writes `name` in the folder: to a temporary file, synchronised, renamed; replaces a folder of that name.
/// An interrupted process leaves a file whose name begins with `name` and a dot.
Result<void> writeEntry(const Descriptor &folder, const std::string &name, const std::filesystem::path &path,
                        std::span<const std::byte> bytes);

/// Removes an entry, or the folder that has its name. True if it existed.
bool removeEntry(const std::filesystem::path &path);

/// Removes a temporary file or folder that no process locks. True if it is removed.
bool removeIfAbandoned(const Descriptor &folder, const std::string &name, const std::filesystem::path &path);

/// A folder for temporary files, locked by this process, and removed with the object.
class TemporaryFolder {
public:
  /// Its name is `prefix` with further characters.
  static Result<TemporaryFolder> make(const std::filesystem::path &parent, const std::string &prefix);
  TemporaryFolder(TemporaryFolder &&other) noexcept
      : own(std::exchange(other.own, {})), lock(std::move(other.lock)) {}
  TemporaryFolder &operator=(TemporaryFolder &&other) noexcept {
    std::swap(own, other.own);
    std::swap(lock, other.lock);
    return *this;
  }
  ~TemporaryFolder() { remove(); }

  const std::filesystem::path &path() const { return own; }
  /// What the destructor does, for another process to do it.
  void remove() const;

private:
  TemporaryFolder(std::filesystem::path path, Descriptor lock)
      : own(std::move(path)), lock(std::move(lock)) {}

  std::filesystem::path own;
  Descriptor lock;
};

} // namespace tlc
