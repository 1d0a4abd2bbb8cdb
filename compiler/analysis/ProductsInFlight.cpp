// SPDX-License-Identifier: Apache-2.0
/// \file
/// A walk in the order of execution with the products in flight. Values that loops and branches pass on get
/// the names that they have there.
#include "compiler/analysis/ProductsInFlight.h"

#include "compiler/analysis/RegisterWriters.h"
#include "compiler/analysis/RingBuffers.h"
#include "compiler/analysis/SlotPlaces.h"
#include "compiler/analysis/TensorMemory.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/DenseMap.h"

namespace tlc::tile {

using namespace mlir;

namespace {

/// A product in flight, and what its completion can be told by.
struct InFlight {
  InFlightOpInterface product;
  Completion completion;
  int64_t startedSince = 0;            ///< products that every path has started after it, at least
  SmallVector<Value, 2> sums = {};     ///< values that are its accumulator
  SmallVector<Place, 2> factors = {};  ///< in memory
  SmallVector<Place, 1> memory = {};   ///< that it adds to
  SmallVector<Value, 2> arrivals = {}; ///< rings and barriers at which every path has it arrive

  bool isLike(const InFlight &other) const {
    return product == other.product && factors == other.factors && memory == other.memory &&
           sums.size() == other.sums.size() &&
           llvm::all_of(sums, [&](Value sum) { return llvm::is_contained(other.sums, sum); });
  }
};

/// Far above what waits leave in flight.
constexpr int64_t mostStarted = 64;

using State = SmallVector<InFlight, 4>;

/// Whether that changed anything.
bool merge(State &into, const State &from) {
  bool changed = false;
  for (const InFlight &theirs : from) {
    auto mine = llvm::find_if(into, [&](const InFlight &candidate) { return candidate.isLike(theirs); });
    if (mine == into.end()) {
      into.push_back(theirs);
      changed = true;
      continue;
    }
    changed |= theirs.startedSince < mine->startedSince;
    mine->startedSince = std::min(mine->startedSince, theirs.startedSince);
    size_t known = mine->arrivals.size();
    llvm::erase_if(mine->arrivals, [&](Value at) { return !llvm::is_contained(theirs.arrivals, at); });
    changed |= mine->arrivals.size() < known;
  }
  return changed;
}

template <class T> void addName(SmallVectorImpl<T> &names, const T &name) {
  if (!llvm::is_contained(names, name))
    names.push_back(name);
}

/// Gives what is known as one of `from` the name in `to`, too, and forgets names from inside `left`.
void rename(State &state, ValueRange from, ValueRange to, Region *left) {
  auto isLost = [&](Value value) { return left && left->isAncestor(value.getParentRegion()); };
  for (InFlight &flying : state) {
    SmallVector<Value, 2> sums;
    for (Value sum : flying.sums)
      if (!isLost(sum))
        addName(sums, sum);
    for (auto [before, after] : llvm::zip_equal(from, to))
      if (llvm::is_contained(flying.sums, before))
        addName(sums, Value(after));
    flying.sums = std::move(sums);
    for (Place &place : llvm::concat<Place>(flying.factors, flying.memory)) {
      SmallVector<Position, 2> positions;
      for (const Position &position : place.positions)
        if (!isLost(position.root))
          addName(positions, position);
      for (auto [before, after] : llvm::zip_equal(from, to)) {
        if (!isa<CursorType>(before.getType()))
          continue;
        Position named = positionOf(before);
        for (const Position &position : place.positions)
          if (position.root == named.root)
            addName(positions, {after, modulo(position.offset - named.offset, slotsOf(after))});
      }
      place.positions = std::move(positions);
    }
  }
}

/// Shared and tensor memory that the operation accesses.
SmallVector<MemoryAccess, 3> buffersOf(Operation *op) {
  SmallVector<MemoryAccess, 3> accesses = memoryAccessesOf(op);
  llvm::erase_if(accesses,
                 [](const MemoryAccess &access) { return !access.isShared() && !access.isTensorMemory(); });
  return accesses;
}

SmallVector<Value, 2> writtenBy(Operation *op) {
  SmallVector<Value, 2> written;
  for (const MemoryAccess &access : buffersOf(op))
    if (access.kind != AccessKind::read)
      written.push_back(access.memory);
  return written;
}

/// Whether it starts a product that is complete only when something tells so.
bool startsProduct(Operation *op) { return isa<ProductOpInterface>(op) && completionOf(op); }

/// The ring or barrier at which the operation arrives or waits, or null.
Value meetingOf(Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<RingType, BarrierType>(operand.getType()))
      return operand;
  return {};
}

/// Shared memory that is the operation's own while it runs, or null.
Value ownMemoryOf(Operation *op) {
  if (auto moving = dyn_cast<ScratchOpInterface>(op))
    return moving.getScratch();
  auto accessing = dyn_cast<AccessOpInterface>(op);
  return accessing ? accessing.getStagingMemory() : Value();
}

/// Whether the operation is a product that is complete when it is done, and all that were started with it.
bool completesProducts(Operation *op) { return isAsynchronousProduct(op) && !completionOf(op); }

class Verifier {
public:
  explicit Verifier(KernelOp kernel) : rings(kernel) {
    kernel.walk([&](RoleOp role) {
      role.walk([&](Operation *op) {
        if (completionOf(op) != Completion::ring)
          for (Value memory : writtenBy(op))
            addPublishers(role, placeOf(memory));
      });
    });
  }

