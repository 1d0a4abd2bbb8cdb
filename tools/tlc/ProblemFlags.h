// SPDX-License-Identifier: Apache-2.0
/// \file
/// The flags of subcommands that run a kernel on tensors of its own: the seed, ranks, and room around
/// tensors.
#pragma once

#include "kernels/harness/Problem.h"
#include "runtime/support/Result.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"

namespace tlc::driver {

class ProblemFlags {
public:
  explicit ProblemFlags(llvm::cl::SubCommand &command);

  /// Parameters that flags of their own give: `ranks`.
  kernels::Definitions definitions() const;
  /// An error names a flag that is out of range.
  Result<void> check() const;
  /// For a program of the request; also an error if room between rows or before tensors breaks the alignment
  /// that the program declares. `program`, if it is null, does not compile. Without --seed the seed is fresh,
  /// and the same in each call.
  Result<kernels::ProblemOptions> options(const Artifact *program, const kernels::Request &request) const;

private:
  /// Those of --last-stride, each of a tensor of the program that takes any.
  Result<kernels::LastStrides> lastStridesFor(const Artifact *program) const;
  Result<void> checkPlacement(const Artifact &program, const kernels::Request &request) const;

  llvm::cl::opt<uint64_t> seed;
  uint64_t freshSeed;
  llvm::cl::opt<int64_t> rowPadding;
  llvm::cl::opt<int64_t> offset;
  llvm::cl::list<std::string> lastStrides;
  llvm::cl::opt<int64_t> ranks;
};

} // namespace tlc::driver
