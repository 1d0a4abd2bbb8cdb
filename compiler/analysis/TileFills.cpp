// SPDX-License-Identifier: Apache-2.0
#include "compiler/analysis/TileFills.h"

#include "compiler/analysis/RolePlan.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

bool writes(Operation *op, Value buffer) {
  return llvm::any_of(memoryAccessesOf(op), [&](const MemoryAccess &access) {
    return access.kind != AccessKind::read && declarationOf(access.memory) == buffer;
  });
}

/// Whether the operations are, or are part of, `fill` or of what follows in its block.
bool isBeforeOthers(Operation *fill, ArrayRef<Operation *> users) {
  return llvm::all_of(users, [&](Operation *op) {
    Operation *here = fill->getBlock()->findAncestorOpInBlock(*op);
    return here && (here == fill || fill->isBeforeInBlock(here));
  });
}

/// The branch that changes a sum in tensor memory before a product adds to it, or null.
Operation *findUpdate(Value buffer, ArrayRef<Operation *> users) {
  GemmInPlaceOp product;
  SmallVector<Operation *> stores;
  for (Operation *op : users) {
    auto adds = dyn_cast<GemmInPlaceOp>(op);
    if (adds && adds.getAcc() == buffer && std::exchange(product, adds))
      return nullptr;
    if (isa<StoreOp>(op) && writes(op, buffer))
      stores.push_back(op);
  }
  if (!product || stores.empty())
    return nullptr;
  Operation *update = product->getBlock()->findAncestorOpInBlock(*stores.front());
  bool isOne = isa_and_nonnull<scf::IfOp>(update) && update->isBeforeInBlock(product) &&
               llvm::all_of(stores, [&](Operation *store) { return update->isAncestor(store); });
  return isOne ? update : nullptr;
}

} // namespace

Operation *tile::findFill(Value buffer, ArrayRef<Operation *> users) {
  if (Operation *update = findUpdate(buffer, users))
    return update;
  Operation *fill = nullptr;
  for (Operation *op : users)
    if (writes(op, buffer) && std::exchange(fill, op))
      return nullptr;
  while (isa_and_nonnull<GemmInPlaceOp, scf::ForOp>(fill) && !isBeforeOthers(fill, users) &&
         isa<scf::ForOp>(fill->getParentOp()))
    fill = fill->getParentOp();
  return fill && tileFilledBy(fill) == buffer && isBeforeOthers(fill, users) ? fill : nullptr;
}

bool tile::synchronisesByHand(KernelOp kernel) {
  return kernel
      .walk([](Operation *op) {
        return isa<RolesOp, ChannelOp, AllocRingOp, AllocBarrierOp, NamedBarrierOp, SyncOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}
