// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors of one argument may be one tensor, those of different arguments are not; boxes of slices decide.
#include "compiler/analysis/TensorAccesses.h"

#include "dialects/tile/Names.h"

#include "llvm/ADT/STLExtras.h"

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
  return declarationOf(from.getTensor()) == declarationOf(to.getTensor()) &&
         (earlier.kind == AccessKind::write || later.kind == AccessKind::write ||
          earlier.kind != later.kind) &&
         relate(from, to, earlier.round) != BoxRelation::disjoint && !areApart(from, to);
}

/// Whether each element that both store is stored by one thread, which does it in order.
static bool haveSameThreads(const TensorAccess &earlier, const TensorAccess &later) {
  Value from = earlier.fragment, to = later.fragment;
  return from && to && earlier.kind == AccessKind::write && later.kind == AccessKind::write &&
         !earlier.asynchronous && !later.asynchronous && from.getType() == to.getType() &&
         earlier.op->getParentOfType<RoleOp>() == later.op->getParentOfType<RoleOp>() &&
         relate(earlier.slice, later.slice, earlier.round) == BoxRelation::same;
}

bool tile::needsBarrier(const TensorAccess &earlier, const TensorAccess &later) {
  return mayConflict(earlier, later) && !haveSameThreads(earlier, later);
}

SmallVector<TensorAccess, 2> tile::tensorAccessesOf(Operation *op) {
  SmallVector<TensorAccess, 2> accesses;
  for (const MemoryAccess &access : memoryAccessesOf(op))
    if (auto slice = access.memory.getDefiningOp<SliceOp>())
      accesses.push_back({.op = op,
                          .slice = slice,
                          .kind = access.kind,
                          .asynchronous = access.isAsynchronous(),
                          .mayBeGeneric = access.mayBeGeneric,
                          .fragment = access.fragment});
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
