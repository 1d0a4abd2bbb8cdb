// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tables of problems, and their runs.
#include "test/cookbook/CookbookRun.h"

#include "kernels/harness/KernelRun.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "test/kernels/CompileOnce.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

namespace tlc::kernels::test {

std::vector<CookbookProblem> parseProblems(std::string_view table) {
  std::vector<CookbookProblem> parsed;
  std::istringstream lines{std::string(table)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    CookbookProblem problem;
    if (!(words >> problem.kernel))
      continue;
    for (std::string word; words >> word;)
      if (size_t at = word.find('='); at != std::string::npos)
        problem.values[word.substr(0, at)] = word.substr(at + 1);
      else
        problem.notes.push_back(word);
    parsed.push_back(std::move(problem));
  }
  return parsed;
}

static Placement placementOf(Rows rows, const Artifact &artifact) {
  if (rows == Rows::adjacent)
    return {};
  bool isAligned = std::ranges::any_of(artifact.tensors, [](const TensorArgument &tensor) {
    return tensor.access != Access::workspace && tensor.alignment > 4;
  });
  return isAligned ? Placement{.rowPadding = 16, .offset = 16} : Placement{.rowPadding = 2, .offset = 2};
}

void check(const Kernel &kernel, const Definitions &given, Rows rows, const InputChange &change) {
  std::string text(kernel.name());
  for (const auto &[name, value] : given)
    text += " " + name + "=" + value;
  INFO(text);
  Result<Request> request = Request::parse(kernel, given, {}, DefaultSizes::emulator);
  INFO((request ? "" : request.error().message));
  REQUIRE(request);
  std::shared_ptr<const Artifact> artifact = compileOnce(*request);
  Placement placement = placementOf(rows, *artifact);
  INFO("row padding " << placement.rowPadding << ", offset " << placement.offset);
  EmulatorOptions options;
  options.raceCheck = RaceCheck::strict;
  options.multiprocessors = 3; // few, so that a persistent block has several tiles
  std::unique_ptr<Device> device = createEmulatorDevice(options);
  ProblemOptions problem;
  problem.placement = placement;
  problem.seed = Catch::rngSeed();
  problem.referenceOperations = 1e12; // every element
  problem.change = change;
  Result<KernelRun> run = KernelRun::create(*device, *request, artifact, problem);
  INFO((run ? "" : run.error().message));
  REQUIRE(run);
  INFO("variant " << run->variant());
  Result<Verdict> verdict = run->verify();
  INFO((verdict ? verdict->complaint : verdict.error().message));
  REQUIRE(verdict);
  CHECK(verdict->correct());
  if (verdict->correct())
    CHECK(verdict->compared == verdict->elements);
}

} // namespace tlc::kernels::test
