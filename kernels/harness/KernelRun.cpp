// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs.
#include "kernels/harness/KernelRun.h"

#include "runtime/device/LaunchPlan.h"
#include "runtime/device/LaunchRanks.h"

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

Result<KernelRun> KernelRun::create(std::vector<Device *> devices, std::shared_ptr<const Problem> problem,
                                    const std::shared_ptr<const Artifact> &artifact,
                                    std::optional<Alignment> alignment) {
  const int64_t ranks = problem->ranks();
  if (int64_t(devices.size()) != ranks)
    return Error{
        ErrorKind::invalidArgument,
        fmt::format(
            "expected {} devices because '{}' runs on so many ranks, but got {}; -D ranks=1 runs it on one",
            ranks, artifact->name, devices.size())};
  if (alignment == Alignment::aligned && artifact->variants.size() == 1)
    return Error{
        ErrorKind::invalidArgument,
        fmt::format("expected the general variant, or none, because '{}' has only one: alignment "
                    "makes no difference to it, or it always requires alignment; but got the aligned "
                    "one",
                    artifact->name)};
  if (Result<void> connected = connect(devices); !connected)
    return connected.error();
  KernelRun run(devices, std::move(problem));
  Result<std::vector<ScalarValue>> scalars = run.problem->scalars(*artifact);
  if (!scalars)
    return scalars.error();
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Device &device = *devices[size_t(rank)];
    Result<std::shared_ptr<const LoadedProgram>> loaded = device.load(restrict(*artifact, alignment));
    if (!loaded)
      return loaded.error();
    Result<DeviceArguments> arguments =
        DeviceArguments::create(device, (*loaded)->artifact(), run.problem->initial(), rank, ranks, *scalars);
    if (!arguments)
      return arguments.error();
    run.loaded.push_back(std::move(*loaded));
    run.deviceArguments.push_back(std::move(*arguments));
  }
  const Artifact &own = run.program().artifact();
  DeviceArguments::connect(run.deviceArguments, own);
  const size_t variant = chooseVariant(own, run.arguments().launchArguments().tensors);
  run.variantName = own.variants[variant].name;
  if (alignment == Alignment::aligned && variant != 0)
    return Error{
        ErrorKind::invalidArgument,
        fmt::format("expected tensors aligned to 16 bytes because the aligned variant of '{}' was asked for, "
                    "but for these the launcher takes the {} one",
                    own.name, run.variantName)};
  return run;
}

Result<KernelRun> KernelRun::create(Device &device, std::shared_ptr<const Problem> problem,
                                    const std::shared_ptr<const Artifact> &artifact,
                                    std::optional<Alignment> alignment) {
  return create(std::vector{&device}, std::move(problem), artifact, alignment);
}

Result<KernelRun> KernelRun::create(std::span<const std::unique_ptr<Device>> devices,
                                    std::shared_ptr<const Problem> problem,
                                    const std::shared_ptr<const Artifact> &artifact,
                                    std::optional<Alignment> alignment) {
  std::vector<Device *> pointers;
  for (const std::unique_ptr<Device> &device : devices)
    pointers.push_back(device.get());
  return create(std::move(pointers), std::move(problem), artifact, alignment);
}

Result<KernelRun> KernelRun::create(Device &device, const Request &request,
                                    const std::shared_ptr<const Artifact> &artifact,
                                    const ProblemOptions &options, std::optional<Alignment> alignment) {
  Result<std::shared_ptr<const Problem>> problem = Problem::create(request, options);
  if (!problem)
    return problem.error();
  return create(device, *problem, artifact, alignment);
}

Result<void> KernelRun::launch() {
  if (devices.size() == 1)
    return devices.front()->launch(program(), arguments().launchArguments());
  std::vector<RankLaunch> launches;
  for (size_t rank = 0; rank != devices.size(); ++rank)
    launches.push_back({devices[rank], loaded[rank].get(), &deviceArguments[rank].launchArguments()});
  return launchRanks(launches);
}

Result<void> KernelRun::execute() {
  for (DeviceArguments &arguments : deviceArguments)
    if (Result<void> reset = arguments.reset(); !reset)
      return reset;
  auto begin = std::chrono::steady_clock::now();
  if (Result<void> launched = launch(); !launched)
    return launched;
  Result<void> all; // every rank ends before errors are told
  for (size_t rank = 0; rank != devices.size(); ++rank) {
    Result<void> done = devices[rank]->synchronize();
    if (done)
      continue;
    std::string message =
        devices.size() == 1 ? done.error().message : fmt::format("rank {}: {}", rank, done.error().message);
    all = Error{all ? done.error().kind : all.error().kind,
                all ? message : all.error().message + "\n" + message};
  }
  if (!all)
    return all;
  elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {};
}

Result<Verdict> KernelRun::verify() {
  if (Result<void> done = execute(); !done)
    return done.error();
  Result<std::vector<HostTensor>> fetched = outputs();
  return fetched ? problem->compare(*fetched) : fetched.error();
}

Result<std::vector<HostTensor>> KernelRun::outputs() const {
  std::vector<HostTensor> outputs;
  const std::vector<TensorSpec> &specs = problem->initial().specs;
  const size_t ofRank = specs.size() / devices.size();
  for (size_t i = 0; i != specs.size(); ++i) {
    if (specs[i].access == Access::input)
      continue;
    Result<HostTensor> fetched = deviceArguments[i / ofRank].fetch(i % ofRank);
    if (!fetched)
      return fetched.error();
    outputs.push_back(std::move(*fetched));
  }
  return outputs;
}
