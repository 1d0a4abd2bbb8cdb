// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc bench`: times kernels on a GPU, in turns with cuBLAS where it has the same operation.
#pragma once

#include "tools/tlc/CompileFlags.h"
#include "tools/tlc/ExitCode.h"
#include "tools/tlc/TuningFlag.h"

namespace tlc::driver {

class BenchCommand {
public:
  BenchCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> kernel;
  llvm::cl::opt<bool> suite;
  llvm::cl::opt<bool> json;
  llvm::cl::opt<int> gpu;
  llvm::cl::opt<int64_t> ranks;
  llvm::cl::opt<int> rounds;
  llvm::cl::opt<int> warmups;
  llvm::cl::opt<int> launches;
  llvm::cl::opt<std::string> cublas;
  TuningFlag tuning;
  CompileFlags flags;
};

} // namespace tlc::driver
