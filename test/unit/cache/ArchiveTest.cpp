// SPDX-License-Identifier: Apache-2.0
/// \file
/// Entries go to a file and from there to another store, whole or not at all.
#include "runtime/cache/Archive.h"

#include "test/unit/cache/TemporaryDirectory.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sys/stat.h>

using namespace tlc;
using Catch::Matchers::Contains;
using tlc::test::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

Key keyOf(int64_t number) { return KeyBuilder().add(number).finish(); }

EntryStore::Bytes bytesOf(size_t count, int value) { return EntryStore::Bytes(count, std::byte(value)); }

/// Of entries that begin with a 7, or are empty.
Result<void> check(std::span<const std::byte> content) {
  if (content.empty() || content[0] == std::byte(7))
    return {};
  return Error{.message = "it does not begin with 7"};
}

std::string errorOfImport(const EntryStore &store, const fs::path &file) {
  const Result<Archived> imported = importEntries(store, file, check);
  REQUIRE_FALSE(imported);
  return imported.error().message;
}

size_t entriesOf(const EntryStore &store) {
  const Result<std::vector<CacheEntry>> entries = store.entries();
  return entries ? entries->size() : 0;
}

} // namespace

TEST_CASE("an archive has the entries of a store that can be used", "[cache][archive]") {
  TemporaryDirectory directory;
  const EntryStore from(directory.path / "from"), to(directory.path / "to");
  const fs::path file = directory.path / "archive";
  REQUIRE(from.store(keyOf(1), bytesOf(1000, 7)));
  REQUIRE(from.store(keyOf(2), bytesOf(0, 0)));
  REQUIRE(from.store(keyOf(3), bytesOf(10, 8)));
  std::ofstream(from.pathOf(keyOf(4))) << "no entry";
  fs::permissions(from.pathOf(keyOf(4)), fs::perms(0600));

  const Result<Archived> exported = exportEntries(from, file, check);
  REQUIRE(exported);
  CHECK(exported->entries == 2);
  CHECK(exported->bytes == 1000);
  CHECK(exported->unreadable == 2);
  struct stat status = {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);

  REQUIRE(to.store(keyOf(5), bytesOf(5, 7)));
  const Result<Archived> imported = importEntries(to, file, check);
  REQUIRE(imported);
  CHECK(imported->entries == 2);
  CHECK(*to.read(keyOf(1)) == bytesOf(1000, 7));
  CHECK(*to.read(keyOf(2)) == bytesOf(0, 0));
  CHECK(to.read(keyOf(5)));
  CHECK(entriesOf(to) == 3);
}

TEST_CASE("an archive that is damaged anywhere is refused whole", "[cache][archive]") {
  TemporaryDirectory directory;
  const EntryStore from(directory.path / "from"), to(directory.path / "to");
  const fs::path file = directory.path / "archive", other = directory.path / "other";
  for (int64_t i = 0; i != 3; ++i)
    REQUIRE(from.store(keyOf(i), bytesOf(20, 7)));
  REQUIRE(exportEntries(from, file, check));
  const uintmax_t size = fs::file_size(file);
  for (uintmax_t length = 0; length != size; ++length) {
    fs::copy_file(file, other, fs::copy_options::overwrite_existing);
    fs::resize_file(other, length);
    CHECK_THAT(errorOfImport(to, other), Contains("expected an archive of 'tlc cache export' in '"));
  }
  for (uintmax_t at = 0; at != size; ++at) {
    fs::copy_file(file, other, fs::copy_options::overwrite_existing);
    std::fstream stream(other, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(std::streamoff(at));
    const int before = stream.get();
    stream.seekp(std::streamoff(at));
    stream.put(char(before ^ 1));
    stream.close();
    CHECK_THAT(errorOfImport(to, other), Contains("expected an archive of 'tlc cache export' in '"));
  }
  CHECK(entriesOf(to) == 0);
}

TEST_CASE("messages of archives name the file and the entry", "[cache][archive]") {
  TemporaryDirectory directory;
  const EntryStore from(directory.path / "from"), to(directory.path / "to");
  const fs::path file = directory.path / "archive";
  const std::string begin = "expected an archive of 'tlc cache export' in '" + file.native() + "', but ";
  REQUIRE(from.store(keyOf(1), bytesOf(20, 7)));
  REQUIRE(exportEntries(from, file, check));
  SECTION("another file") {
    std::ofstream(file, std::ios::trunc) << "#!/bin/sh\n";
    CHECK(errorOfImport(to, file) == begin + "it does not begin like one of this version");
  }
  SECTION("cut short") {
    fs::resize_file(file, fs::file_size(file) - 30);
    CHECK(errorOfImport(to, file) == begin + "entry 1 is cut short or damaged");
  }
  SECTION("with more after it") {
    std::ofstream(file, std::ios::app) << "more";
    CHECK(errorOfImport(to, file) == begin + "4 bytes follow its end");
  }
  SECTION("an entry that is none") {
    const auto all = [](std::span<const std::byte>) { return Result<void>(); };
    REQUIRE(from.store(keyOf(2), bytesOf(20, 8)));
    fs::last_write_time(from.pathOf(keyOf(1)), fs::file_time_type::clock::now() - std::chrono::hours(1));
    REQUIRE(exportEntries(from, file, all));
    CHECK(errorOfImport(to, file) == begin + "entry 2 cannot be used: it does not begin with 7");
  }
  SECTION("a pipe, for which nobody waits") {
    fs::remove(file);
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
    CHECK(errorOfImport(to, file) == begin + "it is no regular file");
  }
  SECTION("none") {
    fs::remove(file);
    CHECK(errorOfImport(to, file) == "cannot open '" + file.native() + "': No such file or directory");
    CHECK_FALSE(exportEntries(from, directory.path / "none" / "archive", check));
    CHECK_FALSE(exportEntries(to, file, check));
    CHECK_FALSE(fs::exists(file));
  }
  CHECK(entriesOf(to) == 0);
}

TEST_CASE("an import stays within the store's capacity", "[cache][archive]") {
  TemporaryDirectory directory;
  const EntryStore from(directory.path / "from"), to(directory.path / "to", 3000);
  const fs::path file = directory.path / "archive";
  for (int64_t i = 0; i != 8; ++i)
    REQUIRE(from.store(keyOf(i), bytesOf(900, 7)));
  REQUIRE(exportEntries(from, file, check));
  const Result<Archived> imported = importEntries(to, file, check);
  REQUIRE(imported);
  CHECK(imported->entries == 8);
  CHECK(entriesOf(to) == 3);
}
