// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc build --out LIB --header HEADER KERNEL...`: kernels compiled ahead of time, for programs in C and
/// C++.
#pragma once

#include "tools/aot/Build.h"
#include "tools/tlc/CompileFlags.h"
#include "tools/tlc/ExitCode.h"

#include "llvm/Support/CommandLine.h"

namespace tlc::driver {

class BuildCommand {
public:
  BuildCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  /// The kernels with what stands after each of them.
  Result<std::vector<aot::KernelRequest>> requests(const std::string &prefix) const;
  Result<std::vector<std::string>> targetNames() const;
  Result<aot::KernelRequest> request(size_t number, const std::string &prefix,
                                     const std::vector<std::string> &targetNames) const;

  llvm::cl::SubCommand command;
  llvm::cl::list<std::string> kernelList;
  llvm::cl::opt<std::string> output, header;
  llvm::cl::list<std::string> targets;
  ParameterFlags parameters;
  llvm::cl::list<std::string> fixed;
  llvm::cl::opt<bool> emulator, shared;
  llvm::cl::opt<aot::Machine> machine;
  llvm::cl::opt<unsigned> threads;
  KernelFlags kernelNames;
};

} // namespace tlc::driver
