// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether a target has what a kernel does in tensor memory.
#pragma once

#include "dialects/tile/Tile.h"
#include "runtime/target/Target.h"

#include <string>

namespace tlc::tile {

/// Fails, with a diagnostic, where there is no tensor memory, or no instruction for a product in it.
llvm::LogicalResult checkTensorMemory(KernelOp kernel, const Target &target);

/// Why the sum of a product cannot lie in tensor memory, with a role of its own that starts the product;
/// empty if it can. The kernel is in phase `promoted`.
std::string sumInTensorMemoryProblem(GemmOp product, const Target &target);

/// Columns that are left while products take theirs, in program order.
class TensorMemoryRoom {
public:
  /// `factors`: whether left factors may lie there.
  TensorMemoryRoom(KernelOp kernel, const Target &target, bool factors);

  int64_t columns() const { return left; }
  void takeSum(mlir::Operation *product);
  /// Whether there are columns for a left factor in registers, which it then takes.
  bool takeFactor(mlir::RankedTensorType factor);

private:
  bool factors;
  int64_t left;
};

} // namespace tlc::tile
