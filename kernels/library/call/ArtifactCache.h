// SPDX-License-Identifier: Apache-2.0
/// \file
/// Compiled programs, kept in memory and in a folder.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/cache/CacheOptions.h"
#include "runtime/cache/DiskCache.h"
#include "runtime/cache/MemoryCache.h"
#include "runtime/device/Device.h"
#include "runtime/support/Result.h"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace tlc::kernels {

/// A program that is asked for.
struct CacheRequest {
  KeyBuilder key; ///< of everything that decides the result but this build of the compiler
  std::string_view program, target;
  /// How an entry is made, for the error of a cache that only has hits: the end of a sentence.
  std::function<std::string()> remedy;
  ProgramCode code = ProgramCode::cubin; ///< that the program is wanted for (`DeviceProperties::code`)
};

/// Who is told of one request, beside `CacheOptions::onEvent`.
struct CacheObserver {
  std::function<void(const Error &)> onWarning = {};
  std::function<void(const CacheEvent &)> onEvent = {};
};

/// Safe to use from several threads.
class ArtifactCache {
public:
  using Pointer = std::shared_ptr<const Artifact>;

  ArtifactCache() : ArtifactCache(CacheOptions()) {}
  explicit ArtifactCache(CacheOptions options);

  /// The program; the same object for the same key as long as that is kept in memory. `compile` makes it
  /// where there is none; of concurrent requests for one key one compiles, and the others wait for it. A
  /// folder that cannot be used costs time only: `onWarning` is told, once for each reason. An entry of the
  /// folder gets machine code when it is made, or at the first hit by a request that wants it.
  Result<Pointer> getOrCompile(const CacheRequest &request, const std::function<Result<Pointer>()> &compile,
                               const CacheObserver &observer = {});

  /// Loads a program of this cache, which tells of it.
  Result<std::shared_ptr<const LoadedProgram>> load(Device &device, const Artifact &artifact) const;

private:
  /// In memory; an artifact takes about 150 KB.
  static constexpr size_t mostPrograms = 256;

  bool isNew(const std::string &warning);
  /// Adds machine code where it is wanted and may be had. True if the program has changed.
  bool complete(CachedProgram &program, const CacheRequest &request, const Key &key) const;

  CacheOptions given;
  MemoryCache<Artifact> memory{mostPrograms};
  std::optional<DiskCache> disk;
  std::mutex mutex;
  std::set<std::string> warnings; ///< that were told
};

} // namespace tlc::kernels
