// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which values of a kernel come from its data, and which from its arguments and
/// position alone.
#pragma once

#include "dialects/tile/Tile.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tlc::tile {

/// The values that depend on what some operations compute, directly, through arithmetic, or because a loop or
/// branch that they come out of does.
class ComputedValues {
public:
  /// Of operations that compute fragments or read memory, but for `others`. A role that loads ahead does not
  /// have these values; it has all others.
  ComputedValues(KernelOp kernel, const llvm::SmallPtrSetImpl<mlir::Operation *> &others);
  ComputedValues(KernelOp kernel, llvm::function_ref<bool(mlir::Operation *)> isSource);

  bool contains(mlir::Value value) const { return computed.contains(value); }

private:
  bool add(mlir::Operation *op, bool isSource);
  bool add(mlir::Value value) { return computed.insert(value).second; }

  llvm::DenseSet<mlir::Value> computed;
};

} // namespace tlc::tile
