// SPDX-License-Identifier: Apache-2.0
/// \file
/// The cache of programs that this compiler makes.
#pragma once

#include "runtime/cache/ProgramCache.h"

#include <memory>

namespace tlc::kernels {

/// `ProgramCache` of this build, with machine code by ptxas. Safe to use from several threads.
class ArtifactCache {
public:
  using Pointer = ProgramCache::Pointer;

  ArtifactCache() : ArtifactCache(CacheOptions()) {}
  explicit ArtifactCache(CacheOptions options);
  /// One that others use, too.
  explicit ArtifactCache(std::shared_ptr<ProgramCache> programs) : programs(std::move(programs)) {}

  /// `ProgramCache::getOrCompile`.
  Result<Pointer> getOrCompile(const CacheRequest &request, const ProgramCache::Compile &compile,
                               const CacheObserver &observer = {});

  /// Loads a program of this cache, which tells of it.
  Result<std::shared_ptr<const LoadedProgram>> load(Device &device, const Artifact &artifact) const {
    return programs->load(device, artifact);
  }

  Key keyOf(const KeyBuilder &request) const { return programs->keyOf(request); }

private:
  std::shared_ptr<ProgramCache> programs;
};

} // namespace tlc::kernels
