// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values that two iterations of a loop compute alike.
#pragma once

#include "dialects/tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/DenseMap.h"

namespace tlc::tile {

/// Finds values that the next iteration computes by the same operations from the same values as this one.
/// Where iterations stand beside each other without a loop between them, CSE makes one value of both.
class CarriedEquality {
public:
  explicit CarriedEquality(mlir::scf::ForOp loop) : loop(loop) {}

  /// Whether `next`, as the next iteration has it, is `value`, as this iteration has it.
  bool isEqual(mlir::Value next, mlir::Value value);

private:
  bool computesEqual(mlir::Operation *next, mlir::Operation *op);

  mlir::scf::ForOp loop;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, bool> known;
};

} // namespace tlc::tile
