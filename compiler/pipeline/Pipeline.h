// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which passes lead to which phase: the one place that knows their order.
#pragma once

#include "compiler/pipeline/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <functional>

namespace tlc {

/// The last phase that options have a say in: modules that are equal there become equal code.
inline constexpr Phase lastOptionalPhase = Phase::planned;

/// Called with the phase that a module has just reached; its failure ends the compilation.
using PhaseReached = std::function<llvm::LogicalResult(Phase, mlir::ModuleOp)>;

/// Adds the passes from the phase before to `phase`, which is `nvvm` at most, the verifiers of the module and
/// of what the phase promises, and the call of `reached`.
void addPhase(mlir::PassManager &passes, Phase phase, const CompileOptions &options,
              const PhaseReached &reached);

/// Adds the verifier of what `phase` promises, for a module that comes from elsewhere.
void addVerification(mlir::PassManager &passes, Phase phase);

/// Makes `finish-phase`, the pass that ends each phase, known to tools that parse pipelines.
void registerPhasePasses();

} // namespace tlc
