// SPDX-License-Identifier: Apache-2.0
/// \file
/// The disk cache returns what was stored, treats damage as a miss, trusts nobody else's files, and stays
/// within its bounds.
#include "runtime/cache/DiskCache.h"

#include "runtime/artifact/Serialize.h"
#include "runtime/cache/CacheOptions.h"
#include "test/unit/artifact/SampleArtifact.h"
#include "test/unit/cache/TemporaryDirectory.h"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tlc;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using tlc::test::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

const Key key = KeyBuilder().add("gemm").finish();
const Key other = KeyBuilder().add("other").finish();

bool isHit(const DiskCache &cache, const Key &wanted) {
  Result<std::optional<CachedProgram>> loaded = cache.load(wanted);
  REQUIRE(loaded);
  return loaded->has_value();
}

std::string errorOfLoad(const DiskCache &cache) {
  Result<std::optional<CachedProgram>> loaded = cache.load(key);
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().kind == ErrorKind::environment);
  return loaded.error().message;
}

mode_t modeOf(const fs::path &path) {
  struct stat status = {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

/// Makes it look as if the file was last used so long ago.
void makeOlder(const fs::path &path, std::chrono::seconds age) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - age);
}

long filesIn(const fs::path &directory) { return std::distance(fs::directory_iterator(directory), {}); }

} // namespace

TEST_CASE("what is stored on disk comes back", "[cache][disk]") {
  TemporaryDirectory directory;
  const fs::path nested = directory.path / "a" / "b";
  Artifact sample = test::sampleArtifact();
  CHECK_FALSE(isHit(DiskCache(nested), key));
  REQUIRE(DiskCache(nested).store(key, {sample}));
  // Another instance, as in another process.
  Result<std::optional<CachedProgram>> loaded = DiskCache(nested).load(key);
  REQUIRE(loaded);
  REQUIRE(*loaded);
  CHECK(serialize((*loaded)->artifact) == serialize(sample));
  CHECK((*loaded)->note.empty());
  CHECK_FALSE(isHit(DiskCache(nested), other));
}

