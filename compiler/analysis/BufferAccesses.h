// SPDX-License-Identifier: Apache-2.0
/// \file
/// Accesses of buffers in shared and tensor memory, and which of them the threads of one role must order.
#pragma once

#include "dialects/tile/Tile.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tlc::tile {

/// The threads that access a part: the number of consecutive rows that each warpgroup has, or one of these.
/// In tensor memory each thread of a single warpgroup accesses its own lane.
constexpr int64_t anyThreads = 0, oneThread = -1, ownLane = -2;

/// A buffer, or one slot of it.
struct BufferPart {
  mlir::Value buffer;
  mlir::Value cursor; ///< of the slot, or null
  int64_t owner = anyThreads;
};

/// Where a tile lies; nothing if it does not come from a buffer in sight.
std::optional<BufferPart> bufferPartOf(mlir::Value tile);

/// Tiles that `tile-plan-shared-memory` has put at one place: one buffer to those who order accesses.
class BufferPlaces {
public:
  explicit BufferPlaces(KernelOp kernel);
  /// Whether other tiles lie there, too.
  bool isShared(const BufferPart &part) const;
  /// The part of the first tile at its place.
  BufferPart of(const BufferPart &part) const;

private:
  llvm::SmallDenseMap<mlir::Value, mlir::Value> first; ///< of each tile that shares its place
};

/// Buffers with the cursors of the slots that are meant (null for a whole buffer).
class BufferParts {
public:
  void add(const BufferPart &part);
  void add(const BufferParts &other);
  void removeAt(mlir::Value cursor);
  bool empty() const { return buffers.empty(); }
  /// Different cursors may stand at one slot, so buffers decide.
  bool overlaps(const BufferParts &other) const;
  /// Whether a thread may meet what another one, of another warpgroup if they have rows of their own, does
  /// there.
  bool overlapsOtherOwners(const BufferParts &other) const;
  /// True if two threads may write the same location.
  bool overwrites(const BufferParts &other) const;
  /// True if both access a buffer, unless both access it in tensor memory, each thread its own lane.
  bool overlapsOtherLanes(const BufferParts &other) const;

private:
  struct Slots {
    llvm::SetVector<mlir::Value> cursors;
    int64_t owner = anyThreads;
  };
  llvm::MapVector<mlir::Value, Slots> buffers;
};

/// What is read, what is written, and what is combined by atomic operations, by their kind.
struct BufferAccesses {
  BufferParts reads, writes;
  llvm::SmallMapVector<AccessKind, BufferParts, 1> combined;

  /// Those of a kind.
  BufferParts &of(AccessKind kind);
  bool empty() const { return reads.empty() && writes.empty() && combined.empty(); }
  void add(const BufferAccesses &other);
  void removeAt(mlir::Value cursor);
  /// Whether a meeting has to come in between. A product's end is its whole warpgroup's, so nobody else reads
  /// rows that are its own. Atomic operations of one kind need none among themselves.
  bool conflictsWith(const BufferAccesses &earlier) const;

private:
  bool combinesWhat(const BufferAccesses &other) const;
};

/// Whether the asynchronous proxy must be told of ordinary accesses before it does what comes later: of
/// writes before it reads or writes there, and of reads before it writes, because a thread's loads may still
/// be under way when a barrier lets a copy begin.
bool needsProxyFence(const BufferAccesses &ordinary, const BufferAccesses &asynchronous);

/// Adds what the operation itself accesses; not among it are memory that is one operation's own, unless it
/// lies where other tiles were, and what a ring orders. Fails with a diagnostic where a buffer is not in
/// sight.
mlir::LogicalResult addBufferAccesses(mlir::Operation *op, const BufferPlaces &places,
                                      BufferAccesses &accesses);

/// Whether the operation accesses shared tiles by the asynchronous proxy, but for what a ring orders.
bool accessesAsynchronously(mlir::Operation *op);

} // namespace tlc::tile
