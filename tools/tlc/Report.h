// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc report`: runs a kernel, and writes all that it takes to run it again elsewhere into one file.
#pragma once

#include "tools/tlc/ExitCode.h"
#include "tools/tlc/RunPlan.h"

namespace tlc::driver {

class ReportCommand {
public:
  ReportCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  /// Prints a report as JSON.
  ExitCode show() const;
  /// All but the outcome.
  Result<report::Report> reportOf(const RunPlan &plan, mlir::ModuleOp module,
                                  const kernels::InitialTensors &initial,
                                  const kernels::ProblemOptions &options) const;
  /// Compiles and runs the plan's program, and adds what comes of it. An error where that is no outcome: a
  /// flag that does not fit the program, an environment that lacks something.
  Result<void> run(RunPlan &plan, const std::shared_ptr<const kernels::Problem> &problem,
                   const Findings &findings, report::Report &report) const;

  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> kernel;
  llvm::cl::opt<std::string> output;
  llvm::cl::opt<bool> verify;
  ProblemFlags problemFlags;
  DeviceFlags deviceFlags;
  TuningFlag tuning;
  CompileFlags flags;
};

} // namespace tlc::driver
