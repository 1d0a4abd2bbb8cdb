// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc profile`: the timeline of one block as its warps record it, beside the model's.
#pragma once

#include "tools/tlc/CompileFlags.h"
#include "tools/tlc/DeviceChoice.h"
#include "tools/tlc/ExitCode.h"
#include "tools/tlc/Messages.h"

#include <optional>

namespace tlc::driver {

class ProfileCommand {
public:
  ProfileCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  /// An error of what flags ask for that needs no kernel.
  Result<void> checkFlags() const;

  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> kernel;
  llvm::cl::list<std::string> outputs;
  llvm::cl::opt<std::string> roofline;
  llvm::cl::opt<unsigned> block;
  llvm::cl::opt<unsigned> launch;
  llvm::cl::opt<unsigned> records;
  llvm::cl::opt<int> rounds;
  llvm::cl::opt<int> launches;
  llvm::cl::opt<uint64_t> seed;
  llvm::cl::opt<bool> noCounters;
  llvm::cl::opt<bool> json;
  DeviceFlags device;
  CompileFlags flags;
};

} // namespace tlc::driver
