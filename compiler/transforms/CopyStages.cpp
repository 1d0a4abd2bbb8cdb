// SPDX-License-Identifier: Apache-2.0
/// \file
/// What tells the copies' places is found by a walk along operands, also around the loop.
#include "compiler/transforms/CopyStages.h"

#include "dialects/tile/Tile.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

bool tile::scheduleCopies(scf::ForOp loop) {
  Block *body = loop.getBody();
  llvm::SetVector<Operation *> ahead;
  int64_t slots = 1;
  if (llvm::none_of(*body, [](Operation &op) { return completedBy(&op) == Completion::copyGroup; }))
    return false; // a role that only starts them
  for (Operation &op : *body) {
    if (completionOf(&op) == Completion::copyGroup)
      for (Value operand : op.getOperands())
        if (auto slot = operand.getDefiningOp<SlotOp>())
          slots = slot.getCursor().getType().getSlots();
    if (completionOf(&op) == Completion::copyGroup || isa<CommitCopiesOp>(op))
      ahead.insert(&op);
  }
  if (slots < 2)
    return false;
  for (size_t i = 0; i < ahead.size(); ++i)
    ahead[i]->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        if (auto argument = dyn_cast<BlockArgument>(operand);
            argument && argument.getOwner() == body && argument != loop.getInductionVar())
          operand = loop.getYieldedValues()[argument.getArgNumber() - 1];
        if (Operation *definition = operand.getDefiningOp())
          if (Operation *needed = body->findAncestorOpInBlock(*definition))
            ahead.insert(needed);
      }
    });
  constexpr int64_t atWait = 0, atCopies = 1, atRest = 2;
  for (Operation &op : body->without_terminator()) {
    bool early = ahead.contains(&op);
    // The next copies fill the slot that was read last, once all threads have met.
    auto isWait = [](Operation *at) { return at && completedBy(at) == Completion::copyGroup; };
    bool waits = isWait(&op) || (isa<SyncOp>(op) && isWait(op.getPrevNode()));
    op.setDiscardableAttr(TileDialect::stageAttrName, StageAttr::get(loop.getContext(), early ? 0 : slots - 1,
                                                                     early   ? atCopies
                                                                     : waits ? atWait
                                                                             : atRest));
  }
  return true;
}
