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
#include <optional>

namespace tlc::kernels {

/// Safe to use from several threads.
class ArtifactCache {
public:
  using Pointer = std::shared_ptr<const Artifact>;

  ArtifactCache() = default;
  /// Programs are kept in `directory`, too.
  explicit ArtifactCache(std::filesystem::path directory) : disk(std::move(directory)) {}

  /// The program of that key, which has everything that decides the result but this build of the compiler;
  /// the same object for the same key. `compile` makes it where there is none. A folder that cannot be
  /// written costs time only: `onNotStored` is told.
  Result<Pointer> getOrCompile(const KeyBuilder &key, const std::function<Result<Pointer>()> &compile,
                               const std::function<void(const Error &)> &onNotStored = {});

private:
  MemoryCache<Artifact> memory;
  std::optional<DiskCache> disk;
};

} // namespace tlc::kernels
