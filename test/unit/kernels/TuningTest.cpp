// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lines of tuning, and which of them a request gets.
#include "kernels/tuning/Tuning.h"

#include "test/Expect.h"
#include "test/unit/cache/TemporaryDirectory.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sys/stat.h>

using namespace tlc;
using namespace tlc::kernels;
using test::expectValue;

namespace {

const DeviceProperties h200 = {.name = "NVIDIA H200", .target = "sm_90a", .multiprocessors = 132};

Request requestOf(const Definitions &given) { return expectValue(Request::parse("gemm", given)); }

/// Of the problem, with values.
TuningLine lineOf(const Definitions &given, const Definitions &values) {
  TuningLine line = problemOf(requestOf(given), {h200, {}});
  line.values = values;
  line.microseconds = 10;
  return line;
}

class Folder {
public:
  explicit Folder(const std::vector<TuningLine> &lines, const std::string &text = {}) {
    std::ofstream file(folder.path / "gemm.jsonl");
    for (const TuningLine &line : lines)
      file << toJson(line) << '\n';
    file << text;
  }
  Tuned apply(const Definitions &given) const {
    return expectValue(Tuning::read(folder.path)).apply(requestOf(given), {h200, {}});
  }
  std::string valueOf(const Definitions &given, const std::string &parameter) const {
    return std::string(*apply(given).request.values.find(parameter));
  }
  const std::filesystem::path &path() const { return folder.path; }

private:
  test::TemporaryDirectory folder;
};

std::string errorOf(std::string_view text) {
  const Result<TuningLines> lines = parseTuningLines(text, "t.jsonl");
  REQUIRE_FALSE(lines);
  CHECK(lines.error().kind == ErrorKind::invalidArgument);
  return lines.error().message;
}

/// A line whose member has another value; null: without it.
std::string lineWith(const std::string &member, const std::string &value) {
  std::string text = R"({"tlc_tuning":2)";
  for (const auto &[name, usual] :
       std::vector<std::pair<std::string, std::string>>{{"device", R"("d")"},
                                                        {"build", R"("b")"},
                                                        {"kernel", R"("k")"},
                                                        {"target", R"("t")"},
                                                        {"options", R"("o")"},
                                                        {"variant", R"("")"},
                                                        {"static", R"("")"},
                                                        {"multiprocessors", "4"},
                                                        {"sizes", R"({"n":[1,2,3]})"},
                                                        {"parameters", R"({"dtype":"bf16"})"},
                                                        {"values", R"({"tile":16})"},
                                                        {"us", "1.5"}})
    if (const std::string &own = name == member ? value : usual; own != "null")
      text += ",\"" + name + "\":" + own;
  return text + (member == "extra" ? "," + value : "") + "}";
}

} // namespace

TEST_CASE("a line is read as it was written", "[tuning]") {
  TuningLine line = {.device = "a \"GPU\"",
                     .build = "0f",
                     .kernel = "k",
                     .sizes = {{"m", {0, 0, 0}}, {"n", {71, 100, 141}}},
                     .parameters = {{"dtype", "bf16"}, {"batch", "auto"}, {"lengths", "1,2"}},
                     .values = {{"tile", "16"}, {"order", "007"}},
                     .microseconds = 0.1,
                     .modelled = 3.5};
  CHECK(*expectValue(parseTuningLine(toJson(line), "p")) == line);
  line.skipped = "wrong result:\n\"x\" \\";
  line.microseconds = 0;
  CHECK(*expectValue(parseTuningLine(toJson(line), "p")) == line);
  CHECK(toJson(line).find('\n') == std::string::npos);
}

