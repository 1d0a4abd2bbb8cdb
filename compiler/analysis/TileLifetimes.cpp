// SPDX-License-Identifier: Apache-2.0
/// \file
/// Accesses are compared by the operations of one block that they stand in.
#include "compiler/analysis/TileLifetimes.h"

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
  SmallVector<Value> views = {tile.getBuffer()};
  for (size_t next = 0; next < views.size(); ++next)
    for (Operation *user : views[next].getUsers()) {
      if (isa<SlotOp>(user))
        return;
      if (isa<ViewOpInterface>(user))
        views.push_back(user->getResult(0));
      else if (isOrdered(user, views[next]))
        lifetime.accesses.push_back(user);
      else
        return;
    }
  if (lifetime.accesses.empty())
    return;
  auto roleOf = [](Operation *op) { return op->getParentOfType<RoleOp>().getOperation(); };
  lifetime.role = roleOf(lifetime.accesses.front());
  if (llvm::any_of(lifetime.accesses, [&](Operation *op) { return roleOf(op) != lifetime.role; }))
    return;
  lifetime.isRefilled = llvm::any_of(lifetime.accesses, [&](Operation *fill) {
    return writesAll(fill, tile.getBuffer()) && llvm::all_of(lifetime.accesses, [&](Operation *op) {
             return op == fill || dominance.properlyDominates(fill, op);
           });
  });
  lifetimes[tile] = std::move(lifetime);
}

bool TileLifetimes::areApart(AllocSharedOp one, AllocSharedOp other) const {
  auto first = lifetimes.find(one), second = lifetimes.find(other);
  if (first == lifetimes.end() || second == lifetimes.end() || first->second.role != second->second.role)
    return false;
  Block *block = first->second.accesses.front()->getBlock();
  for (const Lifetime *each : {&first->second, &second->second})
    for (Operation *op : each->accesses)
      block = commonBlock(block, op->getBlock());
  if (isRepeated(block) && !(first->second.isRefilled && second->second.isRefilled))
    return false;
  auto endsBefore = [&](const Lifetime &earlier, const Lifetime &later) {
    return llvm::all_of(earlier.accesses, [&](Operation *from) {
      return llvm::all_of(later.accesses, [&](Operation *to) {
        Operation *a = block->findAncestorOpInBlock(*from), *b = block->findAncestorOpInBlock(*to);
        return a != b && a->isBeforeInBlock(b);
      });
    });
  };
  return endsBefore(first->second, second->second) || endsBefore(second->second, first->second);
}
