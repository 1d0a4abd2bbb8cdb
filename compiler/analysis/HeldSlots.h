// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which slots of a channel a team holds at each of its operations, as far as that does not depend on what
/// the device computes.
#pragma once

#include "compiler/analysis/ChannelUse.h"

namespace tlc::tile {

/// Whether `later` is executed after `op` whenever both are, in one run of the loops around both. Not if they
/// are in different branches of a condition.
bool isAfter(mlir::Operation *later, mlir::Operation *op);

/// Follows a team through its operations, up to a condition whose branches hold different numbers of slots,
/// or a loop whose iterations change that number, unless its trip count is a small constant.
class HeldSlots {
public:
  HeldSlots(const ChannelUse &use, const ChannelUse::Team &team);

  /// Fails with a diagnostic if the team waits for a slot that only itself could fill or release later, or
  /// uses a slot that it has given back.
  mlir::LogicalResult follow();

  /// Whether the team releases each slot before it gets the next one, throughout.
  bool isOneAtMost() const { return isOne; }

private:
  /// Slots since the team began.
  struct Counts {
    int64_t puts = 0, gets = 0, releases = 0;
    int64_t held() const { return gets - releases; }
    int64_t ahead() const { return puts - gets; }
  };
  enum class Outcome : uint8_t { known, unknown, failed };

  Outcome follow(mlir::Region &region);
  Outcome follow(mlir::Operation *op);
  bool isAboutChannel(mlir::Operation *op) const;
  Outcome followLoop(mlir::LoopLikeOpInterface loop);
  Outcome followBranches(mlir::Operation *op);
  Outcome put(PutOp op);
  Outcome get(GetOp op);
  Outcome release(ReleaseOldestOp op);
  Outcome reportUnbalanced(mlir::LoopLikeOpInterface loop, const Counts &before);
  mlir::LogicalResult verifyUses(mlir::Value slot, ReleaseOldestOp release);
  llvm::StringRef name() { return channel.getName(); }

  ChannelOp channel;
  llvm::ArrayRef<ChannelOp> family;
  const ChannelUse::Team &team;
  const int64_t slots;
  const bool isReleased, releasesItself; ///< by some role, by this one
  bool isOne = true, arePutsKnown = true;
  Counts counts = {};
  llvm::SmallVector<GetOp> held;        ///< the oldest first
  llvm::SmallVector<OldestOp> ofOldest; ///< since the last release
};

} // namespace tlc::tile
