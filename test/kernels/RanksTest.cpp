// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels of several ranks are right on any number of them, at sizes that they do not divide, and always the
/// same.
#include "runtime/emulator/EmulatorDevice.h"
#include "test/Expect.h"
#include "test/kernels/CompileOnce.h"
#include "test/kernels/KernelRuns.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;
using tlc::test::expectValue;

namespace {

std::vector<const Kernel *> kernelsOfRanks() {
  std::vector<const Kernel *> found;
  for (const Kernel *kernel : allKernels())
    if (std::ranges::find(kernel->parameters(), "ranks", &Parameter::name) != kernel->parameters().end())
      found.push_back(kernel);
  return found;
}

} // namespace

TEST_CASE("kernels of ranks are right on any number of them", "[kernels][ranks]") {
  Random random(Catch::rngSeed());
  REQUIRE(!kernelsOfRanks().empty());
  for (const Kernel *kernel : kernelsOfRanks())
    for (Definitions definitions : choicesOf(*kernel, random)) {
      definitions["tile"] = "128";
      Compiled compiled(*kernel, definitions);
      for (const char *ranks : {"1", "2", "3", "4", "8"})
        for (const char *n : {"0", "1", "127", "1000", "2317"})
          compiled.check({{"n", n}, {"ranks", ranks}});
    }
}

TEST_CASE("kernels of ranks give the same bits in every order", "[kernels][ranks]") {
  for (const Kernel *kernel : kernelsOfRanks()) {
    Request request = expectValue(Request::parse(*kernel, {{"n", "1000"}, {"tile", "128"}, {"ranks", "3"}}));
    std::shared_ptr<const Artifact> artifact = compileOnce(request, {});
    auto problem = expectValue(Problem::create(request, {.seed = 3}));
    std::optional<Hash128> first;
    for (uint64_t schedule = 0; schedule < 4; ++schedule) {
      EmulatorOptions options{.multiprocessors = 2};
      if (schedule > 0)
        options.scheduleSeed = schedule;
      auto devices = createEmulatorDevices(3, options);
      KernelRun run = expectValue(KernelRun::create(devices, problem, artifact));
      Verdict verdict = expectValue(run.verify());
      CHECK(verdict.correct());
      CHECK(verdict.outputs == first.value_or(verdict.outputs));
      first = verdict.outputs;
    }
  }
}
