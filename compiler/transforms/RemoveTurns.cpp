// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards the warpgroups of a role meet within no turn, where one would wait for the others to come and
/// they for their turns. Turns are for speed alone, so those go.

#include "compiler/analysis/Meetings.h"
#include "compiler/analysis/Remarks.h"
#include "compiler/transforms/Passes.h"
#include "dialects/tile/Names.h"

namespace tlc::tile {
#define GEN_PASS_DEF_REMOVETURNS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Where the turn ends that begins here; null if that is not in this block.
PassTurnOp endOf(TakeTurnOp turn) {
  for (Operation *op = turn->getNextNode(); op; op = op->getNextNode())
    if (auto end = dyn_cast<PassTurnOp>(op))
      return end;
  return PassTurnOp();
}

/// The first operation of the turn at which all warpgroups meet, or null.
Operation *meetingIn(TakeTurnOp turn, PassTurnOp end) {
  for (Operation *op = turn->getNextNode(); op != end; op = op->getNextNode()) {
    Operation *meeting = nullptr;
    op->walk([&](Operation *inner) {
      meeting = meets(inner) ? inner : nullptr;
      return meeting ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (meeting)
      return meeting;
  }
  return nullptr;
}

struct RemoveTurns : impl::RemoveTurnsBase<RemoveTurns> {
  void runOnOperation() override {
    SmallVector<TakeTurnOp> turns;
    getOperation().walk([&](TakeTurnOp turn) { turns.push_back(turn); });
    for (TakeTurnOp turn : turns) {
      PassTurnOp end = endOf(turn);
      Operation *meeting = end ? meetingIn(turn, end) : nullptr;
      if (!meeting)
        continue;
      emitRemark(turn, RemarkId::withoutTurns)
          << "the warpgroups take no turns here because all of them synchronise within one"
          << placeOf(meeting);
      turn.erase();
      end.erase();
    }
  }
};

} // namespace
} // namespace tlc::tile
