// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/DiskCache.h"

#include "runtime/artifact/Serialize.h"

#include <algorithm>
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

constexpr std::string_view aliasMark = "tlc alias 1\n";
constexpr size_t keyDigits = 32; ///< of a key, and of a hash

std::string_view viewOf(std::span<const std::byte> content) {
  return {reinterpret_cast<const char *>(content.data()), content.size()};
}

} // namespace

std::vector<std::byte> tlc::serialize(const CachedAlias &alias) {
  const std::string program = alias.program.toHex();
  const std::string text =
      fmt::format("{}{} {} {}", aliasMark, KeyBuilder().add(program).add(alias.text).finish().toHex(),
                  program, alias.text);
  const auto raw = std::as_bytes(std::span(text));
  return {raw.begin(), raw.end()};
}

bool tlc::isAlias(std::span<const std::byte> content) { return viewOf(content).starts_with(aliasMark); }

Result<CachedAlias> tlc::deserializeAlias(std::span<const std::byte> content) {
  const std::string_view text = viewOf(content);
  constexpr size_t programAt = aliasMark.size() + keyDigits + 1, textAt = programAt + keyDigits + 1;
  if (isAlias(content) && text.size() >= textAt)
    if (const std::optional<Key> program = Key::parse(text.substr(programAt, keyDigits))) {
      CachedAlias alias{*program, std::string(text.substr(textAt))};
      if (std::ranges::equal(serialize(alias), content))
        return alias;
    }
  return Error{ErrorKind::environment, "it is the name of a program, and damaged"};
}

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

Result<void> tlc::checkProgramOf(const EntryStore &store, const CachedAlias &alias) {
  if (store.read(alias.program))
    return {};
  return Error{ErrorKind::environment, "it is the name of a program that is not there"};
}

std::optional<Key> DiskCache::findAlias(const Key &name) const {
  if (Result<std::optional<EntryStore::Bytes>> content = kept.load(name); content && *content)
    if (Result<CachedAlias> alias = deserializeAlias(**content))
      return alias->program;
  return std::nullopt;
}

Result<void> DiskCache::storeAlias(const Key &name, const CachedAlias &alias) const {
  return kept.store(name, serialize(alias));
}

Result<CachedProgram> DiskCache::read(const Key &key) const {
  Result<EntryStore::Bytes> content = kept.read(key);
  return content ? deserializeCachedProgram(*content) : content.error();
}

Result<DiskCache::Pruned> DiskCache::prune() const {
  return kept.prune([this](std::span<const std::byte> content) -> Result<void> {
    if (isAlias(content)) {
      Result<CachedAlias> alias = deserializeAlias(content);
      return alias ? checkProgramOf(kept, *alias) : alias.error();
    }
    Result<CachedProgram> program = deserializeCachedProgram(content);
    return program ? Result<void>() : program.error();
  });
}
