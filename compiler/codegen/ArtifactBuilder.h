// SPDX-License-Identifier: Apache-2.0
/// \file
/// The artifact of a compiled program: what the launcher must know, taken from the functions of phase `nvvm`.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include "runtime/artifact/Artifact.h"

namespace tlc {

// Each is an error if the module has no kernel, or one whose attributes contradict each other.

/// An artifact without variants: name, target and arguments. All kernels of the module have the same
/// arguments.
mlir::FailureOr<Artifact> describeProgram(mlir::ModuleOp module, llvm::StringRef name);

/// The launches of the module's kernels, in order.
mlir::FailureOr<std::vector<Launch>> describeLaunches(mlir::ModuleOp module);

/// What copy engines do between them, in order.
mlir::FailureOr<std::vector<Transfer>> describeTransfers(mlir::ModuleOp module);

/// Where the module's kernels print and check; records have the index.
std::vector<ReportSite> describeReports(mlir::ModuleOp module);

/// The alignment that the kernels rely on, tensor by tensor.
mlir::FailureOr<std::vector<AlignmentCondition>> describeConditions(mlir::ModuleOp module);

} // namespace tlc
