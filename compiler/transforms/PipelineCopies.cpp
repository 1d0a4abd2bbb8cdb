// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards the copies that a plan of one role lets run ahead fill slots, and the loop waits for them
/// before it reads. How far they run ahead is the stages' business.

#include "compiler/analysis/RolePlan.h"
#include "compiler/strategies/FitSlots.h"
#include "compiler/transforms/Passes.h"
#include "dialects/tile/SharedSlice.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tlc::tile {
#define GEN_PASS_DEF_PIPELINECOPIES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Makes the copies of one loop asynchronous.
class CopyPipeliner {
public:
  CopyPipeliner(scf::ForOp loop, ArrayRef<GroupedCopy> copies, int64_t slots)
      : loop(loop), copies(copies), slots(slots), rewriter(loop.getContext()) {
    for (const GroupedCopy &copy : copies)
      buffers.insert(copy.buffer);
  }

  void run() {
    addCursors();
    moveCopies();
    startCopies();
    readSlots();
  }

private:
  /// One counts the slots that are filled, the other those that are read.
  void addCursors() {
    rewriter.setInsertionPoint(loop);
    Location loc = loop.getLoc();
    Value first = CursorOp::create(rewriter, loc, CursorType::get(loop.getContext(), slots));
    auto advance = [](OpBuilder &builder, Location where, ArrayRef<BlockArgument> cursors) {
      return llvm::map_to_vector(
          cursors, [&](BlockArgument cursor) -> Value { return AdvanceOp::create(builder, where, cursor); });
    };
    DictionaryAttr attributes = loop->getDiscardableAttrDictionary();
    loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
        rewriter, {first, first}, /*replaceInitOperandUsesInLoop=*/false, advance));
    loop->setDiscardableAttrs(attributes);
    filling = loop.getRegionIterArgs().take_back(2)[0];
    reading = loop.getRegionIterArgs().take_back(2)[1];
  }

  /// To the beginning of the iteration, with what tells their places.
  void moveCopies() {
    Block *body = loop.getBody();
    llvm::SetVector<Operation *> needed;
    auto need = [&](auto &&self, Operation *op) -> void {
      if (!needed.insert(op))
        return;
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *definition = operand.getDefiningOp())
            if (Operation *inBody = body->findAncestorOpInBlock(*definition); inBody && inBody != op)
              self(self, inBody);
      });
    };
    for (const GroupedCopy &copy : copies)
      need(need, copy.op);
    SmallVector<Operation *> inOrder(needed.begin(), needed.end());
    llvm::sort(inOrder, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    Operation *last = nullptr;
    for (Operation *op : inOrder) {
      last ? op->moveAfter(last) : op->moveBefore(body, body->begin());
      last = op;
    }
    rewriter.setInsertionPointAfter(last);
  }

  void startCopies() {
    OpBuilder::InsertionGuard guard(rewriter);
    for (Value buffer : buffers)
      giveSlots(buffer, slots);
    for (const GroupedCopy &copy : copies) {
      auto op = cast<CopyOp>(copy.op);
      rewriter.setInsertionPoint(op);
      Value slot = createSlot(rewriter, op.getLoc(), copy.buffer, filling);
      RowsOp rows = rowsFilledBy(op);
      op.getDestinationMutable().assign(rows ? rowsOf(slot, rows, rewriter) : slot);
    }
  }

  void readSlots() {
    Location loc = copies.front().op->getLoc();
    CommitCopiesOp::create(rewriter, loc);
    AwaitCopiesOp::create(rewriter, loc, 0);
    SyncOp::create(rewriter, loc); // what other threads copied, too
    for (Value buffer : buffers) {
      Value slot = createSlot(rewriter, loc, buffer, reading);
      llvm::SmallPtrSet<Operation *, 4> slotOps;
      for (Operation *user : buffer.getUsers())
        if (isa<SlotOp>(user))
          slotOps.insert(user);
      readInstead(buffer, slot, slotOps);
    }
    for (Operation *view : replaced)
      view->erase();
  }

  /// Views of a buffer, wherever they are, become views of the slot.
  void readInstead(Value from, Value to, const llvm::SmallPtrSetImpl<Operation *> &kept) {
    for (OpOperand &use : llvm::make_early_inc_range(from.getUses())) {
      Operation *user = use.getOwner();
      if (kept.contains(user))
        continue;
      if (!viewedTile(user)) {
        use.set(to);
        continue;
      }
      if (auto slice = dyn_cast<SliceSharedOp>(user)) {
        readInstead(slice, to);
      } else {
        Operation *view = rewriter.clone(*user);
        view->setOperand(0, to);
        readInstead(user->getResult(0), view->getResult(0), kept);
      }
      replaced.push_back(user);
    }
  }

  /// Slices stand before each access: what their positions are made of may come after the slot.
  void readInstead(SliceSharedOp slice, Value tile) {
    for (OpOperand &use : llvm::make_early_inc_range(slice->getUses())) {
      OpBuilder builder(use.getOwner());
      Operation *again = builder.clone(*slice);
      again->setOperand(0, tile);
      use.set(again->getResult(0));
    }
  }

  scf::ForOp loop;
  ArrayRef<GroupedCopy> copies;
  llvm::SmallSetVector<Value, 4> buffers;
  int64_t slots;
  IRRewriter rewriter;
  Value filling, reading;
  SmallVector<Operation *> replaced; ///< views of buffers, inner ones first
};

struct PipelineCopies : impl::PipelineCopiesBase<PipelineCopies> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    RolePlanAttr plan = rolePlanOf(kernel);
    if (plan && plan.getRoles().size() == 1) {
      FailureOr<CopyGroups> groups = readRolePlan(kernel);
      if (failed(groups))
        return signalPassFailure();
      removePlan(kernel);
      struct Ahead {
        SmallVector<GroupedCopy> copies;
        int64_t slots = 1; ///< the same of all groups of a loop
      };
      llvm::MapVector<Operation *, Ahead> loops;
      for (auto &group : groups->groups) {
        Ahead &ahead = loops[group->block->getParentOp()];
        llvm::append_range(ahead.copies, group->copies);
        ahead.slots = group->slots;
      }
      for (auto &[loop, ahead] : loops)
        CopyPipeliner(cast<scf::ForOp>(loop), ahead.copies, ahead.slots).run();
    }
    kernel.walk([](scf::ForOp loop) { loop->removeDiscardableAttr(TileDialect::pipelineAttrName); });
  }

  static void removePlan(KernelOp kernel) {
    kernel.walk([](Operation *op) {
      for (StringRef planned :
           {TileDialect::rolePlanAttrName, TileDialect::roleAttrName, TileDialect::channelAttrName})
        op->removeDiscardableAttr(planned);
    });
  }
};

} // namespace
} // namespace tlc::tile
