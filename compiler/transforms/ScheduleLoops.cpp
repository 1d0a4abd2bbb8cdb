// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards each operation of a loop with asynchronous products has its stage. The
/// loop becomes a ScheduleProblem (compiler/solvers). Products overlap in two ways: the completion of one
/// that only accumulates may be needed one round after its issue, so that the next is issued before; and what
/// leads from one product to another (the softmax) may run a round ahead, under that other product.

#include "compiler/analysis/LoopProblem.h"
#include "compiler/analysis/LoopProducts.h"
#include "compiler/analysis/Remarks.h"
#include "compiler/analysis/RoundRegisters.h"
#include "compiler/solvers/ListScheduler.h"
#include "compiler/transforms/CopyStages.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/ReadersFirst.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>

namespace tlc::tile {
#define GEN_PASS_DEF_SCHEDULELOOPS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

class LoopScheduler {
public:
  LoopScheduler(scf::ForOp loop) : loop(loop) {}

  void run() {
    auto body = loop.getBody()->without_terminator();
    bool hasProducts = llvm::any_of(body, [](Operation &op) { return isProductInFlight(&op); });
    bool byHand = llvm::any_of(loop.getBody()->getOps<CompletionOpInterface>(),
                               [](CompletionOpInterface wait) { return wait.getNumInFlight() > 0; });
    if (!hasProducts || byHand)
      return;
    if (std::string reason = schedule(); !reason.empty())
      emitRemark(loop, RemarkId::sequentialProducts)
          << "the products of this loop do not overlap: " << reason;
  }

private:
  /// Rings of roles that the compiler makes are not in the program: what waits there stands for its copy.
  std::string nameOf(Operation &op) {
    auto roles = loop->getParentOfType<RolesOp>();
    return roles && roles.getAutomatic() && isa<AcquireOp, AwaitOp, PublishOp>(op) ? "copy"
                                                                                   : describeStatement(&op);
  }

  /// Gives the operations their stages, or says why not.
  std::string schedule() {
    for (Operation &op : loop.getBody()->without_terminator())
      if (!toleratesOverlap(op) && !isProductInFlight(&op) && !isProductWait(&op) && !isRelease(&op))
        return "the " + nameOf(op) + placeOf(&op) + " keeps its place between them";
    putReadersFirst(loop);
    LoopProblem described(loop);
    if (std::string reason = described.protectProducts(); !reason.empty())
      return reason;
    ScheduleProblem &problem = described.problem;
    assert(problem.check() && "dependences follow the program order");
    auto roles = loop->getParentOfType<RolesOp>();
    bool isAutomatic = roles && roles.getAutomatic();
    const ScheduleProblem inRound = problem;
    bool isAhead = isAutomatic && !overlapProducts(problem).empty();
    bool overlaps = described.delayCompletions() || isAhead;
    Result<Schedule> solved = solveSchedule(problem);
    if (isAhead && solved &&
        !fitsRegisters(described.ops, *solved)) { // what a round computes for the next one stays out
      problem = inRound;
      overlaps = described.delayCompletions();
      solved = solveSchedule(problem);
    }
    if (!solved)
      return "each needs the one before, in a chain that is longer than the two iterations that may be under "
             "way";
    assert(verify(problem, *solved));
    if (!overlaps && !(isAutomatic && overlapInRound(described.ops, *solved)))
      return "the result of a product is used in the iteration that starts it";
    if (std::string reason = checkSlots(described.ops, *solved); !reason.empty())
      return reason;
    for (auto [op, slot] : llvm::zip_equal(described.ops, solved->slots))
      op->setDiscardableAttr(TileDialect::stageAttrName,
                             StageAttr::get(loop.getContext(), slot.stage, slot.order));
    return "";
  }

  /// Whether a thread of the role has registers for the products, beside those that addresses and what is
  /// computed at the time take.
  bool fitsRegisters(ArrayRef<Operation *> ops, const Schedule &solved) {
    constexpr int64_t others = 24;
    auto role = loop->getParentOfType<RoleOp>();
    return !role || !role.getRegisters() ||
           registersOfProducts(loop, ops, solved) + others <= int64_t(*role.getRegisters());
  }

  /// Whether a product is started before the wait for another one of its round.
  static bool overlapInRound(ArrayRef<Operation *> ops, const Schedule &solved) {
    int64_t inFlight = 0;
    for (int number : solved.roundOrder()) {
      if (isProductInFlight(ops[size_t(number)]) && ++inFlight > 1)
        return true;
      if (isProductWait(ops[size_t(number)]))
        --inFlight;
    }
    return false;
  }

  /// A slot that is awaited in one round and released in the next is taken while the next round's are.
  static std::string checkSlots(ArrayRef<Operation *> ops, const Schedule &solved) {
    struct Use {
      int64_t releases = 0;
      std::array<bool, 2> awaited = {}, released = {}; ///< by stage
    };
    llvm::MapVector<Value, Use> uses;
    for (auto [op, slot] : llvm::zip_equal(ops, solved.slots)) {
      Synchronisation order = synchronisationOf(op);
      if (order.event == SlotEvent::awaited) {
        uses[order.ring].awaited[size_t(slot.stage)] = true;
      } else if (order.event == SlotEvent::released) {
        ++uses[order.ring].releases;
        uses[order.ring].released[size_t(slot.stage)] = true;
      }
    }
    for (const auto &[ring, use] : uses)
      if (int64_t slots = cast<RingType>(ring.getType()).getSlots();
          use.awaited[0] && (use.awaited[1] || use.released[1]) && slots < 2 * use.releases)
        return llvm::formatv("{0} has {1} slots, but two iterations take {2}", describe(ring, "a ring"),
                             slots, 2 * use.releases);
    return "";
  }

  scf::ForOp loop;
};

struct ScheduleLoops : impl::ScheduleLoopsBase<ScheduleLoops> {
  using Base::Base;

  void runOnOperation() override {
    getOperation().walk([&](scf::ForOp loop) {
      if (!scheduleCopies(loop) && overlap)
        LoopScheduler(loop).run();
    });
  }
};

} // namespace
} // namespace tlc::tile
