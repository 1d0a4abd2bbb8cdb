// SPDX-License-Identifier: Apache-2.0
/// \file
/// Registered kernels as programs to mutate: compiled once, tried on small
/// problems on the emulator with its checker, compared with the reference.
#pragma once

#include "kernels/harness/Problem.h"
#include "kernels/library/Library.h"
#include "tools/mutate/Equivalents.h"
#include "tools/mutate/Trial.h"

namespace tlc::mutate {

/// A program and problems that together take all ways through it.
struct Case {
  std::string kernel;
  kernels::Definitions parameters;
  Optimizations optimizations;
  std::string target = CompileOptions().target;
  std::vector<kernels::Definitions> sizes;
  kernels::DefaultSizes defaults = kernels::DefaultSizes::usual;
  const kernels::Kernel *ofFile = nullptr; ///< instead of the registry's of that name

  Origin origin() const;
  /// The program at these sizes; an error names what the kernel has not.
  Result<kernels::Request> problem(const kernels::Definitions &at) const;
};

/// Lines `kernel name=value ... : size=value ... : size=value ...`; # begins a comment. `disable=tma,wgmma`
/// and `target=sm_100a` are no parameters of the kernel: the one does without optimisations, the other
/// compiles for another target.
/// Lines that name no target have `target`.
Result<std::vector<Case>> parseCases(std::string_view text,
                                     const std::string &target = CompileOptions().target);

struct TrialOptions {
  std::chrono::nanoseconds waitLimit = CompileOptions().waitLimit;
  bool multicast = CompileOptions().multicast;
  uint64_t seed = 0; ///< of the inputs
  /// Orders of warps and completions that each problem is run in; the first one is the emulator's usual one.
  unsigned schedules = 1;
};

/// One variant of a case's program.
class KernelTrial {
public:
  /// All variants of the program that the launcher takes for some of the problems, with these problems; the
  /// general one takes all. `library` keeps what is compiled.
  static Result<std::vector<KernelTrial>> create(kernels::Library &library, const Case &of,
                                                 const TrialOptions &options);

  const std::string &ptx() const { return artifact->variants[variant].ptx; }
  /// With the word `variant=aligned`.
  const Origin &origin() const { return from; }
  Alignment alignment() const {
    return variant + 1 == artifact->variants.size() ? Alignment::general : Alignment::aligned;
  }
  /// Runs another module in place of `ptx()`, on every problem until something is found, in so many of the
  /// schedules.
  Outcome run(const std::string &module, unsigned schedules) const;
  Outcome run(const std::string &module) const { return run(module, options.schedules); }

private:
  using Problem = std::shared_ptr<const kernels::Problem>;
  /// Whether the launcher may take this variant for the problem.
  Result<bool> suits(const Problem &problem) const;
  Outcome run(const Problem &problem, const std::shared_ptr<const Artifact> &changed,
              unsigned schedule) const;

  Origin from;
  std::shared_ptr<const Artifact> artifact;
  size_t variant = 0;
  const Target *target = nullptr;
  std::vector<Problem> problems;
  TrialOptions options;
};

} // namespace tlc::mutate
