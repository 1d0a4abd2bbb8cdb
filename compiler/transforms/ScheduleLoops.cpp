// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards each operation of a loop with asynchronous products has its stage. The
/// loop becomes a ScheduleProblem (compiler/solvers). Products overlap in two ways: the completion of one
/// that only accumulates may be needed one round after its issue, so that the next is issued before; and what
/// leads from one product to another (the softmax) may run a round ahead, under that other product.

#include "compiler/analysis/CheapFragments.h"
#include "compiler/analysis/ElementOrders.h"
#include "compiler/analysis/RegisterWriters.h"
#include "compiler/analysis/Remarks.h"
#include "compiler/analysis/RoundRegisters.h"
#include "compiler/solvers/ListScheduler.h"
#include "compiler/transforms/Passes.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>

namespace tlc::tile {
#define GEN_PASS_DEF_SCHEDULELOOPS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Whether the operation starts a product that goes on beside it.
bool isProductInFlight(Operation *op) { return completionOf(op) == Completion::productGroup; }

/// Whether the operation waits for such products.
bool isProductWait(Operation *op) { return completedBy(op) == Completion::productGroup; }

/// A product whose accumulator only travels around the loop: the next product may be
/// issued on it while it is in flight.
struct AccumulatorChain {
  InFlightOpInterface product;
  CompletionOpInterface wait;
};

/// The chain of this product, or nothing if its result is used in other ways.
std::optional<AccumulatorChain> chainOf(InFlightOpInterface product, scf::ForOp loop) {
  Value sums = product.getValueInFlight();
  if (!sums.hasOneUse())
    return std::nullopt;
  auto wait = dyn_cast<CompletionOpInterface>(*sums.user_begin());
  if (!wait || wait.getNumInFlight() != 0 || wait->getBlock() != loop.getBody() ||
      !wait.getCompleteValue().hasOneUse())
    return std::nullopt;
  OpOperand &use = *wait.getCompleteValue().use_begin();
  if (use.getOwner() != loop.getBody()->getTerminator())
    return std::nullopt;
  BlockArgument carried = loop.getRegionIterArg(use.getOperandNumber());
  if (!carried.hasOneUse() || product.getContinuedOperand()->get() != carried)
    return std::nullopt;
  return AccumulatorChain{product, wait};
}

/// The wait of the product's own iteration that completes it, or null. A product that adds to this one's
/// result completes later.
Operation *completionInRound(InFlightOpInterface product) {
  for (Operation *user : product.getValueInFlight().getUsers()) {
    if (user->getBlock() != product->getBlock())
      continue;
    if (auto wait = dyn_cast<CompletionOpInterface>(user))
      return wait.getNumInFlight() == 0 ? user : nullptr;
    if (auto next = dyn_cast<InFlightOpInterface>(user))
      return completionInRound(next);
  }
  return nullptr;
}

/// What the first of the products that add to this one's accumulator begins with.
Value startOfSums(InFlightOpInterface product) {
  Value sums = product.getContinuedOperand()->get();
  while (Operation *op = sums.getDefiningOp())
    if (auto wait = dyn_cast<CompletionOpInterface>(op))
      sums = wait.getAwaitedValue();
    else if (auto earlier = dyn_cast<InFlightOpInterface>(op))
      sums = earlier.getContinuedOperand()->get();
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
         !isProductWait(&op);
}

bool isRelease(Operation *op) { return synchronisationOf(op).event == SlotEvent::released; }

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

/// Gives the copies of a loop that waits for groups of them, and what tells their places, stage 0. All else
/// has the stage after which their slots are read: as many iterations later as there are slots beside the one
/// that is read. False for other loops.
bool scheduleCopies(scf::ForOp loop) {
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

/// Whether the operation may run while products of its own or the next iteration are in flight: its threads
/// access memory themselves, and signal nothing.
bool toleratesOverlap(Operation &op) {
  if (isMemoryEffectFree(&op) || synchronisationOf(&op).event == SlotEvent::awaited)
    return true;
  SmallVector<MemoryAccess, 3> accesses = memoryAccessesOf(&op);
  return !accesses.empty() && !completionOf(&op) &&
         llvm::all_of(accesses, [](const MemoryAccess &access) { return access.proxy == Proxy::generic; });
}

/// Whether the operation's threads change what memory holds.
bool writesMemory(Operation *op) {
  return !isProductInFlight(op) && llvm::any_of(memoryAccessesOf(op), [](const MemoryAccess &access) {
    return access.kind != AccessKind::read;
  });
}

/// Whether two accesses, of which one at least changes what is there, may meet.
bool conflict(const MemoryAccess &a, const MemoryAccess &b) {
  if (a.kind == b.kind && a.kind != AccessKind::write)
    return false; // reads, and additions, in any order
  if (a.isShared() != b.isShared())
    return false;
  if (a.isShared()) {
    AllocSharedOp first = bufferOf(a.memory), second = bufferOf(b.memory);
    return !first || !second || first == second;
  }
  auto first = a.memory.getDefiningOp<SliceOp>(), second = b.memory.getDefiningOp<SliceOp>();
  return !first || !second || first.getTensor() == second.getTensor();
}

bool conflict(Operation *a, Operation *b) {
  SmallVector<MemoryAccess, 3> later = memoryAccessesOf(b);
  return llvm::any_of(memoryAccessesOf(a), [&](const MemoryAccess &from) {
    return llvm::any_of(later, [&](const MemoryAccess &to) { return conflict(from, to); });
  });
}

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
  /// Gives the operations their stages, or says why not.
  std::string schedule() {
    for (Operation &op : loop.getBody()->without_terminator())
      if (!toleratesOverlap(op) && !isProductInFlight(&op) && !isProductWait(&op) && !isRelease(&op))
        return "the " + describeStatement(&op) + placeOf(&op) + " keeps its place between them";
    putReadersFirst();
    build();
    if (std::string reason = orderAccesses(); !reason.empty())
      return reason;
    if (std::string reason = protectFactors(); !reason.empty())
      return reason;
    if (std::string reason = protectSums(); !reason.empty())
      return reason;
    assert(problem.check() && "dependences follow the program order");
    auto roles = loop->getParentOfType<RolesOp>();
    bool isAutomatic = roles && roles.getAutomatic();
    const ScheduleProblem inRound = problem;
    bool isAhead = isAutomatic && !overlapProducts(problem).empty();
    bool overlaps = delayCompletions() || isAhead;
    Result<Schedule> solved = solveSchedule(problem);
    if (isAhead && solved && !fitsRegisters(*solved)) { // what a round computes for the next one stays out
      problem = inRound;
      overlaps = delayCompletions();
      solved = solveSchedule(problem);
    }
    if (!solved)
      return solved.error().message;
    assert(verify(problem, *solved));
    if (!overlaps && !(isAutomatic && overlapInRound(*solved)))
      return "the result of a product is used in the iteration that starts it";
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
    // Products, reads and awaits stay in program order, and so do reads, awaits and writes; a product need
    // not come before a write that it has nothing to do with. A release follows what is before it, and
    // nothing waits for one.
    Operation *product = nullptr, *other = nullptr, *write = nullptr;
    SmallVector<Operation *> waits;
    for (Operation *op : ops) {
      if (isProductWait(op))
        waits.push_back(op);
      if (isMemoryEffectFree(op) || isProductWait(op))
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

  /// Where one operation writes memory that another one accesses, they keep their order, in the next
  /// iteration, too. A product accesses it until it is complete. Why that cannot be said of this loop, or
  /// nothing.
  std::string orderAccesses() {
    auto endOf = [](Operation *op) {
      return isProductInFlight(op) ? completionInRound(cast<InFlightOpInterface>(op)) : op;
    };
    for (auto [number, first] : llvm::enumerate(ops))
      for (Operation *second : ArrayRef(ops).drop_front(number + 1)) {
        if (!conflict(first, second))
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
  std::string protectFactors() {
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
        return "a product whose left factor is in registers is in flight when an iteration ends";
      if (movesEachRound)
        problem.addDependence(numbers[op], numbers[wait], 0, 0, DependenceKind::sameRound);
      for (Operation *writer : inBody)
        if (writer->isBeforeInBlock(op)) {
          problem.addDependence(numbers[writer], numbers[op], 0, 0, DependenceKind::issue);
          problem.addDependence(numbers[wait], numbers[writer], 1, 0, DependenceKind::order);
        } else if (wait->isBeforeInBlock(writer)) {
          problem.addDependence(numbers[wait], numbers[writer], 0, 0, DependenceKind::order);
        }
      if (std::string reason = protectReads(op, wait, factor); !reason.empty())
        return reason;
    }
    return "";
  }

  /// Nothing else may read the left factor's registers while the product is in flight, either. `wait` is the
  /// one of its own iteration, or null.
  std::string protectReads(Operation *product, Operation *wait, Value factor) {
    bool isInvariant = loop.isDefinedOutsideOfLoop(factor);
    for (Operation *op : ops) {
      bool reads = op->walk([&](Operation *inner) {
                       return readsRegisters(inner, factor) ? WalkResult::interrupt() : WalkResult::advance();
                     }).wasInterrupted();
      if (!reads)
        continue;
      if (!wait)
        return "a product whose left factor is read, too, is in flight when an iteration ends";
      if (!op->isBeforeInBlock(product) && op->isBeforeInBlock(wait))
        return "the left factor of a product is read before the product is complete";
      if (op->isBeforeInBlock(product)) {
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

  /// Who else reads a factor in registers does so before the product starts, instead of after its end, where
  /// it can.
  void putReadersFirst() {
    for (Operation &product : llvm::make_early_inc_range(loop.getBody()->without_terminator())) {
      Value factor =
          isProductInFlight(&product) ? factorInRegisters(cast<InFlightOpInterface>(product)) : Value();
      if (!factor)
        continue;
      for (Operation *user : llvm::to_vector(factor.getUsers())) {
        Operation *reader = loop.getBody()->findAncestorOpInBlock(*user);
        if (!reader || reader == loop.getBody()->getTerminator() || isProductInFlight(reader) ||
            reader->isBeforeInBlock(&product))
          continue;
        llvm::SetVector<Operation *> moved;
        if (!mayPrecede(reader, &product, moved))
          continue;
        SmallVector<Operation *> inOrder = moved.takeVector();
        llvm::sort(inOrder, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
        for (Operation *op : inOrder)
          op->moveBefore(&product);
      }
    }
  }

  /// Whether an operation may come before an earlier one, with what it is computed from, which goes to
  /// `moved`.
  bool mayPrecede(Operation *op, Operation *earlier, llvm::SetVector<Operation *> &moved) {
    moved.insert(op);
    for (size_t next = 0; next < moved.size(); ++next) {
      Operation *at = moved[next];
      if (next > 0 && !isMemoryEffectFree(at))
        return false;
      at->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *definition = operand.getDefiningOp();
              definition && definition->getBlock() == loop.getBody() && !definition->isBeforeInBlock(earlier))
            moved.insert(definition);
      });
    }
    if (isMemoryEffectFree(op))
      return true;
    for (Operation *between = earlier; between != op; between = between->getNextNode())
      if (conflict(between, op) || !(toleratesOverlap(*between) || isProductInFlight(between) ||
                                     isProductWait(between) || isRelease(between)))
        return false;
    return writesMemory(op) && toleratesOverlap(*op);
  }

  /// A product in flight writes its accumulator's registers: it completes before the operation that makes the
  /// accumulator executes again, unless the loop carries the sums. Why that cannot be said of this loop, or
  /// nothing.
  std::string protectSums() {
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

  /// Lets products that only accumulate complete one round later, where that takes no third stage. Whether
  /// there are any.
  bool delayCompletions() {
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

  /// Whether a thread of the role has registers for the products, beside those that addresses and what is
  /// computed at the time take.
  bool fitsRegisters(const Schedule &solved) {
    constexpr int64_t others = 24;
    auto role = loop->getParentOfType<RoleOp>();
    return !role || !role.getRegisters() ||
           registersOfProducts(loop, ops, solved) + others <= int64_t(*role.getRegisters());
  }

  /// Whether a product is started before the wait for another one of its round.
  bool overlapInRound(const Schedule &solved) {
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
  std::string checkSlots(const Schedule &solved) {
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

  void addOperandDependences(Operation *op) {
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

  scf::ForOp loop;
  ScheduleProblem problem;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, int> numbers;
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
