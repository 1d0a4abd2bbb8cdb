// SPDX-License-Identifier: Apache-2.0
/// \file
/// How many slots shared memory holds, and giving them to buffers.
#pragma once

#include "compiler/analysis/CopyGroups.h"

namespace tlc::tile {

/// Reduces the groups' slots to what shared memory holds with `reserved` bytes. Fails with a diagnostic if it
/// does not hold one slot of each.
llvm::LogicalResult fitSlots(KernelOp kernel, CopyGroups &copies, int64_t reserved);

/// Whether shared memory holds all slots that the groups ask for, tiles of these sizes in bytes, each with a
/// ring of one slot, and `reserved` bytes.
bool fitBeside(KernelOp kernel, const CopyGroups &copies, llvm::ArrayRef<int64_t> tiles, int64_t reserved);

/// Gives the buffer that number of slots. Its readers still name the buffer instead of a slot.
void giveSlots(mlir::Value buffer, int64_t slots);
/// A slot of such a buffer.
mlir::Value createSlot(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffer, mlir::Value cursor);

/// The same rows of another tile.
mlir::Value rowsOf(mlir::Value tile, RowsOp rows, mlir::OpBuilder &builder);

} // namespace tlc::tile
