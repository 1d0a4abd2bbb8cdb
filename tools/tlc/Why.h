// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc run --why`: traces an element of an output back on the emulator, and compares with the evaluator.
#pragma once

#include "kernels/harness/Problem.h"
#include "kernels/harness/Verdict.h"
#include "tools/tlc/RunPlan.h"

#include <optional>
#include <string>

namespace tlc::driver {

/// An element of a tensor of the kernel.
struct AskedElement {
  size_t tensor = 0;  ///< among those of the problem
  int64_t number = 0; ///< row-major
};

/// "Y[3,17]" of the problem's outputs. An error names the tensors, or the extents of the one that is named.
Result<AskedElement> parseElement(llvm::StringRef text, const kernels::InitialTensors &tensors);
/// The first wrong element of a verdict, if it has one.
std::optional<AskedElement> firstWrong(const kernels::Verdict &verdict,
                                       const kernels::InitialTensors &tensors);

/// Runs the plan's kernel on emulated devices, again and again with the problem's inputs, and prints where
/// the element comes from.
Result<void> explain(const RunPlan &plan, const std::shared_ptr<const kernels::Problem> &problem,
                     const std::shared_ptr<const Artifact> &artifact, const EmulatorOptions &options,
                     AskedElement element);

} // namespace tlc::driver
