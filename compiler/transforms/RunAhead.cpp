// SPDX-License-Identifier: Apache-2.0
/// \file
/// A value that a later stage uses travels with the loop for as many rounds as the stages are apart; numbers
/// are computed again instead. What an early stage computes beyond the last iteration nobody uses.

#include "compiler/transforms/RunAhead.h"

#include "compiler/analysis/PositionRanges.h"
#include "dialects/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tlc::tile;

namespace {

StageAttr stageAttrOf(Operation *op) { return op->getAttrOfType<StageAttr>(TileDialect::stageAttrName); }
int64_t stageOf(Operation *op) { return stageAttrOf(op).getStage(); }

/// Groups are counted: each round closes one, even of no copies.
bool runsInEveryRound(Operation *op) { return isMemoryEffectFree(op) || isa<CommitCopiesOp>(op); }

bool isNumber(Type type) { return !isa<RankedTensorType>(type); }

class AheadWriter {
public:
  explicit AheadWriter(scf::ForOp loop) : loop(loop), builder(loop) {}

  LogicalResult run() {
    collect();
    if (failed(collectUses()))
      return failure();
    writeFirstRounds();
    writeLoop();
    return success();
  }

private:
  void collect() {
    for (Operation &op : loop.getBody()->without_terminator())
      last = std::max(last, stageOf(&op));
    computeAgain();
    for (Operation &op : loop.getBody()->without_terminator())
      round.push_back(&op);
    llvm::sort(round, [](Operation *a, Operation *b) {
      int64_t first = stageAttrOf(a).getOrder(), second = stageAttrOf(b).getOrder();
      return first != second ? first < second : a->isBeforeInBlock(b);
    });
    for (auto [i, op] : llvm::enumerate(round))
      places[op] = i;
  }

  /// The operation of the body that the use is in.
  Operation *userOf(OpOperand &use) { return loop.getBody()->findAncestorOpInBlock(*use.getOwner()); }

