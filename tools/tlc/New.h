// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc new`: a file of kernels to begin with.
#pragma once

#include "tools/tlc/ExitCode.h"

#include "llvm/Support/CommandLine.h"

namespace tlc::driver {

class NewCommand {
public:
  NewCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> file;
  llvm::cl::opt<bool> json;
};

} // namespace tlc::driver
