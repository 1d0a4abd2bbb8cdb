// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tiles that one operation fills and others use: what a role can hand to another one.
#pragma once

#include "dialects/tile/Tile.h"

namespace tlc::tile {

/// The operation that fills the buffer as a whole, in shared or tensor memory, before the other `users` use
/// it in the same loop or branch. Products in tensor memory may fill it together with the loops around them;
/// a branch that changes their sum before they add to it fills that.
/// Null if there is none, or if several operations write the buffer.
mlir::Operation *findFill(mlir::Value buffer, llvm::ArrayRef<mlir::Operation *> users);

/// Whether the author orders accesses, by roles, channels or barriers.
bool synchronisesByHand(KernelOp kernel);

} // namespace tlc::tile
