// SPDX-License-Identifier: Apache-2.0
/// \file
/// Machine code in entries of the cache: when ptxas is run, what is kept, and who is told.
#include "compiler/codegen/Ptxas.h"
#include "kernels/library/Library.h"
#include "runtime/cache/DiskCache.h"
#include "runtime/cache/EntryStore.h"
#include "test/unit/cache/TemporaryDirectory.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

using namespace tlc;
using namespace tlc::kernels;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using tlc::test::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

/// A variable of the environment, as it was before when the object ends.
class Variable {
public:
  Variable(const char *name, const std::string &value) : name(name) {
    if (const char *text = std::getenv(name))
      before = text;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { before ? ::setenv(name, before->c_str(), 1) : ::unsetenv(name); }

private:
  const char *name;
  std::optional<std::string> before;
};

/// A folder of PATH with a script as ptxas, which notes that it is run.
class FakePtxas {
public:
  explicit FakePtxas(const std::string &script)
      : variable("PATH", folder.path.string() + ":" + std::getenv("PATH")) {
    const fs::path file = folder.path / "ptxas";
    std::ofstream(file) << "#!/bin/sh\necho run >> " << runsFile().string() << "\n" << script;
    fs::permissions(file, fs::perms::owner_all);
    REQUIRE(findPtxas() == file.string());
  }
  /// How often it was run.
  size_t runs() const {
    std::ifstream file(runsFile());
    return size_t(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  }

private:
  fs::path runsFile() const { return folder.path / "runs"; }

  TemporaryDirectory folder;
  Variable variable;
};

const char *const writesCode = R"(
while [ $# -gt 0 ]; do
  if [ "$1" = -o ]; then out=$2; fi
  shift
done
printf '\177ELF machine code' > "$out"
)";

/// The softmax by a library of its own, as in another process.
struct Answer {
  Answer(const CacheOptions &given, ProgramCode code = ProgramCode::cubin) {
    CacheOptions options = given;
    options.onEvent = [this](const CacheEvent &event) {
      kind = event.kind;
      this->code = event.code;
    };
    const Result<Request> request = Request::parse("softmax", {{"rows", "8"}, {"columns", "64"}});
    REQUIRE(request);
    CompileLog log;
    auto compiled = Library(options).compile(*request, {}, log, code);
    REQUIRE(compiled);
    CHECK(log.diagnostics.empty());
    artifact = *compiled;
    CHECK(codeOf(*artifact) == this->code);
  }
  std::shared_ptr<const Artifact> artifact;
  CacheEvent::Kind kind = CacheEvent::Kind::loaded;
  ProgramCode code = ProgramCode::ptx;
};

/// The only entry of a folder, in which nothing else is left.
CachedProgram entryOf(const fs::path &folder) {
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
  const EntryStore store(folder);
  const Result<std::vector<CacheEntry>> entries = store.entries();
  REQUIRE(entries);
  REQUIRE(entries->size() == 1);
  Result<CachedProgram> program = DiskCache(folder).read(entries->front().key);
  REQUIRE(program);
  return std::move(*program);
}

} // namespace

TEST_CASE("a new entry has PTX and machine code where ptxas is found, and a hit runs no ptxas",
          "[library][cubin]") {
  const FakePtxas ptxas(writesCode);
  TemporaryDirectory folder, other;
  CacheOptions withoutCubin = CacheOptions::in(other.path);
  withoutCubin.code = ProgramCode::ptx;
  const Answer alone(withoutCubin);
  CHECK(alone.code == ProgramCode::ptx);
  CHECK(ptxas.runs() == 0);

  const CacheOptions options = CacheOptions::in(folder.path);
  const Answer first(options);
  CHECK(first.kind == CacheEvent::Kind::compiled);
  CHECK(first.code == ProgramCode::cubin);
  REQUIRE(first.artifact->variants.size() == alone.artifact->variants.size());
  for (size_t i = 0; i != first.artifact->variants.size(); ++i) {
    CHECK(first.artifact->variants[i].cubin == "\177ELF machine code");
    CHECK(first.artifact->variants[i].ptx == alone.artifact->variants[i].ptx);
  }
  const size_t runs = ptxas.runs();
  CHECK(runs == first.artifact->variants.size());
  CHECK(entryOf(folder.path).note.empty());

  for (ProgramCode code : {ProgramCode::cubin, ProgramCode::ptx}) {
    const Answer next(options, code);
    CHECK(next.kind == CacheEvent::Kind::foundOnDisk);
    CHECK(next.code == ProgramCode::cubin);
    CHECK(next.artifact->variants[0].cubin == first.artifact->variants[0].cubin);
  }
  CHECK(ptxas.runs() == runs);
}

TEST_CASE("ptxas is run only for programs that a GPU may run and that a folder keeps", "[library][cubin]") {
  const FakePtxas ptxas(writesCode);
  TemporaryDirectory folder;
  CHECK(Answer(CacheOptions::inMemory()).code == ProgramCode::ptx);
  const CacheOptions options = CacheOptions::in(folder.path);
  CHECK(Answer(options, ProgramCode::ptx).code == ProgramCode::ptx); // for an emulated device
  CHECK(Answer(options, ProgramCode::ptx).kind == CacheEvent::Kind::foundOnDisk);
  CacheOptions hitsOnly = options;
  hitsOnly.policy = CachePolicy::hitsOnly;
  CHECK(Answer(hitsOnly).code == ProgramCode::ptx);
  CHECK(ptxas.runs() == 0);

  // A GPU is the next to ask for it.
  const Answer onGpu(options);
  CHECK(onGpu.kind == CacheEvent::Kind::foundOnDisk);
  CHECK(onGpu.code == ProgramCode::cubin);
  const size_t runs = ptxas.runs();
  CHECK(runs > 0);
  CHECK(Answer(hitsOnly).code == ProgramCode::cubin);
  CHECK(ptxas.runs() == runs);
}

TEST_CASE("an entry that ptxas refuses has PTX alone and says why, and is not tried again",
          "[library][cubin]") {
  const FakePtxas ptxas("echo \"ptxas $3, line 7; fatal   : Unsupported .version 8.7; current version is "
                        "'8.0'\" >&2\necho more >&2\nexit 255\n");
  TemporaryDirectory folder;
  const CacheOptions options = CacheOptions::in(folder.path);
  CHECK(Answer(options).code == ProgramCode::ptx);
  const size_t runs = ptxas.runs();
  const Answer again(options);
  CHECK(again.kind == CacheEvent::Kind::foundOnDisk);
  CHECK(again.code == ProgramCode::ptx);
  CHECK(ptxas.runs() == runs);
  const std::string note = entryOf(folder.path).note;
  CHECK_THAT(note, StartsWith("ptxas refuses the code (exit status 255): ptxas tlc-"));
  CHECK_THAT(note, Contains("line 7; fatal   : Unsupported .version 8.7; current version is '8.0'"));
  CHECK_THAT(note, !Contains("\n") && !Contains(folder.path.string()));
}

TEST_CASE("one variant that ptxas refuses leaves none with machine code", "[library][cubin]") {
  const FakePtxas ptxas(std::string("if ! mkdir $0.first 2>/dev/null; then exit 3; fi\n") + writesCode);
  TemporaryDirectory folder;
  const Answer answer(CacheOptions::in(folder.path));
  REQUIRE(answer.artifact->variants.size() > 1);
  CHECK(answer.code == ProgramCode::ptx);
  for (const Variant &variant : answer.artifact->variants)
    CHECK(variant.cubin.empty());
  CHECK_THAT(entryOf(folder.path).note, StartsWith("ptxas refuses the code (exit status 3)"));
}

TEST_CASE("an entry says that no ptxas was found, and ptxas of a relative folder is none",
          "[library][cubin]") {
  TemporaryDirectory folder, empty;
  const Variable paths("PATH", empty.path.string() + ":.:relative:");
  if (findPtxas())
    return; // of the toolkit
  CHECK(Answer(CacheOptions::in(folder.path)).code == ProgramCode::ptx);
  CHECK(entryOf(folder.path).note == "no ptxas was found");
}

TEST_CASE("a folder that cannot be written costs no run of ptxas", "[library][cubin]") {
  const FakePtxas ptxas(writesCode);
  TemporaryDirectory folder;
  std::ofstream(folder.path / "file") << "in the way";
  const Result<Request> request = Request::parse("softmax", {{"rows", "8"}, {"columns", "64"}});
  CompileLog log;
  auto compiled =
      Library(CacheOptions::in(folder.path / "file")).compile(*request, {}, log, ProgramCode::cubin);
  REQUIRE(compiled);
  CHECK(codeOf(**compiled) == ProgramCode::ptx);
  CHECK(ptxas.runs() == 0);
}

TEST_CASE("the machine code of a real ptxas is kept", "[library][cubin]") {
  if (!findPtxas()) {
    WARN("skipped: no ptxas on this machine");
    return;
  }
  TemporaryDirectory folder;
  const Answer answer(CacheOptions::in(folder.path));
  INFO(entryOf(folder.path).note);
  REQUIRE(answer.code == ProgramCode::cubin);
  for (const Variant &variant : answer.artifact->variants) {
    CHECK_THAT(variant.cubin, StartsWith("\177ELF"));
    for (const Launch &launch : variant.launches)
      CHECK_THAT(variant.cubin, Contains(launch.entry));
  }
}
