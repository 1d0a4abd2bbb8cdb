// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/DiskCache.h"

#include "runtime/artifact/Serialize.h"

#include <fmt/format.h>

using namespace tlc;

std::optional<Artifact> DiskCache::load(const Key &key) const {
  Result<Artifact> artifact = readArtifact(pathOf(key));
  if (!artifact)
    return std::nullopt;
  return std::move(*artifact);
}

Result<void> DiskCache::store(const Key &key, const Artifact &artifact) const {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure)
    return Error{ErrorKind::environment, fmt::format("cannot create the cache directory '{}': {}",
                                                     directory.string(), failure.message())};
  return writeArtifact(pathOf(key), artifact);
}

std::filesystem::path DiskCache::pathOf(const Key &key) const { return directory / (key.toHex() + ".tlc"); }
