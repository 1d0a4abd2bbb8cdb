// SPDX-License-Identifier: Apache-2.0
/// \file
/// The flags of subcommands that keep what they compile.
#pragma once

#include "runtime/cache/CacheOptions.h"
#include "runtime/support/Result.h"

#include "llvm/Support/CommandLine.h"

namespace tlc::driver {

/// Where the cache is.
class CacheFolderFlags {
public:
  /// Registers the flags with `command`.
  explicit CacheFolderFlags(llvm::cl::SubCommand &command);

  /// The folder that is named, or the usual one; none where no variable names that.
  CacheOptions options() const;
  /// The store; an error where there is no folder.
  Result<EntryStore> store() const;
  bool namesFolder() const { return !directory.empty(); }

private:
  llvm::cl::opt<std::string> directory;
  llvm::cl::opt<unsigned> mebibytes;
};

class CacheFlags {
public:
  explicit CacheFlags(llvm::cl::SubCommand &command);
  /// An error names flags that exclude each other.
  Result<CacheOptions> options() const;

private:
  CacheFolderFlags folder;
  llvm::cl::opt<bool> without;
  llvm::cl::opt<bool> hitsOnly;
  llvm::cl::opt<bool> ptxOnly;
};

} // namespace tlc::driver
