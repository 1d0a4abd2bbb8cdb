// SPDX-License-Identifier: Apache-2.0
/// \file
/// The roles that a kernel is planned to have: a table on the kernel, and on each operation who executes it.
#pragma once

#include "compiler/analysis/ComputedValues.h"
#include "compiler/analysis/CopyGroups.h"

namespace tlc::tile {

/// The table, or null.
RolePlanAttr rolePlanOf(KernelOp kernel);

/// Who executes the operation; empty where every role does that needs it.
llvm::StringRef plannedRoleOf(mlir::Operation *op);
/// The channel that hands the tile over; null if none does.
ChannelAttr plannedChannelOf(AllocSharedOp tile);
void setPlannedRole(mlir::Operation *op, llvm::StringRef role);

/// Whether one role executes the operation: it has effects, or computes fragments or from them. All others
/// are repeated.
bool belongsToOneRole(mlir::Operation *op);

/// True for a position that every role reads which gets its tile. Any other position one role reads.
bool isRepeatedPosition(mlir::Operation *op);

/// The buffer that a copy, the store of a fragment or of a position, or a product in tensor memory fills, or
/// the loop around such a product; null if it fills none.
mlir::Value tileFilledBy(mlir::Operation *op);
/// Who executes that.
llvm::StringRef roleThatFills(mlir::Operation *op);

/// The shared tile in which a role hands over a fragment.
SharedType handedTile(mlir::RankedTensorType fragment);

/// What operations of other roles compute, and what follows from it.
ComputedValues valuesOfOtherRoles(KernelOp kernel, llvm::StringRef role);

/// The channels of the plan, in its order. Fails with a diagnostic where the operations contradict the plan.
mlir::FailureOr<CopyGroups> readRolePlan(KernelOp kernel);

} // namespace tlc::tile
