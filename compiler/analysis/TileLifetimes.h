// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which shared tiles are never alive together, so that one may lie where another one was.
#pragma once

#include "dialects/tile/Tile.h"
#include "mlir/IR/Dominance.h"

#include "llvm/ADT/MapVector.h"

namespace tlc::tile {

/// Whether one tile may lie where another one was.
enum class Apart : uint8_t {
  never,
  inTurns, ///< in each round of a loop: then its threads meet in each round
  once,    ///< a block uses one, and after that the other
};

/// Of the tiles whose accesses `tile-place-fences` orders: those of one role, or of a kernel without roles.
/// Besides, slots of rings that the TMA fills for one other role: in roles of the compiler's a role that has
/// read all of its slots has awaited all copies to them. Scratch memory, tiles that cp.async fills, and tiles
/// that other blocks access are not among them.
class TileLifetimes {
public:
  explicit TileLifetimes(KernelOp kernel);

  /// Whether no content of one is needed when the other one is written: in the innermost block around all of
  /// their accesses those of one come before those of the other, and if a loop repeats that block, each is
  /// written as a whole before it is read.
  Apart relationOf(AllocSharedOp one, AllocSharedOp other) const;

private:
  struct Lifetime {
    llvm::SmallVector<mlir::Operation *> accesses; ///< of one role
    mlir::Operation *role = nullptr;
    bool isRefilled = false;    ///< the first access writes all of it, and dominates the others
    bool hasSlots = false;      ///< that another role fills ahead: nothing lies there before
    bool staysInFlight = false; ///< stores may read it after the accesses: nothing lies there after
  };
  void add(AllocSharedOp tile, mlir::DominanceInfo &dominance);
  static bool endsBefore(const Lifetime &earlier, const Lifetime &later, mlir::Block *block);

  llvm::MapVector<mlir::Operation *, Lifetime> lifetimes;
};

} // namespace tlc::tile
