// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Archive.h"

#include "runtime/support/Excerpt.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

using namespace tlc;

namespace {

constexpr std::string_view mark = "tlc cache archive 1\n";
constexpr size_t digits = 32; ///< of a key, and of a hash

/// In front of an entry's content: its key, its size, and a hash of both.
std::string headerOf(const Key &key, std::span<const std::byte> content) {
  const std::string name = key.toHex();
  Hash128 hash;
  hash.update(std::as_bytes(std::span(name)));
  hash.update(content);
  return fmt::format("entry {} {:016x} {}\n", name, content.size(), Key{hash}.toHex());
}
constexpr size_t headerSize = 6 + digits + 1 + 16 + 1 + digits + 1;

std::string endOf(uint64_t entries) { return fmt::format("end {:016x}\n", entries); }

using Stream = std::unique_ptr<std::FILE, decltype([](std::FILE *file) { std::fclose(file); })>;

Error damaged(const std::filesystem::path &file, std::string_view why) {
  return {ErrorKind::invalidArgument,
          formatMessage("expected an archive of 'tlc cache export' in '{}', but {}", file.native(), why)};
}

using OnEntry = std::function<Result<void>(const Key &, std::span<const std::byte>)>;

class Reader {
public:
  static Result<Reader> open(const std::filesystem::path &file) {
    const int number = ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (number < 0)
      return fileError("open", file, errno);
    Stream stream(::fdopen(number, "rb"));
    struct stat status = {};
    if (!stream || ::fstat(number, &status) != 0)
      return fileError("examine", file, errno);
    if (!S_ISREG(status.st_mode))
      return damaged(file, "it is no regular file");
    return Reader(std::move(stream), file, uint64_t(status.st_size));
  }

  /// All entries, from the first on.
  Result<Archived> read(const OnEntry &onEntry) {
    std::rewind(stream.get());
    left = bytes;
    if (take(mark.size()) != mark)
      return damaged(file, "it does not begin like one of this version");
    Archived archived;
    const std::string_view end = "end ";
    for (;;) {
      const std::string first = take(end.size());
      if (first == end) {
        if (first + take(endOf(0).size() - end.size()) != endOf(archived.entries))
          return damaged(file, "its end does not say how many entries it has");
        if (left != 0)
          return damaged(file, fmt::format("{} bytes follow its end", left));
        return archived;
      }
      const std::string header = first + take(headerSize - end.size());
      const std::optional<Key> key =
          header.size() == headerSize ? Key::parse(std::string_view(header).substr(6, digits)) : std::nullopt;
      const uint64_t size = key ? std::strtoull(header.c_str() + 6 + digits + 1, nullptr, 16) : 0;
      if (!key || size > left)
        return damaged(file, fmt::format("entry {} is cut short or damaged", archived.entries + 1));
      const std::string content = take(size);
      const auto span = std::as_bytes(std::span(content));
      if (content.size() != size || headerOf(*key, span) != header)
        return damaged(file, fmt::format("entry {} is cut short or damaged", archived.entries + 1));
      if (Result<void> done = onEntry(*key, span); !done)
        return done.error();
      ++archived.entries;
      archived.bytes += size;
    }
  }

private:
  Reader(Stream stream, std::filesystem::path file, uint64_t bytes)
      : stream(std::move(stream)), file(std::move(file)), bytes(bytes) {}

  /// Fewer where the file ends.
  std::string take(uint64_t count) {
    std::string text(std::min(count, left), '\0');
    text.resize(std::fread(text.data(), 1, text.size(), stream.get()));
    left -= text.size();
    return text;
  }

  Stream stream;
  std::filesystem::path file;
  uint64_t bytes, left = 0;
};

} // namespace

Result<Archived> tlc::exportEntries(const EntryStore &store, const std::filesystem::path &file,
                                    const EntryStore::Check &check) {
  Result<std::vector<CacheEntry>> entries = store.entries();
  if (!entries)
    return entries.error();
  std::string temporary = file.native() + ".XXXXXX";
  const int number = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (number < 0)
    return fileError("create", file, errno);
  Stream stream(::fdopen(number, "wb"));
  const auto write = [&](const void *data, size_t size) {
    return stream && std::fwrite(data, 1, size, stream.get()) == size;
  };
  Archived archived;
  bool isWritten = write(mark.data(), mark.size());
  for (const CacheEntry &entry : *entries) {
    const Result<EntryStore::Bytes> content = store.read(entry.key);
    if (!content || !check(*content)) {
      ++archived.unreadable;
      continue;
    }
    const std::string header = headerOf(entry.key, *content);
    isWritten = isWritten && write(header.data(), header.size()) && write(content->data(), content->size());
    ++archived.entries;
    archived.bytes += content->size();
  }
  const std::string end = endOf(archived.entries);
  if (isWritten && write(end.data(), end.size()) && std::fflush(stream.get()) == 0 && ::fsync(number) == 0 &&
      ::rename(temporary.c_str(), file.c_str()) == 0)
    return archived;
  const int code = errno;
  ::unlink(temporary.c_str());
  return fileError("write", file, code);
}

Result<Archived> tlc::importEntries(const EntryStore &store, const std::filesystem::path &file,
                                    const EntryStore::Check &check) {
  Result<Reader> reader = Reader::open(file);
  if (!reader)
    return reader.error();
  uint64_t number = 0;
  const Result<Archived> checked = reader->read([&](const Key &, std::span<const std::byte> content) {
    ++number;
    Result<void> valid = check(content);
    return valid ? valid
                 : damaged(file, fmt::format("entry {} cannot be used: {}", number, valid.error().message));
  });
  if (!checked)
    return checked.error();
  // The file may have changed since: what is stored is checked again.
  Result<Archived> stored = reader->read([&](const Key &key, std::span<const std::byte> content) {
    Result<void> valid = check(content);
    return valid ? store.add(key, content) : valid;
  });
  if (!stored)
    return stored.error();
  if (Result<EntryStore::Pruned> pruned = store.makeRoom(); !pruned)
    return pruned.error();
  return stored;
}
