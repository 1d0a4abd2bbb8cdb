// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc cache list|verify|prune`: the entries of a folder of compiled kernels or compiled files.
#pragma once

#include "runtime/cache/EntryStore.h"
#include "tools/tlc/CacheFlags.h"
#include "tools/tlc/ExitCode.h"

namespace tlc::driver {

class CacheCommand {
public:
  CacheCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  ExitCode list(const EntryStore &store) const;
  ExitCode verify(const EntryStore &store) const;
  ExitCode prune(const EntryStore &store) const;

  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> action;
  llvm::cl::opt<bool> json;
  CacheFlags flags;
};

} // namespace tlc::driver
