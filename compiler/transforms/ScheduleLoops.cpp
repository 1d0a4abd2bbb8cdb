// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards each operation of a loop with asynchronous products has its stage. The
/// loop becomes a ScheduleProblem (compiler/solvers). Products overlap in two ways: the completion of one
/// that only accumulates may be needed one round after its issue, so that the next is issued before; and what
/// leads from one product to another (the softmax) may run a round ahead, under that other product.

#include "compiler/analysis/CheapFragments.h"
#include "compiler/analysis/FactorRegisters.h"
#include "compiler/analysis/Remarks.h"
#include "compiler/solvers/ListScheduler.h"
#include "compiler/transforms/Passes.h"
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

/// The wait of the product's own iteration that completes it, or null. A product that adds to this one's
/// result completes later.
GemmWaitOp completionOf(GemmAsyncOp product) {
  for (Operation *user : product.getResult().getUsers()) {
    if (user->getBlock() != product->getBlock())
      continue;
    if (auto wait = dyn_cast<GemmWaitOp>(user))
      return wait.getPending() == 0 ? wait : GemmWaitOp();
    if (auto next = dyn_cast<GemmAsyncOp>(user))
      return completionOf(next);
  }
  return {};
}

/// What the first of the products that add to this one's accumulator begins with.
Value startOfSums(GemmAsyncOp product) {
  Value sums = product.getAcc();
  while (Operation *op = sums.getDefiningOp())
    if (auto wait = dyn_cast<GemmWaitOp>(op))
      sums = wait.getAcc();
    else if (auto earlier = dyn_cast<GemmAsyncOp>(op))
      sums = earlier.getAcc();
    else
      break;
  return sums;
}

/// Whether the operation computes elements of fragments that are worth keeping.
bool computes(Operation &op) {
  return llvm::any_of(op.getResults(),
                      [](Value result) {
                        return isa<RankedTensorType>(result.getType()) && !isCheapFragment(result);
                      }) &&
         !isa<GemmWaitOp>(op);
}

