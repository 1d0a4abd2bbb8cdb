// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc list [<kernel>]`: the kernels, or one of them, their parameters, the targets. With `--target`: the
/// facts of one target.
#pragma once

#include "tools/tlc/ExitCode.h"
#include "tools/tlc/KernelFlags.h"

#include "llvm/Support/CommandLine.h"

namespace tlc::driver {

class ListCommand {
public:
  ListCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> kernel;
  llvm::cl::opt<std::string> target;
  llvm::cl::opt<bool> json;
  KernelFlags kernelNames;
};

} // namespace tlc::driver
