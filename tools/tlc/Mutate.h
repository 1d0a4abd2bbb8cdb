// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc mutate`: takes each synchronisation of a kernel away, in turn, and
/// tells which of them nobody misses.
#pragma once

#include "tools/mutate/KernelTrial.h"
#include "tools/tlc/CompileFlags.h"
#include "tools/tlc/ExitCode.h"
#include "tools/tlc/SurveyFlags.h"

namespace tlc::driver {

class MutateCommand {
public:
  MutateCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  Result<std::vector<mutate::Case>> cases(const CompileOptions &options) const;

  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> kernel;
  llvm::cl::opt<std::string> caseFile;
  llvm::cl::opt<bool> eachSwitch;
  llvm::cl::opt<uint64_t> seed;
  llvm::cl::opt<unsigned> schedules;
  llvm::cl::opt<bool> json;
  SurveyFlags survey;
  CompileFlags flags;
};

} // namespace tlc::driver
