// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards no `tile.stage` is left. The loop carries a value that a later stage uses for as many rounds as
/// the stages are apart. What an early stage computes beyond the last iteration is unused. If the products of
/// a round belong to several stages, the warpgroups of a role alternate to start them.

#include "compiler/analysis/PositionRanges.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/StagedLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "runtime/target/Hardware.h"

#include <utility>

namespace tlc::tile {
#define GEN_PASS_DEF_EXPANDPIPELINE
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

StageAttr stageOf(Operation *op) { return op->getAttrOfType<StageAttr>(TileDialect::stageAttrName); }

class RoundWriter {
public:
  explicit RoundWriter(StagedLoop &staged) : staged(staged), loop(staged.loop), builder(staged.loop) {}

  void run() {
    if (staged.peeled() == 0) {
      loop.replaceAllUsesWith(writeRounds());
    } else {
      // What cannot be left out needs its iterations.
      auto guard = scf::IfOp::create(builder, loop.getLoc(), loop.getResultTypes(), hasIterations(),
                                     /*addThenBlock=*/true, /*addElseBlock=*/true);
      guard.getThenRegion().front().clear();
      guard.getElseRegion().front().clear();
      builder.setInsertionPointToEnd(&guard.getElseRegion().front());
      scf::YieldOp::create(builder, loop.getLoc(), writeFewIterations());
      builder.setInsertionPointToEnd(&guard.getThenRegion().front());
      scf::YieldOp::create(builder, loop.getLoc(), writeRounds());
      loop.replaceAllUsesWith(guard.getResults());
    }
    loop.erase();
  }

private:
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

