// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/DiskCache.h"

#include "runtime/artifact/Serialize.h"

using namespace tlc;

Result<std::optional<Artifact>> DiskCache::load(const Key &key) const {
  Result<std::optional<EntryStore::Bytes>> content = kept.load(key);
  if (!content)
    return content.error();
  if (*content)
    if (Result<Artifact> artifact = deserialize(**content))
      return std::optional(std::move(*artifact));
  return std::optional<Artifact>();
}

Result<void> DiskCache::store(const Key &key, const Artifact &artifact) const {
  return kept.store(key, serialize(artifact));
}

Result<Artifact> DiskCache::read(const Key &key) const {
  Result<EntryStore::Bytes> content = kept.read(key);
  return content ? deserialize(*content) : content.error();
}

Result<DiskCache::Pruned> DiskCache::prune() const {
  return kept.prune([](std::span<const std::byte> content) -> Result<void> {
    Result<Artifact> artifact = deserialize(content);
    return artifact ? Result<void>() : artifact.error();
  });
}
