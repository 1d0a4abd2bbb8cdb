// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where compiled programs are kept, what a miss does, and who is told.
#pragma once

#include "runtime/artifact/ProgramCode.h"
#include "runtime/cache/EntryStore.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

namespace tlc {

/// The one folder of compiled programs and compiled files of kernels: $XDG_CACHE_HOME/tlc or
/// $HOME/.cache/tlc; nothing if neither variable has an absolute path.
std::optional<std::filesystem::path> defaultCacheFolder();

enum class CachePolicy : uint8_t {
  compile,  ///< a miss compiles
  hitsOnly, ///< a miss is an error, which says how to make the entry
};

/// What a cache has done. The texts live as long as the call that tells it.
struct CacheEvent {
  enum class Kind : uint8_t {
    compiled,
    foundInMemory,
    foundOnDisk,
    loaded, ///< on a device
  };
  Kind kind = Kind::compiled;
  std::string_view program, target;
  double milliseconds = 0;
  ProgramCode code = ProgramCode::ptx; ///< that the program has, or that the device has loaded
};

struct CacheOptions {
  std::optional<std::filesystem::path> folder = defaultCacheFolder(); ///< nothing: in memory only
  uint64_t bytes = EntryStore::defaultCapacity; ///< of the folder's entries together, at most
  CachePolicy policy = CachePolicy::compile;
  /// With `cubin` new entries of the folder have machine code, too, where ptxas is found.
  ProgramCode code = ProgramCode::cubin;
  /// May be called from several threads at once.
  std::function<void(const CacheEvent &)> onEvent = {};

  static CacheOptions inMemory() { return {.folder = std::nullopt}; }
  static CacheOptions in(std::filesystem::path folder) { return {.folder = std::move(folder)}; }
};

} // namespace tlc
