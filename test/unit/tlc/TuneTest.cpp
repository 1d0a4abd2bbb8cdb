// SPDX-License-Identifier: Apache-2.0
/// \file
/// Candidates of `tlc tune`, the files of a tuning, and the search among candidates with planted times.
#include "kernels/tuning/Tuning.h"
#include "test/Expect.h"
#include "test/unit/cache/TemporaryDirectory.h"
#include "tools/tlc/tune/Candidates.h"
#include "tools/tlc/tune/Search.h"
#include "tools/tlc/tune/TuningFiles.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
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

/// Of GEMM: the kernel's own choice, and bm = 64, 128, 192, 256.
kernels::Request fewCandidates() {
  return expectValue(kernels::Request::parse("gemm", {{"bn", "128"}, {"split", "1"}, {"cluster", "1"}}));
}

const kernels::TuningSetting onDevice = {{.name = "device", .target = "sm_90a"}, {}};

/// Answers by the value of bm, empty of the kernel's own choice, and what was asked.
struct Planted {
  std::map<std::string, TuneAnswer> prepared = {}, timed = {};
  std::map<std::string, std::vector<TuneCheck>> asked = {};
  std::mutex mutex = {};

  static std::string nameOf(const Definitions &values) {
    return values.empty() ? "" : values.find("bm")->second;
  }
  SearchSteps steps() {
    return {.prepare =
                [this](const Definitions &values) {
                  std::lock_guard lock(mutex);
                  return Result<TuneAnswer>(prepared[nameOf(values)]);
                },
            .time =
                [this](const Definitions &values, TuneCheck check) {
                  asked[nameOf(values)].push_back(check);
                  return Result<TuneAnswer>(timed.at(nameOf(values)));
                }};
  }
  SearchResult run(const std::filesystem::path &folder, const SearchOptions &options = {.jobs = 2}) {
    return expectValue(search(fewCandidates(), onDevice, steps(),
                              expectValue(TuningFiles::open(folder.native(), "gemm")), options));
  }
};

std::string bestOf(const SearchResult &result) {
  REQUIRE(result.best);
  return Planted::nameOf(result.candidates[*result.best].values);
}

