// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ways to share a kernel out among roles: each a table of roles, in a file of its own.
#pragma once

#include "compiler/analysis/CopyGroups.h"
#include "runtime/target/Target.h"

#include <functional>
#include <optional>

namespace tlc::tile {

/// A role of a strategy.
struct RoleKind {
  llvm::StringRef name;
  int64_t warps = 0;
  /// Whether a role of this kind executes the operation, one of those that one role does
  /// (`belongsToOneRole`). Null: whatever no kind before it does.
  std::function<bool(mlir::Operation *)> executes;
};

/// A kernel without roles, whose products have their instructions.
struct Candidate {
  KernelOp kernel;
  const Target &target;
  bool tma = true;          ///< whether the TMA may be used
  bool storeRole = false;   ///< whether a role is to store tiles
  int64_t writtenWarps = 0; ///< of its author's roles, whose operations have these as `plannedRoleOf`
};

struct Strategy {
  llvm::StringLiteral name;
  bool hasSeveralRoles;
  bool needsLoads; ///< it is for kernels with copies that can run ahead
  /// What keeps the kernel from being shared out like this; nothing if it can be.
  std::optional<Obstacle> (*findObstacle)(Candidate candidate);
  /// Whether a copy from a tensor to shared memory is to run ahead of what reads it, if it can. Null: each
  /// is.
  bool (*runsAhead)(CopyOp copy, Candidate candidate);
  /// The roles in the order of their warps. `ahead` are the copies that can run ahead, at least one if it
  /// needs them. Remarks say what roles leave to others.
  llvm::SmallVector<RoleKind> (*rolesOf)(Candidate candidate, const CopyGroups &ahead);
  /// Reports why the other copies do not run ahead.
  void (*explainOthers)(Candidate candidate, const CopyGroups &ahead);
  /// Whether the kernel asks for it. Null: each does. The only one that is tried is asked for by its name.
  bool (*isAskedFor)(KernelOp kernel) = nullptr;
};

extern const Strategy copiesAhead, loadMath, loadCompute, loadScoresOutput, loadMatrixMath;
/// For a kernel with roles of its author's that no other one can share out.
extern const Strategy asWritten;

/// Those that a caller may ask for.
llvm::ArrayRef<const Strategy *> allStrategies();
/// Null if no strategy has the name.
const Strategy *findStrategy(llvm::StringRef name);

} // namespace tlc::tile
