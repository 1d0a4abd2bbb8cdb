// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc trace`: the timeline of one block of a kernel by the emulator's cost model.
#pragma once

#include "tools/tlc/CompileFlags.h"
#include "tools/tlc/DeviceChoice.h"
#include "tools/tlc/ExitCode.h"

namespace tlc::driver {

class TraceCommand {
public:
  TraceCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> kernel;
  llvm::cl::list<std::string> outputs;
  llvm::cl::opt<unsigned> block;
  llvm::cl::opt<unsigned> launch;
  llvm::cl::opt<std::string> window;
  llvm::cl::opt<uint64_t> seed;
  llvm::cl::opt<bool> json;
  EmulatorFlags emulator;
  CompileFlags flags;
};

} // namespace tlc::driver
