// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the products of a scheduled loop take of a thread's registers.
#pragma once

#include "compiler/solvers/ScheduleProblem.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tlc::tile {

/// Registers that hold sums and factors of products, and what the loop carries, at the fullest moment of a
/// round. `ops` are the operations of the loop's body, by their numbers in the schedule.
int64_t registersOfProducts(mlir::scf::ForOp loop, llvm::ArrayRef<mlir::Operation *> ops,
                            const Schedule &schedule);

} // namespace tlc::tile
