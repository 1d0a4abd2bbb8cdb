// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc cache list|verify|prune`: what a folder of compiled kernels holds.
#pragma once

#include "runtime/cache/DiskCache.h"
#include "tools/tlc/CacheFlags.h"
#include "tools/tlc/ExitCode.h"

namespace tlc::driver {

class CacheCommand {
public:
  CacheCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  ExitCode list(const DiskCache &cache) const;
  ExitCode verify(const DiskCache &cache) const;
  ExitCode prune(const DiskCache &cache) const;

  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> action;
  llvm::cl::opt<bool> json;
  CacheFlags flags;
};

} // namespace tlc::driver
