// SPDX-License-Identifier: Apache-2.0
/// \file
/// Candidates of `tlc tune`, and the files of a tuning.
#include "test/Expect.h"
#include "test/unit/cache/TemporaryDirectory.h"
#include "tools/tlc/tune/Candidates.h"
#include "tools/tlc/tune/TuningFiles.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

using namespace tlc;
using namespace tlc::driver;
using kernels::Definitions;
using kernels::TuningLine;
using test::expectSuccess;
using test::expectValue;

namespace {

std::string textOf(const std::string &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TuningLine lineOf(double time) {
  return {.device = "d", .build = "b", .kernel = "a/b c", .sizes = {{"n", {1, 2, 3}}}, .microseconds = time};
}

} // namespace

TEST_CASE("candidates are all combinations of what is not given", "[tune]") {
  const auto candidates = expectValue(candidatesOf(
      expectValue(kernels::Request::parse("gemm", {{"bn", "128"}, {"split", "1"}, {"cluster", "1"}}))));
  std::set<Definitions> values;
  for (const Candidate &each : candidates)
    values.insert(each.values);
  CHECK(candidates.size() == 5);
  CHECK(candidates.front().values.empty());
  CHECK(values ==
        std::set<Definitions>{{}, {{"bm", "64"}}, {{"bm", "128"}}, {{"bm", "192"}}, {{"bm", "256"}}});
  CHECK(candidates[1].text() == "bm=64");
}

TEST_CASE("a kernel all of whose open parameters are given has no candidates", "[tune]") {
  const auto candidates =
      candidatesOf(expectValue(kernels::Request::parse("softmax", {{"warps", "4"}, {"cluster", "1"}})));
  REQUIRE_FALSE(candidates);
  CHECK(candidates.error().message ==
        "expected an open parameter without a value because a tuner has nothing to try "
        "else, but -D gives one to all of kernel 'softmax' (cluster, warps)");
}

TEST_CASE("a measurement is in the log, a result in what is shipped", "[tune]") {
  const test::TemporaryDirectory folder;
  const std::string path = (folder.path / "new" / "tuning").native();
  const TuningFiles files = expectValue(TuningFiles::open(path, "a/b c"));
  CHECK(files.measured().empty());
  CHECK(files.logName() == path + "/a_b_c.log");
  expectSuccess(files.addMeasurement(lineOf(1)));
  expectSuccess(files.addMeasurement(lineOf(2)));
  expectSuccess(files.addResult(lineOf(1)));
  const TuningFiles again = expectValue(TuningFiles::open(path, "a/b c"));
  CHECK(again.measured() == std::vector{lineOf(1), lineOf(2)});
  CHECK_FALSE(again.remark());
  CHECK(textOf(files.resultName()) == toJson(lineOf(1)) + "\n");
}

TEST_CASE("a log that was cut short loses its last line, with a remark", "[tune]") {
  const test::TemporaryDirectory folder;
  const std::string whole = toJson(lineOf(1)) + "\n";
  for (size_t cut : {size_t(1), whole.size() / 2, whole.size() - 1}) {
    std::ofstream(folder.path / "k.log") << whole << whole.substr(0, cut);
    const TuningFiles files = expectValue(TuningFiles::open(folder.path.native(), "k"));
    CHECK(files.measured().size() == 1);
    REQUIRE(files.remark());
    CHECK(*files.remark() == "the last line of '" + files.logName() + "' was cut short, and is removed");
    CHECK(textOf(files.logName()) == whole);
  }
}

TEST_CASE("a line after one without its end begins a new one", "[tune]") {
  const test::TemporaryDirectory folder;
  std::ofstream(folder.path / "k.jsonl") << toJson(lineOf(1));
  expectSuccess(expectValue(TuningFiles::open(folder.path.native(), "k")).addResult(lineOf(2)));
  CHECK(textOf(folder.path / "k.jsonl") == toJson(lineOf(1)) + "\n" + toJson(lineOf(2)) + "\n");
}

TEST_CASE("malformed files of a tuning are errors with their place", "[tune]") {
  const test::TemporaryDirectory folder;
  std::ofstream(folder.path / "k.log") << "{}\n";
  Result<TuningFiles> files = TuningFiles::open(folder.path.native(), "k");
  REQUIRE_FALSE(files);
  CHECK(files.error().message.starts_with((folder.path / "k.log").native() + ":1: "));
  std::ofstream(folder.path / "other.jsonl") << "\n{}\n";
  files = TuningFiles::open(folder.path.native(), "k");
  REQUIRE_FALSE(files);
  CHECK(files.error().message.starts_with((folder.path / "other.jsonl").native() + ":2: "));
  files = TuningFiles::open("/proc/nowhere", "k");
  REQUIRE_FALSE(files);
  CHECK(files.error().message.starts_with("cannot create '/proc/nowhere': "));
}
