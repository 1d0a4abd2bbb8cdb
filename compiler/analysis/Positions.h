// SPDX-License-Identifier: Apache-2.0
/// \file
/// Positions that threads read (`tile.load_index`) and roles hand to each other.
#pragma once

#include "dialects/tile/Tile.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tlc::tile {

/// The shared tile from which the operation reads a position; null for other operations.
AllocSharedOp sourceOfPosition(mlir::Operation *op);

/// The reads of positions from which follows, by what each role repeats, where the operation accesses memory
/// and how often it runs. Excludes reads of memory that the kernel does not write.
llvm::SetVector<LoadIndexOp> positionsNeededBy(mlir::Operation *op);

/// Maps each position that one role is planned to read to the roles that need it. A role that reads a
/// position also needs the numbers that locate it.
llvm::MapVector<mlir::Operation *, llvm::SetVector<llvm::StringRef>> findNeededPositions(KernelOp kernel);

/// The reads of what `tile.take` counts, if nothing else follows from the order in which blocks count:
/// neither do blocks wait for each other, nor does the kernel read what it writes.
llvm::SmallPtrSet<mlir::Operation *, 4> takenPositions(KernelOp kernel);

} // namespace tlc::tile
