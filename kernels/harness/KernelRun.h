// SPDX-License-Identifier: Apache-2.0
/// \file
/// A compiled kernel on a device with arguments of its own: launched as often
/// as asked, and compared with the reference in double precision.
#pragma once

#include "compiler/pipeline/Options.h"
#include "kernels/harness/Problem.h"
#include "runtime/device/Device.h"

#include <memory>
#include <optional>
#include <string>

namespace tlc::kernels {

class KernelRun {
public:
  /// Loads the program and copies the problem's tensors. The devices, one for each of the problem's ranks,
  /// outlive the run. `alignment` is that of the variant to take; nothing: the launcher's choice.
  static Result<KernelRun> create(std::span<const std::unique_ptr<Device>> devices,
                                  std::shared_ptr<const Problem> problem,
                                  const std::shared_ptr<const Artifact> &artifact,
                                  std::optional<Alignment> alignment = {});
  /// The same on one device.
  static Result<KernelRun> create(Device &device, std::shared_ptr<const Problem> problem,
                                  const std::shared_ptr<const Artifact> &artifact,
                                  std::optional<Alignment> alignment = {});
  /// The same on a problem of its own.
  static Result<KernelRun> create(Device &device, const Request &request,
                                  const std::shared_ptr<const Artifact> &artifact,
                                  const ProblemOptions &options, std::optional<Alignment> alignment = {});

  /// Enqueues one launch, on each rank, on the default stream.
  Result<void> launch();
  /// Poisons the outputs, launches once and waits.
  Result<void> execute();
  /// Executes and compares.
  Result<Verdict> verify();
  /// What the last launch left, of all ranks, in the order of the problem's outputs.
  Result<std::vector<HostTensor>> outputs() const;

  const std::string &variant() const { return variantName; }
  size_t ranks() const { return devices.size(); }
  /// Of rank 0.
  const LoadedProgram &program() const { return *loaded.front(); }
  const DeviceArguments &arguments() const { return deviceArguments.front(); }
  /// From the launch of the last `execute` to its end, on this machine's clock.
  double seconds() const { return elapsed; }

private:
  static Result<KernelRun> create(std::vector<Device *> devices, std::shared_ptr<const Problem> problem,
                                  const std::shared_ptr<const Artifact> &artifact,
                                  std::optional<Alignment> alignment);
  KernelRun(std::vector<Device *> devices, std::shared_ptr<const Problem> problem)
      : devices(std::move(devices)), problem(std::move(problem)) {}

  // By rank.
  std::vector<Device *> devices;
  std::vector<std::shared_ptr<const LoadedProgram>> loaded;
  std::vector<DeviceArguments> deviceArguments;
  std::shared_ptr<const Problem> problem;
  std::string variantName;
  double elapsed = 0;
};

} // namespace tlc::kernels
