// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc run`: one launch of a kernel on a device, compared with its reference.
#pragma once

#include "tools/tlc/ExitCode.h"
#include "tools/tlc/RunPlan.h"
#include "tools/tlc/Why.h"

namespace tlc::driver {

class RunCommand {
public:
  RunCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  /// From the flags, or from the report that is named.
  std::variant<RunPlan, ExitCode> plan(Findings &findings) const;
  /// An error if --why does not go with the other flags.
  Result<void> checkWhy() const;
  /// Traces the element of --why back, or the first wrong one.
  Result<void> explainRun(const RunPlan &plan, const std::shared_ptr<const kernels::Problem> &problem,
                          const std::shared_ptr<const Artifact> &artifact, std::optional<AskedElement> asked,
                          const kernels::Verdict &verdict, std::optional<uint64_t> scheduleSeed) const;

  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> kernel;
  llvm::cl::opt<bool> verify;
  llvm::cl::opt<bool> json;
  llvm::cl::opt<std::string> why;
  llvm::cl::opt<std::string> element;
  ProblemFlags problemFlags;
  llvm::cl::opt<std::string> forms;
  DeviceFlags deviceFlags;
  TuningFlag tuning;
  CompileFlags flags;
};

} // namespace tlc::driver
