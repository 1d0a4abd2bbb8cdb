// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tiles are followed through their views to what allocates them.
#include "compiler/analysis/BufferAccesses.h"

#include "dialects/layout/StockLayouts.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

std::optional<BufferPart> tile::bufferPartOf(Value tile) {
  Value cursor;
  while (Operation *op = tile.getDefiningOp()) {
    if (isa<AllocationOpInterface>(op))
      return BufferPart{tile, cursor};
    auto view = dyn_cast<ViewOpInterface>(op);
    if (!view)
      break;
    if (Value at = view.getSlotCursor())
      cursor = at;
    tile = op->getOperand(0);
  }
  return std::nullopt;
}

BufferPlaces::BufferPlaces(KernelOp kernel) {
  llvm::SmallDenseMap<int64_t, Value> firstAt;
  kernel.walk([&](AllocSharedOp tile) {
    if (std::optional<int64_t> offset = tile.getOffset())
      if (auto [entry, isNew] = firstAt.try_emplace(*offset, tile.getBuffer()); !isNew) {
        first[tile.getBuffer()] = entry->second;
        first[entry->second] = entry->second;
      }
  });
}

bool BufferPlaces::isShared(const BufferPart &part) const { return first.contains(part.buffer); }

BufferPart BufferPlaces::of(const BufferPart &part) const {
  auto found = first.find(part.buffer);
  if (found == first.end())
    return part;
  // Rows of one tile are not those of another one.
  return {found->second, /*cursor=*/Value(), anyThreads};
}

void BufferParts::add(const BufferPart &part) {
  auto [entry, isNew] = buffers.try_emplace(part.buffer);
  entry->second.cursors.insert(part.cursor);
  entry->second.owner = isNew || entry->second.owner == part.owner ? part.owner : anyThreads;
}

void BufferParts::add(const BufferParts &other) {
  for (const auto &[buffer, slots] : other.buffers) {
    auto [entry, isNew] = buffers.try_emplace(buffer, slots);
    entry->second.cursors.insert_range(slots.cursors);
    entry->second.owner = isNew || entry->second.owner == slots.owner ? slots.owner : anyThreads;
  }
}

void BufferParts::removeAt(Value cursor) {
  for (auto &[buffer, slots] : buffers)
    slots.cursors.remove(cursor);
  buffers.remove_if([](auto &entry) { return entry.second.cursors.empty(); });
}

bool BufferParts::overlaps(const BufferParts &other) const {
  return llvm::any_of(buffers, [&](auto &entry) { return other.buffers.contains(entry.first); });
}

bool BufferParts::overlapsOtherOwners(const BufferParts &other) const {
  return llvm::any_of(buffers, [&](auto &entry) {
    auto found = other.buffers.find(entry.first);
    return found != other.buffers.end() &&
           (entry.second.owner == anyThreads || entry.second.owner != found->second.owner);
  });
}

bool BufferParts::overwrites(const BufferParts &other) const {
  return llvm::any_of(buffers, [&](auto &entry) {
    auto found = other.buffers.find(entry.first);
    return found != other.buffers.end() &&
           (entry.second.owner >= anyThreads || entry.second.owner != found->second.owner);
  });
}

bool BufferParts::overlapsOtherLanes(const BufferParts &other) const {
  return llvm::any_of(buffers, [&](auto &entry) {
    auto found = other.buffers.find(entry.first);
    return found != other.buffers.end() && !(entry.second.owner == ownLane && found->second.owner == ownLane);
  });
}

BufferParts &BufferAccesses::of(AccessKind kind) {
  if (kind == AccessKind::read)
    return reads;
  return kind == AccessKind::write ? writes : combined[kind];
}

void BufferAccesses::add(const BufferAccesses &other) {
  reads.add(other.reads);
  writes.add(other.writes);
  for (const auto &[kind, parts] : other.combined)
    combined[kind].add(parts);
}

void BufferAccesses::removeAt(Value cursor) {
  reads.removeAt(cursor);
  writes.removeAt(cursor);
  for (auto &[kind, parts] : combined)
    parts.removeAt(cursor);
  combined.remove_if([](const auto &entry) { return entry.second.empty(); });
}

