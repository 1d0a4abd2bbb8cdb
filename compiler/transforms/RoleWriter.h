// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes the program of one role from the program of all warps.
#pragma once

#include "compiler/analysis/ComputedValues.h"
#include "compiler/analysis/CopyGroups.h"

#include "llvm/ADT/DenseMap.h"

namespace tlc::tile {

enum class RoleKind {
  load, ///< issues the copies
  math, ///< does everything else
};

/// What both roles know.
struct RolePlan {
  const CopyGroups &copies;
  const ComputedValues &computed;
  llvm::DenseMap<const CopyGroup *, AllocRingOp> rings;
};

/// Writes the role's version of `ops`, which stand at the kernel's top level, at the builder's place. The
/// buffers that copies fill have slots already.
void writeRole(RoleKind kind, const RolePlan &plan, llvm::ArrayRef<mlir::Operation *> ops,
               mlir::OpBuilder builder);

} // namespace tlc::tile
