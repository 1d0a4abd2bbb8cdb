// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs.
#include "kernels/harness/KernelRun.h"

#include "runtime/device/LaunchPlan.h"

#include <chrono>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::kernels;

namespace {

/// The artifact with the wanted variant alone, where there are two.
Artifact restrict(Artifact artifact, std::optional<Alignment> alignment) {
  if (alignment == Alignment::general)
    artifact.variants.erase(artifact.variants.begin(), artifact.variants.end() - 1);
  return artifact;
}

} // namespace

Result<KernelRun> KernelRun::create(Device &device, std::shared_ptr<const Problem> problem,
                                    const std::shared_ptr<const Artifact> &artifact,
                                    std::optional<Alignment> alignment) {
  if (alignment == Alignment::aligned && artifact->variants.size() == 1)
    return Error{
        ErrorKind::invalidArgument,
        fmt::format("expected the general variant, or none, because '{}' has only one: alignment "
                    "makes no difference to it, or it always requires alignment; but got the aligned "
                    "one",
                    artifact->name)};
  Result<std::shared_ptr<const LoadedProgram>> loaded = device.load(restrict(*artifact, alignment));
  if (!loaded)
    return loaded.error();
  const Artifact &own = (*loaded)->artifact();
  Result<DeviceArguments> arguments = DeviceArguments::create(device, own, problem->initial());
  if (!arguments)
    return arguments.error();
  Result<LaunchPlan> plan = planLaunch(own, arguments->launchArguments(), device.properties());
  if (!plan)
    return plan.error();
  if (alignment == Alignment::aligned && plan->variantIndex != 0)
    return Error{
        ErrorKind::invalidArgument,
        fmt::format("expected tensors aligned to 16 bytes because the aligned variant of '{}' was asked for, "
                    "but for these the launcher takes the {} one",
                    own.name, plan->variant->name)};
  KernelRun run(device, std::move(problem), *loaded, std::move(*arguments));
  run.variantName = plan->variant->name;
  return run;
}

Result<KernelRun> KernelRun::create(Device &device, const Request &request,
                                    const std::shared_ptr<const Artifact> &artifact,
                                    const ProblemOptions &options, std::optional<Alignment> alignment) {
  Result<std::shared_ptr<const Problem>> problem = Problem::create(request, options);
  if (!problem)
    return problem.error();
  return create(device, *problem, artifact, alignment);
}

Result<void> KernelRun::launch() { return device->launch(*loaded, deviceArguments.launchArguments()); }

Result<void> KernelRun::execute() {
  if (Result<void> reset = deviceArguments.reset(); !reset)
    return reset;
  auto begin = std::chrono::steady_clock::now();
  if (Result<void> launched = launch(); !launched)
    return launched;
  if (Result<void> done = device->synchronize(); !done)
    return done;
  elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {};
}

Result<Verdict> KernelRun::verify() {
  if (Result<void> done = execute(); !done)
    return done.error();
  std::vector<HostTensor> outputs;
  const std::vector<TensorSpec> &specs = problem->initial().specs;
  for (size_t i = 0; i != specs.size(); ++i) {
    if (specs[i].access == Access::input)
      continue;
    Result<HostTensor> fetched = deviceArguments.fetch(i);
    if (!fetched)
      return fetched.error();
    outputs.push_back(std::move(*fetched));
  }
  return problem->compare(outputs);
}
