// SPDX-License-Identifier: Apache-2.0
/// \file
/// Helpers of the kernels' tests.
#include "test/kernels/KernelRuns.h"

#include "runtime/emulator/EmulatorDevice.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;

namespace {

/// Few multiprocessors, so that small problems have several tiles per block.
std::unique_ptr<Device> createDevice() {
  EmulatorOptions options;
  options.multiprocessors = 3;
  return createEmulatorDevice(options);
}

} // namespace

std::vector<std::string> test::sizesOf(const Kernel &kernel) {
  std::vector<std::string> names;
  for (const Parameter &parameter : kernel.parameters())
    if (parameter.kind == Parameter::Kind::size)
      names.push_back(parameter.name);
  return names;
}

std::vector<Definitions> test::choicesOf(const Kernel &kernel) {
  std::vector<Definitions> combinations = {{}};
  for (const Parameter &parameter : kernel.parameters()) {
    if (parameter.kind != Parameter::Kind::choice)
      continue;
    std::vector<Definitions> more;
    for (const Definitions &combination : combinations)
      for (const std::string &choice : parameter.choices) {
        more.push_back(combination);
        more.back()[parameter.name] = choice;
      }
    combinations = std::move(more);
  }
  return combinations;
}

std::string test::describe(const Kernel &kernel, const Definitions &definitions) {
  std::string text(kernel.name());
  for (const auto &[name, value] : definitions)
    text += " " + name + "=" + value;
  return text;
}

Compiled::Compiled(const Kernel &kernel, const Definitions &given, const CompileOptions &options,
                   std::vector<std::string> fixedDimensions)
    : kernel(kernel), definitions(given) {
  // What repeats the work is done twice; a program that does its own synchronisation has no choices left.
  for (const Parameter &parameter : kernel.parameters()) {
    if (parameter.kind == Parameter::Kind::count)
      definitions.try_emplace(parameter.name, "2");
    if (std::ranges::find(parameter.choices, "plain") != parameter.choices.end())
      definitions.try_emplace(parameter.name, "plain");
  }
  INFO(describe(kernel, definitions));
  Result<Request> request = Request::parse(kernel.name(), definitions, fixedDimensions);
  INFO((request ? "" : request.error().message));
  REQUIRE(request);
  Library library;
  CompileLog log;
  Result<std::shared_ptr<const Artifact>> result = library.compile(*request, options, log);
  INFO((result ? "" : result.error().message));
  REQUIRE(result);
  compiled = *result;
}

bool Compiled::acceptsAnyAlignment() const {
  return std::ranges::all_of(compiled->tensors,
                             [](const TensorArgument &tensor) { return tensor.alignment == 1; });
}

void Compiled::check(const Definitions &sizes, RunOptions options) const {
  Definitions all = definitions;
  for (const auto &[name, value] : sizes)
    all[name] = value;
  options.seed = std::random_device()();
  options.referenceOperations = 1e12; // every element
  INFO(describe(kernel, all) << ", seed " << options.seed << ", row padding " << options.placement.rowPadding
                             << ", offset " << options.placement.offset);
  Result<Request> request = Request::parse(kernel.name(), all);
  REQUIRE(request);
  std::unique_ptr<Device> device = createDevice();
  Result<KernelRun> run = KernelRun::create(*device, *request, compiled, options);
  INFO((run ? "" : run.error().message));
  REQUIRE(run);
  INFO("variant " << run->variant());
  Result<Verdict> verdict = run->verify();
  INFO((verdict ? verdict->complaint : verdict.error().message));
  REQUIRE(verdict);
  CHECK(verdict->correct());
  CHECK(verdict->compared == verdict->elements);
}
