// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc prewarm LIST`: compiles programs before they are needed.
#pragma once

#include "tools/tlc/ExitCode.h"
#include "tools/tlc/KernelFlags.h"

#include "llvm/Support/CommandLine.h"

namespace tlc::driver {

class PrewarmCommand {
public:
  PrewarmCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> list;
  llvm::cl::opt<std::string> target;
  llvm::cl::opt<unsigned> threads;
  llvm::cl::opt<bool> json;
  KernelFlags kernelNames;
};

} // namespace tlc::driver