/// Whether they combine what the others read, write or combine otherwise.
bool BufferAccesses::combinesWhat(const BufferAccesses &other) const {
  return llvm::any_of(combined, [&](const auto &own) {
    return own.second.overlaps(other.reads) || own.second.overlaps(other.writes) ||
           llvm::any_of(other.combined, [&](const auto &theirs) {
             return own.first != theirs.first && own.second.overlaps(theirs.second);
           });
  });
}

bool BufferAccesses::conflictsWith(const BufferAccesses &earlier) const {
  return reads.overlapsOtherLanes(earlier.writes) || writes.overlapsOtherOwners(earlier.reads) ||
         writes.overwrites(earlier.writes) || combinesWhat(earlier) || earlier.combinesWhat(*this);
}

bool tile::needsProxyFence(const BufferAccesses &ordinary, const BufferAccesses &asynchronous) {
  auto overlapsAny = [&](const BufferParts &changed) {
    return asynchronous.reads.overlaps(changed) || asynchronous.writes.overlaps(changed);
  };
  return overlapsAny(ordinary.writes) || asynchronous.writes.overlaps(ordinary.reads) ||
         llvm::any_of(ordinary.combined, [&](const auto &entry) { return overlapsAny(entry.second); });
}

/// Rows of a warpgroup if a fragment lies in registers as wgmma's accumulators do, with each warpgroup's
/// rows its own; else 0.
static int64_t rowsOfWarpgroup(Operation *op, Value fragment) {
  auto type = cast<RankedTensorType>(fragment.getType());
  auto layout = dyn_cast_if_present<LayoutAttr>(type.getEncoding());
  int64_t warpgroups = executingWarps(op) / warpsPerWarpgroup;
  if (!layout || type.getRank() != 2 || warpgroups == 0 ||
      type.getDimSize(0) % (wgmmaRows * warpgroups) != 0 || type.getDimSize(1) % wgmmaColumnStep != 0 ||
      layout.getLayout() != wgmmaAccumulator(type.getDimSize(0), type.getDimSize(1), {warpgroups, 1}))
    return 0;
  return type.getDimSize(0) / warpgroups;
}

static int64_t ownerOf(Operation *op, const MemoryAccess &access) {
  auto shared = dyn_cast<SharedType>(access.memory.getType());
  if (shared && shared.getTransposed())
    return anyThreads;
  if (access.agent == Agent::oneThread)
    return oneThread;
  if (access.isTensorMemory() && executingWarps(op) == warpsPerWarpgroup)
    return ownLane;
  return access.fragment ? rowsOfWarpgroup(op, access.fragment) : anyThreads;
}

/// Accesses of buffers that no ring orders.
static SmallVector<MemoryAccess, 3> bufferAccessesOf(Operation *op) {
  if (completionOf(op) == Completion::ring)
    return {};
  SmallVector<MemoryAccess, 3> accesses = memoryAccessesOf(op);
  llvm::erase_if(accesses,
                 [](const MemoryAccess &access) { return !access.isShared() && !access.isTensorMemory(); });
  return accesses;
}

LogicalResult tile::addBufferAccesses(Operation *op, const BufferPlaces &places, BufferAccesses &accesses) {
  auto accessing = dyn_cast<AccessOpInterface>(op);
  if (Value staging = accessing ? accessing.getStagingMemory() : Value())
    if (std::optional<BufferPart> part = bufferPartOf(staging); part && places.isShared(*part))
      accesses.writes.add(places.of(*part));
  for (const MemoryAccess &access : bufferAccessesOf(op)) {
    std::optional<BufferPart> part = bufferPartOf(access.memory);
    if (!part)
      return op->emitError(
          "expected shared memory that is a buffer, a slot or a view of one because accesses "
          "are ordered by buffer, but got another");
    part->owner = ownerOf(op, access);
    // Sums in tensor memory are of one thread's products, which follow one another.
    bool isWrite = access.isTensorMemory() && access.kind != AccessKind::read;
    accesses.of(isWrite ? AccessKind::write : access.kind).add(places.of(*part));
  }
  return success();
}

bool tile::accessesAsynchronously(Operation *op) {
  return llvm::any_of(bufferAccessesOf(op), [](const MemoryAccess &access) {
    return access.isShared() && access.isAsynchronous();
  });
}
