// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc emulate`: one launch of a kernel in a file of PTX, on the emulator.
#pragma once

#include "tools/tlc/DeviceChoice.h"
#include "tools/tlc/ExitCode.h"
#include "tools/tlc/SurveyFlags.h"

namespace tlc::driver {

class EmulateCommand {
public:
  EmulateCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> source;
  llvm::cl::opt<std::string> entry;
  llvm::cl::opt<std::string> grid;
  llvm::cl::opt<std::string> block;
  llvm::cl::opt<std::string> cluster;
  llvm::cl::opt<uint32_t> sharedBytes;
  llvm::cl::opt<bool> cooperative;
  llvm::cl::opt<std::string> target;
  llvm::cl::list<std::string> arguments;
  llvm::cl::list<std::string> arrays;
  llvm::cl::opt<uint64_t> seed;
  llvm::cl::opt<std::string> shown;
  llvm::cl::opt<bool> json;
  llvm::cl::opt<bool> mutate;
  SurveyFlags survey;
  EmulatorFlags emulator;
  ScheduleFlag schedule;
};

} // namespace tlc::driver