ScheduleOp toScheduleOp(Operation &op) {
  // These only order: a product takes longer than all else that a round does, so that what does not need it
  // comes before its wait; a release, for which another role waits, comes before what merely follows it.
  constexpr int64_t ofProduct = 1000, ofRelease = 100, ofOthers = 1;
  ScheduleOp described;
  described.name = isa<GemmAsyncOp>(op) ? "product" : callOf(op.getName().getStringRef());
  if (isa<GemmAsyncOp>(op)) {
    described.latencyClass = LatencyClass::product;
    described.latency = described.cycles = ofProduct;
  } else if (!computes(op)) {
    described.latencyClass = LatencyClass::immediate;
    described.latency = isa<ReleaseOp>(op) ? ofRelease : ofOthers;
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
    if (std::string reason = schedule(); !reason.empty())
      emitRemark(loop, RemarkId::sequentialProducts)
          << "the products of this loop do not overlap: " << reason;
  }

private:
  /// Gives the operations their stages, or says why not.
  std::string schedule() {
    for (Operation &op : loop.getBody()->without_terminator())
      if (!toleratesOverlap(op) && !isa<GemmAsyncOp, GemmWaitOp, ReleaseOp>(op))
        return "the " + describeStatement(&op) + placeOf(&op) + " keeps its place between them";
    build();
    if (std::string reason = protectFactors(); !reason.empty())
      return reason;
    if (std::string reason = protectSums(); !reason.empty())
      return reason;
    assert(problem.check() && "dependences follow the program order");
    auto roles = loop->getParentOfType<RolesOp>();
    bool overlaps = roles && roles.getAutomatic() && !overlapProducts(problem).empty();
    overlaps |= delayCompletions();
    if (!overlaps)
      return "the result of a product is used in the iteration that starts it";
    Result<Schedule> solved = solveSchedule(problem);
    if (!solved)
      return solved.error().message;
    assert(verify(problem, *solved));
    if (std::string reason = checkSlots(*solved); !reason.empty())
      return reason;
    for (auto [op, slot] : llvm::zip_equal(ops, solved->slots))
      op->setDiscardableAttr(TileDialect::stageAttrName,
                             StageAttr::get(loop.getContext(), slot.stage, slot.order));
    return "";
  }

  void build() {
    problem.maxStages = 2; // what tile-expand-pipeline can write
    for (Operation &op : loop.getBody()->without_terminator()) {
      numbers[&op] = problem.addOp(toScheduleOp(op));
      ops.push_back(&op);
    }
    for (Operation *op : ops)
      addOperandDependences(op);
    // Reads and awaits stay in program order. A release follows what is before it, and nothing waits for one.
    Operation *previous = nullptr;
    SmallVector<Operation *> waits;
    for (Operation *op : ops) {
      if (isa<GemmWaitOp>(op))
        waits.push_back(op);
      if (isMemoryEffectFree(op) || isa<GemmWaitOp>(op))
        continue;
      if (previous)
        problem.addDependence(numbers[previous], numbers[op], 0, 0, DependenceKind::issue);
      if (!isa<ReleaseOp>(op))
        previous = op;
      else
        for (Operation *wait : waits)
          problem.addDependence(numbers[wait], numbers[op], 0, 0, DependenceKind::issue);
    }
  }

  /// A product in flight reads its left factor's registers: it completes before they are written again, in
  /// the next iteration, too. Why that cannot be said of this loop, or nothing.
  std::string protectFactors() {
    for (Operation *op : ops) {
      auto product = dyn_cast<GemmAsyncOp>(op);
      if (!product || !isa<RankedTensorType>(product.getA().getType()))
        continue;
      FactorWriters writers = writersOf(product.getA(), FactorAliases::possible);
      GemmWaitOp wait = completionOf(product);
      SmallVector<Operation *> inBody;
      for (Operation *writer : llvm::concat<Operation *const>(writers.ops, writers.moves, writers.sources))
        if (Operation *ancestor = loop.getBody()->findAncestorOpInBlock(*writer))
          inBody.push_back(ancestor);
      bool movesEachRound = writers.madeForUse || writers.moves.contains(loop);
      if (!wait && (movesEachRound || !inBody.empty()))
        return "a product whose left factor is in registers is in flight when an iteration ends";
      if (movesEachRound)
        problem.addDependence(numbers[op], numbers[wait], 0, 0, DependenceKind::sameRound);
      for (Operation *writer : inBody)
        if (writer->isBeforeInBlock(product)) {
          problem.addDependence(numbers[writer], numbers[op], 0, 0, DependenceKind::issue);
          problem.addDependence(numbers[wait], numbers[writer], 1, 0, DependenceKind::order);
        } else if (wait->isBeforeInBlock(writer)) {
          problem.addDependence(numbers[wait], numbers[writer], 0, 0, DependenceKind::order);
        }
    }
    return "";
  }

  /// A product in flight writes its accumulator's registers: it completes before the operation that makes the
  /// accumulator executes again, unless the loop carries the sums. Why that cannot be said of this loop, or
  /// nothing.
  std::string protectSums() {
    for (Operation *op : ops) {
      auto product = dyn_cast<GemmAsyncOp>(op);
      if (!product)
        continue;
      GemmWaitOp wait = completionOf(product);
      FactorWriters writers = writersOf(startOfSums(product), FactorAliases::possible);
      for (Operation *writer : llvm::concat<Operation *const>(writers.ops, writers.sources)) {
        Operation *inBody = loop.getBody()->findAncestorOpInBlock(*writer);
        if (!inBody || !inBody->isBeforeInBlock(product))
          continue;
        if (!wait)
          return "a product whose accumulator the iteration makes is in flight when the iteration ends";
        problem.addDependence(numbers[wait], numbers[inBody], 1, 0, DependenceKind::order);
      }
    }
    return "";
  }

  /// Lets products that only accumulate complete one round later, where that takes no third stage. Whether
  /// there are any.
  bool delayCompletions() {
    bool any = false;
    for (Operation *op : ops) {
      auto product = dyn_cast<GemmAsyncOp>(op);
      std::optional<AccumulatorChain> chain = product ? chainOf(product, loop) : std::nullopt;
      if (!chain)
        continue;
      ScheduleProblem delayed = problem;
      delayed.addDependence(numbers[chain->product], numbers[chain->wait], 0, /*delay=*/1);
      delayed.addDependence(numbers[chain->product], numbers[chain->product], 1, 0, DependenceKind::issue);
      if (!solveSchedule(delayed))
        continue;
      problem = std::move(delayed);
      any = true;
    }
    return any;
  }

  /// A slot that is awaited in one round and released in the next is taken while the next round's are.
  std::string checkSlots(const Schedule &solved) {
    struct Use {
      int64_t releases = 0;
      std::array<bool, 2> awaited = {}, released = {}; ///< by stage
    };
    llvm::MapVector<Value, Use> uses;
    for (auto [op, slot] : llvm::zip_equal(ops, solved.slots)) {
      if (auto await = dyn_cast<AwaitOp>(op)) {
        uses[await.getRing()].awaited[size_t(slot.stage)] = true;
      } else if (auto release = dyn_cast<ReleaseOp>(op)) {
        ++uses[release.getRing()].releases;
        uses[release.getRing()].released[size_t(slot.stage)] = true;
      }
    }
    for (const auto &[ring, use] : uses)
      if (int64_t slots = cast<RingType>(ring.getType()).getSlots();
          use.awaited[0] && (use.awaited[1] || use.released[1]) && slots < 2 * use.releases)
        return llvm::formatv("{0} has {1} slots, but two iterations take {2}", describe(ring, "a ring"),
                             slots, 2 * use.releases);
    return "";
  }

  void addOperandDependences(Operation *op) {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *definition = operand.getDefiningOp();
        if (auto argument = dyn_cast<BlockArgument>(operand);
            argument && argument.getOwner() == loop.getBody() && argument != loop.getInductionVar()) {
          Value yielded = loop.getYieldedValues()[argument.getArgNumber() - 1];
          Operation *producer = yielded.getDefiningOp();
          // A chain may be in flight when its next product starts.
          bool inFlight = isa<GemmAsyncOp>(inner) && isa_and_present<GemmWaitOp>(producer) &&
                          chainOf(cast<GemmAsyncOp>(inner), loop);
          if (producer && numbers.contains(producer) && !inFlight)
            problem.addDependence(numbers[producer], numbers[op], 1);
        } else if (definition && numbers.contains(definition) && definition != op) {
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
    if (overlap)
      getOperation().walk([](scf::ForOp loop) { LoopScheduler(loop).run(); });
  }
};

} // namespace
} // namespace tlc::tile
