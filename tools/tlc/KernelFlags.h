// SPDX-License-Identifier: Apache-2.0
/// \file
/// The argument of subcommands that names a kernel: of the registry, of the cookbook, or of a file of the
/// user's.
#pragma once

#include "compiler/pipeline/Diagnostics.h"
#include "kernels/file/UserFile.h"
#include "tools/tlc/CacheFlags.h"

#include "llvm/Support/CommandLine.h"

#include <map>
#include <memory>
#include <string>

namespace tlc::driver {

class KernelFlags {
public:
  /// Registers the flags of files and of the cache with `command`.
  explicit KernelFlags(llvm::cl::SubCommand &command);

  /// A name of the registry or of the cookbook, `file.cpp`, or `file.cpp:name` where the file has several.
  /// Compiles a file the first time that it is named; the kernel lives as long as this.
  /// `diagnostics`, if not null, gets those of the C++ compiler.
  Result<const kernels::Kernel *> find(const std::string &name,
                                       std::vector<Diagnostic> *diagnostics = nullptr) const;
  /// All kernels of the file, or the one that is named.
  Result<std::vector<const kernels::Kernel *>> findAll(const std::string &name) const;
  /// The C++ compiler that is named; empty: none is.
  const std::string &compilerName() const { return compiler; }
  /// Of files and of programs.
  Result<CacheOptions> cache() const { return cacheFlags.options(); }

private:
  Result<const kernels::UserFile *> open(const std::string &path,
                                         std::vector<Diagnostic> *diagnostics = nullptr) const;

  llvm::cl::opt<std::string> compiler;
  llvm::cl::list<std::string> compilerFlags;
  llvm::cl::opt<unsigned> seconds;
  CacheFlags cacheFlags;
  mutable std::map<std::string, std::unique_ptr<kernels::UserFile>> files;
};

} // namespace tlc::driver
