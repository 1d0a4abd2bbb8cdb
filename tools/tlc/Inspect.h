// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc inspect`: what a compiled kernel takes of the machine, and what its instructions are.
#pragma once

#include "tools/tlc/ExitCode.h"
#include "tools/tlc/ProgramFlags.h"

namespace tlc::driver {

class InspectCommand {
public:
  InspectCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  llvm::cl::SubCommand command;
  ProgramFlags programs;
  llvm::cl::opt<unsigned> lines;
  llvm::cl::opt<bool> json;
};

} // namespace tlc::driver
