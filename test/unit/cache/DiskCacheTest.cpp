// SPDX-License-Identifier: Apache-2.0
/// \file
/// The disk cache returns what was stored, and treats damage as a miss.
#include "runtime/cache/DiskCache.h"

#include "runtime/artifact/Serialize.h"
#include "test/unit/artifact/SampleArtifact.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <thread>
#include <unistd.h>

using namespace tlc;

namespace {

/// A directory of the test's own, removed afterwards.
struct TemporaryDirectory {
  std::filesystem::path path;
  TemporaryDirectory() {
    std::string pattern = std::filesystem::temp_directory_path() / "tlc-cache-XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()));
    path = pattern;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
};

const Key key = KeyBuilder().add("gemm").finish();

} // namespace

TEST_CASE("what is stored on disk comes back", "[cache][disk]") {
  TemporaryDirectory directory;
  Artifact sample = test::sampleArtifact();
  CHECK_FALSE(DiskCache(directory.path / "a" / "b").load(key));
  REQUIRE(DiskCache(directory.path / "a" / "b").store(key, sample));
  // Another instance, as in another process.
  std::optional<Artifact> loaded = DiskCache(directory.path / "a" / "b").load(key);
  REQUIRE(loaded);
  CHECK(serialize(*loaded) == serialize(sample));
  CHECK_FALSE(DiskCache(directory.path / "a" / "b").load(KeyBuilder().add("other").finish()));
}

TEST_CASE("a damaged entry is a miss and can be replaced", "[cache][disk]") {
  TemporaryDirectory directory;
  DiskCache cache(directory.path);
  REQUIRE(cache.store(key, test::sampleArtifact()));
  SECTION("truncated") { std::filesystem::resize_file(cache.pathOf(key), 100); }
  SECTION("empty") { std::filesystem::resize_file(cache.pathOf(key), 0); }
  SECTION("altered") {
    std::fstream file(cache.pathOf(key), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(200);
    file.put('\x7f');
  }
  CHECK_FALSE(cache.load(key));
  REQUIRE(cache.store(key, test::sampleArtifact()));
  CHECK(cache.load(key));
}

TEST_CASE("concurrent writers leave a whole entry and nothing else", "[cache][disk]") {
  TemporaryDirectory directory;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        DiskCache cache(directory.path);
        Result<void> stored = cache.store(key, test::sampleArtifact());
        if (!stored || !cache.load(key))
          std::abort();
      }
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  CHECK(DiskCache(directory.path).load(key));
  CHECK(std::distance(std::filesystem::directory_iterator(directory.path), {}) == 1);
}

TEST_CASE("a directory that cannot be created is an error", "[cache][disk]") {
  TemporaryDirectory directory;
  std::ofstream(directory.path / "file") << "in the way";
  Result<void> stored = DiskCache(directory.path / "file" / "cache").store(key, test::sampleArtifact());
  REQUIRE_FALSE(stored);
  CHECK(stored.error().kind == ErrorKind::environment);
  CHECK_THAT(stored.error().message, Catch::Matchers::StartsWith("cannot create the cache directory '"));
}