const Candidate &candidateOf(const SearchResult &result, const std::string &name) {
  for (const Candidate &each : result.candidates)
    if (Planted::nameOf(each.values) == name)
      return each;
  FAIL("no such candidate");
  return result.candidates.front();
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

TEST_CASE("the fastest candidate wins, and close ones are timed in rounds", "[tune]") {
  const test::TemporaryDirectory folder;
  Planted planted = {
      .timed = {{"", {10}}, {"64", {5}}, {"128", {5.2}}, {"192", {20}}, {"256", {0, "wrong result"}}}};
  const SearchResult result = planted.run(folder.path);
  CHECK(bestOf(result) == "64");
  CHECK(result.isComplete());
  CHECK(candidateOf(result, "256").skipped == "wrong result");
  CHECK(candidateOf(result, "192").times.size() == 1);
  for (const char *close : {"", "64", "128"}) {
    CHECK(candidateOf(result, close).times.size() == 5);
    // Results are compared once.
    CHECK(planted.asked[close] == std::vector{TuneCheck::compare, TuneCheck::skip, TuneCheck::skip,
                                              TuneCheck::skip, TuneCheck::skip});
  }
  TuningLine line = kernels::problemOf(fewCandidates(), onDevice);
  line.values = {{"bm", "64"}};
  line.microseconds = 5;
  CHECK(textOf(folder.path / "gemm.jsonl") == toJson(line) + "\n");

  Planted nothing; // whose times would throw
  const SearchResult again = nothing.run(folder.path);
  CHECK(again.resumed == 5);
  CHECK(bestOf(again) == "64");
  CHECK(nothing.asked.empty());
  CHECK(textOf(folder.path / "gemm.jsonl") == toJson(line) + "\n"); // not twice
}

TEST_CASE("the kernel's own choice stays unless another is faster by 1 %", "[tune]") {
  for (const auto &[time, best] : {std::pair(9.95, ""), {9.8, "128"}}) {
    const test::TemporaryDirectory folder;
    Planted planted = {.timed = {{"", {10}}, {"64", {11}}, {"128", {time}}, {"192", {20}}, {"256", {20}}}};
    CHECK(bestOf(planted.run(folder.path)) == best);
  }
}

TEST_CASE("a candidate that the model calls hopeless, or that does not compile, is not timed", "[tune]") {
  const test::TemporaryDirectory folder;
  Planted planted = {
      .prepared = {{"64", {4}}, {"128", {12.1}}, {"192", {11.9}}, {"256", {0, "it does not compile"}}},
      .timed = {{"", {10}}, {"64", {5}}, {"192", {6}}}};
  const SearchResult result = planted.run(folder.path);
  CHECK(bestOf(result) == "64");
  CHECK(candidateOf(result, "128").skipped ==
        "by the model it takes 12.1 us, 3.0 times as long as the fastest");
  CHECK(candidateOf(result, "256").skipped == "it does not compile");
  CHECK(candidateOf(result, "192").isTimed());
}

TEST_CASE("a wrong candidate makes no other hopeless", "[tune]") {
  const test::TemporaryDirectory folder;
  Planted planted = {.prepared = {{"", {10}}, {"64", {1}}, {"128", {5}}, {"192", {16}}, {"256", {14}}},
                     .timed = {{"", {10}}, {"64", {0, "wrong result"}}, {"128", {5}}, {"256", {14}}}};
  const SearchResult result = planted.run(folder.path);
  CHECK(bestOf(result) == "128");
  CHECK(candidateOf(result, "64").skipped == "wrong result");
  CHECK(candidateOf(result, "192").skipped ==
        "by the model it takes 16.0 us, 3.2 times as long as the fastest");
  CHECK(candidateOf(result, "256").isTimed());
}

TEST_CASE("a tuning that is resumed calls the same candidates hopeless", "[tune]") {
  const test::TemporaryDirectory folder;
  Planted planted = {.prepared = {{"", {10}}, {"64", {4}}, {"128", {12.1}}, {"192", {11.9}}, {"256", {20}}},
                     .timed = {{"", {10}}, {"64", {5}}, {"192", {6}}}};
  SearchSteps steps = planted.steps();
  steps.time = [first = steps.time](const Definitions &values, TuneCheck check) {
    return Planted::nameOf(values) == "192" ? Result<TuneAnswer>(Error{.message = "the power is cut"})
                                            : first(values, check);
  };
  REQUIRE_FALSE(search(fewCandidates(), onDevice, steps,
                       expectValue(TuningFiles::open(folder.path.native(), "gemm")), {.jobs = 1}));
  const SearchResult resumed = planted.run(folder.path);
  CHECK(resumed.resumed == 2);
  for (const char *hopeless : {"128", "256"})
    CHECK(candidateOf(resumed, hopeless).skipped.starts_with("by the model it takes "));
  CHECK(candidateOf(resumed, "192").isTimed());
}

TEST_CASE("without a budget that lasts only the kernel's own choice is timed", "[tune]") {
  const test::TemporaryDirectory folder;
  Planted planted = {.timed = {{"", {10}}}};
  const SearchResult result = planted.run(folder.path, {.budget = std::chrono::milliseconds(0), .jobs = 1});
  CHECK(bestOf(result).empty());
  CHECK_FALSE(result.isComplete());
  CHECK(planted.asked.size() == 1);
}

TEST_CASE("a candidate that fails in a later round does not win", "[tune]") {
  const test::TemporaryDirectory folder;
  Planted planted = {.timed = {{"", {10}}, {"64", {5}}, {"128", {8}}, {"192", {20}}, {"256", {20}}}};
  SearchSteps steps = planted.steps();
  steps.time = [first = steps.time](const Definitions &values, TuneCheck check) {
    return Planted::nameOf(values) == "64" && check == TuneCheck::skip
               ? Result<TuneAnswer>(TuneAnswer{0, "its process has not ended after 20 s"})
               : first(values, check);
  };
  const SearchResult result =
      expectValue(search(fewCandidates(), onDevice, steps,
                         expectValue(TuningFiles::open(folder.path.native(), "gemm")), {.jobs = 1}));
  CHECK(bestOf(result) == "128");
  CHECK(candidateOf(result, "64").skipped == "its process has not ended after 20 s");
}

TEST_CASE("what may pass is not in the log, and is tried again", "[tune]") {
  const test::TemporaryDirectory folder;
  Planted planted = {
      .prepared = {{"192", {0, "it does not compile"}}, {"256", {0, "no memory", true}}},
      .timed = {{"", {10}}, {"64", {0, "its process has not ended after 1 s", true}}, {"128", {20}}}};
  SearchResult result = planted.run(folder.path);
  CHECK(bestOf(result).empty());
  CHECK(candidateOf(result, "64").skipped == "its process has not ended after 1 s");
  CHECK(candidateOf(result, "256").skipped == "no memory");
  Planted later = {.timed = {{"64", {5}}, {"256", {20}}}};
  result = later.run(folder.path);
  CHECK(result.resumed == 3);
  CHECK(bestOf(result) == "64");
  CHECK(candidateOf(result, "192").skipped == "it does not compile");
  CHECK(candidateOf(result, "256").isTimed());
}

TEST_CASE("an error that is none of a candidate's ends the search, and is in no log", "[tune]") {
  const test::TemporaryDirectory folder;
  Planted planted;
  SearchSteps steps = planted.steps();
  steps.time = [](const Definitions &, TuneCheck) {
    return Result<TuneAnswer>(Error{ErrorKind::environment, "no GPU"});
  };
  const TuningFiles files = expectValue(TuningFiles::open(folder.path.native(), "gemm"));
  const Result<SearchResult> result = search(fewCandidates(), onDevice, steps, files, {.jobs = 1});
  REQUIRE_FALSE(result);
  CHECK(result.error().message == "no GPU");
  CHECK(textOf(files.logName()).empty());
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

TEST_CASE("a result that is the last of its problem is not written again", "[tune]") {
  const test::TemporaryDirectory folder;
  const TuningFiles files = expectValue(TuningFiles::open(folder.path.native(), "k"));
  for (double time : {1, 1, 2, 2, 1})
    expectSuccess(files.addResult(lineOf(time)));
  CHECK(textOf(files.resultName()) ==
        toJson(lineOf(1)) + "\n" + toJson(lineOf(2)) + "\n" + toJson(lineOf(1)) + "\n");
}

TEST_CASE("a kernel is tuned into a folder by one process at a time", "[tune]") {
  const test::TemporaryDirectory folder;
  {
    const TuningLock lock = expectValue(TuningLock::take(folder.path.native(), "k"));
    const Result<TuningLock> second = TuningLock::take(folder.path.native(), "k");
    REQUIRE_FALSE(second);
    CHECK(second.error().message.starts_with("'" + (folder.path / "k.log").native() +
                                             "' is in use by another tlc tune"));
    CHECK(
        second.error().message.ends_with("; wait until that has ended, or give another folder by --tuning"));
    expectValue(TuningLock::take(folder.path.native(), "other"));
  }
  expectValue(TuningLock::take(folder.path.native(), "k"));
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
