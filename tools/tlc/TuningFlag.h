// SPDX-License-Identifier: Apache-2.0
/// \file
/// The flag `--tuning` of subcommands that run a kernel: a folder of what `tlc tune` has measured.
#pragma once

#include "kernels/tuning/Tuning.h"

#include "llvm/Support/CommandLine.h"

namespace tlc::driver {

class TuningFlag {
public:
  explicit TuningFlag(llvm::cl::SubCommand &command);
  /// The request with values of the folder's lines for that setting, or as it is. Says on standard error
  /// which values a line has given, and which lines are ignored.
  Result<kernels::Request> apply(const kernels::Request &request,
                                 const kernels::TuningSetting &setting) const;

private:
  llvm::cl::opt<std::string> folder;
};

} // namespace tlc::driver
