// SPDX-License-Identifier: Apache-2.0
/// \file
/// Launches a module with fresh copies of its arguments.
#include "tools/mutate/FileTrial.h"

#include "runtime/support/Excerpt.h"

using namespace tlc;
using namespace tlc::mutate;

Result<FileTrial> FileTrial::create(Launch launch, std::string_view ptx) {
  FileTrial trial;
  trial.launch = std::move(launch);
  Result<Done> done = trial.execute(ptx, trial.launch.schedules.front(), trial.launch.machine.maximumSteps);
  if (!done)
    return done.error();
  if (!done->statistics)
    return done->statistics.error();
  // A mutant that goes on for much longer than the whole program never ends.
  constexpr uint64_t atLeast = 10'000, factor = 4;
  trial.maximumSteps =
      std::min(trial.launch.machine.maximumSteps, atLeast + factor * done->statistics->warpInstructions);
  trial.expected = std::move(done->memory);
  return trial;
}

Result<FileTrial::Done> FileTrial::execute(std::string_view ptx, std::optional<uint64_t> schedule,
                                           uint64_t maximumSteps) const {
  Result<std::shared_ptr<const emulator::Program>> program = emulator::loadProgram(ptx);
  if (!program)
    return program.error();
  auto kernel = (*program)->kernels.find(launch.configuration.entry);
  if (kernel == (*program)->kernels.end())
    return Error{ErrorKind::invalidArgument,
                 "the module has no kernel '" + excerpt(launch.configuration.entry) + "'"};
  Result<emulate::Arguments> arguments = emulate::Arguments::create(launch.arguments, launch.seed);
  if (!arguments)
    return arguments.error();
  Result<std::vector<std::byte>> parameters = arguments->parametersOf(*kernel->second);
  if (!parameters)
    return parameters.error();
  emulator::LaunchConfiguration configuration = launch.configuration;
  configuration.parameters = *parameters;
  const std::vector<emulator::NamedTensor> tensors = arguments->tensors();
  configuration.tensors = tensors;
  std::vector<emulator::MemoryRange> ranges = arguments->ranges();
  ranges.insert(ranges.end(), (*program)->ranges.begin(), (*program)->ranges.end());
  Findings findings;
  emulator::Machine machine = launch.machine;
  machine.hostThreads = 1;
  machine.maximumSteps = maximumSteps;
  machine.failsBy = FindingLevel::warning;
  machine.findings = &findings;
  machine.scheduleSeed = schedule;
  Result<emulator::LaunchStatistics> statistics =
      runGrid(**program, configuration, emulator::MemoryMap(std::move(ranges), arguments->multicastRanges()),
              machine);
  Done done{std::move(findings), std::move(statistics), {}};
  for (const emulate::Array &array : arguments->arrays())
    done.memory.insert(done.memory.end(), array.memory.get(), array.memory.get() + array.bytes);
  return done;
}

Outcome FileTrial::run(const std::string &module) const {
  for (std::optional<uint64_t> schedule : launch.schedules) {
    Result<Done> done = execute(module, schedule, maximumSteps);
    if (!done)
      return {Detection::refused, done.error().message};
    if (!done->statistics) {
      const Detection found =
          done->findings.empty() ? Detection::refused : detectionOf(done->findings.all().front().kind);
      return {found, done->statistics.error().message};
    }
    if (done->memory != expected)
      return {Detection::wrongResult, "the arrays differ from those of the program as it is"};
  }
  return {};
}