TEST_CASE("a malformed line is an error with its place", "[tuning]") {
  CHECK(parseTuningLines(lineWith("", "") + "\n\n  \n" + lineWith("", ""), "t")->lines.size() == 2);
  const std::string whole = lineWith("", "");
  CHECK(errorOf(whole + "\n" + whole.substr(0, 40)).starts_with("t.jsonl:2:"));
  CHECK(errorOf("\n{\"tlc_tuning\":2,]")
            .starts_with("t.jsonl:2:17: expected a line of tuning, which is one JSON "
                         "object: "));
  CHECK(errorOf("[]") == "t.jsonl:1: expected a line of tuning, which is one JSON object");
  CHECK(errorOf("{}") ==
        "t.jsonl:1: expected a line of tuning, which has its version as \"tlc_tuning\", an integer");
  CHECK(errorOf(lineWith("device", "null")) == "t.jsonl:1: expected a string \"device\", but got none");
  CHECK(errorOf(lineWith("kernel", "3")) ==
        "t.jsonl:1: expected a string \"kernel\", but got something else");
  CHECK(errorOf(lineWith("sizes", "null")) ==
        "t.jsonl:1: expected an object \"sizes\" of ranges by name, but got none");
  for (const char *range : {"[1,2]", "[2,1,3]", "[1,3,2]", "[-1,2,3]", "3", "[1,2,\"3\"]", "[1,2,3.5]"})
    CHECK(
        errorOf(lineWith("sizes", std::string("{\"n\":") + range + "}")) ==
        "t.jsonl:1: expected \"n\" of \"sizes\" to be the least, the measured and the largest extent, three "
        "integers from 0 on in ascending order");
  CHECK(errorOf(lineWith("values", "[]")) ==
        "t.jsonl:1: expected an object \"values\" of values by name, but got something else");
  CHECK(errorOf(lineWith("parameters", "{\"a\\n\":1.5}")) ==
        "t.jsonl:1: expected \"a\\n\" of \"parameters\" to be a string or an integer");
  for (const char *time : {"null", "0", "-1", "\"1\"", "1e999"})
    CHECK(errorOf(lineWith("us", time)).starts_with("t.jsonl:1"));
  CHECK(errorOf(lineWith("extra", R"("skipped":"x")")) ==
        "t.jsonl:1: expected either \"us\", the microseconds of a launch, above 0, or \"skipped\", why there "
        "are "
        "none");
  CHECK(errorOf(lineWith("extra", R"("model_us":0)")) ==
        "t.jsonl:1: expected \"model_us\", microseconds by the model, to be a number above 0");
  CHECK(errorOf(lineWith("extra", R"("value":{})")) ==
        "t.jsonl:1: expected only the members tlc_tuning, device, build, kernel, target, options, variant, "
        "static, sizes, "
        "parameters, multiprocessors, values, us, model_us, skipped, but got \"value\"");
  CHECK(errorOf(std::string(100000, '[')) ==
        "t.jsonl:1: expected a line of tuning, which has at most 256 brackets");
}

TEST_CASE("a line of another version is counted, whatever it has", "[tuning]") {
  const TuningLines lines =
      expectValue(parseTuningLines("{\"tlc_tuning\":3,\"x\":[]}\n" + lineWith("", ""), "t"));
  CHECK(lines.lines.size() == 1);
  CHECK(lines.ofOtherVersions == 1);
}

TEST_CASE("a request gets the values of the nearest line", "[tuning]") {
  const Definitions small = {{"m", "1024"}, {"n", "1024"}, {"k", "1024"}},
                    large = {{"m", "1400"}, {"n", "1400"}, {"k", "1400"}};
  const Folder folder(
      {lineOf(small, {{"bm", "64"}, {"bn", "96"}}), lineOf(large, {{"bm", "128"}, {"bn", "64"}})});
  CHECK(folder.valueOf(small, "bm") == "64");
  CHECK(folder.valueOf(small, "bn") == "96");
  CHECK(folder.valueOf({{"m", "1152"}, {"n", "1104"}, {"k", "1024"}}, "bm") == "64");
  CHECK(folder.valueOf({{"m", "1352"}, {"n", "1384"}, {"k", "1392"}}, "bm") == "128");
  // Out of the ranges, which end at a factor of sqrt(2).
  CHECK(folder.valueOf({{"m", "2048"}, {"n", "1400"}, {"k", "1400"}}, "bm") == "auto");
  CHECK(folder.valueOf({{"m", "1024"}, {"n", "1024"}, {"k", "700"}}, "bm") == "auto");
  // Another problem.
  CHECK(folder.valueOf({{"m", "1024"}, {"n", "1024"}, {"k", "1024"}, {"dtype", "f16"}}, "bm") == "auto");
  CHECK(folder.apply(small).remarks.empty());
  CHECK(folder.apply(small).isChanged);
}

