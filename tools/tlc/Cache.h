// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc cache list|verify|prune|export|import`: the entries of the cache.
#pragma once

#include "runtime/cache/Archive.h"
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
  ExitCode exportTo(const EntryStore &store) const;
  ExitCode importFrom(const EntryStore &store) const;
  ExitCode report(const EntryStore &store, llvm::StringRef did, const Result<Archived> &archived) const;

  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> action;
  llvm::cl::opt<std::string> file;
  llvm::cl::opt<bool> json;
  CacheFolderFlags flags;
};

} // namespace tlc::driver