TEST_CASE("a damaged entry is a miss and can be replaced", "[cache][disk]") {
  TemporaryDirectory directory;
  DiskCache cache(directory.path);
  REQUIRE(cache.store(key, {test::sampleArtifact()}));
  SECTION("truncated") { fs::resize_file(cache.pathOf(key), 100); }
  SECTION("empty") { fs::resize_file(cache.pathOf(key), 0); }
  SECTION("altered") {
    std::fstream file(cache.pathOf(key), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(200);
    file.put('\x7f');
  }
  SECTION("with more after it") {
    std::ofstream(cache.pathOf(key), std::ios::app | std::ios::binary) << "more";
  }
  SECTION("larger than entries are, without taking memory for it") {
    fs::resize_file(cache.pathOf(key), uint64_t(1) << 40);
  }
  CHECK_FALSE(isHit(cache, key));
  CHECK_FALSE(cache.read(key));
  REQUIRE(cache.store(key, {test::sampleArtifact()}));
  CHECK(isHit(cache, key));
}

TEST_CASE("the note of an entry comes back, and a damaged one is a miss", "[cache][disk]") {
  TemporaryDirectory directory;
  DiskCache cache(directory.path);
  REQUIRE(cache.store(key, {test::sampleArtifact(), "no ptxas was found"}));
  Result<CachedProgram> read = cache.read(key);
  REQUIRE(read);
  CHECK(read->note == "no ptxas was found");
  CHECK(serialize(read->artifact) == serialize(test::sampleArtifact()));
  const uintmax_t size = fs::file_size(cache.pathOf(key));
  SECTION("truncated") { fs::resize_file(cache.pathOf(key), size - 1); }
  SECTION("truncated before its text") { fs::resize_file(cache.pathOf(key), size - read->note.size()); }
  SECTION("altered") {
    std::fstream file(cache.pathOf(key), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(std::streamoff(size) - 1);
    file.put('D');
  }
  CHECK_FALSE(isHit(cache, key));
  CHECK_THAT(cache.read(key).error().message, StartsWith("expected a note after the artifact, but got "));
}

TEST_CASE("an entry under the name of another key is a miss", "[cache][disk]") {
  TemporaryDirectory directory;
  DiskCache cache(directory.path);
  REQUIRE(cache.store(key, {test::sampleArtifact()}));
  fs::copy_file(cache.pathOf(key), cache.pathOf(other));
  fs::permissions(cache.pathOf(other), fs::perms::owner_read | fs::perms::owner_write);
  CHECK_FALSE(isHit(cache, other));
  Result<CachedProgram> read = cache.read(other);
  REQUIRE_FALSE(read);
  CHECK(read.error().message == "it is the entry of another key, of another version or damaged");
  CHECK(isHit(cache, key));
}

TEST_CASE("what is no ordinary file is a miss, at once, and can be replaced", "[cache][disk]") {
  TemporaryDirectory directory;
  DiskCache cache(directory.path);
  SECTION("a pipe that nobody writes to") { REQUIRE(::mkfifo(cache.pathOf(key).c_str(), 0600) == 0); }
  SECTION("a link to what never ends") { fs::create_symlink("/dev/zero", cache.pathOf(key)); }
  SECTION("a link to a good entry") {
    REQUIRE(cache.store(other, {test::sampleArtifact()}));
    fs::create_symlink(cache.pathOf(other), cache.pathOf(key));
  }
  CHECK_FALSE(isHit(cache, key));
  CHECK_FALSE(cache.read(key));
  REQUIRE(cache.store(key, {test::sampleArtifact()}));
  CHECK(isHit(cache, key));
  CHECK(fs::is_regular_file(fs::symlink_status(cache.pathOf(key))));
}

TEST_CASE("directories and entries are made for this user alone", "[cache][disk]") {
  TemporaryDirectory directory;
  const mode_t before = ::umask(0);
  DiskCache cache(directory.path / "a" / "b");
  Result<void> stored = cache.store(key, {test::sampleArtifact()});
  ::umask(before);
  REQUIRE(stored);
  CHECK(modeOf(directory.path / "a") == 0700);
  CHECK(modeOf(directory.path / "a" / "b") == 0700);
  CHECK(modeOf(cache.pathOf(key)) == 0600);
}

TEST_CASE("what others may write is not used", "[cache][disk]") {
  TemporaryDirectory directory;
  DiskCache cache(directory.path);
  REQUIRE(cache.store(key, {test::sampleArtifact()}));
  SECTION("the directory, by anybody") {
    fs::permissions(directory.path, fs::perms::all);
    const std::string reason = "the cache directory '" + directory.path.native() +
                               "' is not used because others may write it (mode 777); 'chmod go-w' forbids "
                               "them";
    CHECK(errorOfLoad(cache) == reason);
    CHECK(cache.store(key, {test::sampleArtifact()}).error().message == reason);
    CHECK(cache.prune().error().message == reason);
    CHECK(cache.entries().error().message == reason);
  }
  SECTION("the directory, by its group") {
    fs::permissions(directory.path, fs::perms::owner_all | fs::perms::group_all);
    CHECK_THAT(errorOfLoad(cache), Contains("others may write it (mode 770)"));
  }
  SECTION("the entry") {
    fs::permissions(cache.pathOf(key), fs::perms::others_write, fs::perm_options::add);
    CHECK_THAT(errorOfLoad(cache),
               StartsWith("the cache entry '") && Contains("others may write it (mode 602)"));
    REQUIRE(cache.store(key, {test::sampleArtifact()}));
    CHECK(isHit(cache, key));
  }
}

TEST_CASE("what belongs to another user is not used", "[cache][disk]") {
  if (::geteuid() != 0)
    return; // others cannot give files away
  constexpr uid_t nobody = 65534;
  TemporaryDirectory directory;
  DiskCache cache(directory.path);
  REQUIRE(cache.store(key, {test::sampleArtifact()}));
  SECTION("the directory") {
    REQUIRE(::chown(directory.path.c_str(), nobody, nobody) == 0);
    CHECK_THAT(errorOfLoad(cache), StartsWith("the cache directory '") &&
                                       Catch::EndsWith("because it belongs to user 65534, not to user 0"));
    CHECK_FALSE(cache.store(key, {test::sampleArtifact()}));
  }
  SECTION("the entry") {
    REQUIRE(::chown(cache.pathOf(key).c_str(), nobody, nobody) == 0);
    CHECK_THAT(errorOfLoad(cache), StartsWith("the cache entry '") && Contains("belongs to user 65534"));
  }
}

TEST_CASE("what root has made for others is read by them, and by them only read", "[cache][disk]") {
  if (::geteuid() != 0)
    return; // only root can become another user
  constexpr uid_t nobody = 65534;
  TemporaryDirectory directory;
  fs::permissions(directory.path, fs::perms(0755));
  const fs::path folder = directory.path / "cache";
  DiskCache cache(folder);
  REQUIRE(cache.store(key, {test::sampleArtifact()}));
  fs::permissions(folder, fs::perms(0755));
  fs::permissions(cache.pathOf(key), fs::perms(0644));
  const std::string reason = "the cache directory '" + folder.native() +
                             "' is only read because it belongs to user 0, not to user 65534";
  // What another user finds and is told, as a number.
  const auto asNobody = [&](bool isHitExpected, bool isTold) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const bool isOther = ::setresuid(nobody, nobody, nobody) == 0;
      const Result<std::optional<CachedProgram>> loaded = cache.load(key);
      const Result<void> stored = cache.store(other, {test::sampleArtifact()});
      const Result<DiskCache::Pruned> pruned = cache.prune();
      const bool isHit = loaded && loaded->has_value();
      const bool isRight =
          isHit == isHitExpected && !stored && !pruned &&
          (!isTold || (stored.error().message == reason && pruned.error().message == reason));
      ::_exit(isOther && isRight ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  CHECK(asNobody(true, true));
  CHECK(filesIn(folder) == 1);
  SECTION("not what others than root may write") {
    fs::permissions(cache.pathOf(key), fs::perms(0666));
    CHECK(asNobody(false, true));
    fs::permissions(cache.pathOf(key), fs::perms(0644));
    fs::permissions(folder, fs::perms(0777));
    CHECK(asNobody(false, false));
  }
  SECTION("not what a third user has put there") {
    REQUIRE(::chown(cache.pathOf(key).c_str(), 1234, 1234) == 0);
    CHECK(asNobody(false, true));
  }
  SECTION("a folder that is for root alone is an error") {
    fs::permissions(folder, fs::perms(0700));
    CHECK(asNobody(false, false));
  }
}

TEST_CASE("the usual folder is the one that the environment names, if it is absolute", "[cache][disk]") {
  const auto folderFor = [](const char *cache, const char *home) {
    const auto set = [](const char *name, const char *value) {
      value ? ::setenv(name, value, 1) : ::unsetenv(name);
    };
    const char *before[] = {::getenv("XDG_CACHE_HOME"), ::getenv("HOME")};
    const std::optional<std::string> saved[] = {
        before[0] ? std::optional<std::string>(before[0]) : std::nullopt,
        before[1] ? std::optional<std::string>(before[1]) : std::nullopt};
    set("XDG_CACHE_HOME", cache);
    set("HOME", home);
    const std::optional<fs::path> folder = CacheOptions().folder;
    set("XDG_CACHE_HOME", saved[0] ? saved[0]->c_str() : nullptr);
    set("HOME", saved[1] ? saved[1]->c_str() : nullptr);
    return folder;
  };
  CHECK(folderFor("/a", "/b") == "/a/tlc");
  CHECK(folderFor("a", "/b") == "/b/.cache/tlc");
  CHECK(folderFor("", "/b") == "/b/.cache/tlc");
  CHECK(folderFor(nullptr, "/b") == "/b/.cache/tlc");
  CHECK_FALSE(folderFor(nullptr, "b"));
  CHECK_FALSE(folderFor(nullptr, nullptr));
  CHECK_FALSE(CacheOptions::inMemory().folder);
}

TEST_CASE("concurrent writers leave a whole entry and nothing else", "[cache][disk]") {
  TemporaryDirectory directory;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        DiskCache cache(directory.path);
        Result<void> stored = cache.store(key, {test::sampleArtifact()});
        Result<std::optional<CachedProgram>> loaded = cache.load(key);
        if (!stored || !loaded || !*loaded)
          std::abort();
      }
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  CHECK(isHit(DiskCache(directory.path), key));
  CHECK(filesIn(directory.path) == 1);
}

TEST_CASE("a directory that cannot be created is an error", "[cache][disk]") {
  TemporaryDirectory directory;
  std::ofstream(directory.path / "file") << "in the way";
  Result<void> stored = DiskCache(directory.path / "file" / "cache").store(key, {test::sampleArtifact()});
  REQUIRE_FALSE(stored);
  CHECK(stored.error().kind == ErrorKind::environment);
  CHECK_THAT(stored.error().message, StartsWith("cannot create the cache directory '"));
}

TEST_CASE("a limit on the size of files is an error, not a signal, and leaves nothing", "[cache][disk]") {
  TemporaryDirectory directory;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit limit = {100, 100};
    Result<void> stored = ::setrlimit(RLIMIT_FSIZE, &limit) == 0
                              ? DiskCache(directory.path).store(key, {test::sampleArtifact()})
                              : Result<void>();
    const bool isTold = !stored && stored.error().message.find("File too large") != std::string::npos;
    ::_exit(isTold ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(filesIn(directory.path) == 0);
}

TEST_CASE("the least recently used entries make room", "[cache][disk]") {
  TemporaryDirectory directory;
  auto keyOf = [](int64_t number) { return KeyBuilder().add(number).finish(); };
  DiskCache unlimited(directory.path);
  REQUIRE(unlimited.store(keyOf(0), {test::sampleArtifact()}));
  const uint64_t size = fs::file_size(unlimited.pathOf(keyOf(0)));

  DiskCache cache(directory.path, 3 * size);
  for (int64_t i = 1; i != 3; ++i)
    REQUIRE(cache.store(keyOf(i), {test::sampleArtifact()}));
  for (int64_t i = 0; i != 3; ++i)
    makeOlder(cache.pathOf(keyOf(i)), std::chrono::hours(3 - i));
  CHECK(isHit(cache, keyOf(0))); // now the one used last
  REQUIRE(cache.store(keyOf(3), {test::sampleArtifact()}));
  CHECK_FALSE(isHit(cache, keyOf(1)));
  for (int64_t i : {0, 2, 3})
    CHECK(isHit(cache, keyOf(i)));

  makeOlder(cache.pathOf(keyOf(2)), std::chrono::hours(1));
  Result<DiskCache::Pruned> pruned = DiskCache(directory.path, 2 * size).prune();
  REQUIRE(pruned);
  CHECK(pruned->entries == 1);
  CHECK(pruned->bytes == size);
  CHECK_FALSE(isHit(cache, keyOf(2)));
}

TEST_CASE("a clock that jumps loses and keeps no entry", "[cache][disk]") {
  TemporaryDirectory directory;
  auto keyOf = [](int64_t number) { return KeyBuilder().add(number).finish(); };
  DiskCache unlimited(directory.path);
  for (int64_t i = 0; i != 3; ++i)
    REQUIRE(unlimited.store(keyOf(i), {test::sampleArtifact()}));
  const uint64_t size = fs::file_size(unlimited.pathOf(keyOf(0)));
  // Written when the clock was a century ahead, and before 1970.
  makeOlder(unlimited.pathOf(keyOf(0)), -std::chrono::hours(24 * 36500));
  makeOlder(unlimited.pathOf(keyOf(1)), std::chrono::hours(24 * 36500));
  Result<std::vector<CacheEntry>> entries = unlimited.entries();
  REQUIRE(entries);
  REQUIRE(entries->size() == 3);
  CHECK(entries->front().key == keyOf(1));
  CHECK(entries->back().key == keyOf(0));
  for (int64_t i = 0; i != 3; ++i)
    CHECK(isHit(unlimited, keyOf(i))); // which makes it the one used last, by the clock as it is now
  DiskCache cache(directory.path, 3 * size);
  makeOlder(cache.pathOf(keyOf(1)), std::chrono::hours(1));
  REQUIRE(cache.store(keyOf(3), {test::sampleArtifact()}));
  CHECK_FALSE(isHit(cache, keyOf(1)));
  for (int64_t i : {0, 2, 3})
    CHECK(isHit(cache, keyOf(i)));
}

TEST_CASE("what interrupted writers left is removed, what others write is not", "[cache][disk]") {
  TemporaryDirectory directory;
  DiskCache cache(directory.path);
  REQUIRE(cache.store(key, {test::sampleArtifact()}));
  const std::string left = cache.pathOf(key).native() + ".123.0",
                    inUse = cache.pathOf(key).native() + ".123.1",
                    folder = cache.pathOf(key).native() + ".abcdef";
  for (const std::string &path : {left, inUse})
    std::ofstream(path) << "half an entry";
  fs::create_directories(folder + "/inner");
  std::ofstream(directory.path / "notes.txt") << "not ours";
  const Descriptor lock(::open(inUse.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::flock(lock.get(), LOCK_EX | LOCK_NB) == 0);
  SECTION("by the next entry") { REQUIRE(cache.store(other, {test::sampleArtifact()})); }
  SECTION("by pruning") {
    Result<DiskCache::Pruned> pruned = cache.prune();
    REQUIRE(pruned);
    CHECK(pruned->temporaries == 2);
    CHECK(pruned->entries == 0);
  }
  SECTION("alone") { EntryStore(directory.path).removeAbandoned(); }
  CHECK_FALSE(fs::exists(left));
  CHECK_FALSE(fs::exists(folder));
  CHECK(fs::exists(inUse));
  CHECK(fs::exists(directory.path / "notes.txt"));
  CHECK(isHit(cache, key));
}

TEST_CASE("a folder for temporary files is kept while its owner lives", "[cache][disk]") {
  TemporaryDirectory directory;
  EntryStore store(directory.path / "entries");
  fs::path path;
  {
    Result<TemporaryFolder> folder = store.makeTemporaryFolder(key);
    REQUIRE(folder);
    path = folder->path();
    std::ofstream(path / "object") << "half an object";
    store.removeAbandoned();
    CHECK(fs::exists(path / "object"));
    CHECK(modeOf(path) == 0700);
  }
  CHECK_FALSE(fs::exists(path));
  CHECK(TemporaryFolder::make(directory.path / "missing", "x").error().message ==
        "cannot create a temporary folder in '" + (directory.path / "missing").native() +
            "': No such file or directory");
}

TEST_CASE("a folder with the name of an entry is a miss, replaced and pruned", "[cache][disk]") {
  TemporaryDirectory directory;
  DiskCache cache(directory.path);
  fs::create_directories(cache.pathOf(key) / "inner");
  CHECK_FALSE(isHit(cache, key));
  SECTION("replaced") {
    REQUIRE(cache.store(key, {test::sampleArtifact()}));
    CHECK(isHit(cache, key));
  }
  SECTION("pruned") {
    Result<DiskCache::Pruned> pruned = cache.prune();
    REQUIRE(pruned);
    CHECK(pruned->entries == 1);
    CHECK_FALSE(fs::exists(cache.pathOf(key)));
  }
}

TEST_CASE("bytes are kept by key, whatever they are", "[cache][disk]") {
  TemporaryDirectory directory;
  const EntryStore store(directory.path);
  const EntryStore::Bytes bytes(1000, std::byte(7));
  REQUIRE(store.store(key, bytes));
  REQUIRE(store.store(other, {}));
  CHECK(*store.read(key) == bytes);
  CHECK(**store.load(other) == EntryStore::Bytes());
  fs::copy_file(store.pathOf(key), store.pathOf(other), fs::copy_options::overwrite_existing);
  CHECK_FALSE(store.load(other)->has_value());
  Result<EntryStore::Pruned> pruned =
      store.prune([](std::span<const std::byte>) { return Result<void>(Error{.message = "unwanted"}); });
  REQUIRE(pruned);
  CHECK(pruned->entries == 2);
}

TEST_CASE("pruning removes what cannot be read", "[cache][disk]") {
  TemporaryDirectory directory;
  DiskCache cache(directory.path);
  REQUIRE(cache.store(key, {test::sampleArtifact()}));
  REQUIRE(cache.store(other, {test::sampleArtifact()}));
  fs::resize_file(cache.pathOf(other), 100);
  Result<std::vector<CacheEntry>> entries = cache.entries();
  REQUIRE(entries);
  REQUIRE(entries->size() == 2);
  Result<DiskCache::Pruned> pruned = cache.prune();
  REQUIRE(pruned);
  CHECK(pruned->entries == 1);
  CHECK(pruned->bytes == 100);
  CHECK(cache.read(key));
  CHECK_FALSE(fs::exists(cache.pathOf(other)));
}

TEST_CASE("entries are listed, the least recently used first", "[cache][disk]") {
  TemporaryDirectory directory;
  DiskCache cache(directory.path);
  REQUIRE(cache.store(key, {test::sampleArtifact()}));
  REQUIRE(cache.store(other, {test::sampleArtifact()}));
  makeOlder(cache.pathOf(other), std::chrono::hours(1));
  std::ofstream(directory.path / "notes.tlc") << "not ours";
  Result<std::vector<CacheEntry>> entries = cache.entries();
  REQUIRE(entries);
  REQUIRE(entries->size() == 2);
  CHECK(entries->front().key == other);
  CHECK(entries->back().key == key);
  CHECK(entries->back().bytes == fs::file_size(cache.pathOf(key)));
  CHECK_FALSE(DiskCache(directory.path / "missing").entries());
}
