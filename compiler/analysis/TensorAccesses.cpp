// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors are arguments, so that equal values are equal tensors, and their slices' boxes decide.
#include "compiler/analysis/TensorAccesses.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

void TensorAccesses::add(const TensorAccess &access) {
  if (!llvm::is_contained(accesses, access))
    accesses.push_back(access);
}

void TensorAccesses::add(const TensorAccesses &other) {
  for (const TensorAccess &access : other.accesses)
    add(access);
}

void TensorAccesses::nextRound(scf::ForOp loop) {
  SmallVector<TensorAccess> before = std::exchange(accesses, {});
  for (TensorAccess &access : before) {
    if (loop->isProperAncestor(access.op) && (!access.round || loop->isProperAncestor(access.round)))
      access.round = loop;
    add(access);
  }
}

bool tile::mayConflict(const TensorAccess &earlier, const TensorAccess &later) {
  SliceOp from = earlier.slice, to = later.slice;
  return from.getTensor() == to.getTensor() &&
         (earlier.kind == AccessKind::write || later.kind == AccessKind::write ||
          earlier.kind != later.kind) &&
         relate(from, to, earlier.round) != BoxRelation::disjoint;
}

/// Whether each element that both store is stored by one thread, which does it in order.
static bool haveSameThreads(const TensorAccess &earlier, const TensorAccess &later) {
  auto from = dyn_cast<StoreOp>(earlier.op), to = dyn_cast<StoreOp>(later.op);
  return from && to && !earlier.asynchronous && !later.asynchronous &&
         from.getValue().getType() == to.getValue().getType() &&
         from->getParentOfType<RoleOp>() == to->getParentOfType<RoleOp>() &&
         relate(earlier.slice, later.slice, earlier.round) == BoxRelation::same;
}

bool tile::needsBarrier(const TensorAccess &earlier, const TensorAccess &later) {
  return mayConflict(earlier, later) && !haveSameThreads(earlier, later);
}

SmallVector<TensorAccess, 2> tile::tensorAccessesOf(Operation *op) {
  SmallVector<TensorAccess, 2> accesses;
  auto add = [&](Value memory, AccessKind kind, bool asynchronous = false) {
    if (auto slice = memory.getDefiningOp<SliceOp>())
      accesses.push_back({op, slice, kind, asynchronous});
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](CopyOp copy) {
        add(copy.getSource(), AccessKind::read, copy.getAtom() == CopyAtom::tma);
        add(copy.getDestination(), AccessKind::write, copy.getAtom() == CopyAtom::tma);
      })
      .Case([&](CopyAsyncOp copy) { add(copy.getSource(), AccessKind::read, true); })
      .Case<LoadOp, LoadIndexOp>([&](auto load) { add(load.getSource(), AccessKind::read); })
      .Case([&](StoreOp store) {
        add(store.getDestination(), AccessKind::write, store.getAtom() == CopyAtom::tma);
      })
      .Case([&](AtomicAddOp atomic) { add(atomic.getDestination(), AccessKind::add); });
  return accesses;
}

SmallVector<TensorAccess> tile::tensorAccessesIn(Operation *root) {
  SmallVector<TensorAccess> accesses;
  root->walk([&](Operation *op) { llvm::append_range(accesses, tensorAccessesOf(op)); });
  return accesses;
}

bool tile::isMetLater(const TensorAccess &access, Operation *root) {
  SmallVector<scf::ForOp> rounds = {scf::ForOp()};
  for (auto loop = access.op->getParentOfType<scf::ForOp>(); loop; loop = loop->getParentOfType<scf::ForOp>())
    rounds.push_back(loop);
  return llvm::any_of(tensorAccessesIn(root), [&](const TensorAccess &other) {
    return llvm::any_of(rounds, [&](scf::ForOp round) {
      TensorAccess earlier = access;
      earlier.round = round;
      return !(earlier == other) && mayConflict(earlier, other);
    });
  });
}
