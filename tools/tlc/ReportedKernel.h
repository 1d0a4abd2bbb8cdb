// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernel of a file of `tlc report`: its program comes from the file.
#pragma once

#include "compiler/pipeline/Options.h"
#include "kernels/harness/Problem.h"
#include "mlir/IR/BuiltinOps.h"
#include "tools/report/ReportFile.h"

#include <memory>

namespace tlc::driver {

/// A report that was read, and the kernel in it. Parameters have the report's values. Expected results
/// are those of the kernel's reference where it is part of this tlc and has the same tensors, else those of
/// the evaluator.
class ReportedKernel {
public:
  /// An error if a scalar has no number of its type.
  static Result<ReportedKernel> create(report::Report report);
  /// Reads a file; an error names it.
  static Result<ReportedKernel> open(const std::string &path);

  const report::Report &report() const { return *file; }
  const kernels::Kernel &kernel() const { return *itsKernel; }
  /// For the kernel.
  kernels::Request request() const;
  /// An error names what this tlc does not know.
  Result<CompileOptions> options() const;
  std::optional<Alignment> alignment() const;
  kernels::ProblemOptions problem() const;
  /// True if expected results are the evaluator's.
  bool isEvaluated() const;

private:
  explicit ReportedKernel(report::Report report);
  std::shared_ptr<const report::Report> file;
  std::shared_ptr<const kernels::Kernel> itsKernel;
};

/// True if the name of a kernel on the command line is that of a report's file.
bool namesReport(llvm::StringRef kernel);

/// The text of a module, with locations, whose files lose their folders.
std::string textWithoutPaths(mlir::ModuleOp module);

/// The tensors of a problem for a report: what is not random with its contents.
std::vector<report::Tensor> reportedTensors(const kernels::InitialTensors &initial);

} // namespace tlc::driver