TEST_CASE("a line is not for sizes that are aligned less", "[tuning]") {
  const Definitions measured = {{"m", "1024"}, {"n", "1024"}, {"k", "1000"}};
  const Folder folder({lineOf(measured, {{"bm", "64"}})});
  for (const auto &[k, value] : {std::pair("1000", "64"), {"1001", "auto"}, {"1004", "auto"}, {"1008", "64"}})
    CHECK(folder.valueOf({{"m", "1024"}, {"n", "1024"}, {"k", k}}, "bm") == value);
  CHECK(folder.valueOf({{"m", "1025"}, {"n", "1024"}, {"k", "1000"}}, "bm") == "auto");
}

TEST_CASE("a refused line hides no farther one", "[tuning]") {
  const Folder folder({lineOf({{"m", "1024"}}, {{"bm", "64"}}), lineOf({{"m", "1152"}}, {{"bm", "7"}})});
  const Tuned tuned = folder.apply({{"m", "1152"}});
  CHECK(*tuned.request.values.find("bm") == "64");
  CHECK(tuned.remarks.size() == 1);
}

TEST_CASE("a line is for one way to compile and run a kernel", "[tuning]") {
  const std::vector<std::string> fixed = {"n", "k"}, swapped = {"k", "n"};
  const Request usual = requestOf({}), special = expectValue(Request::parse("gemm", {}, fixed)),
                same = expectValue(Request::parse("gemm", {}, swapped));
  CompileOptions disabled, blackwell;
  blackwell.target = "sm_100a";
  disabled.optimizations.*optimizationSwitches().front().member = false;
  DeviceProperties slice = h200;
  slice.multiprocessors = 66;
  const std::vector<std::pair<Request, TuningSetting>> ways = {{usual, {h200, {}}},
                                                               {special, {h200, {}}},
                                                               {usual, {h200, disabled}},
                                                               {usual, {h200, blackwell}},
                                                               {usual, {h200, {}, Alignment::aligned}},
                                                               {usual, {h200, {}, Alignment::general}},
                                                               {usual, {slice, {}}}};
  for (size_t i = 0; i != ways.size(); ++i) {
    TuningLine line = problemOf(ways[i].first, ways[i].second);
    line.values = {{"bm", "64"}};
    line.microseconds = 1;
    CHECK(*expectValue(parseTuningLine(toJson(line), "p")) == line);
    const Folder folder({line});
    const Tuning tuning = expectValue(Tuning::read(folder.path()));
    for (size_t j = 0; j != ways.size(); ++j) {
      INFO(i << ' ' << j);
      CHECK(tuning.apply(ways[j].first, ways[j].second).isChanged == (i == j));
      CHECK(line.isSameProblem(problemOf(ways[j].first, ways[j].second)) == (i == j));
    }
  }
  CHECK(problemOf(special, {h200, {}}).isSameProblem(problemOf(same, {h200, {}})));
}

TEST_CASE("of equal lines the last one counts, and one without values leaves the choice", "[tuning]") {
  CHECK(Folder({lineOf({}, {{"bm", "64"}}), lineOf({}, {{"bm", "128"}})}).valueOf({}, "bm") == "128");
  const Tuned tuned = Folder({lineOf({}, {{"bm", "64"}}), lineOf({}, {})}).apply({});
  CHECK_FALSE(tuned.isChanged);
  CHECK(*tuned.request.values.find("bm") == "auto");
}

