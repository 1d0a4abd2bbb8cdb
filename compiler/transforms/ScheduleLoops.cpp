// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards each operation of a loop with asynchronous products has its stage. The
/// loop becomes a ScheduleProblem (compiler/solvers): a product's completion may be
/// needed one round after its issue, so that the next product is issued before.

#include "compiler/solvers/ListScheduler.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tlc::tile {
#define GEN_PASS_DEF_SCHEDULELOOPS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// A product whose accumulator only travels around the loop: the next product may be
/// issued on it while it is in flight.
struct AccumulatorChain {
  GemmAsyncOp product;
  GemmWaitOp wait;
};

/// The chain of this product, or nothing if its result is used in other ways.
std::optional<AccumulatorChain> chainOf(GemmAsyncOp product, scf::ForOp loop) {
  if (!product.getResult().hasOneUse())
    return std::nullopt;
  auto wait = dyn_cast<GemmWaitOp>(*product.getResult().user_begin());
  if (!wait || wait.getPending() != 0 || wait->getBlock() != loop.getBody() || !wait.getResult().hasOneUse())
    return std::nullopt;
  OpOperand &use = *wait.getResult().use_begin();
  if (!isa<scf::YieldOp>(use.getOwner()))
    return std::nullopt;
  BlockArgument carried = loop.getRegionIterArg(use.getOperandNumber());
  if (!carried.hasOneUse() || product.getAcc() != carried)
    return std::nullopt;
  return AccumulatorChain{product, wait};
}

ScheduleOp describe(Operation &op) {
  ScheduleOp described;
  described.name = op.getName().getStringRef().str();
  if (isa<GemmAsyncOp>(op)) {
    described.latencyClass = LatencyClass::product;
    described.latency = 100;
    described.cycles = 100;
  }
  return described;
}

/// Whether two operations must keep their order: synchronisation and memory, except among plain reads.
bool isOrdered(Operation &op) { return !isMemoryEffectFree(&op); }

class LoopScheduler {
public:
  LoopScheduler(scf::ForOp loop) : loop(loop) {}

  LogicalResult run() {
    SmallVector<AccumulatorChain> chains;
    for (auto product : loop.getBody()->getOps<GemmAsyncOp>()) {
      std::optional<AccumulatorChain> chain = chainOf(product, loop);
      if (!chain)
        return success(); // its result is needed in the same iteration: sequential
      chains.push_back(*chain);
    }
    if (chains.empty())
      return success();
    build(chains);
    if (Result<void> valid = problem.check(); !valid)
      return loop.emitError("cannot schedule this loop: ") << valid.error().message;
    Result<Schedule> schedule = solveSchedule(problem);
    if (!schedule)
      return loop.emitError("cannot schedule this loop: ") << schedule.error().message;
    if (Result<void> valid = verify(problem, *schedule); !valid)
      return loop.emitError("wrong schedule: ") << valid.error().message;
    for (auto [op, slot] : llvm::zip_equal(ops, schedule->slots))
      op->setDiscardableAttr(TileDialect::stageAttrName,
                             StageAttr::get(loop.getContext(), slot.stage, slot.order));
    return success();
  }

private:
  void build(ArrayRef<AccumulatorChain> chains) {
    for (Operation &op : loop.getBody()->without_terminator()) {
      numbers[&op] = problem.addOp(describe(op));
      ops.push_back(&op);
    }
    for (Operation *op : ops)
      addOperandDependences(op);
    // Memory and synchronisation stay in program order, but the completion of a product may slip by a round.
    Operation *previous = nullptr;
    for (Operation *op : ops) {
      if (!isOrdered(*op) || isa<GemmWaitOp>(op))
        continue;
      if (previous && !isa<ReleaseOp>(previous))
        problem.addDependence(numbers[previous], numbers[op], 0, 0, DependenceKind::issue);
      previous = op;
    }
    for (const AccumulatorChain &chain : chains) {
      int product = numbers[chain.product], wait = numbers[chain.wait];
      problem.addDependence(product, wait, 0, /*delay=*/1);
      problem.addDependence(product, product, 1, 0, DependenceKind::issue);
      for (Operation *op : ops)
        if (isa<ReleaseOp>(op) && chain.wait->isBeforeInBlock(op))
          problem.addDependence(wait, numbers[op], 0, 0, DependenceKind::issue);
    }
  }

  void addOperandDependences(Operation *op) {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *definition = operand.getDefiningOp();
        if (auto argument = dyn_cast<BlockArgument>(operand);
            argument && argument.getOwner() == loop.getBody() && argument != loop.getInductionVar()) {
          Value yielded = loop.getYieldedValues()[argument.getArgNumber() - 1];
          Operation *producer = yielded.getDefiningOp();
          // The chain itself may be in flight when the next product starts.
          if (producer && numbers.contains(producer) && !isa<GemmWaitOp>(producer))
            problem.addDependence(numbers[producer], numbers[op], 1);
        } else if (definition && numbers.contains(definition) && definition != op && !isa<GemmWaitOp>(op)) {
          problem.addDependence(numbers[definition], numbers[op], 0);
        }
      }
    });
  }

  scf::ForOp loop;
  ScheduleProblem problem;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, int> numbers;
};

struct ScheduleLoops : impl::ScheduleLoopsBase<ScheduleLoops> {
  using Base::Base;

  void runOnOperation() override {
    if (!overlap)
      return;
    auto result = getOperation().walk([](scf::ForOp loop) { return WalkResult(LoopScheduler(loop).run()); });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace tlc::tile
