// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operations keep the order of the program where nothing is known that allows another.
#include "compiler/analysis/LoopProblem.h"

#include "compiler/analysis/CarriedEquality.h"
#include "compiler/analysis/CheapFragments.h"
#include "compiler/analysis/LoopProducts.h"
#include "compiler/analysis/RegisterWriters.h"
#include "compiler/solvers/ListScheduler.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Reports.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {
/// Whether the operation computes elements of fragments that are worth keeping.
bool computes(Operation &op) {
  return llvm::any_of(op.getResults(),
                      [](Value result) {
                        return isa<RankedTensorType>(result.getType()) && !isCheapFragment(result);
                      }) &&
         !isProductWait(&op);
}

ScheduleOp toScheduleOp(Operation &op) {
  // These only order: a product takes longer than all else that a round does, so that what does not need it
  // comes before its wait; a release, for which another role waits, comes before what merely follows it.
  constexpr int64_t ofProduct = 1000, ofRelease = 100, ofOthers = 1;
  bool isProduct = isProductInFlight(&op);
  ScheduleOp described;
  described.name = isProduct ? "product" : callOf(op.getName().getStringRef());
  if (isProduct) {
    described.latencyClass = LatencyClass::product;
    described.latency = described.cycles = ofProduct;
  } else if (!computes(op)) {
    described.latencyClass = LatencyClass::immediate;
    described.latency = isRelease(&op) ? ofRelease : ofOthers;
  }
  return described;
}
} // namespace

LoopProblem::LoopProblem(scf::ForOp loop) : loop(loop) {
  problem.maxStages = 2; // what tile-expand-pipeline can write
  for (Operation &op : loop.getBody()->without_terminator()) {
    numbers[&op] = problem.addOp(toScheduleOp(op));
    ops.push_back(&op);
  }
  for (Operation *op : ops)
    addOperandDependences(op);
  // Products, reads and awaits stay in program order, and so do reads, awaits and writes; a product need
  // not come before a write that it has nothing to do with. A release follows what is before it, and
  // nothing waits for one.
  Operation *product = nullptr, *other = nullptr, *write = nullptr;
  SmallVector<Operation *> waits;
  for (Operation *op : ops) {
    if (isProductWait(op))
      waits.push_back(op);
    if (isMemoryEffectFree(op) || onlyReports(op) || isProductWait(op))
      continue;
    for (Operation *before : {product, other, write})
      if (before && !(before == product && writesMemory(op)))
        problem.addDependence(numbers[before], numbers[op], 0, 0, DependenceKind::issue);
    if (isRelease(op))
      for (Operation *wait : waits)
        problem.addDependence(numbers[wait], numbers[op], 0, 0, DependenceKind::issue);
    else
      (isProductInFlight(op) ? product : writesMemory(op) ? write : other) = op;
  }
}

void LoopProblem::addOperandDependences(Operation *op) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      Operation *definition = operand.getDefiningOp();
      if (auto argument = dyn_cast<BlockArgument>(operand);
          argument && argument.getOwner() == loop.getBody() && argument != loop.getInductionVar()) {
        Value yielded = loop.getYieldedValues()[argument.getArgNumber() - 1];
        Operation *producer = yielded.getDefiningOp();
        // A chain may be in flight when its next product starts.
        bool inFlight = isProductInFlight(inner) && producer && isProductWait(producer) &&
                        chainOf(cast<InFlightOpInterface>(inner), loop);
        if (producer && numbers.contains(producer) && !inFlight)
          problem.addDependence(numbers[producer], numbers[op], 1);
      } else if (definition && numbers.contains(definition) && definition != op) {
        problem.addDependence(numbers[definition], numbers[op], 0);
      }
    }
  });
}

std::string LoopProblem::protectProducts() {
  if (std::string reason = orderAccesses(); !reason.empty())
    return reason;
  if (std::string reason = protectFactors(); !reason.empty())
    return reason;
  return protectSums();
}

/// Where one operation writes memory that another one accesses, they keep their order, in the next
/// iteration, too. A product accesses it until it is complete. Why that cannot be said of this loop, or
/// nothing.
std::string LoopProblem::orderAccesses() {
  auto endOf = [](Operation *op) {
    return isProductInFlight(op) ? completionInRound(cast<InFlightOpInterface>(op)) : op;
  };
  for (auto [number, first] : llvm::enumerate(ops))
    for (Operation *second : ArrayRef(ops).drop_front(number + 1)) {
      if (!mayConflict(first, second))
        continue;
      Operation *firstEnds = endOf(first), *secondEnds = endOf(second);
      if (!firstEnds || !secondEnds || !firstEnds->isBeforeInBlock(second))
        return "the " + describeStatement(second) + placeOf(second) +
               " changes what a product in flight reads";
      problem.addDependence(numbers[firstEnds], numbers[second], 0, 0, DependenceKind::order);
      problem.addDependence(numbers[secondEnds], numbers[first], 1, 0, DependenceKind::order);
    }
  return "";
}

