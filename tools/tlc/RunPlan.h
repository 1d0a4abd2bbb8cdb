// SPDX-License-Identifier: Apache-2.0
/// \file
/// What `tlc run` and `tlc report` run, on which device: from the command line, or from a report.
#pragma once

#include "kernels/harness/Problem.h"
#include "tools/tlc/CompileFlags.h"
#include "tools/tlc/DeviceChoice.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/ProblemFlags.h"
#include "tools/tlc/ReportedKernel.h"
#include "tools/tlc/TuningFlag.h"

#include <functional>
#include <optional>
#include <variant>
#include <vector>

namespace tlc::driver {

struct RunPlan {
  KernelChoice choice;
  ChosenDevice chosen; ///< for the first of the schedules
  /// Seeds of the emulator's order, for a run each; at least one.
  std::vector<std::optional<uint64_t>> schedules;
  /// Another device like `chosen`.
  std::function<Result<ChosenDevice>(std::optional<uint64_t> schedule)> open;
  EmulatorOptions emulator; ///< of an emulated device like `chosen`, without findings and schedule
  /// The tensors for a compiled program; an error where flags do not fit it. Null: it does not compile.
  std::function<Result<kernels::ProblemOptions>(const Artifact *)> problem;
  std::optional<ReportedKernel> reported = {}; ///< of a report
};

/// The flags that make a plan.
struct RunFlags {
  const CompileFlags &compile;
  const DeviceFlags &device;
  const ProblemFlags &problem;
  const TuningFlag &tuning;
};

/// Of a kernel, by the flags, which outlive the plan. Prints what is wrong, and then returns the exit code.
/// What emulated devices find goes to `findings`.
std::variant<RunPlan, ExitCode> planRun(const std::string &kernel, const RunFlags &flags, Findings &findings,
                                        Format format);
/// Of a report, on the emulator that the report names.
Result<RunPlan> planRun(ReportedKernel reported, const CacheOptions &cache, Findings &findings);

/// The program of the plan, from the cache or compiled. Prints what the flags ask for.
Result<std::shared_ptr<const Artifact>> compile(RunPlan &plan, const CompileFlags &flags,
                                                kernels::CompileLog &log);

} // namespace tlc::driver
