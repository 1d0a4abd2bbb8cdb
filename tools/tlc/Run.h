// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc run`: one launch of a kernel on a device, compared with its reference.
#pragma once

#include "kernels/harness/HostTensor.h"
#include "tools/tlc/CompileFlags.h"
#include "tools/tlc/DeviceChoice.h"
#include "tools/tlc/ExitCode.h"

namespace tlc::driver {

class RunCommand {
public:
  RunCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  /// Those of --last-stride, each of a tensor of the program that takes any.
  Result<kernels::LastStrides> lastStridesFor(const Artifact &program) const;
  /// An error if room between rows or before tensors breaks the alignment that the program declares.
  Result<void> checkPlacement(const Artifact &program, const kernels::Request &request) const;

  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> kernel;
  llvm::cl::opt<bool> verify;
  llvm::cl::opt<bool> json;
  llvm::cl::opt<uint64_t> seed;
  llvm::cl::opt<int64_t> rowPadding;
  llvm::cl::opt<int64_t> offset;
  llvm::cl::list<std::string> lastStrides;
  llvm::cl::opt<int64_t> ranks;
  llvm::cl::opt<std::string> forms;
  DeviceFlags deviceFlags;
  CompileFlags flags;
};

} // namespace tlc::driver
