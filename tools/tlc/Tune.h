// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc tune`: measures which values of a kernel's open parameters are fastest, problem by problem.
#pragma once

#include "tools/tlc/ExitCode.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/tune/Search.h"

namespace tlc::driver {

class TuneCommand {
public:
  TuneCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  Result<SearchOptions> searchOptions() const;
  /// The problems of --shapes, or that of -D alone; each with what -D gives.
  Result<std::vector<kernels::Request>> requests(const kernels::Kernel &kernel,
                                                 const kernels::Definitions &given,
                                                 kernels::DefaultSizes sizes) const;
  ExitCode tuneAll(TuneSetting &setting, const std::vector<kernels::Request> &requests,
                   const SearchOptions &options) const;

  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> kernel;
  llvm::cl::opt<std::string> shapes;
  llvm::cl::opt<std::string> budget;
  llvm::cl::opt<std::string> folder;
  llvm::cl::opt<unsigned> limit;
  llvm::cl::opt<unsigned> rounds;
  llvm::cl::opt<unsigned> jobs;
  llvm::cl::opt<uint64_t> seed;
  llvm::cl::opt<bool> json;
  DeviceFlags deviceFlags;
  CompileFlags flags;
};

} // namespace tlc::driver
