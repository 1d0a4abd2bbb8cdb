// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc run`: one launch of a kernel on a device, compared with its reference.
#pragma once

#include "tools/tlc/ExitCode.h"
#include "tools/tlc/RunPlan.h"

namespace tlc::driver {

class RunCommand {
public:
  RunCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  /// From the flags, or from the report that is named.
  std::variant<RunPlan, ExitCode> plan(Findings &findings) const;

  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> kernel;
  llvm::cl::opt<bool> verify;
  llvm::cl::opt<bool> json;
  ProblemFlags problemFlags;
  llvm::cl::opt<std::string> forms;
  DeviceFlags deviceFlags;
  CompileFlags flags;
};

} // namespace tlc::driver
