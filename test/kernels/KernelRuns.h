// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs of registered kernels on the emulator for the tests of this folder.
#pragma once

#include "kernels/harness/KernelRun.h"
#include "test/kernels/CoveringArray.h"

#include <functional>
#include <string>

namespace tlc::kernels::test {

/// The size parameters of a kernel.
std::vector<std::string> sizesOf(const Kernel &kernel);

/// Definitions of the kernel's choices (types, layouts, forms), without sizes, that together have every value
/// of each, or every pair of values of two of them.
std::vector<Definitions> choicesOf(const Kernel &kernel, Random &random, Cover cover);

/// "gemm dtype=bf16 m=3"
std::string describe(const Kernel &kernel, const Definitions &definitions);

/// The definitions, and what tests choose where they say nothing: two of what repeats the work, the plain
/// form, as a program that does its own synchronisation leaves the compiler no choices, and copies of rows.
Definitions completed(const Kernel &kernel, Definitions definitions);

/// A compiled kernel. Programs accept any size, so one compiled for some runs at others.
class Compiled {
public:
  /// `definitions`, completed, must be allowed. Fails the test if it does not compile.
  Compiled(const Kernel &kernel, const Definitions &definitions, const CompileOptions &options = {},
           std::vector<std::string> fixedDimensions = {});

  /// The program declares no alignment of its tensors, so that rows of any length will do; a program whose
  /// roles are written by hand declares one, as its copies are the TMA's.
  bool acceptsAnyAlignment() const;
  bool isSameAs(const Compiled &other) const;
  /// Whether these sizes go together with the program's other parameters.
  bool accepts(const Definitions &sizes) const;
  /// Runs at the sizes of `sizes` on fresh inputs and checks the result.
  void check(const Definitions &sizes, ProblemOptions options = {}, std::optional<Alignment> alignment = {});

private:
  Definitions with(const Definitions &sizes) const;

  const Kernel &kernel;
  Definitions definitions;
  std::shared_ptr<const Artifact> compiled;
  Random seeds; ///< of inputs and schedules, one for each run
};

} // namespace tlc::kernels::test
