// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/DiskCache.h"

#include "runtime/artifact/Serialize.h"

#include <fmt/format.h>
#include <string_view>

using namespace tlc;

namespace {

/// What follows the artifact in an entry that has a note.
std::string textOf(std::string_view note) {
  Hash128 hash;
  hash.update(std::as_bytes(std::span(note)));
  return fmt::format("note {} {}", Key{hash}.toHex(), note);
}
const size_t notePrefix = textOf("").size();

} // namespace

std::vector<std::byte> tlc::serialize(const CachedProgram &program) {
  std::vector<std::byte> bytes = serialize(program.artifact);
  if (!program.note.empty()) {
    const std::string text = textOf(program.note);
    const auto raw = std::as_bytes(std::span(text));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  }
  return bytes;
}

Result<CachedProgram> tlc::deserializeCachedProgram(std::span<const std::byte> content) {
  const size_t size = artifactBytes(content);
  Result<Artifact> artifact = deserialize(content.first(size));
  if (!artifact)
    return artifact.error();
  CachedProgram program{std::move(*artifact)};
  const std::string_view rest(reinterpret_cast<const char *>(content.data()) + size, content.size() - size);
  if (rest.empty())
    return program;
  if (rest.size() > notePrefix)
    program.note = rest.substr(notePrefix);
  if (program.note.empty() || textOf(program.note) != rest)
    return Error{.message =
                     fmt::format("expected a note after the artifact, but got {} other bytes", rest.size())};
  return program;
}

Result<std::optional<CachedProgram>> DiskCache::load(const Key &key) const {
  Result<std::optional<EntryStore::Bytes>> content = kept.load(key);
  if (!content)
    return content.error();
  if (*content)
    if (Result<CachedProgram> program = deserializeCachedProgram(**content))
      return std::optional(std::move(*program));
  return std::optional<CachedProgram>();
}

Result<void> DiskCache::store(const Key &key, const CachedProgram &program) const {
  return kept.store(key, serialize(program));
}

Result<CachedProgram> DiskCache::read(const Key &key) const {
  Result<EntryStore::Bytes> content = kept.read(key);
  return content ? deserializeCachedProgram(*content) : content.error();
}

Result<DiskCache::Pruned> DiskCache::prune() const {
  return kept.prune([](std::span<const std::byte> content) -> Result<void> {
    Result<CachedProgram> program = deserializeCachedProgram(content);
    return program ? Result<void>() : program.error();
  });
}