  LogicalResult run(Block &block, State &state) {
    for (Operation &op : block)
      if (failed(run(&op, state)))
        return failure();
    return success();
  }

private:
  LogicalResult run(Operation *op, State &state) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return runLoop(loop, state);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return runBranch(branch, state);
    if (auto roles = dyn_cast<RolesOp>(op)) {
      for (RoleOp role : roles.getBody().getOps<RoleOp>()) {
        State own = state;
        if (failed(run(role.getBody().front(), own)))
          return failure();
      }
      return success();
    }
    if (failed(check(op, state)))
      return failure();
    Synchronisation order = synchronisationOf(op);
    if (startsProduct(op))
      start(cast<InFlightOpInterface>(op), state);
    else if (completedBy(op) == Completion::productGroup)
      complete(cast<CompletionOpInterface>(op), state);
    else if (completesProducts(op))
      llvm::erase_if(state, isInGroup);
    else if (order.afterProducts)
      arrive(meetingOf(op), state);
    else if (order.waits)
      completeArrived(meetingOf(op), state);
    return success();
  }

  LogicalResult runLoop(scf::ForOp loop, State &state) {
    if (failed(checkMoves(loop, state, nullptr)))
      return failure();
    State begin = state, end;
    rename(begin, loop.getInitArgs(), loop.getRegionIterArgs(), nullptr);
    for (bool changed = true; changed;) {
      end = begin;
      if (failed(run(*loop.getBody(), end)) || failed(checkMoves(loop, end, &loop.getRegion())))
        return failure();
      State again = end;
      rename(again, loop.getYieldedValues(), loop.getRegionIterArgs(), &loop.getRegion());
      changed = merge(begin, again);
    }
    rename(state, loop.getInitArgs(), loop.getResults(), nullptr); // if it does not run
    rename(end, loop.getYieldedValues(), loop.getResults(), &loop.getRegion());
    merge(state, end);
    return success();
  }