  //===--------------------------------------------------------------------===//
  // Positions
  //===--------------------------------------------------------------------===//

  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loop.getLoc(), predicate, a, b);
  }

  Value stepsAfter(Value position, int64_t count) {
    Location loc = loop.getLoc();
    Value steps = loop.getStep();
    if (count > 1)
      steps = builder.createOrFold<arith::MulIOp>(
          loc, steps, arith::ConstantIndexOp::create(builder, loc, count).getResult());
    return count == 0 ? position : builder.createOrFold<arith::AddIOp>(loc, position, steps);
  }

  /// Whether the loop has the position `step` after one that it has.
  Value hasNext(Value position) {
    Value distance = builder.createOrFold<arith::SubIOp>(loop.getLoc(), loop.getUpperBound(), position);
    return compare(arith::CmpIPredicate::ult, loop.getStep(), distance);
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
      Value position = stepsAfter(first, number), exists;
      std::optional<int64_t> reach = ranges.reachOf(loop, number);
      bool isFromZero = range.isProven() && range.isNonNegative() &&
                        (isBelowEnd || (ofEnd.isProven() && ofEnd.isNonNegative()));
      if (reach && range.most() + *reach <= PositionRange::largest) {
        exists = compare(arith::CmpIPredicate::slt, position, end);
      } else if (reach && isFromZero && *reach <= PositionRange::largest) {
        exists = compare(arith::CmpIPredicate::ult, position, end);
      } else {
        exists = hasNext(iterations.positions.back());
        if (Value earlier = iterations.exist.back())
          exists = arith::AndIOp::create(builder, loop.getLoc(), earlier, exists);
      }
      iterations.positions.push_back(position);
      iterations.exist.push_back(exists);
    }
    return iterations;
  }

  Value isNotEmpty() {
    return compare(arith::CmpIPredicate::slt, loop.getLowerBound(), loop.getUpperBound());
  }

  /// Whether the loop has as many iterations as are peeled.
  Value hasIterations() {
    Value first = loop.getLowerBound();
    return iterationsFrom(first, ranges.of(first), isNotEmpty(), staged.peeled() - 1).exist.back();
  }

  /// Of the first iteration of the base stage that is not peeled, or the loop's end.
  Value startOfRounds() {
    Value first = loop.getLowerBound();
    int64_t peeled = staged.peeled();
    if (peeled == 0)
      return first;
    Value start = stepsAfter(first, peeled);
    if (ranges.fitsAfter(loop, peeled))
      return start;
    Value exists = hasNext(stepsAfter(first, peeled - 1));
    return arith::SelectOp::create(builder, loop.getLoc(), exists, start, loop.getUpperBound());
  }

  //===--------------------------------------------------------------------===//
  // One round
  //===--------------------------------------------------------------------===//

  /// Writes the stages of round `number` (StagedLoop::startedSince), of which stage s executes iteration
  /// `newest` - s of `iterations`, if it is not after the base.
  void writeRound(int64_t number, const Iterations &iterations, int64_t newest) {
    int64_t first = number > staged.last ? staged.base + number - staged.last : 0;
    int64_t end = std::min(number, staged.last) + 1;
    SmallVector<IRMapping> mappings(static_cast<size_t>(end));
    SmallVector<Value> exists(static_cast<size_t>(end));
    for (int64_t stage = first; stage < end; ++stage) {
      mapStage(stage, mappings[size_t(stage)]);
      if (stage > staged.base)
        continue;
      mappings[size_t(stage)].map(loop.getInductionVar(), iterations.positions[size_t(newest - stage)]);
      if (stage < staged.base)
        exists[size_t(stage)] = iterations.exist[size_t(newest - stage)];
    }
    auto [turnBegins, turnEnds] = number == staged.last ? turn() : std::pair<Operation *, Operation *>();
    for (size_t i = 0; i < staged.round.size(); ++i) {
      Operation *op = staged.round[i];
      int64_t stage = staged.stageOf(op);
      if (stage < first || stage >= end)
        continue;
      if (op == turnBegins)
        TakeTurnOp::create(builder, loop.getLoc());
      if (exists[size_t(stage)] && !runsInEveryRound(op))
        i = writeTested(i, number, exists[size_t(stage)], mappings) - 1;
      else
        write(op, number, mappings);
      if (op == turnEnds)
        PassTurnOp::create(builder, loop.getLoc());
    }
    handOn(first, exists, mappings);
  }

  /// What a stage finds of its own iteration and of the rounds before.
  void mapStage(int64_t stage, IRMapping &mapping) {
    for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
      if (staged.carriedBy[i] == stage || staged.carriedBy[i] == stage + 1)
        mapping.map(argument, state.carried[i]);
    for (auto &[value, versions] : state.fromBefore)
      if (int64_t distance = stage - *staged.homeOf(value);
          distance > 0 && distance <= int64_t(versions.size()) && versions[size_t(distance) - 1])
        mapping.map(value, versions[size_t(distance) - 1]);
  }

  /// The operation, of a round with this number, in its stage's mapping.
  void write(Operation *op, int64_t number, MutableArrayRef<IRMapping> mappings) {
    IRMapping &mapping = mappings[size_t(staged.stageOf(op))];
    std::optional<unsigned> chain = staged.chainOf(op);
    if (chain) // the newest value, whichever iteration's
      mapping.map(isa<GemmWaitOp>(op) ? cast<GemmWaitOp>(op).getAcc() : cast<GemmAsyncOp>(op).getAcc(),
                  state.carried[*chain]);
    Operation *copy = builder.clone(*op, mapping);
    copy->removeDiscardableAttr(TileDialect::stageAttrName);
    if (chain)
      state.carried[*chain] = copy->getResult(0);
    if (std::optional<int64_t> started = staged.startedSince(op, number)) {
      if (auto wait = dyn_cast<GemmWaitOp>(copy))
        wait.setPending(*started);
      else if (auto wait = dyn_cast<AwaitCopiesOp>(copy))
        wait.setPending(uint64_t(int64_t(wait.getPending()) + *started));
    }
    handOver(op, mappings);
  }

  /// What an operation computes for the next iteration is there for the stage before, later in the round.
  void handOver(Operation *op, MutableArrayRef<IRMapping> mappings) {
    int64_t stage = staged.stageOf(op);
    for (auto [i, yielded] : llvm::enumerate(loop.getYieldedValues()))
      if (yielded.getDefiningOp() == op && staged.carriedBy[i] == stage && stage > 0)
        mappings[size_t(stage) - 1].map(loop.getRegionIterArg(unsigned(i)),
                                        mappings[size_t(stage)].lookup(yielded));
  }

  /// Writes operations of a stage, from that at `place` on, which have one test; numbers between them are
  /// computed before. Where there is no such iteration their results are zeros. Returns the place after them.
  size_t writeTested(size_t place, int64_t number, Value exists, MutableArrayRef<IRMapping> mappings) {
    int64_t stage = staged.stageOf(staged.round[place]);
    IRMapping &mapping = mappings[size_t(stage)];
    SmallVector<Operation *> together;
    SmallVector<Value> results;
    for (; place < staged.round.size(); ++place) {
      Operation *op = staged.round[place];
      if (staged.stageOf(op) != stage || isa<CommitCopiesOp>(op))
        break;
      if (runsInEveryRound(op)) {
        if (usesAny(op, results))
          break;
        write(op, number, mappings);
        continue;
      }
      together.push_back(op);
      llvm::append_range(results, op->getResults());
    }
    llvm::erase_if(results, [](Value result) { return result.use_empty(); });
    auto test = scf::IfOp::create(builder, loop.getLoc(), ValueRange(results).getTypes(), exists,
                                  /*addThenBlock=*/true, /*addElseBlock=*/!results.empty());
    if (results.empty())
      scf::IfOp::ensureTerminator(test.getThenRegion(), builder, loop.getLoc());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(test.thenBlock());
    for (Operation *op : together)
      builder.clone(*op, mapping)->removeDiscardableAttr(TileDialect::stageAttrName);
    if (results.empty())
      return place;
    scf::YieldOp::create(builder, loop.getLoc(),
                         llvm::map_to_vector(results, [&](Value result) { return mapping.lookup(result); }));
    builder.setInsertionPointToStart(test.elseBlock());
    scf::YieldOp::create(builder, loop.getLoc(),
                         llvm::map_to_vector(results, [&](Value result) { return zero(result.getType()); }));
    mapping.map(results, test.getResults());
    for (Operation *op : together)
      handOver(op, mappings);
    return place;
  }

  static bool usesAny(Operation *op, ArrayRef<Value> values) {
    WalkResult walked = op->walk([&](Operation *inner) {
      return llvm::any_of(inner->getOperands(),
                          [&](Value value) { return llvm::is_contained(values, value); })
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    return walked.wasInterrupted();
  }

  Value zero(Type type) {
    Value number =
        arith::ConstantOp::create(builder, loop.getLoc(), builder.getZeroAttr(getElementTypeOrSelf(type)));
    return isa<RankedTensorType>(type) ? SplatOp::create(builder, loop.getLoc(), type, number).getResult()
                                       : number;
  }

  void handOn(int64_t first, ArrayRef<Value> exists, ArrayRef<IRMapping> mappings) {
    auto executes = [&](int64_t stage) { return stage >= first && stage < int64_t(mappings.size()); };
    for (auto &[value, versions] : state.fromBefore) {
      std::move_backward(versions.begin(), versions.end() - 1, versions.end());
      int64_t home = *staged.homeOf(value);
      versions.front() = executes(home) ? mappings[size_t(home)].lookupOrDefault(value) : Value();
    }
    for (auto [i, yielded] : llvm::enumerate(loop.getYieldedValues())) {
      int64_t stage = staged.carriedBy[i];
      Operation *op = yielded.getDefiningOp();
      if (!executes(stage) || (op && staged.chainOf(op)))
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

  /// The first and the last product of a round that warpgroups start in turn: one's products are to run under
  /// what another computes between them. Nothing where a round has products of one stage alone, which it
  /// does not wait for, or where there is one warpgroup.
  std::pair<Operation *, Operation *> turn() {
    auto role = loop->getParentOfType<RoleOp>();
    SmallVector<Operation *> products = llvm::filter_to_vector(staged.round, llvm::IsaPred<GemmAsyncOp>);
    bool ofSeveralStages = llvm::any_of(products, [&](Operation *product) {
      return staged.stageOf(product) != staged.stageOf(products.front());
    });
    if (!ofSeveralStages || !role || role.getWarps() % warpsPerWarpgroup != 0 ||
        role.getWarps() <= uint64_t(warpsPerWarpgroup))
      return {};
    return {products.front(), products.back()};
  }

  //===--------------------------------------------------------------------===//
  // All rounds
  //===--------------------------------------------------------------------===//

  /// The loop as it was, for fewer iterations than are peeled. One that peels one has none.
  SmallVector<Value> writeFewIterations() {
    if (staged.peeled() == 1)
      return llvm::to_vector(loop.getInitArgs());
    Operation *plain = builder.clone(*loop);
    for (Operation &op : cast<scf::ForOp>(plain).getBody()->without_terminator())
      op.removeDiscardableAttr(TileDialect::stageAttrName);
    return SmallVector<Value>(plain->getResults());
  }

  SmallVector<Value> writeRounds() {
    writeFirstRounds();
    writeLoop();
    for (int64_t number = 1; number <= staged.peeled(); ++number)
      writeRound(staged.last + number, {}, 0);
    return state.carried;
  }

  void writeFirstRounds() {
    llvm::append_range(state.carried, loop.getInitArgs());
    for (auto [value, distance] : staged.travelling)
      state.fromBefore[value].resize(size_t(distance));
    if (staged.last == 0)
      return;
    Value first = loop.getLowerBound();
    Iterations iterations = iterationsFrom(first, ranges.of(first),
                                           staged.peeled() == 0 ? isNotEmpty() : Value(), staged.last - 1);
    for (int64_t number = 0; number < std::min(staged.peeled(), staged.last); ++number)
      iterations.exist[size_t(number)] = Value();
    for (int64_t number = 0; number < staged.last; ++number)
      writeRound(number, iterations, number);
  }

  void writeLoop() {
    Value start = startOfRounds();
    auto rounds =
        scf::ForOp::create(builder, loop.getLoc(), start, loop.getUpperBound(), loop.getStep(), state.flat());
    rounds.setUnsignedCmp(loop.getUnsignedCmp());
    rounds->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    rounds.getBody()->clear();
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(rounds.getBody());
      state.assign(rounds.getRegionIterArgs());
      Iterations iterations =
          iterationsFrom(rounds.getInductionVar(), ranges.of(loop.getInductionVar()), Value(), staged.base);
      writeRound(staged.last, iterations, staged.base);
      scf::YieldOp::create(builder, loop.getLoc(), state.flat());
    }
    state.assign(rounds.getResults());
  }

  StagedLoop &staged;
  scf::ForOp loop;
  OpBuilder builder;
  PositionRanges ranges;
  Travelled state;
};

struct ExpandPipeline : impl::ExpandPipelineBase<ExpandPipeline> {
  void runOnOperation() override {
    // Outermost first: what an outer loop repeats of an inner one is expanded afterwards.
    while (scf::ForOp loop = findScheduledLoop()) {
      if (failed(checkStages(loop)))
        return signalPassFailure();
      FailureOr<StagedLoop> staged = StagedLoop::read(loop);
      if (failed(staged))
        return signalPassFailure();
      RoundWriter(*staged).run();
    }
  }

  static LogicalResult checkStages(scf::ForOp loop) {
    for (Operation &op : loop.getBody()->without_terminator()) {
      StageAttr stage = stageOf(&op);
      if (!stage)
        return op.emitError("expected 'tile.stage' on every operation of a scheduled loop");
      if (stage.getStage() < 0)
        return op.emitError("expected a stage of at least 0, but got ") << stage.getStage();
    }
    return success();
  }

  scf::ForOp findScheduledLoop() {
    scf::ForOp found;
    getOperation().walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
      bool scheduled = llvm::any_of(loop.getBody()->without_terminator(),
                                    [](Operation &op) { return bool(stageOf(&op)); });
      found = scheduled ? loop : scf::ForOp();
      return scheduled ? WalkResult::interrupt() : WalkResult::advance();
    });
    return found;
  }
};

} // namespace
} // namespace tlc::tile
