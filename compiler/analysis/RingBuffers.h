// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which rings hand over the slots of which shared buffers.
#pragma once

#include "dialects/tile/Tile.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace tlc::tile {

class RingBuffers {
public:
  explicit RingBuffers(KernelOp kernel);

  /// Whether asynchronous copies fill the buffer.
  bool isFilled(AllocSharedOp buffer) const { return filledBy.contains(buffer); }
  /// Whether copies into the buffer complete on the ring.
  bool fills(mlir::Value ring, AllocSharedOp buffer) const;
  /// Whether the ring surely hands over slots of the tile's buffer.
  bool guards(mlir::Value ring, mlir::Value tile) const;
  /// Whether the ring may hand over slots of the tile's buffer: copies into it complete on the ring, or
  /// stores write it and the ring is published by those who store.
  bool mayGuard(mlir::Value ring, mlir::Value tile) const;

private:
  /// Whether a role stores to the buffer and hands slots of the ring over.
  bool isHandedOver(mlir::Value ring, AllocSharedOp buffer) const;

  using Roles = llvm::SmallDenseSet<mlir::Operation *, 2>; ///< the kernel for what is in none
  llvm::DenseMap<mlir::Operation *, llvm::SmallDenseSet<mlir::Value, 2>> filledBy; ///< rings, by buffer
  llvm::DenseMap<mlir::Operation *, Roles> storedBy;                               ///< by buffer
  llvm::DenseMap<mlir::Value, Roles> handedOverBy;                                 ///< by ring
};

} // namespace tlc::tile