  LogicalResult runBranch(scf::IfOp branch, State &state) {
    State after;
    for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
      State inside = state;
      if (!region->empty()) {
        if (failed(run(region->front(), inside)) || failed(checkMoves(branch, inside, region)))
          return failure();
        rename(inside, region->front().getTerminator()->getOperands(), branch.getResults(), region);
      }
      merge(after, inside);
    }
    state = std::move(after);
    return success();
  }

  void start(InFlightOpInterface product, State &state) {
    for (InFlight &flying : state)
      flying.startedSince = std::min(flying.startedSince + 1, mostStarted);
    InFlight started{.product = product, .completion = *product.getCompletion()};
    if (Value sum = product.getValueInFlight())
      started.sums.push_back(sum);
    for (const MemoryAccess &access : buffersOf(product))
      if (access.kind == AccessKind::read)
        started.factors.push_back(placeOf(access.memory));
      else
        started.memory.push_back(placeOf(access.memory));
    merge(state, {started});
  }

  static bool isInGroup(const InFlight &flying) { return flying.completion == Completion::productGroup; }

  /// All that are in flight will arrive there.
  static void arrive(Value meeting, State &state) {
    for (InFlight &flying : state)
      if (flying.completion == Completion::arrival)
        addName(flying.arrivals, meeting);
  }

  /// Which of the arrivals it was that is waited for is for the author to know.
  static void completeArrived(Value meeting, State &state) {
    llvm::erase_if(state, [&](const InFlight &flying) {
      return meeting && llvm::is_contained(flying.arrivals, meeting);
    });
  }

  static void complete(CompletionOpInterface wait, State &state) {
    llvm::erase_if(state, [&](const InFlight &flying) {
      return isInGroup(flying) && flying.startedSince >= wait.getNumInFlight();
    });
    for (InFlight &flying : state)
      if (llvm::is_contained(flying.sums, wait.getAwaitedValue()))
        addName(flying.sums, wait.getCompleteValue());
  }

  const RegisterWriters &writersOfFactor(InFlightOpInterface product) {
    auto [entry, isNew] = writers.try_emplace(product);
    if (Value factor = isNew ? factorInRegisters(product) : Value())
      entry->second = writersOf(factor, RegisterAliases::certain);
    return entry->second;
  }

  /// A loop that begins or goes on, or a branch that ends, writes what it passes on: what `from` has
  /// computed, which is where that is reported.
  LogicalResult checkMoves(Operation *control, const State &state, Region *from) {
    for (const InFlight &flying : state) {
      const RegisterWriters &ofFactor = writersOfFactor(flying.product);
      if (!ofFactor.moves.contains(control))
        continue;
      Operation *place = control;
      for (Operation *source : ofFactor.sources)
        if (from && from->isAncestor(source->getParentRegion()))
          place = source;
      return report(place, flying, "the " + nameOfFactorInRegisters(flying.product) + " changes",
                    "reads it from registers");
    }
    return success();
  }

  LogicalResult check(Operation *op, const State &state) {
    for (const InFlight &flying : state) {
      const RegisterWriters &ofFactor = writersOfFactor(flying.product);
      if (ofFactor.ops.contains(op) ||
          (ofFactor.madeForUse && static_cast<Operation *>(flying.product) == op))
        return report(op, flying, "the " + nameOfFactorInRegisters(flying.product) + " changes",
                      "reads it from registers");
      if (readsFactor(op, flying.product))
        return report(op, flying, "the " + nameOfFactorInRegisters(flying.product) + " is read",
                      "has its registers");
      bool passesOn = completionOf(op) == Completion::productGroup ||
                      completedBy(op) == Completion::productGroup || isa<scf::YieldOp>(op);
      if (!passesOn && llvm::any_of(op->getOperands(),
                                    [&](Value operand) { return llvm::is_contained(flying.sums, operand); }))
        return report(op, flying, "the accumulator is read", "adds to it");
      for (const Place &factor : flying.factors)
        if (failed(checkMemory(op, flying, factor)))
          return failure();
      for (const Place &sum : flying.memory)
        if (failed(checkSum(op, flying, sum)))
          return failure();
    }
    return success();
  }

  /// What the operation accesses or gives away, and an accumulator in memory. Products add one after the
  /// other.
  LogicalResult checkSum(Operation *op, const InFlight &flying, const Place &sum) {
    if (completionOf(op) == flying.completion)
      return success();
    Synchronisation order = synchronisationOf(op);
    if (order.event == SlotEvent::published && !order.afterProducts && sum.isSlot &&
        guards(order.ring, sum.buffer) && isBroken(relationOf(sum.positions, positionOf(order.cursor)), op))
      return report(op, flying, "the slot of " + nameOf(sum) + " is published", "adds to it");
    for (const MemoryAccess &access : buffersOf(op))
      if (isBroken(relationOf(sum, placeOf(access.memory)), op))
        return report(op, flying,
                      nameOf(sum) + (access.kind == AccessKind::read ? " is read" : " is written"),
                      "adds to it");
    return success();
  }

  /// What the operation writes or gives away, and a factor.
  LogicalResult checkMemory(Operation *op, const InFlight &flying, const Place &factor) {
    if (Synchronisation order = synchronisationOf(op); order.event == SlotEvent::released) {
      if (order.afterProducts || !guards(order.ring, factor.buffer))
        return success();
      Relation relation =
          factor.isSlot ? relationOf(factor.positions, positionOf(order.cursor)) : Relation::same;
      return !isBroken(relation, op)
                 ? success()
                 : report(op, flying, "the slot of " + nameOf(factor) + " is released", "reads it");
    }
    SmallVector<Value, 2> written = writtenBy(op);
    if (Value own = ownMemoryOf(op))
      written.push_back(own);
    for (Value memory : written) {
      AllocationOpInterface above = factor.buffer, below = placeOf(memory).buffer;
      if (startsProduct(op) && above && below && liesOver(above->getResult(0), below->getResult(0)))
        continue; // a thread's products are made in the order in which it starts them
      Relation relation = relationOf(factor, placeOf(memory));
      if (isBroken(relation, op))
        return report(op, flying, nameOf(factor) + " is written", "reads it");
    }
    return success();
  }

  /// By hand cursors may move as their author knows and nobody can prove.
  static bool isBroken(Relation relation, Operation *op) {
    return relation == Relation::same || (relation == Relation::unknown && !isByHand(op));
  }

  static bool isByHand(Operation *op) {
    auto roles = op->getParentOfType<RolesOp>();
    return !roles || !roles.getAutomatic();
  }

  /// The rings that the role publishes at the slot that it has written.
  void addPublishers(RoleOp role, const Place &written) {
    if (!written.buffer || !written.isSlot)
      return;
    role.walk([&](SynchronisationOpInterface op) {
      Synchronisation order = op.getSynchronisation();
      if (order.event == SlotEvent::published &&
          relationOf(written.positions, positionOf(order.cursor)) == Relation::same)
        publishedBy[written.buffer].insert(order.ring);
    });
  }

  /// Whether the ring hands the buffer's slots over: the one of the copies that fill it, or the only one that
  /// says what stores have filled.
  bool guards(Value ring, AllocationOpInterface buffer) {
    auto shared = dyn_cast_if_present<AllocSharedOp>(buffer.getOperation());
    if (shared && rings.isFilled(shared))
      return rings.fills(ring, shared);
    auto found = publishedBy.find(buffer);
    return found != publishedBy.end() && found->second.size() == 1 && found->second.contains(ring);
  }

  static std::string nameOf(const Place &factor) {
    AllocationOpInterface buffer = factor.buffer;
    return buffer ? describe(buffer->getResult(0), "a factor") : "a factor";
  }

  static StringRef completionWords(Operation *op, const InFlight &flying, bool byHand) {
    if (flying.completion == Completion::arrival)
      return synchronisationOf(op).handsOn ? "Arrival::afterProducts" : "a wait for Arrival::afterProducts";
    return byHand ? "gemmWait" : "a wait for the product";
  }

  static LogicalResult report(Operation *op, const InFlight &flying, const Twine &event, StringRef use) {
    Operation *product = flying.product;
    bool byHand = isByHand(op);
    InFlightDiagnostic diagnostic = op->emitError(byHand ? "" : "internal error: ")
                                    << "expected " << completionWords(op, flying, byHand) << " before "
                                    << event << " because a product in flight " << use;
    diagnostic.attachNote(product->getLoc()) << "the product is started here";
    return diagnostic;
  }

  RingBuffers rings;
  llvm::DenseMap<Operation *, llvm::SmallDenseSet<Value, 2>> publishedBy; ///< rings by buffer, for stores
  llvm::DenseMap<Operation *, RegisterWriters> writers;
};

} // namespace

LogicalResult verifyProductsInFlight(KernelOp kernel) {
  State state;
  return Verifier(kernel).run(kernel.getBody().front(), state);
}

} // namespace tlc::tile
