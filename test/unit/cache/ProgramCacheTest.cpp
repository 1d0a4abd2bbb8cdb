// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs by name: what a name finds, and what of a folder is never taken for a program.
#include "runtime/cache/ProgramCache.h"

#include "runtime/cache/Archive.h"
#include "runtime/cache/BuildId.h"
#include "test/unit/artifact/SampleArtifact.h"
#include "test/unit/cache/TemporaryDirectory.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

using namespace tlc;
using tlc::test::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

using Parameters = std::map<std::string, std::string, std::less<>>;
const Parameters given = {{"k", "64"}, {"m", "128"}};
const ProgramName name = {"gemm", given, "sm_90a"};
const std::string build = "0123abcd";

/// A cache as another process would have it.
struct Process {
  explicit Process(CacheOptions options, std::string ofBuild = build)
      : cache(
            [&] {
              options.onEvent = [this](const CacheEvent &event) { events.push_back(event.kind); };
              return options;
            }(),
            std::move(ofBuild)) {}
  explicit Process(const fs::path &folder) : Process(CacheOptions::in(folder)) {}

  /// Asks for the program by a key; it is compiled where it is missing.
  ProgramCache::Pointer compile(const ProgramName *byName = &name, std::string_view key = "the gemm") {
    const CacheRequest request = {.key = KeyBuilder().add(key),
                                  .program = "gemm",
                                  .target = "sm_90a",
                                  .remedy = [] { return std::string("compile it"); },
                                  .code = ProgramCode::ptx,
                                  .name = byName};
    Result<ProgramCache::Pointer> program = cache.getOrCompile(
        request,
        []() -> Result<ProgramCache::Pointer> {
          return std::make_shared<const Artifact>(test::sampleArtifact());
        },
        [](CachedProgram &, const fs::path &) { FAIL("expected no machine code to be made"); });
    return program ? *program : nullptr;
  }

  std::vector<CacheEvent::Kind> events;
  ProgramCache cache;
};

fs::path pathOfName(const fs::path &folder, std::string_view ofBuild = build) {
  return EntryStore(folder).pathOf(name.key(ofBuild));
}

std::string contentOf(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const fs::path &path, std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }

} // namespace

TEST_CASE("a name finds the program that was compiled for it, in this process and in others",
          "[cache][name]") {
  using enum CacheEvent::Kind;
  TemporaryDirectory folder;
  Process first(folder.path);
  CHECK_FALSE(first.cache.find(name, ProgramCode::cubin));
  const ProgramCache::Pointer program = first.compile();
  std::optional<ProgramCache::Named> found = first.cache.find(name, ProgramCode::ptx);
  REQUIRE(found);
  CHECK(found->program == program);
  CHECK(found->key == first.cache.keyOf(KeyBuilder().add("the gemm")));
  CHECK(first.events == std::vector{compiled, foundInMemory});

  Process second(folder.path);
  found = second.cache.find(name, ProgramCode::ptx);
  REQUIRE(found);
  CHECK(found->program->variants[0].ptx == program->variants[0].ptx);
  CHECK(second.compile() == found->program);
  CHECK(second.events == std::vector{foundOnDisk, foundInMemory});

  // Each part of it decides.
  const Parameters fewer = {{"k", "64"}}, joined = {{"k", "64 m=128"}};
  for (const ProgramName &other :
       {ProgramName{"gem", given, "sm_90a"}, ProgramName{"gemm", fewer, "sm_90a"},
        ProgramName{"gemm", joined, "sm_90a"}, ProgramName{"gemm", given, "sm_100a"},
        ProgramName{"gemm", given, "sm_90a", std::chrono::seconds(1)}})
    CHECK_FALSE(second.cache.find(other, ProgramCode::ptx));
  CHECK_FALSE(Process(CacheOptions::in(folder.path), "4567").cache.find(name, ProgramCode::ptx));
  CHECK_FALSE(Process(CacheOptions::in(folder.path), "").cache.find(name, ProgramCode::ptx));
}

TEST_CASE("a cache in memory finds names, too", "[cache][name]") {
  Process process(CacheOptions::inMemory(), "");
  const ProgramCache::Pointer program = process.compile();
  const std::optional<ProgramCache::Named> found = process.cache.find(name, ProgramCode::cubin);
  REQUIRE(found);
  CHECK(found->program == program);
}

TEST_CASE("a name is kept at a hit, too, but not by a cache that only has hits", "[cache][name]") {
  TemporaryDirectory folder;
  Process(folder.path).compile(nullptr);
  CHECK_FALSE(fs::exists(pathOfName(folder.path)));
  CacheOptions hitsOnly = CacheOptions::in(folder.path);
  hitsOnly.policy = CachePolicy::hitsOnly;
  CHECK(Process(hitsOnly).compile());
  CHECK_FALSE(fs::exists(pathOfName(folder.path)));
  CHECK(Process(folder.path).compile());
  CHECK(fs::exists(pathOfName(folder.path)));
  CHECK(Process(hitsOnly).cache.find(name, ProgramCode::cubin)); // it adds no machine code
}

TEST_CASE("a program without the machine code that is wanted is the compiler's to complete",
          "[cache][name]") {
  TemporaryDirectory folder;
  Process(folder.path).compile();
  CHECK_FALSE(Process(folder.path).cache.find(name, ProgramCode::cubin));
  CHECK(Process(folder.path).cache.find(name, ProgramCode::ptx));
  CacheOptions ptxOnly = CacheOptions::in(folder.path);
  ptxOnly.code = ProgramCode::ptx;
  CHECK(Process(ptxOnly).cache.find(name, ProgramCode::cubin));
}

