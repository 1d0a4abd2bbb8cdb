// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which passes lead to which phase: the one place that knows their order.
#pragma once

#include "compiler/pipeline/Options.h"
#include "mlir/Pass/PassManager.h"

namespace tlc {

/// The passes from the phase before to `phase`, which is `nvvm` at most.
void addPasses(mlir::PassManager &passes, Phase phase, const CompileOptions &options);

/// The check that a module has what `phase` promises.
void addVerification(mlir::PassManager &passes, Phase phase);

} // namespace tlc
