// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which roles put into a channel, get from it and release its slots.
#pragma once

#include "dialects/tile/Tile.h"

#include "llvm/ADT/SmallVector.h"

namespace tlc::tile {

/// The channel that an operation puts into, gets from or releases slots of; null for others.
mlir::Value channelOf(mlir::Operation *op);

/// A channel together with those that hand over the same slots (`of`).
class ChannelUse {
public:
  /// A role, or the kernel for what is in none. Operations in their order.
  struct Team {
    mlir::Operation *op = nullptr, *first = nullptr; ///< and its first operation on the channel
    llvm::SmallVector<PutOp> puts = {};              ///< into the channel itself
    llvm::SmallVector<PutOp> putsIntoHeld = {}; ///< into one of its slots, of which the team holds the oldest
    llvm::SmallVector<GetOp> gets = {};
    llvm::SmallVector<OldestOp> oldest = {};
    llvm::SmallVector<ReclaimOp> reclaims = {};
    llvm::SmallVector<ReleaseOldestOp> releases = {};
    /// Whether it releases each slot before it gets the next one: then one position says both.
    /// Of channels that are verified.
    bool holdsOneAtMost = false;
  };

  /// `channel` has slots of its own.
  explicit ChannelUse(ChannelOp channel);

  /// The channel itself first.
  llvm::ArrayRef<ChannelOp> channels() const { return family; }
  llvm::ArrayRef<Team> teams() const { return all; }
  /// Whether slots are filled again.
  bool isReleased() const;
  /// Fails with a diagnostic if a role would wait for ever, fill a slot that others still read, or use one
  /// that it does not hold.
  mlir::LogicalResult verify();

private:
  mlir::LogicalResult verify(const Team &team);
  /// An error with a note on another operation, or on the channel.
  mlir::LogicalResult reportAt(mlir::Operation *op, const llvm::Twine &message,
                               mlir::Operation *other = nullptr, const llvm::Twine &note = "");

  llvm::SmallVector<ChannelOp, 1> family;
  llvm::SmallVector<Team, 2> all;
};

} // namespace tlc::tile
