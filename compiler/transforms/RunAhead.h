// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loops whose early stages run any number of iterations ahead of the last one.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tlc::tile {

/// Whether the early stages of a scheduled loop have effects, and none with results, so that a round beyond
/// the last iteration can leave these out.
bool canRunAhead(mlir::scf::ForOp loop);

/// Rewrites such a loop: the first rounds, without the last stage, stand before it; in it round i executes
/// the last stage of iteration i, and the stage that is d stages earlier for iteration i + d, if there is
/// one.
llvm::LogicalResult runAhead(mlir::scf::ForOp loop);

} // namespace tlc::tile
