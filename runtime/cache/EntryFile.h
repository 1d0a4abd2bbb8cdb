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

/// The folder; none if it does not exist. An error if it belongs to another user or others may write it:
/// they could choose what runs here.
Result<Descriptor> openFolder(const std::filesystem::path &path);

/// The file of that name in the folder; none if there is no ordinary file. An error as for folders.
Result<Descriptor> openEntry(const Descriptor &folder, const std::string &name,
                             const std::filesystem::path &path);

/// What the file holds, `most` bytes at most.
Result<std::vector<std::byte>> readEntry(const Descriptor &file, const std::filesystem::path &path,
                                         size_t most);

/// Writes `name` in the folder: beside it, synchronised, renamed. What is interrupted leaves a file whose
/// name begins with `name` and a dot.
Result<void> writeEntry(const Descriptor &folder, const std::string &name, const std::filesystem::path &path,
                        std::span<const std::byte> bytes);

} // namespace tlc
