// SPDX-License-Identifier: Apache-2.0
/// \file
/// A loop with products in flight as a scheduling problem: what depends on what, and what must not happen
/// while a product uses registers and memory.
#pragma once

#include "compiler/solvers/ScheduleProblem.h"
#include "dialects/tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tlc::tile {

class LoopProblem {
public:
  /// The dependences of operands, and the order of accesses and of signals.
  explicit LoopProblem(mlir::scf::ForOp loop);

  /// Adds what follows from products in flight: they use the registers of their left factor and of their
  /// sums, and the memory of their factors. Why that cannot be said of this loop, or nothing.
  std::string protectProducts();

  /// Lets products that only accumulate complete one round later, where that takes no third stage. Whether
  /// there are any.
  bool delayCompletions();

  ScheduleProblem problem;
  llvm::SmallVector<mlir::Operation *> ops; ///< of the loop's body, by their numbers in the problem

private:
  std::string orderAccesses();
  std::string protectFactors();
  std::string protectReads(InFlightOpInterface product, mlir::Operation *wait);
  std::string protectSums();
  void addOperandDependences(mlir::Operation *op);

  mlir::scf::ForOp loop;
  llvm::DenseMap<mlir::Operation *, int> numbers;
};

} // namespace tlc::tile
