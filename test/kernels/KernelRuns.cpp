// SPDX-License-Identifier: Apache-2.0
/// \file
/// Helpers of the kernels' tests.
#include "test/kernels/KernelRuns.h"

#include "runtime/artifact/Serialize.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/target/Target.h"
#include "test/kernels/CompileOnce.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;

namespace {

/// Few multiprocessors, so that small problems have several tiles per block.
std::vector<std::unique_ptr<Device>> createDevices(const std::string &target, uint64_t seed, int64_t ranks) {
  EmulatorOptions options;
  options.target = findTarget(target);
  options.multiprocessors = 3;
  options.raceCheck = RaceCheck::strict;
  if (seed % 2 == 0) // every other time in another order than that of the hardware's usual progress
    options.scheduleSeed = seed;
  return createEmulatorDevices(unsigned(ranks), options);
}

} // namespace

std::vector<std::string> test::sizesOf(const Kernel &kernel) {
  std::vector<std::string> names;
  for (const Parameter &parameter : kernel.parameters())
    if (parameter.kind == Parameter::Kind::size)
      names.push_back(parameter.name);
  return names;
}

std::vector<Definitions> test::choicesOf(const Kernel &kernel, Random &random, Cover cover) {
  std::vector<const Parameter *> choices;
  std::vector<size_t> extents;
  for (const Parameter &parameter : kernel.parameters())
    if (parameter.kind == Parameter::Kind::choice &&
        parameter.name != "length") { // of rows: any, if not said
      choices.push_back(&parameter);
      // After "auto" and "ss" come those that need tensor memory.
      // After "static" comes what needs cluster launch control.
      extents.push_back(parameter.name == "dataflow" ? 2
                        : parameter.name == "tiles"  ? 1
                                                     : parameter.choices.size());
    }
  auto definitionsOf = [&](const std::vector<size_t> &row) {
    Definitions definitions;
    for (size_t i = 0; i != row.size(); ++i)
      definitions[choices[i]->name] = choices[i]->choices[row[i]];
    return definitions;
  };
  auto isAllowed = [&](const std::vector<size_t> &row) {
    return bool(Request::parse(kernel.name(), definitionsOf(row)));
  };
  std::vector<Definitions> combinations;
  for (const std::vector<size_t> &row : coveringArray(extents, cover, random, isAllowed))
    combinations.push_back(definitionsOf(row));
  return combinations;
}

std::string test::describe(const Kernel &kernel, const Definitions &definitions) {
  std::string text(kernel.name());
  for (const auto &[name, value] : definitions)
    text += " " + name + "=" + value;
  return text;
}

Definitions test::completed(const Kernel &kernel, Definitions definitions) {
  for (const Parameter &parameter : kernel.parameters()) {
    if (parameter.kind == Parameter::Kind::count)
      definitions.try_emplace(parameter.name, "2");
    if (std::ranges::find(parameter.choices, "plain") != parameter.choices.end())
      definitions.try_emplace(parameter.name, "plain");
    if (parameter.name == "length") // or the program would take rows of one length
      definitions.try_emplace(parameter.name, "any");
    if (parameter.name == "copy_rows") // or rows would have to begin at multiples of 16 bytes
      definitions.try_emplace(parameter.name, "yes");
    if (parameter.name == "aligned_c" || parameter.name == "aligned_rows") // or n, hidden would be multiples
      definitions.try_emplace(parameter.name, "no");
  }
  return definitions;
}

Compiled::Compiled(const Kernel &kernel, const Definitions &given, const CompileOptions &options,
                   std::vector<std::string> fixedDimensions)
    : kernel(kernel), definitions(completed(kernel, given)), seeds(Catch::rngSeed()) {
  INFO(describe(kernel, definitions));
  Result<Request> request = Request::parse(kernel.name(), definitions, fixedDimensions);
  INFO((request ? "" : request.error().message));
  REQUIRE(request);
  compiled = compileOnce(*request, options);
}

bool Compiled::acceptsAnyAlignment() const {
  return std::ranges::all_of(compiled->tensors,
                             [](const TensorArgument &tensor) { return tensor.alignment == 1; });
}

bool Compiled::isSameAs(const Compiled &other) const {
  return serialize(*compiled) == serialize(*other.compiled);
}

Definitions Compiled::with(const Definitions &sizes) const {
  Definitions all = definitions;
  for (const auto &[name, value] : sizes)
    all[name] = value;
  return all;
}

bool Compiled::accepts(const Definitions &sizes) const {
  return bool(Request::parse(kernel.name(), with(sizes)));
}

void Compiled::check(const Definitions &sizes, ProblemOptions options, std::optional<Alignment> alignment) {
  Definitions all = with(sizes);
  options.seed = seeds();
  options.referenceOperations = 1e12; // every element
  INFO(describe(kernel, all) << ", seed " << options.seed << ", row padding " << options.placement.rowPadding
                             << ", offset " << options.placement.offset);
  Result<Request> request = Request::parse(kernel.name(), all);
  INFO((request ? "" : request.error().message));
  REQUIRE(request);
  Result<std::shared_ptr<const Problem>> problem = Problem::create(*request, options);
  INFO((problem ? "" : problem.error().message));
  REQUIRE(problem);
  std::vector<std::unique_ptr<Device>> devices =
      createDevices(compiled->target, options.seed, (*problem)->ranks());
  Result<KernelRun> run = KernelRun::create(devices, *problem, compiled, alignment);
  INFO((run ? "" : run.error().message));
  REQUIRE(run);
  INFO("variant " << run->variant());
  Result<Verdict> verdict = run->verify();
  INFO((verdict ? verdict->complaint : verdict.error().message));
  REQUIRE(verdict);
  CHECK(verdict->correct());
  CHECK(verdict->compared == verdict->elements);
}
