// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc diff`: what each pass, or each phase, changed in the module.
#pragma once

#include "tools/tlc/ExitCode.h"
#include "tools/tlc/ProgramFlags.h"

namespace tlc::driver {

class DiffCommand {
public:
  DiffCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  llvm::cl::SubCommand command;
  ProgramFlags programs;
  llvm::cl::list<std::string> passes;
  llvm::cl::list<std::string> phases;
  llvm::cl::opt<bool> stat;
  llvm::cl::opt<bool> json;
};

} // namespace tlc::driver
