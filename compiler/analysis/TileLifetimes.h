// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which shared tiles are never alive together, so that one may lie where another one was.
#pragma once

#include "dialects/tile/Tile.h"
#include "mlir/IR/Dominance.h"

#include "llvm/ADT/MapVector.h"

namespace tlc::tile {

/// Of the tiles whose accesses `tile-place-fences` orders: those of one role, or of a kernel without roles.
/// Slots of rings, tiles of asynchronous copies and products, scratch memory, and tiles that other blocks
/// access are not among them.
class TileLifetimes {
public:
  explicit TileLifetimes(KernelOp kernel);

  /// Whether no content of one is needed when the other one is written: in the innermost block around all of
  /// their accesses those of one come before those of the other, and if a loop repeats that block, each is
  /// written as a whole before it is read.
  bool areApart(AllocSharedOp one, AllocSharedOp other) const;

private:
  struct Lifetime {
    llvm::SmallVector<mlir::Operation *> accesses;
    mlir::Operation *role = nullptr;
    bool isRefilled = false; ///< the first access writes all of it, and dominates the others
  };
  void add(AllocSharedOp tile, mlir::DominanceInfo &dominance);

  llvm::MapVector<mlir::Operation *, Lifetime> lifetimes;
};

} // namespace tlc::tile
