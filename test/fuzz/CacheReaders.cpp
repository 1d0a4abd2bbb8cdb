// SPDX-License-Identifier: Apache-2.0
/// \file
/// Readers of what the cache keeps. What has been changed is read twice: as it is, and with its checksums.
#include "runtime/cache/Archive.h"
#include "runtime/cache/DiskCache.h"
#include "runtime/support/Hash.h"
#include "test/fuzz/ReaderParts.h"
#include "test/unit/artifact/SampleArtifact.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace tlc;
using namespace tlc::fuzz;

namespace {

/// Bytes in front of an artifact's fields, the last 16 of them a checksum.
constexpr size_t headerBytes = 8 + 4 + 8 + 16;

constexpr size_t digits = 32; ///< of a key, and of a hash

std::string hashOf(std::string_view text) {
  Hash128 hash;
  hash.update(bytesOf(text));
  return Key{hash}.toHex();
}

/// Of what an entry holds: an artifact and perhaps a note, or a name of a program.
void signContent(std::string &content) {
  if (isAlias(bytesOf(content))) {
    const size_t programAt = content.find('\n') + 1 + digits + 1, textAt = programAt + digits + 1;
    if (content.size() >= textAt)
      if (const auto program = Key::parse(std::string_view(content).substr(programAt, digits)))
        content = textOf(serialize(CachedAlias{*program, content.substr(textAt)}));
    return;
  }
  const std::string_view mark = "note ";
  const size_t noteAt = std::min(content.rfind(mark), content.size()), hashAt = noteAt + mark.size();
  std::string artifact = content.substr(0, noteAt), note = content.substr(noteAt);
  signArtifact(artifact);
  if (note.size() > mark.size() + digits)
    note.replace(mark.size(), digits, hashOf(content.substr(hashAt + digits + 1)));
  content = artifact + note;
}

/// Of all entries whose sizes are still right, and their number at the end.
void signExport(std::string &bytes) {
  const std::string_view mark = "entry ";
  const size_t sizeAt = mark.size() + digits + 1, hashAt = sizeAt + 16 + 1, contentAt = hashAt + digits + 1;
  size_t at = bytes.find('\n') + 1, entries = 0;
  for (; bytes.compare(at, mark.size(), mark) == 0 && bytes.size() - at >= contentAt; ++entries) {
    const std::string key = bytes.substr(at + mark.size(), digits);
    const size_t size = std::strtoull(bytes.substr(at + sizeAt, 16).c_str(), nullptr, 16);
    if (size > bytes.size() - at - contentAt)
      return;
    std::string content = bytes.substr(at + contentAt, size);
    signContent(content);
    bytes.replace(at + contentAt, size, content);
    bytes.replace(at + hashAt, digits, hashOf(key + content));
    at += contentAt + size;
  }
  const std::string_view end = "end ";
  char number[17];
  std::snprintf(number, sizeof(number), "%016zx", entries);
  if (bytes.compare(at, end.size(), end) == 0 && bytes.size() - at >= end.size() + 16)
    bytes.replace(at + end.size(), 16, number);
}

const Key &entryKey() {
  static const Key key = *Key::parse("0123456789abcdef0123456789abcdef");
  return key;
}
void write(const Folder &path, std::string_view bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
  require(file && ::write(file.get(), bytes.data(), bytes.size()) == ssize_t(bytes.size()),
          "to write a file of a test");
}
std::string contentOf(const Folder &path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const Result<std::vector<std::byte>> bytes = readEntry(file, path, 1 << 20);
  require(bool(bytes), "to read a file of a test");
  return textOf(*bytes);
}

/// As `tlc cache` checks what it exports and imports.
Result<void> checkContent(std::span<const std::byte> content) {
  if (isAlias(content)) {
    const Result<CachedAlias> alias = deserializeAlias(content);
    return alias ? Result<void>() : alias.error();
  }
  const Result<CachedProgram> program = deserializeCachedProgram(content);
  return program ? Result<void>() : program.error();
}

const std::vector<std::string> &contents() {
  static const std::vector<std::string> all = {
      textOf(serialize(CachedProgram{test::sampleArtifact()})),
      textOf(serialize(CachedProgram{test::sampleTransfers(), "ptxas refuses the code"})),
      textOf(serialize(CachedAlias{entryKey(), "softmax --target=sm_90a"}))};
  return all;
}

bool isUsed(const DiskCache &cache, std::string_view file) {
  write(cache.pathOf(entryKey()), file);
  const Result<std::optional<CachedProgram>> program = cache.load(entryKey());
  require(bool(program), "an entry or a miss");
  if (*program)
    require(file.ends_with(textOf(serialize(**program))), "an entry to be written as it was read");
  return program->has_value() || cache.findAlias(entryKey());
}

bool isImported(const Folder &folder, std::string_view bytes) {
  const Folder file = folder / "export";
  write(file, bytes);
  return bool(importEntries(EntryStore(folder / "imported", /*capacity=*/8192), file, checkContent));
}

} // namespace

void fuzz::signArtifact(std::string &bytes) {
  if (bytes.size() < headerBytes)
    return;
  Hash128 hash;
  hash.update(bytesOf(bytes).subspan(headerBytes));
  const uint64_t size = bytes.size() - headerBytes;
  std::memcpy(bytes.data() + 12, &size, sizeof(size));
  std::memcpy(bytes.data() + 20, &hash.high, sizeof(hash.high));
  std::memcpy(bytes.data() + 28, &hash.low, sizeof(hash.low));
}

std::vector<std::string> fuzz::entrySeeds(const Folder &folder) {
  const EntryStore store(folder);
  std::vector<std::string> seeds;
  for (const std::string &content : contents()) {
    require(bool(store.store(entryKey(), bytesOf(content))), "to store an entry of a test");
    seeds.push_back(contentOf(store.pathOf(entryKey())));
  }
  return seeds;
}

bool fuzz::readEntryFile(std::string_view bytes, const Folder &folder) {
  const DiskCache cache(folder);
  isUsed(cache, bytes);
  const std::string header = "tlc cache entry " + entryKey().toHex() + "\n";
  std::string content(bytes.substr(std::min(header.size(), bytes.size())));
  signContent(content);
  return isUsed(cache, header + content);
}

std::vector<std::string> fuzz::exportSeeds(const Folder &folder) {
  const EntryStore store(folder / "store");
  for (size_t number = 0; number != contents().size(); ++number)
    require(bool(store.store(*Key::parse(std::string(digits - 1, '0') + char('1' + number)),
                             bytesOf(contents()[number]))),
            "to store an entry of a test");
  const Folder file = folder / "seed";
  require(bool(exportEntries(store, file, checkContent)), "to export the entries of a test");
  return {contentOf(file)};
}

bool fuzz::readExport(std::string_view bytes, const Folder &folder) {
  isImported(folder, bytes);
  std::string own(bytes);
  signExport(own);
  return isImported(folder, own);
}
