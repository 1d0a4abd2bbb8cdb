// SPDX-License-Identifier: Apache-2.0
/// \file
/// The flags of subcommands that keep compiled kernels in a folder.
#pragma once

#include "kernels/library/Library.h"

#include "llvm/Support/CommandLine.h"

namespace tlc::driver {

class CacheFlags {
public:
  /// Registers the flags with `command`.
  explicit CacheFlags(llvm::cl::SubCommand &command);

  bool namesFolder() const { return !directory.empty(); }
  const std::string &folder() const { return directory.getValue(); }
  /// Of all entries together.
  uint64_t capacity() const { return uint64_t(mebibytes) << 20; }
  /// Compiled kernels, kept in that folder if there is one.
  kernels::Library library() const;

private:
  llvm::cl::opt<std::string> directory;
  llvm::cl::opt<unsigned> mebibytes;
};

} // namespace tlc::driver
