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
  /// Loads the program and copies the problem's tensors. `device` outlives the run. `alignment` is that of
  /// the variant to take; nothing: the launcher's choice.
  static Result<KernelRun> create(Device &device, std::shared_ptr<const Problem> problem,
                                  const std::shared_ptr<const Artifact> &artifact,
                                  std::optional<Alignment> alignment = {});
  /// The same on a problem of its own.
  static Result<KernelRun> create(Device &device, const Request &request,
                                  const std::shared_ptr<const Artifact> &artifact,
                                  const ProblemOptions &options, std::optional<Alignment> alignment = {});

  /// Enqueues one launch on the default stream.
  Result<void> launch();
  /// Poisons the outputs, launches once and waits.
  Result<void> execute();
  /// Executes and compares.
  Result<Verdict> verify();

  const std::string &variant() const { return variantName; }
  const LoadedProgram &program() const { return *loaded; }
  const DeviceArguments &arguments() const { return deviceArguments; }
  /// From the launch of the last `execute` to its end, on this machine's clock.
  double seconds() const { return elapsed; }

private:
  KernelRun(Device &device, std::shared_ptr<const Problem> problem,
            std::shared_ptr<const LoadedProgram> loaded, DeviceArguments arguments)
      : device(&device), problem(std::move(problem)), loaded(std::move(loaded)),
        deviceArguments(std::move(arguments)) {}

  Device *device;
  std::shared_ptr<const Problem> problem;
  std::shared_ptr<const LoadedProgram> loaded;
  DeviceArguments deviceArguments;
  std::string variantName;
  double elapsed = 0;
};

} // namespace tlc::kernels
