// SPDX-License-Identifier: Apache-2.0
/// \file
/// Compiles, mutates, runs.
#include "test/hazards/Hazard.h"

#include "kernels/harness/DeviceArguments.h"
#include "kernels/library/Compile.h"
#include "test/Expect.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

using namespace tlc;
using namespace tlc::hazards;
using test::expectSuccess;
using test::expectValue;

namespace {

/// Few blocks on the device, and an end to programs that run for ever.
constexpr int multiprocessors = 2;
constexpr uint64_t maximumSteps = 1 << 18;

} // namespace

Subject::Subject(dsl::Program program, Values dimensions)
    : artifact(expectValue(compile(std::move(program)))), dimensions(std::move(dimensions)) {}

Findings Subject::findingsOf(const std::string &module) const {
  Artifact changed = artifact;
  changed.variants.front().ptx = module;
  Findings found;
  EmulatorOptions options{
      .multiprocessors = multiprocessors, .maximumSteps = maximumSteps, .raceCheck = RaceCheck::strict};
  options.onFindings = [&](const Findings &findings) { found = findings; };
  std::unique_ptr<Device> device = createEmulatorDevice(options);
  std::vector<kernels::TensorSpec> specs;
  for (const TensorArgument &tensor : artifact.tensors) {
    if (tensor.access == Access::workspace)
      continue;
    std::vector<int64_t> shape;
    for (const Extent &extent : tensor.shape)
      shape.push_back(extent.dimension < 0
                          ? extent.constant
                          : dimensions.find(artifact.dimensions[size_t(extent.dimension)].name)->second);
    specs.push_back({tensor.name, tensor.element, tensor.access, shape});
  }
  auto program = expectValue(device->load(changed));
  kernels::Random random{Catch::rngSeed()};
  auto initial = expectValue(kernels::InitialTensors::create(specs, {}, random));
  auto arguments = expectValue(kernels::DeviceArguments::create(*device, artifact, initial));
  Result<void> done = device->launch(*program, arguments.launchArguments());
  INFO((done ? std::string() : done.error().message));
  REQUIRE(bool(done) == found.empty());
  return found;
}

void Subject::checkClean() const {
  const Findings found = findings();
  INFO(found.text());
  CHECK(found.empty());
}

void Subject::checkMissed(std::string_view instruction, mutate::Change change, const Lines &at,
                          const Lines &expected, const std::set<FindingKind> &kinds) const {
  size_t count = 0;
  for (const mutate::Mutant &mutant : expectValue(mutate::mutantsOf(ptx()))) {
    const bool stands = std::ranges::any_of(at, [&](unsigned line) {
      return mutant.location.find(":" + std::to_string(line) + ":") != std::string::npos;
    });
    if (!stands || mutant.change != change || !mutant.instruction.starts_with(instruction))
      continue;
    ++count;
    const Findings found = findingsOf(mutant.applyTo(ptx()));
    INFO(mutant.key() << " gives\n" << found.text());
    CHECK(names(found, kinds, expected));
  }
  INFO("'" << instruction << "' " << toString(change) << ", in\n" << ptx());
  CHECK(count != 0);
}

bool hazards::names(const Findings &findings, const std::set<FindingKind> &kinds, const Lines &lines) {
  return std::ranges::any_of(findings.all(), [&](const Finding &finding) {
    return kinds.contains(finding.kind) && lines.contains(finding.site.line) &&
           (!finding.before || lines.contains(finding.before->line));
  });
}