TEST_CASE("a line agrees with what is given", "[tuning]") {
  const Folder folder({lineOf({}, {{"bm", "64"}, {"bn", "96"}}), lineOf({{"bm", "128"}}, {{"bn", "192"}})});
  CHECK(folder.valueOf({{"bm", "128"}}, "bn") == "192"); // was fixed then, too
  CHECK(folder.valueOf({{"bm", "64"}}, "bn") == "96");   // was the fastest
  CHECK(folder.valueOf({{"bm", "192"}}, "bn") == "auto");
  CHECK(folder.valueOf({{"bm", "auto"}}, "bn") == "96");
  CHECK(folder.valueOf({}, "bn") == "96"); // not of the line for bm=128
}

TEST_CASE("lines of other devices, builds and versions are ignored with a remark", "[tuning]") {
  TuningLine foreign = lineOf({}, {{"bm", "64"}}), older = foreign, other = foreign;
  foreign.device = "NVIDIA A100\x1b";
  older.build = "0";
  other.kernel = "softmax";
  const Tuned tuned = Folder({foreign, older, older, other}, "{\"tlc_tuning\":7}\n").apply({});
  CHECK_FALSE(tuned.isChanged);
  REQUIRE(tuned.remarks.size() == 3);
  CHECK(tuned.remarks[0] == "1 line of tuning for 'gemm' is ignored because it is of another device ('NVIDIA "
                            "A100\\x1b'), but this is 'NVIDIA H200'");
  CHECK(tuned.remarks[1] ==
        "2 lines of tuning for 'gemm' are ignored because the kernel or tlc has changed since; "
        "'tlc tune' measures again");
  CHECK(tuned.remarks[2].find("are ignored because they are of another version of the format than 2") !=
        std::string::npos);
}

TEST_CASE("a line with values that the kernel refuses is ignored with a remark", "[tuning]") {
  for (const auto &[values, why] : std::vector<std::pair<Definitions, std::string>>{
           {{{"bm", "7"}}, "expected parameter 'bm' of kernel 'gemm' to be 8 to 256"},
           {{{"dtype", "f16"}}, "'dtype' is no open parameter"},
           {{{"nothing", "1"}}, "'nothing' is no open parameter"}}) {
    const Tuned tuned = Folder({lineOf({}, values)}).apply({});
    CHECK_FALSE(tuned.isChanged);
    REQUIRE(tuned.remarks.size() == 1);
    CHECK(tuned.remarks.front().starts_with("a line of tuning for 'gemm' is ignored because of its values: " +
                                            why));
  }
}

TEST_CASE("a folder that cannot be read, or has a malformed line, is an error", "[tuning]") {
  const Result<Tuning> missing = Tuning::read("/nonexistent/tuning");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message ==
        "cannot read the folder of tuning '/nonexistent/tuning': No such file or directory");
  const Folder folder({lineOf({}, {})}, "{");
  const Result<Tuning> malformed = Tuning::read(folder.path());
  REQUIRE_FALSE(malformed);
  CHECK(malformed.error().message.starts_with((folder.path() / "gemm.jsonl").native() + ":2:"));
}

TEST_CASE("only regular files are read", "[tuning]") {
  const Folder folder({lineOf({}, {{"bm", "64"}})});
  REQUIRE(mkfifo((folder.path() / "pipe.jsonl").c_str(), 0600) == 0); // whose reader would wait
  std::filesystem::create_directory(folder.path() / "folder.jsonl");
  CHECK(folder.valueOf({}, "bm") == "64");
}

TEST_CASE("every candidate is a value that its parameter allows", "[tuning]") {
  for (const Kernel *kernel : allKernels())
    for (const Parameter &parameter : kernel->parameters())
      for (const std::string &candidate : parameter.candidates) {
        INFO(kernel->name() << ' ' << parameter.name << ' ' << candidate);
        CHECK(parameter.check(kernel->name(), candidate));
      }
}
