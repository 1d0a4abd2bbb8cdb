// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards each operation of a loop with asynchronous products has its stage. The
/// loop becomes a ScheduleProblem (compiler/solvers): a product's completion may be
/// needed one round after its issue, so that the next product is issued before.

#include "compiler/solvers/ListScheduler.h"
#include "compiler/transforms/Passes.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

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
  if (use.getOwner() != loop.getBody()->getTerminator())
    return std::nullopt;
  BlockArgument carried = loop.getRegionIterArg(use.getOperandNumber());
  if (!carried.hasOneUse() || product.getAcc() != carried)
    return std::nullopt;
  return AccumulatorChain{product, wait};
}

ScheduleOp toScheduleOp(Operation &op) {
  ScheduleOp described;
  described.name = op.getName().getStringRef().str();
  if (isa<GemmAsyncOp>(op)) {
    described.latencyClass = LatencyClass::product;
    described.latency = 100;
    described.cycles = 100;
  }
  return described;
}

/// Whether the operation may run while products of its own or the next iteration are in flight: it reads, but
/// neither writes nor signals.
bool toleratesOverlap(Operation &op) { return isMemoryEffectFree(&op) || isa<AwaitOp, LoadOp>(op); }

class LoopScheduler {
public:
  LoopScheduler(scf::ForOp loop) : loop(loop) {}

  void run() {
    auto products = loop.getBody()->getOps<GemmAsyncOp>();
    auto waits = loop.getBody()->getOps<GemmWaitOp>();
    bool byHand = llvm::any_of(waits, [](GemmWaitOp wait) { return wait.getPending() > 0; });
    if (products.empty() || byHand)
      return;
    if (std::string reason = collectChains(); !reason.empty()) {
      loop.emitRemark("[sequential-products] the products of this loop do not overlap: ") << reason;
      return;
    }
    build();
    assert(problem.check() && "dependences follow the program order");
    Result<Schedule> schedule = solveSchedule(problem);
    assert(schedule && verify(problem, *schedule) && "chains leave room for one round of delay");
    for (auto [op, slot] : llvm::zip_equal(ops, schedule->slots))
      op->setDiscardableAttr(TileDialect::stageAttrName,
                             StageAttr::get(loop.getContext(), slot.stage, slot.order));
  }

private:
  /// Why the completion of products cannot slip into the next iteration; empty if it can.
  std::string collectChains() {
    llvm::MapVector<Value, int64_t> releases;
    llvm::SmallPtrSet<Value, 4> releasedLate;
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (auto product = dyn_cast<GemmAsyncOp>(op)) {
        std::optional<AccumulatorChain> chain = chainOf(product, loop);
        if (!chain)
          return "the result of a product is used in the iteration that starts it";
        chains.push_back(*chain);
      } else if (auto release = dyn_cast<ReleaseOp>(op)) {
        ++releases[release.getRing()];
        if (llvm::any_of(chains, [&](auto &chain) { return chain.wait->isBeforeInBlock(&op); }))
          releasedLate.insert(release.getRing());
      } else if (!toleratesOverlap(op) && !isa<GemmWaitOp>(op)) {
        return ("'" + op.getName().getStringRef() + "' keeps its place between them").str();
      }
    }
    // A slot that is released one round later is taken while the next round's are.
    for (auto [ring, perRound] : releases)
      if (int64_t slots = cast<RingType>(ring.getType()).getSlots();
          releasedLate.contains(ring) && slots < 2 * perRound)
        return llvm::formatv("{0} has {1} slots, but two iterations take {2}", describe(ring, "a ring"),
                             slots, 2 * perRound);
    return "";
  }

  void build() {
    for (Operation &op : loop.getBody()->without_terminator()) {
      numbers[&op] = problem.addOp(toScheduleOp(op));
      ops.push_back(&op);
    }
    for (Operation *op : ops)
      addOperandDependences(op);
    // Reads and awaits stay in program order. A release follows what is before it, and nothing waits for one.
    Operation *previous = nullptr;
    for (Operation *op : ops) {
      if (isMemoryEffectFree(op) || isa<GemmWaitOp>(op))
        continue;
      if (previous)
        problem.addDependence(numbers[previous], numbers[op], 0, 0, DependenceKind::issue);
      if (!isa<ReleaseOp>(op))
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
  SmallVector<AccumulatorChain> chains;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, int> numbers;
};

struct ScheduleLoops : impl::ScheduleLoopsBase<ScheduleLoops> {
  using Base::Base;

  void runOnOperation() override {
    if (overlap)
      getOperation().walk([](scf::ForOp loop) { LoopScheduler(loop).run(); });
  }
};

} // namespace
} // namespace tlc::tile
