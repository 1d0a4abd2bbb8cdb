// SPDX-License-Identifier: Apache-2.0
/// \file
/// A compiled kernel on a device with arguments of its own: launched as often
/// as asked, and compared with the reference in double precision.
#pragma once

#include "compiler/pipeline/Options.h"
#include "kernels/harness/DeviceArguments.h"
#include "kernels/library/Library.h"
#include "runtime/device/Device.h"
#include "runtime/support/Hash.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tlc::kernels {

struct RunOptions {
  Placement placement = {};
  uint64_t seed = 0;                ///< of the inputs, and of the choice of elements that are compared
  double referenceOperations = 5e8; ///< what comparing may cost; a sample of the elements if all cost more
  DerivedInputs derived = DerivedInputs::computed;
  std::optional<Alignment> alignment = {}; ///< the variant to take; nothing: the launcher's choice
};

/// What comparing came to.
struct Verdict {
  double largestError = 0; ///< in the sense of `Tolerance`
  double limit = 0;
  int64_t compared = 0, elements = 0;
  Hash128 outputs =
      {}; ///< of all bytes of the outputs: equal for runs of the same seed that agree bit for bit
  std::string complaint = {}; ///< what is wrong, with place and values; empty if the result is right

  bool correct() const { return complaint.empty(); }
};

class KernelRun {
public:
  /// Loads the program and fills its arguments. `device` and `request` outlive the run.
  static Result<KernelRun> create(Device &device, const Request &request,
                                  const std::shared_ptr<const Artifact> &artifact, const RunOptions &options);

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
  KernelRun(Device &device, const Request &request, std::shared_ptr<const LoadedProgram> loaded,
            DeviceArguments arguments, const RunOptions &options);
  Result<void> compare(const TensorSpec &spec, const HostTensor &actual, size_t output, Verdict &verdict);
  std::vector<int64_t> elementsToCompare(const HostTensor &tensor);

  Device *device;
  const Request *request;
  std::shared_ptr<const LoadedProgram> loaded;
  DeviceArguments deviceArguments;
  RunOptions options;
  std::string variantName;
  Random random;
  std::vector<std::vector<double>> inputs; ///< contents, converted once
  double elapsed = 0;
};

} // namespace tlc::kernels