  /// Each stage computes its own numbers and views of shared memory.
  void computeAgain() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(loop.getBody()->without_terminator()))) {
      if (!isMemoryEffectFree(&op) || !llvm::all_of(op.getResultTypes(), isNumber))
        continue;
      llvm::MapVector<int64_t, SmallVector<OpOperand *>> late; // by stage
      for (OpOperand &use : op.getUses())
        if (Operation *user = userOf(use);
            !user->hasTrait<OpTrait::IsTerminator>() && stageOf(user) > stageOf(&op))
          late[stageOf(user)].push_back(&use);
      for (auto &[stage, uses] : late) {
        int64_t order = stageAttrOf(userOf(*uses.front())).getOrder();
        for (OpOperand *use : uses)
          order = std::min(order, stageAttrOf(userOf(*use)).getOrder());
        builder.setInsertionPointAfter(&op);
        Operation *again = builder.clone(op);
        again->setDiscardableAttr(TileDialect::stageAttrName, StageAttr::get(op.getContext(), stage, order));
        for (OpOperand *use : uses)
          use->set(again->getResult(cast<OpResult>(use->get()).getResultNumber()));
      }
    }
  }

  /// The stage that a carried value is computed in, or, if the body does not compute it, first used in.
  int64_t stageOfCarried(unsigned i) {
    Value yielded = loop.getYieldedValues()[i];
    if (Operation *op = yielded.getDefiningOp(); op && op->getBlock() == loop.getBody())
      return stageOf(op);
    int64_t first = last;
    for (OpOperand &use : loop.getRegionIterArg(i).getUses())
      if (Operation *user = userOf(use); !user->hasTrait<OpTrait::IsTerminator>())
        first = std::min(first, stageOf(user));
    return first;
  }

  /// The stage that computes a value of the body; nothing for what is the same, or known, in all of them.
  std::optional<int64_t> homeOf(Value value) {
    if (value.getParentBlock() != loop.getBody() || value == loop.getInductionVar())
      return std::nullopt;
    if (auto argument = dyn_cast<BlockArgument>(value))
      return carriedBy[argument.getArgNumber() - 1];
    return stageOf(value.getDefiningOp());
  }

  LogicalResult addUse(Operation *user, Value value, int64_t stage) {
    std::optional<int64_t> home = homeOf(value);
    Operation *definition = value.getDefiningOp();
    bool isLate = home == stage && definition && places.contains(user) &&
                  places.lookup(definition) >= places.lookup(user);
    if (!home || (*home == stage && !isLate))
      return success();
    if (*home >= stage)
      return user->emitError(
          "expected an operation after those whose results it uses, but its 'tile.stage' puts it before");
    int64_t &distance = travelling[value];
    distance = std::max(distance, stage - *home);
    return success();
  }

  LogicalResult collectUses() {
    for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i)
      carriedBy.push_back(stageOfCarried(i));
    for (Operation *op : round) {
      WalkResult walked = op->walk([&](Operation *inner) {
        for (Value value : inner->getOperands())
          if (failed(addUse(op, value, stageOf(op))))
            return WalkResult::interrupt();
        return WalkResult::advance();
      });
      if (walked.wasInterrupted())
        return failure();
    }
    Operation *yield = loop.getBody()->getTerminator();
    for (auto [i, value] : llvm::enumerate(loop.getYieldedValues()))
      if (failed(addUse(yield, value, carriedBy[i])))
        return failure();
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Rounds
  //===--------------------------------------------------------------------===//

  /// What goes from one round to the next.
  struct Travelled {
    SmallVector<Value> carried;                            ///< for the next iteration of its stage
    llvm::MapVector<Value, SmallVector<Value>> fromBefore; ///< of one round ago, of two, ...

    SmallVector<Value> flat() const {
      SmallVector<Value> values(carried);
      for (auto &[value, versions] : fromBefore)
        llvm::append_range(values, versions);
      return values;
    }
    void assign(ValueRange values) {
      size_t next = carried.size();
      llvm::copy(values.take_front(next), carried.begin());
      for (auto &[value, versions] : fromBefore)
        for (Value &version : versions)
          version = values[next++];
    }
  };

  /// Writes the stages from 0 to `stages` - 1 of a round; `inductions` and `exists` are by stage, and a null
  /// condition always holds.
  void writeRound(int64_t stages, ArrayRef<Value> inductions, ArrayRef<Value> exists, Travelled &state) {
    SmallVector<IRMapping> mappings(static_cast<size_t>(stages));
    for (auto [stage, mapping] : llvm::enumerate(mappings)) {
      mapping.map(loop.getInductionVar(), inductions[stage]);
      for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
        if (carriedBy[i] == int64_t(stage))
          mapping.map(argument, state.carried[i]);
      for (auto &[value, versions] : state.fromBefore)
        if (int64_t distance = int64_t(stage) - *homeOf(value);
            distance > 0 && distance <= int64_t(versions.size()) && versions[size_t(distance) - 1])
          mapping.map(value, versions[size_t(distance) - 1]);
    }
    for (size_t i = 0; i < round.size(); ++i) {
      int64_t stage = stageOf(round[i]);
      if (stage >= stages)
        continue;
      if (!exists[size_t(stage)] || runsInEveryRound(round[i])) {
        write(round[i], mappings[size_t(stage)]);
        continue;
      }
      // One test for all that follows: numbers between them do not depend on effects.
      SmallVector<Operation *> together;
      for (; i < round.size() && stageOf(round[i]) == stage && !isa<CommitCopiesOp>(round[i]); ++i)
        if (runsInEveryRound(round[i]))
          write(round[i], mappings[size_t(stage)]);
        else
          together.push_back(round[i]);
      --i;
      OpBuilder::InsertionGuard guard(builder);
      auto test = scf::IfOp::create(builder, loop.getLoc(), exists[size_t(stage)], /*withElse=*/false);
      builder.setInsertionPointToStart(test.thenBlock());
      for (Operation *op : together)
        write(op, mappings[size_t(stage)]);
    }
    handOn(stages, exists, mappings, state);
  }

  void handOn(int64_t stages, ArrayRef<Value> exists, ArrayRef<IRMapping> mappings, Travelled &state) {
    for (auto &[value, versions] : state.fromBefore) {
      std::move_backward(versions.begin(), versions.end() - 1, versions.end());
      int64_t home = *homeOf(value);
      versions.front() = home < stages ? mappings[size_t(home)].lookupOrDefault(value) : Value();
    }
    for (auto [i, yielded] : llvm::enumerate(loop.getYieldedValues())) {
      int64_t stage = carriedBy[i];
      if (stage >= stages)
        continue;
      Value next = mappings[size_t(stage)].lookupOrDefault(yielded);
      if (Value test = exists[size_t(stage)]; test && !loop.getResult(unsigned(i)).use_empty()) {
        auto chosen = scf::IfOp::create(builder, loop.getLoc(), next.getType(), test, /*addThenBlock=*/true,
                                        /*addElseBlock=*/true);
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(chosen.thenBlock());
        scf::YieldOp::create(builder, loop.getLoc(), next);
        builder.setInsertionPointToStart(chosen.elseBlock());
        scf::YieldOp::create(builder, loop.getLoc(), state.carried[i]);
        next = chosen.getResult(0);
      }
      state.carried[i] = next;
    }
  }

  void write(Operation *op, IRMapping &mapping) {
    Operation *copy = builder.clone(*op, mapping);
    copy->removeDiscardableAttr(TileDialect::stageAttrName);
    if (auto wait = dyn_cast<AwaitCopiesOp>(copy))
      wait.setPending(uint64_t(int64_t(wait.getPending()) + groupsAfter(cast<AwaitCopiesOp>(op))));
  }

  /// Groups that are closed after the wait's own, by later iterations, and before the wait.
  int64_t groupsAfter(AwaitCopiesOp wait) {
    Operation *own = nullptr;
    for (auto commit : loop.getBody()->getOps<CommitCopiesOp>())
      if (commit->isBeforeInBlock(wait))
        own = commit;
    if (!own)
      return 0;
    int64_t apart = stageOf(wait) - stageOf(own), count = 0;
    for (auto commit : loop.getBody()->getOps<CommitCopiesOp>()) {
      bool after = places.lookup(commit) > places.lookup(own),
           before = places.lookup(commit) < places.lookup(wait);
      count += apart == 0 ? after && before : apart - 1 + after + before;
    }
    return count;
  }

  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loop.getLoc(), predicate, a, b);
  }

  /// The positions from `first` to `count` steps after it, and for each whether the loop has it.
  struct Iterations {
    SmallVector<Value> positions, exist;
  };

  /// `range` is that of `first`; null conditions always hold. A position that the loop does not have may need
  /// more than 32 bits. It is compared without a sign if that has room for it, else by its distance from the
  /// end.
  Iterations iterationsFrom(Value first, PositionRange range, Value firstExists, int64_t count) {
    Iterations iterations{{first}, {firstExists}};
    Value end = loop.getUpperBound();
    bool isBelowEnd = !firstExists;
    PositionRange ofEnd = ranges.of(end);
    for (int64_t number = 1; number <= count; ++number) {
      Value position = stepsAfter(first, number), before = iterations.positions.back(), exists;
      std::optional<int64_t> reach = ranges.reachOf(loop, number);
      bool isFromZero = range.isProven() && range.isNonNegative() &&
                        (isBelowEnd || (ofEnd.isProven() && ofEnd.isNonNegative()));
      if (reach && range.most() + *reach <= PositionRange::largest) {
        exists = compare(arith::CmpIPredicate::slt, position, end);
      } else if (reach && isFromZero && *reach <= PositionRange::largest) {
        exists = compare(arith::CmpIPredicate::ult, position, end);
      } else {
        Value distance = builder.createOrFold<arith::SubIOp>(loop.getLoc(), end, before);
        exists = compare(arith::CmpIPredicate::ult, loop.getStep(), distance);
        if (Value earlier = iterations.exist.back())
          exists = arith::AndIOp::create(builder, loop.getLoc(), earlier, exists);
      }
      iterations.positions.push_back(position);
      iterations.exist.push_back(exists);
    }
    return iterations;
  }

  /// The last of the first `count` values first.
  static SmallVector<Value> reversed(ArrayRef<Value> values, int64_t count) {
    return SmallVector<Value>(llvm::reverse(values.take_front(size_t(count))));
  }

  Value stepsAfter(Value induction, int64_t count) {
    Location loc = loop.getLoc();
    Value steps = loop.getStep();
    if (count > 1)
      steps = builder.createOrFold<arith::MulIOp>(
          loc, steps, arith::ConstantIndexOp::create(builder, loc, count).getResult());
    return count == 0 ? induction : builder.createOrFold<arith::AddIOp>(loc, induction, steps);
  }

  void writeFirstRounds() {
    builder.setInsertionPoint(loop);
    llvm::append_range(state.carried, loop.getInitArgs());
    for (auto [value, distance] : travelling)
      state.fromBefore[value].resize(size_t(distance));
    Value first = loop.getLowerBound();
    Iterations iterations = iterationsFrom(
        first, ranges.of(first), compare(arith::CmpIPredicate::slt, first, loop.getUpperBound()), last - 1);
    for (int64_t number = 1; number <= last; ++number)
      writeRound(number, reversed(iterations.positions, number), reversed(iterations.exist, number), state);
  }

  void writeLoop() {
    auto rounds = scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
                                     loop.getStep(), state.flat());
    rounds.setUnsignedCmp(loop.getUnsignedCmp());
    rounds->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    rounds.getBody()->clear();
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(rounds.getBody());
      state.assign(rounds.getRegionIterArgs());
      PositionRange range = ranges.of(loop.getInductionVar());
      Iterations iterations = iterationsFrom(rounds.getInductionVar(), range, Value(), last);
      writeRound(last + 1, reversed(iterations.positions, last + 1), reversed(iterations.exist, last + 1),
                 state);
      scf::YieldOp::create(builder, loop.getLoc(), state.flat());
    }
    loop.replaceAllUsesWith(rounds.getResults().take_front(loop.getNumResults()));
    loop.erase();
  }

  scf::ForOp loop;
  OpBuilder builder;
  PositionRanges ranges;
  int64_t last = 0;               ///< stage
  SmallVector<Operation *> round; ///< all operations, in order
  llvm::DenseMap<Operation *, size_t> places;
  SmallVector<int64_t> carriedBy;             ///< stages
  llvm::MapVector<Value, int64_t> travelling; ///< for so many rounds at most
  Travelled state;
};

} // namespace

bool tlc::tile::canRunAhead(scf::ForOp loop) {
  auto body = loop.getBody()->without_terminator();
  int64_t last = 0;
  for (Operation &op : body)
    last = std::max(last, stageOf(&op));
  bool hasEffects = false;
  for (Operation &op : body) {
    if (stageOf(&op) == last || isMemoryEffectFree(&op))
      continue;
    if (op.getNumResults() != 0)
      return false;
    hasEffects = true;
  }
  return hasEffects;
}

LogicalResult tlc::tile::runAhead(scf::ForOp loop) { return AheadWriter(loop).run(); }
