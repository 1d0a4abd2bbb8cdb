// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc reduce`: makes a crash reproducer as small as it still fails in the same way.
#pragma once

#include "tools/tlc/Reproducer.h"

namespace tlc::driver {

class ReduceCommand {
public:
  ReduceCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  llvm::cl::SubCommand command;
  ReproducerFlags flags;
  llvm::cl::opt<std::string> output;
};

} // namespace tlc::driver
