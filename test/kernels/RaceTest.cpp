// SPDX-License-Identifier: Apache-2.0
/// \file
/// The race checker on PTX of the compiler: every synchronisation of the GEMM,
/// taken away, is missed. (That nothing is missed in the kernels as they are,
/// the other tests of this folder show, which run with the checker on.)
#include "runtime/emulator/EmulatorDevice.h"
#include "test/kernels/KernelRuns.h"

#include <catch2/catch.hpp>
#include <regex>
#include <sstream>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;

namespace {

/// A line of PTX that orders something, and what it becomes.
struct Mutant {
  size_t line = 0; ///< from 1
  std::string text, by;
};

/// Each bar, fence, arrival, wait and commit deleted; waits in loops always succeed.
std::vector<Mutant> mutantsOf(const std::string &ptx) {
  static const std::regex deleted(
      "\\s*(@!?%p[0-9]+ )?(bar\\.|fence\\.proxy|mbarrier\\.(init|arrive)|wgmma\\.(wait|commit)|"
      "cp\\.async\\.bulk\\.(wait|commit)).*");
  static const std::regex loop("\\s*mbarrier\\.try_wait\\.\\S*\\s*(%p[0-9]+), .*");
  std::vector<Mutant> mutants;
  std::istringstream lines(ptx);
  std::string line;
  for (size_t number = 1; std::getline(lines, line); ++number) {
    std::smatch match;
    if (std::regex_match(line, deleted))
      mutants.push_back({number, line, ""});
    else if (std::regex_match(line, match, loop))
      mutants.push_back({number, line, "setp.eq.u32 " + match[1].str() + ", 0, 0;"});
  }
  return mutants;
}

std::string apply(const std::string &ptx, const Mutant &mutant) {
  std::istringstream lines(ptx);
  std::string line, text;
  for (size_t number = 1; std::getline(lines, line); ++number)
    text += (number == mutant.line ? mutant.by : line) + "\n";
  return text;
}

/// What is said of some of them.
constexpr std::pair<const char *, const char *> expected[] = {
    {"fence.proxy", "missing: fence.proxy.async between them"},
    {"wgmma.wait", "missing: wgmma.wait_group"},
    {"bulk.wait_group", "missing: cp.async.bulk.wait_group"},
    {"bar.sync", "missing: "},
    {"arrive.shared", "deadlock in 'gemm'"},
};

} // namespace

TEST_CASE("every synchronisation of the GEMM, taken away, is missed", "[kernels][race]") {
  Definitions definitions = {{"m", "320"}, {"n", "128"}, {"k", "512"},    {"bm", "64"},
                             {"bn", "64"}, {"bk", "64"}, {"stages", "2"}, {"layout", GENERATE("tn", "nn")}};
  Result<Request> request = Request::parse("gemm", definitions);
  REQUIRE(request);
  Library library;
  CompileLog log;
  Result<std::shared_ptr<const Artifact>> compiled = library.compile(*request, {}, log);
  REQUIRE(compiled);
  const std::string ptx = (*compiled)->variants[0].ptx;
  // The program goes other ways for products of several steps, of one and of none.
  const auto run = [&](const std::string &text, const std::string &k) -> std::string {
    auto artifact = std::make_shared<Artifact>(**compiled);
    artifact->variants[0].ptx = text;
    definitions["k"] = k;
    Result<Request> request = Request::parse("gemm", definitions);
    REQUIRE(request);
    EmulatorOptions options;
    options.multiprocessors = 1;
    std::unique_ptr<Device> device = createEmulatorDevice(options);
    Result<KernelRun> run = KernelRun::create(*device, *request, artifact, {});
    REQUIRE(run);
    Result<void> done = run->execute();
    return done ? "" : done.error().message;
  };
  for (const char *k : {"512", "64", "0"})
    CHECK(run(ptx, k) == "");
  for (const Mutant &mutant : mutantsOf(ptx)) {
    std::string message;
    for (const char *k : {"512", "64", "0"})
      if (message.empty())
        message = run(apply(ptx, mutant), k);
    INFO("line " << mutant.line << ": " << mutant.text);
    CHECK(message != "");
    for (const auto &[instruction, missing] : expected)
      if (mutant.text.find(instruction) != std::string::npos)
        CHECK_THAT(message, Catch::Contains(missing));
  }
}
