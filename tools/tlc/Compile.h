// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc compile`: a kernel or a file of any phase goes in, text of a later phase or machine code comes out.
#pragma once

#include "tools/tlc/ExitCode.h"
#include "tools/tlc/ProgramFlags.h"

namespace tlc::driver {

class CompileCommand {
public:
  CompileCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> emit;
  llvm::cl::opt<std::string> output;
  llvm::cl::opt<bool> json;
  ProgramFlags programs;
};

} // namespace tlc::driver
