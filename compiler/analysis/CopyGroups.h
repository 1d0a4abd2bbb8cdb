// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which copies of a kernel arrive together, and so share their slots.
#pragma once

#include "compiler/analysis/Obstacle.h"
#include "dialects/tile/Tile.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <memory>

namespace tlc::tile {

/// Size of a shared buffer without padding.
int64_t sizeInBytes(SharedType type);

/// What fills a buffer of a group: a copy from a tensor, or one of several that each fill some rows; or, of a
/// group by itself, the store of a fragment,
/// products that add in tensor memory, with the loop around them, or a branch that changes a sum there before
/// products add to it.
struct GroupedCopy {
  mlir::Operation *op;
  mlir::Value buffer;     ///< in shared or tensor memory
  bool multicast = false; ///< all blocks of the cluster may load the same tile together
};

/// Where a role reads what copies fill, in the block of the copies.
struct SlotReaders {
  llvm::StringRef role; ///< once it is planned
  mlir::Operation *first = nullptr;
  mlir::Operation *last = nullptr;
  bool byProducts = false; ///< in tensor memory, which complete later
};

/// Copies that arrive together: they share a channel, one slot for all of them.
struct CopyGroup {
  ChannelAttr channel; ///< once it is planned
  mlir::Block *block = nullptr;
  llvm::SmallVector<SlotReaders, 1> readers; ///< at least one; `last` once it is planned
  llvm::SmallVector<GroupedCopy> copies;
  int64_t slots = 1;

  /// The first operation after the loop by which the filling role uses the slot again; null if none does.
  mlir::Operation *reclaimedBy = nullptr;

  void add(const GroupedCopy &copy);
  /// Each once, in the order in which they are filled first.
  llvm::SmallVector<mlir::Value> buffers() const;
  /// True if a branch of one role changes the tile before products of another role add to it.
  bool isSumInPlace() const;
};

struct CopyGroups {
  llvm::SmallVector<std::unique_ptr<CopyGroup>> groups; ///< in program order
  llvm::SmallVector<Obstacle> obstacles; ///< why other copies cannot run ahead of what reads them
};

/// What decides how often a loop or branch runs its body.
mlir::ValueRange conditionOf(mlir::Operation *control);

/// Whether the copy fills shared memory from a tensor.
bool isLoad(CopyOp copy);

/// The rows of a buffer that the copy fills from a tensor; null if it fills no view of rows.
RowsOp rowsFilledBy(mlir::Operation *copy);
/// The buffer that the copy fills, as a whole or some rows; null if it fills another view.
mlir::Value bufferFilledBy(CopyOp copy);

/// Calls `visit` with the operations that use a tile, directly or through views, but for the one that fills
/// it and what is inside of that, and for those that fill other rows.
void forEachUse(mlir::Value tile, mlir::Operation *fill, llvm::function_ref<void(mlir::Operation *)> visit);

/// After which operation of the block nothing reads what `reader` reads: itself, or what contains it, or of a
/// product in flight the next wait that leaves none in flight. Null if that is not in the block.
mlir::Operation *endOfRead(mlir::Operation *reader, mlir::Block *block);

/// Of the wanted copies, those of one block and of one role, if an author says whose they are, whose data the
/// same operation reads first form a group. Who copies makes the reads of these `positions` itself, so that a
/// place may follow from them; other reads of what the kernel writes keep a copy from running ahead.
CopyGroups findCopyGroups(KernelOp kernel, const llvm::SmallPtrSetImpl<mlir::Operation *> &positions,
                          llvm::function_ref<bool(CopyOp)> isWanted);

} // namespace tlc::tile
