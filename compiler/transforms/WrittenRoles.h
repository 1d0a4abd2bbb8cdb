// SPDX-License-Identifier: Apache-2.0
/// \file
/// Roles that an author writes in a program whose other roles the compiler makes.
#pragma once

#include "compiler/analysis/Obstacle.h"
#include "dialects/tile/Tile.h"

#include "llvm/ADT/DenseMap.h"

namespace tlc::tile {

struct WrittenRoles {
  llvm::SmallVector<PlannedRoleAttr, 1> roles;
  llvm::DenseMap<mlir::Operation *, PlannedRoleAttr> executors; ///< of operations between the marks

  int64_t warps() const;
};

/// Fails with a diagnostic where the marks of the kernel's roles do not pair up.
mlir::FailureOr<WrittenRoles> findWrittenRoles(KernelOp kernel);
/// Removes the marks, too.
mlir::FailureOr<WrittenRoles> takeWrittenRoles(KernelOp kernel);

/// What the program orders and channels would not, if anything: accesses of a role and of others to a tensor,
/// or what blocks do.
std::optional<Obstacle> findOrderObstacle(KernelOp kernel, const WrittenRoles &written);

/// What keeps the author's roles from standing beside those that load, start products in tensor memory and
/// load its sums with `warps` warps, if anything does.
std::optional<Obstacle> findSumObstacle(KernelOp kernel, const WrittenRoles &written, int64_t warps);

} // namespace tlc::tile
