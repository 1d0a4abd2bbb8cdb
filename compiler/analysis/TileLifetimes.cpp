// SPDX-License-Identifier: Apache-2.0
/// \file
/// Accesses are compared by the operations of one block that they stand in.
#include "compiler/analysis/TileLifetimes.h"

#include "compiler/analysis/CopyGroups.h"
#include "dialects/tile/Cluster.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

/// Whether the access is complete when the operation is, and of this block's threads: no asynchronous copy or
/// product, and no ring.
bool isOrdered(Operation *op, Value tile) {
  if (accessesOtherBlocks(op) || completionOf(op))
    return false;
  SmallVector<MemoryAccess, 3> accesses = memoryAccessesOf(op);
  auto isOfTile = [&](const MemoryAccess &access) { return access.isShared() && access.memory == tile; };
  const auto uses = size_t(llvm::count(op->getOperands(), tile));
  return size_t(llvm::count_if(accesses, isOfTile)) >= uses &&
         llvm::all_of(accesses, [&](const MemoryAccess &access) {
           return !isOfTile(access) || !access.isAsynchronous() || isa<ProductOpInterface>(op);
         });
}

/// Whether it only reads the tile, and that is over when the operation is, or the product that it starts.
bool isRead(Operation *op, Value tile) {
  std::optional<Completion> completion = completionOf(op);
  if (accessesOtherBlocks(op) || (completion && completion != Completion::productGroup))
    return false;
  SmallVector<MemoryAccess, 3> accesses = memoryAccessesOf(op);
  auto isOfTile = [&](const MemoryAccess &access) { return access.isShared() && access.memory == tile; };
  return llvm::count_if(accesses, isOfTile) >= llvm::count(op->getOperands(), tile) &&
         llvm::all_of(accesses, [&](const MemoryAccess &access) {
           return !isOfTile(access) || access.kind == AccessKind::read;
         });
}

/// Whether a tile on its way to a tensor goes through it.
bool isStagedThrough(Operation *op, Value tile) {
  auto accessing = dyn_cast<AccessOpInterface>(op);
  return accessing && accessing.getStagingMemory() == tile;
}

/// Whether it writes each element of the buffer.
bool writesAll(Operation *op, Value buffer) {
  Value written;
  if (auto store = dyn_cast<StoreOp>(op))
    written = store.getDestination();
  else if (auto copy = dyn_cast<CopyOp>(op))
    written = copy.getDestination();
  while (auto view = written ? written.getDefiningOp<TransposeOp>() : TransposeOp())
    written = view->getOperand(0);
  return written == buffer;
}

/// The innermost block around both.
Block *commonBlock(Block *one, Block *other) {
  for (; one; one = one->getParentOp() ? one->getParentOp()->getBlock() : nullptr)
    if (one->findAncestorOpInBlock(other->front()))
      return one;
  return nullptr;
}

/// Whether a loop of the kernel repeats the block.
bool isRepeated(Block *block) {
  for (Operation *op = block->getParentOp(); op && !isa<KernelOp>(op); op = op->getParentOp())
    if (isa<LoopLikeOpInterface>(op))
      return true;
  return false;
}

} // namespace

TileLifetimes::TileLifetimes(KernelOp kernel) {
  DominanceInfo dominance(kernel);
  kernel.walk([&](AllocSharedOp tile) { add(tile, dominance); });
}

void TileLifetimes::add(AllocSharedOp tile, DominanceInfo &dominance) {
  Lifetime lifetime;
  SmallVector<Operation *> fills; // by the TMA
  struct View {
    Value tile;
    bool isOfSlot;
  };
  SmallVector<View> views = {{tile.getBuffer(), false}};
  for (size_t next = 0; next < views.size(); ++next) {
    const View view = views[next];
    for (Operation *user : view.tile.getUsers()) {
      if (isa<ViewOpInterface>(user)) {
        views.push_back({user->getResult(0), view.isOfSlot || isa<SlotOp>(user)});
        lifetime.hasSlots |= isa<SlotOp>(user);
      } else if (view.isOfSlot && isa<CopyAsyncOp>(user)) {
        fills.push_back(user);
      } else if (view.isOfSlot ? isRead(user, view.tile) : isOrdered(user, view.tile)) {
        lifetime.accesses.push_back(user);
      } else if (!view.isOfSlot && isStagedThrough(user, view.tile)) {
        lifetime.accesses.push_back(user);
        lifetime.staysInFlight = true;
      } else {
        return;
      }
    }
  }
  if (lifetime.accesses.empty())
    return;
  auto roleOf = [](Operation *op) { return op->getParentOfType<RoleOp>(); };
  RoleOp role = roleOf(lifetime.accesses.front());
  lifetime.role = role;
  if (llvm::any_of(lifetime.accesses, [&](Operation *op) { return roleOf(op) != role; }))
    return;
  if (lifetime.hasSlots) {
    const bool isAwaited = role && role->getParentOfType<RolesOp>().getAutomatic() && !fills.empty() &&
                           llvm::none_of(fills, [&](Operation *fill) { return roleOf(fill) == role; });
    if (isAwaited)
      lifetimes[tile] = std::move(lifetime);
    return;
  }
  lifetime.isRefilled = llvm::any_of(lifetime.accesses, [&](Operation *fill) {
    return writesAll(fill, tile.getBuffer()) && llvm::all_of(lifetime.accesses, [&](Operation *op) {
             return op == fill || dominance.properlyDominates(fill, op);
           });
  });
  lifetimes[tile] = std::move(lifetime);
}

/// Whether all accesses of one are over in the block before those of the other begin.
bool TileLifetimes::endsBefore(const Lifetime &earlier, const Lifetime &later, Block *block) {
  return !later.hasSlots && !earlier.staysInFlight && llvm::all_of(earlier.accesses, [&](Operation *from) {
    return llvm::all_of(later.accesses, [&](Operation *to) {
      Operation *end = endOfRead(from, block), *begin = block->findAncestorOpInBlock(*to);
      return end && end != begin && end->isBeforeInBlock(begin);
    });
  });
}

Apart TileLifetimes::relationOf(AllocSharedOp one, AllocSharedOp other) const {
  auto first = lifetimes.find(one), second = lifetimes.find(other);
  if (first == lifetimes.end() || second == lifetimes.end() || first->second.role != second->second.role)
    return Apart::never;
  Block *block = first->second.accesses.front()->getBlock();
  for (const Lifetime *each : {&first->second, &second->second})
    for (Operation *op : each->accesses)
      block = commonBlock(block, op->getBlock());
  const bool repeated = isRepeated(block);
  if (repeated && !(first->second.isRefilled && second->second.isRefilled))
    return Apart::never;
  if (!endsBefore(first->second, second->second, block) && !endsBefore(second->second, first->second, block))
    return Apart::never;
  return repeated ? Apart::inTurns : Apart::once;
}
