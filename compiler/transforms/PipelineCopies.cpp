// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards no loop of a kernel without roles is marked as a pipeline: each of its copies that cp.async can
/// make is asynchronous and fills slots, and the loop waits for them before it reads. How far they run ahead
/// is the stages' business.

#include "compiler/analysis/CopyGroups.h"
#include "compiler/analysis/CpAsyncAccess.h"
#include "compiler/analysis/Remarks.h"
#include "compiler/transforms/FitSlots.h"
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
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
      : loop(loop), copies(copies), slots(slots), rewriter(loop.getContext()) {}

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
    for (const GroupedCopy &copy : copies) {
      AllocSharedOp buffer = copy.buffer;
      giveSlots(buffer, slots);
      auto op = cast<CopyOp>(copy.op);
      rewriter.setInsertionPoint(op);
      op.getDestinationMutable().assign(slotAt(buffer, filling, op.getLoc()));
      op.setAtom(CopyAtom::cp_async);
    }
  }

  void readSlots() {
    Location loc = copies.front().op->getLoc();
    CommitCopiesOp::create(rewriter, loc);
    AwaitCopiesOp::create(rewriter, loc, 0);
    SyncOp::create(rewriter, loc); // what other threads copied, too
    for (const GroupedCopy &copy : copies) {
      AllocSharedOp buffer = copy.buffer;
      Value slot = slotAt(buffer, reading, loc);
      llvm::SmallPtrSet<Operation *, 4> slotOps;
      for (Operation *user : buffer.getBuffer().getUsers())
        if (isa<SlotOp>(user))
          slotOps.insert(user);
      readInstead(buffer.getBuffer(), slot, slotOps);
    }
    for (Operation *view : replaced)
      view->erase();
  }

  Value slotAt(AllocSharedOp buffer, Value cursor, Location loc) {
    return SlotOp::create(rewriter, loc, buffer.getBuffer().getType().slot(), buffer, cursor);
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
  int64_t slots;
  IRRewriter rewriter;
  Value filling, reading;
  SmallVector<Operation *> replaced; ///< views of buffers, inner ones first
};

struct PipelineCopies : impl::PipelineCopiesBase<PipelineCopies> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    const Target *target = program::findTarget(kernel);
    if (!target) {
      kernel.emitError("the module has no 'program.target'");
      return signalPassFailure();
    }
    CopyGroups found =
        findCopyGroups(kernel, [&](CopyOp copy) { return enable && canPipeline(copy, *target); });
    // Where nothing runs ahead there are no slots to fill.
    llvm::erase_if(found.groups, [](const std::unique_ptr<CopyGroup> &group) { return group->slots < 2; });
    if (!found.groups.empty() && failed(fitSlots(kernel, found)))
      return signalPassFailure();
    if (enable)
      kernel.walk([&](CopyOp copy) { reportOrdinary(copy, found, *target); });
    llvm::MapVector<Operation *, SmallVector<GroupedCopy>> loops;
    for (auto &group : found.groups)
      if (group->slots > 1)
        llvm::append_range(loops[group->block->getParentOp()], group->copies);
    for (auto &[loop, copies] : loops) {
      int64_t slots = found.groupOf(cast<CopyOp>(copies.front().op))->slots;
      CopyPipeliner(cast<scf::ForOp>(loop), copies, slots).run();
    }
    kernel.walk([](scf::ForOp loop) { loop->removeDiscardableAttr(TileDialect::pipelineAttrName); });
  }

  /// Whether the copy fills shared memory in a pipelined loop.
  static bool isInPipeline(CopyOp copy) {
    return isLoad(copy) && copy->getParentOp()->hasAttr(TileDialect::pipelineAttrName);
  }

  static std::string problemOf(CopyOp copy, const Target &target) {
    return cpAsyncProblem(copy.getSource().getDefiningOp<SliceOp>(),
                          cast<SharedType>(copy.getDestination().getType()), target);
  }

  static bool canPipeline(CopyOp copy, const Target &target) {
    return isInPipeline(copy) && copy.getAtom() == CopyAtom::simt && problemOf(copy, target).empty();
  }

  static void reportOrdinary(CopyOp copy, const CopyGroups &found, const Target &target) {
    if (!isInPipeline(copy) || !target.cpAsync)
      return;
    std::string problem = problemOf(copy, target);
    for (const Obstacle &obstacle : found.obstacles)
      if (obstacle.culprit == copy)
        problem = obstacle.reason;
    if (!problem.empty())
      emitRemark(copy, RemarkId::copyNotAhead) << "copy does not run ahead of its loop: " << problem;
  }
};

} // namespace
} // namespace tlc::tile
