// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc reproduce`: runs the passes of a crash reproducer again, and says how they fail.
#pragma once

#include "tools/tlc/Reproducer.h"

namespace tlc::driver {

class ReproduceCommand {
public:
  ReproduceCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  llvm::cl::SubCommand command;
  ReproducerFlags flags;
};

} // namespace tlc::driver
