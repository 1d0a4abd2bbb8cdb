// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads a kernel and states what its operations ask of the layouts of fragments: one
/// rule per operation. Nothing is changed.
#pragma once

#include "compiler/solvers/LayoutProblem.h"
#include "dialects/tile/Tile.h"

#include "llvm/ADT/MapVector.h"

namespace tlc::tile {

/// Where a conversion on a constraint goes: before an operand's use, or after a result.
struct ConstraintSite {
  mlir::OpOperand *use = nullptr;
  mlir::Value result; ///< if `use` is null
};

struct LayoutConstraints {
  LayoutProblem problem;
  llvm::MapVector<mlir::Value, VariableId> variables; ///< every fragment of the kernel
  std::vector<ConstraintSite> sites;                  ///< by constraint
  std::vector<mlir::Operation *> anchors;             ///< by Anchor::operation

  /// Expects phase `pipelined`. Fails with a diagnostic where an operation's shape fits no layout.
  static mlir::FailureOr<LayoutConstraints> collect(KernelOp kernel);
};

} // namespace tlc::tile
