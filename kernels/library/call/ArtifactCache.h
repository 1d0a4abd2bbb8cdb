// SPDX-License-Identifier: Apache-2.0
/// \file
/// Compiled programs, kept in memory and, if asked, in a folder.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/cache/DiskCache.h"
#include "runtime/cache/MemoryCache.h"
#include "runtime/support/Result.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace tlc::kernels {

/// Safe to use from several threads.
class ArtifactCache {
public:
  using Pointer = std::shared_ptr<const Artifact>;

  ArtifactCache() = default;
  /// Programs are kept in `directory`, too, `bytes` of them at most.
  explicit ArtifactCache(std::filesystem::path directory, uint64_t bytes = DiskCache::defaultCapacity)
      : disk(std::in_place, std::move(directory), bytes) {}

  /// The program of that key, which has everything that decides the result but this build of the compiler;
  /// the same object for the same key as long as that is kept. `compile` makes it where there is none. A
  /// folder that cannot be used costs time only: `onWarning` is told, once for each reason.
  Result<Pointer> getOrCompile(const KeyBuilder &key, const std::function<Result<Pointer>()> &compile,
                               const std::function<void(const Error &)> &onWarning = {});

private:
  /// In memory; an artifact takes about 150 KB.
  static constexpr size_t mostPrograms = 256;

  bool isNew(const std::string &warning);

  MemoryCache<Artifact> memory{mostPrograms};
  std::optional<DiskCache> disk;
  std::mutex mutex;
  std::set<std::string> warnings; ///< that were told
};

} // namespace tlc::kernels
