// SPDX-License-Identifier: Apache-2.0
/// \file
/// The flags that all subcommands have in common that compile something.
#pragma once

#include "compiler/pipeline/Options.h"
#include "kernels/Parameters.h"
#include "kernels/library/Library.h"
#include "runtime/support/Result.h"
#include "tools/tlc/KernelFlags.h"

#include "llvm/Support/CommandLine.h"

#include <climits>
#include <optional>
#include <span>
#include <string>

namespace tlc {
struct Target;
}

namespace tlc::driver {

/// The error of a flag's value that is none of those it allows.
Error unknownValue(llvm::StringRef flag, llvm::StringRef value, llvm::ArrayRef<llvm::StringRef> allowed);
/// Of one that no target has for its name.
Error unknownTarget(llvm::StringRef flag, llvm::StringRef name);

/// A kernel to compile and run.
struct KernelChoice {
  CompileOptions options;
  std::optional<Alignment> alignment;
  kernels::Request request;
  CacheOptions cache;
};

/// The `-D name=value`s.
class ParameterFlags {
public:
  explicit ParameterFlags(llvm::cl::SubCommand &command);
  /// Of those between two positions on the command line.
  Result<kernels::Definitions> definitions(unsigned from = 0, unsigned to = UINT_MAX) const;
  /// The first one before a position.
  std::optional<std::string> firstBefore(unsigned position) const;

private:
  llvm::cl::list<std::string> defines;
};

class CompileFlags {
public:
  /// Registers the flags with `command`.
  explicit CompileFlags(llvm::cl::SubCommand &command);

  /// What the flags say; an error names the flag and what it allows.
  Result<CompileOptions> options() const;
  /// The variant that was asked for.
  Result<std::optional<Alignment>> alignment() const;
  Result<kernels::Definitions> definitions() const { return parameters.definitions(); }
  const KernelFlags &kernelFlags() const { return kernelNames; }

  /// An error if a flag asks for what is decided already in the program of the file `source`: it is in phase
  /// `startFrom` and, unless that is null, for `ofFile`.
  Result<void> checkFile(const std::string &source, Phase startFrom, const Target *ofFile) const;

  /// All of these, for a kernel that is compiled from its source and run. `more` are parameters that flags of
  /// their own say.
  Result<KernelChoice> choice(const std::string &kernel,
                              kernels::DefaultSizes sizes = kernels::DefaultSizes::usual,
                              const kernels::Definitions &more = {},
                              std::vector<Diagnostic> *diagnostics = nullptr) const;

  bool wantsTime() const { return time; }
  bool wantsRemarks() const { return remarks; }
  /// Whether more is wanted of a compilation than its result.
  bool showsCompiler() const { return time || remarks || showsPasses(); }
  bool namesTarget() const { return target.getNumOccurrences() != 0; }
  std::span<const std::string> fixedDimensions() const { return {fixed.begin(), fixed.end()}; }

private:
  bool showsPasses() const;

  ParameterFlags parameters;
  KernelFlags kernelNames;
  llvm::cl::list<std::string> fixed;
  llvm::cl::opt<std::string> target;
  llvm::cl::opt<std::string> variant;
  llvm::cl::list<std::string> disabled;
  llvm::cl::opt<std::string> strategy;
  llvm::cl::opt<double> boundedWaits;
  llvm::cl::opt<bool> multicast;
  llvm::cl::opt<std::string> dumpDirectory;
  llvm::cl::opt<bool> printAfterPasses;
  llvm::cl::opt<bool> timePasses;
  llvm::cl::opt<std::string> crashReproducer;
  llvm::cl::opt<bool> remarks;
  llvm::cl::opt<bool> time;
};

} // namespace tlc::driver