TEST_CASE("a damaged name is a miss, wherever the damage is, and is replaced", "[cache][name]") {
  TemporaryDirectory folder;
  Process(folder.path).compile();
  const fs::path path = pathOfName(folder.path);
  const std::string content = contentOf(path);
  const auto isMiss = [&](std::string_view bytes) {
    write(path, bytes);
    return !Process(folder.path).cache.find(name, ProgramCode::ptx);
  };
  CHECK_FALSE(isMiss(content));
  for (size_t size = 0; size != content.size(); ++size)
    CHECK(isMiss(content.substr(0, size)));
  for (size_t i = 0; i != content.size(); ++i) {
    std::string changed = content;
    changed[i] = char(changed[i] ^ 1);
    CHECK(isMiss(changed));
  }
  CHECK(isMiss(content + "x"));
  CHECK(isMiss(content + content));
  Process(folder.path).compile();
  CHECK(contentOf(path) == content);
}

TEST_CASE("the name of another program, and one of a program that is not there, are misses",
          "[cache][name]") {
  TemporaryDirectory folder;
  Process(folder.path).compile();
  const fs::path path = pathOfName(folder.path),
                 program = EntryStore(folder.path)
                               .pathOf(Process(folder.path).cache.keyOf(KeyBuilder().add("the gemm")));
  const Parameters none;
  const ProgramName others[] = {
      {"gemm", none, "sm_90a"}, {"gemv", given, "sm_90a"}, {"gemm", given, "sm_80"}};
  Process(folder.path).compile(&others[0], "another");
  SECTION("renamed") {
    fs::copy_file(EntryStore(folder.path).pathOf(others[0].key(build)), path,
                  fs::copy_options::overwrite_existing);
    CHECK_FALSE(Process(folder.path).cache.find(name, ProgramCode::ptx));
  }
  SECTION("of another kernel or target") {
    for (const ProgramName &other : {others[1], others[2]}) {
      Process(folder.path).compile(&other);
      CHECK_FALSE(Process(folder.path).cache.find(other, ProgramCode::ptx));
    }
  }
  SECTION("the program of another key") {
    fs::copy_file(
        EntryStore(folder.path).pathOf(Process(folder.path).cache.keyOf(KeyBuilder().add("another"))),
        program, fs::copy_options::overwrite_existing);
    CHECK_FALSE(Process(folder.path).cache.find(name, ProgramCode::ptx));
  }
  SECTION("a link, a folder, a file of others") {
    fs::rename(path, folder.path / "elsewhere");
    fs::create_symlink(folder.path / "elsewhere", path);
    CHECK_FALSE(Process(folder.path).cache.find(name, ProgramCode::ptx));
    fs::remove(path);
    fs::create_directories(path / "inner");
    CHECK_FALSE(Process(folder.path).cache.find(name, ProgramCode::ptx));
    fs::remove_all(path);
    fs::rename(folder.path / "elsewhere", path);
    fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
    CHECK_FALSE(Process(folder.path).cache.find(name, ProgramCode::ptx));
  }
  SECTION("removed") {
    fs::remove(program);
    CHECK_FALSE(Process(folder.path).cache.find(name, ProgramCode::ptx));
    CHECK(DiskCache(folder.path).prune()->entries == 1); // the name
    CHECK_FALSE(fs::exists(path));
    CHECK(Process(folder.path).cache.find(others[0], ProgramCode::ptx));
  }
}

TEST_CASE("names go along with the programs of an archive", "[cache][name]") {
  TemporaryDirectory folder, other;
  Process(folder.path).compile();
  const fs::path archive = other.path / "archive";
  const auto any = [](std::span<const std::byte>) { return Result<void>(); };
  CHECK(exportEntries(EntryStore(folder.path), archive, any)->entries == 2);
  CHECK(importEntries(EntryStore(other.path / "cache"), archive, any)->entries == 2);
  CHECK(Process(other.path / "cache").cache.find(name, ProgramCode::ptx));
}

TEST_CASE("the build of a file is that of the image that is loaded from it", "[cache][build]") {
  const std::string own = buildIdOf(reinterpret_cast<const void *>(&pathOfName));
  const Result<std::string> ofFile = buildIdOfFile("/proc/self/exe");
  REQUIRE(ofFile);
  CHECK(*ofFile == own);
  CHECK(own.size() == 40);
  CHECK(buildOfPrograms("ab") == "ab" + own);
  CHECK(buildOfPrograms(own) == own);
  CHECK(buildOfPrograms("").empty());

  TemporaryDirectory folder;
  const std::string whole = contentOf("/proc/self/exe");
  for (size_t size : {0, 3, 63, 64, 200, 400}) {
    write(folder.path / "cut", std::string_view(whole).substr(0, size));
    CHECK(buildIdOfFile(folder.path / "cut")->empty());
  }
  write(folder.path / "cut", std::string_view(whole).substr(0, 100'000));
  CHECK_THAT(buildIdOfFile(folder.path / "cut").error().message, Catch::EndsWith("', but it has 100000"));
  std::string odd = whole.substr(0, 4096);
  odd[54] = 1; // the size of a program header
  write(folder.path / "odd", odd);
  CHECK(buildIdOfFile(folder.path / "odd")->empty());
  CHECK(buildIdOfFile(folder.path / "missing").error().message ==
        "cannot open '" + (folder.path / "missing").native() + "': No such file or directory");
  CHECK(buildIdOfFile(folder.path).error().message == "'" + folder.path.native() + "' is no regular file");
}