/// A product in flight reads its left factor's registers: it completes before they are written again, in
/// the next iteration, too. Why that cannot be said of this loop, or nothing.
std::string LoopProblem::protectFactors() {
  for (Operation *op : ops) {
    Value factor = isProductInFlight(op) ? factorInRegisters(cast<InFlightOpInterface>(op)) : Value();
    if (!factor)
      continue;
    RegisterWriters writers = writersOf(factor, RegisterAliases::possible);
    Operation *wait = completionInRound(cast<InFlightOpInterface>(op));
    SmallVector<Operation *> inBody;
    for (Operation *writer : llvm::concat<Operation *const>(writers.ops, writers.moves, writers.sources))
      if (Operation *ancestor = loop.getBody()->findAncestorOpInBlock(*writer))
        inBody.push_back(ancestor);
    bool movesEachRound = writers.madeForUse || writers.moves.contains(loop);
    if (!wait && (movesEachRound || !inBody.empty()))
      return ("a product whose " + nameOfFactorInRegisters(cast<InFlightOpInterface>(op)) +
              " is in registers is in flight when an iteration ends")
          .str();
    if (movesEachRound)
      problem.addDependence(numbers[op], numbers[wait], 0, 0, DependenceKind::sameRound);
    for (Operation *writer : inBody)
      if (writer->isBeforeInBlock(op)) {
        problem.addDependence(numbers[writer], numbers[op], 0, 0, DependenceKind::issue);
        problem.addDependence(numbers[wait], numbers[writer], 1, 0, DependenceKind::order);
      } else if (wait->isBeforeInBlock(writer)) {
        problem.addDependence(numbers[wait], numbers[writer], 0, 0, DependenceKind::order);
      }
    if (std::string reason = protectReads(cast<InFlightOpInterface>(op), wait); !reason.empty())
      return reason;
  }
  return "";
}

/// Nothing else may read the left factor's registers while the product is in flight, either. `wait` is the
/// one of its own iteration, or null.
std::string LoopProblem::protectReads(InFlightOpInterface product, Operation *wait) {
  bool isInvariant = loop.isDefinedOutsideOfLoop(factorInRegisters(product));
  StringRef name = nameOfFactorInRegisters(product);
  CarriedEquality equality(loop);
  auto readsIn = [&](Operation *op, llvm::function_ref<bool(Value, Value)> isSame) {
    return op
        ->walk([&](Operation *inner) {
          return readsFactor(inner, product, isSame) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  };
  for (Operation *op : ops) {
    // What the next iteration computes like the factor lies in its registers, once CSE has seen both.
    if (!isInvariant && wait &&
        readsIn(op, [&](Value operand, Value factor) { return equality.isEqual(operand, factor); }))
      problem.addDependence(numbers[wait], numbers[op], 1, 0, DependenceKind::order);
    if (!readsIn(op, mayBeSame))
      continue;
    if (!wait)
      return ("a product whose " + name + " is read, too, is in flight when an iteration ends").str();
    bool isBefore = op == product || op->isBeforeInBlock(product); // its sums may begin with its left factor
    if (!isBefore && op->isBeforeInBlock(wait))
      return ("the " + name + " of a product is read before the product is complete").str();
    if (isBefore) {
      if (op != product)
        problem.addDependence(numbers[op], numbers[product], 0, 0, DependenceKind::issue);
      if (isInvariant)
        problem.addDependence(numbers[wait], numbers[op], 1, 0, DependenceKind::order);
    } else {
      problem.addDependence(numbers[wait], numbers[op], 0, 0, DependenceKind::order);
      if (!isInvariant) // else the end of the round moves the registers for the later reader
        problem.addDependence(numbers[product], numbers[wait], 0, 0, DependenceKind::sameRound);
    }
  }
  return "";
}

/// A product in flight writes its accumulator's registers: it completes before the operation that makes the
/// accumulator executes again, unless the loop carries the sums. Why that cannot be said of this loop, or
/// nothing.
std::string LoopProblem::protectSums() {
  for (Operation *op : ops) {
    if (!isProductInFlight(op))
      continue;
    auto product = cast<InFlightOpInterface>(op);
    Operation *wait = completionInRound(product);
    RegisterWriters writers = writersOf(startOfSums(product), RegisterAliases::possible);
    for (Operation *writer : llvm::concat<Operation *const>(writers.ops, writers.sources)) {
      Operation *inBody = loop.getBody()->findAncestorOpInBlock(*writer);
      if (!inBody || !inBody->isBeforeInBlock(op))
        continue;
      if (!wait)
        return "a product whose accumulator the iteration makes is in flight when the iteration ends";
      problem.addDependence(numbers[wait], numbers[inBody], 1, 0, DependenceKind::order);
    }
  }
  return "";
}

bool LoopProblem::delayCompletions() {
  bool any = false;
  for (Operation *op : ops) {
    std::optional<AccumulatorChain> chain =
        isProductInFlight(op) ? chainOf(cast<InFlightOpInterface>(op), loop) : std::nullopt;
    if (!chain)
      continue;
    ScheduleProblem delayed = problem;
    delayed.addDependence(numbers[op], numbers[chain->wait], 0, /*delay=*/1);
    delayed.addDependence(numbers[op], numbers[op], 1, 0, DependenceKind::issue);
    if (!solveSchedule(delayed))
      continue;
    problem = std::move(delayed);
    any = true;
  }
  return any;
}
