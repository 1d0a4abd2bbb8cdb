// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc evaluate`: what a kernel or a program of phase `input` means, by the evaluator.
#pragma once

#include "compiler/evaluator/Evaluator.h"
#include "kernels/library/Library.h"
#include "tools/tlc/CompileFlags.h"
#include "tools/tlc/ExitCode.h"
#include "tools/tlc/KernelFlags.h"

namespace tlc::driver {

class EvaluateCommand {
public:
  EvaluateCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> source;
  KernelFlags kernelNames;
  llvm::cl::opt<bool> verify;
  llvm::cl::opt<bool> json;
  llvm::cl::opt<uint64_t> seed;
  llvm::cl::list<std::string> readFrom;
  llvm::cl::list<std::string> writeTo;
  llvm::cl::opt<int64_t> multiprocessors;
  llvm::cl::opt<uint64_t> maximumSteps;
  ParameterFlags parameters;
};

} // namespace tlc::driver
