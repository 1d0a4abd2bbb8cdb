// SPDX-License-Identifier: Apache-2.0
/// \file
/// What tells the copies' places is found by a walk along operands, also around the loop.
#include "compiler/transforms/CopyStages.h"

#include "dialects/tile/Tile.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

using Operations = llvm::SetVector<Operation *>;

/// Adds what these operations of a loop's body need of it, also of the iteration before.
void addNeeded(scf::ForOp loop, Operations &ops) {
  Block *body = loop.getBody();
  for (size_t i = 0; i < ops.size(); ++i)
    ops[i]->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        if (auto argument = dyn_cast<BlockArgument>(operand);
            argument && argument.getOwner() == body && argument != loop.getInductionVar())
          operand = loop.getYieldedValues()[argument.getArgNumber() - 1];
        if (Operation *definition = operand.getDefiningOp())
          if (Operation *needed = body->findAncestorOpInBlock(*definition))
            ops.insert(needed);
      }
    });
}

bool isCopyOrCommit(Operation *op) {
  return completionOf(op) == Completion::copyGroup || isa<CommitCopiesOp>(op);
}

} // namespace

bool tile::scheduleCopies(scf::ForOp loop) {
  Block *body = loop.getBody();
  Operations ahead, reads;
  int64_t slots = 1;
  if (llvm::none_of(*body, [](Operation &op) { return completedBy(&op) == Completion::copyGroup; }))
    return false; // a role that only starts them
  for (Operation &op : *body) {
    if (completionOf(&op) == Completion::copyGroup)
      for (Value operand : op.getOperands())
        if (auto slot = operand.getDefiningOp<SlotOp>())
          slots = slot.getCursor().getType().getSlots();
    if (isCopyOrCommit(&op))
      ahead.insert(&op);
  }
  if (slots < 2)
    return false;
  addNeeded(loop, ahead);
  for (Operation *op : ahead)
    if (isa<LoadIndexOp>(op)) // of memory that the kernel does not write
      reads.insert(op);
  addNeeded(loop, reads);
  if (llvm::any_of(reads, isCopyOrCommit))
    reads.clear(); // each place depends on the copy before
  int64_t atPlaces = 0, atCopies = reads.empty() ? 0 : 1, atRest = atCopies + slots - 1;
  constexpr int64_t waitFirst = 0, thenCopy = 1, thenCompute = 2;
  for (Operation &op : body->without_terminator()) {
    // The next copies fill the slot that was read last, once all threads have met.
    auto isWait = [](Operation *at) { return at && completedBy(at) == Completion::copyGroup; };
    bool waits = isWait(&op) || (isa<SyncOp>(op) && isWait(op.getPrevNode()));
    bool early = ahead.contains(&op);
    int64_t stage = reads.contains(&op) ? atPlaces : early ? atCopies : atRest;
    int64_t order = early ? thenCopy : waits ? waitFirst : thenCompute;
    op.setDiscardableAttr(TileDialect::stageAttrName, StageAttr::get(loop.getContext(), stage, order));
  }
  return true;
}
