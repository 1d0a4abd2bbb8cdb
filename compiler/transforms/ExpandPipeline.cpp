// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards no `tile.stage` is left. Loops whose early stages have effects alone, such as copies, run these
/// ahead, any number of stages (RunAhead.h). Where an early stage starts products there are two stages: round
/// i runs stage 0 of iteration i and stage 1 of iteration i - 1, interleaved as the orders say. The first
/// iteration's stage 0 and the last one's stage 1 stand before and after, under a test
/// that there is an iteration. Warpgroups of a role start the products of both stages in turn.

#include "compiler/analysis/PositionRanges.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/RunAhead.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "runtime/target/Hardware.h"

#include "llvm/ADT/SetVector.h"

namespace tlc::tile {
#define GEN_PASS_DEF_EXPANDPIPELINE
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

StageAttr stageOf(Operation *op) { return op->getAttrOfType<StageAttr>(TileDialect::stageAttrName); }

/// How a value that the loop carries reaches the next iteration.
enum class CarriedBy {
  stage0,  ///< computed before the next iteration's stage 0
  stage1,  ///< computed by stage 1; in stage 0 only what comes later in the round uses it
  product, ///< an accumulator in flight: the next product takes it before its wait
};

class LoopExpander {
public:
  LoopExpander(scf::ForOp loop) : loop(loop), builder(loop) {}

  LogicalResult run() {
    if (failed(collect()))
      return failure();
    if (stages[1].empty())
      return success(reorder());
    Location loc = loop.getLoc();
    Value runs = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, loop.getLowerBound(),
                                       loop.getUpperBound());
    auto guard = scf::IfOp::create(builder, loc, loop.getResultTypes(), runs, /*addThenBlock=*/true,
                                   /*addElseBlock=*/true);
    guard.getThenRegion().front().clear();
    guard.getElseRegion().front().clear();
    builder.setInsertionPointToEnd(&guard.getElseRegion().front());
    scf::YieldOp::create(builder, loc, loop.getInitArgs());
    builder.setInsertionPointToEnd(&guard.getThenRegion().front());
    scf::YieldOp::create(builder, loc, writeRounds());
    loop.replaceAllUsesWith(guard.getResults());
    loop.erase();
    return success();
  }

private:
  /// A loop of one stage: its round is its body in another order.
  bool reorder() {
    for (Operation *op : round) {
      op->moveBefore(loop.getBody()->getTerminator());
      if (auto wait = dyn_cast<GemmWaitOp>(op))
        if (auto product = wait.getAcc().getDefiningOp<GemmAsyncOp>();
            product && product->getBlock() == loop.getBody())
          wait.setPending(startedBetween(product, wait, round));
    }
    for (Operation *op : round)
      op->removeDiscardableAttr(TileDialect::stageAttrName);
    return true;
  }

  LogicalResult collect() {
    for (Operation &op : loop.getBody()->without_terminator())
      if (int64_t stage = stageOf(&op).getStage(); stage > 1)
        return op.emitError(
                   "expected stage 0 or 1 because results of an early stage are used later, but got ")
               << stage;
    repeatViews();
    for (Operation &op : loop.getBody()->without_terminator())
      round.push_back(&op);
    llvm::sort(round, [](Operation *a, Operation *b) {
      int64_t first = stageOf(a).getOrder(), second = stageOf(b).getOrder();
      return first != second ? first < second : a->isBeforeInBlock(b);
    });
    for (Operation *op : round)
      stages[stageOf(op).getStage()].push_back(op);
    if (failed(checkOrder()))
      return failure();

    for (auto [argument, yielded] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues())) {
      Operation *op = yielded.getDefiningOp();
      bool late = op && op->getBlock() == loop.getBody() && stageOf(op).getStage() == 1;
      carriedBy.push_back(!late                                                    ? CarriedBy::stage0
                          : isChain(dyn_cast_if_present<GemmWaitOp>(op), argument) ? CarriedBy::product
                                                                                   : CarriedBy::stage1);
    }
    return collectCrossing();
  }

  /// A loop cannot carry a view of shared memory, a tensor or a slice of one: stage 1 makes those of stage 0
  /// again, of the cursor or the positions.
  void repeatViews() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(loop.getBody()->without_terminator()))) {
      if (!isa<ViewOpInterface, MemberOp, SliceOp, WindowsOp>(op) || stageOf(&op).getStage() != 0)
        continue;
      SmallVector<std::pair<Operation *, OpOperand *>> late; // with the operation of the body that it is in
      for (OpOperand &use : op.getUses())
        if (Operation *user = loop.getBody()->findAncestorOpInBlock(*use.getOwner());
            user && stageOf(user) && stageOf(user).getStage() == 1)
          late.push_back({user, &use});
      if (late.empty())
        continue;
      int64_t order = stageOf(late.front().first).getOrder();
      for (auto [user, use] : late)
        order = std::min(order, stageOf(user).getOrder());
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfter(&op);
      Operation *again = builder.clone(op);
      again->setDiscardableAttr(TileDialect::stageAttrName, StageAttr::get(op.getContext(), 1, order));
      for (auto [user, use] : late)
        use->set(again->getResult(0));
    }
  }

  /// Each operation comes after those whose results it uses, in its stage or an earlier one.
  LogicalResult checkOrder() {
    llvm::DenseMap<Operation *, size_t> place;
    for (auto [i, op] : llvm::enumerate(round))
      place[op] = i;
    auto when = [&](Operation *op) { return std::pair(stageOf(op).getStage(), place.at(op)); };
    for (Operation *op : round) {
      bool tooEarly = false;
      forEachUse(op, [&](Operation *, Value value) {
        Operation *definition = value.getDefiningOp();
        tooEarly |= definition && when(definition) >= when(op);
      });
      if (tooEarly)
        return op->emitError("expected an operation after those whose results it uses, but its 'tile.stage' "
                             "puts it before");
    }
    return success();
  }

  /// The product of stage 0 that a wait of stage 1 is for, or null.
  GemmAsyncOp productInFlight(GemmWaitOp wait) {
    auto product = wait.getAcc().getDefiningOp<GemmAsyncOp>();
    bool crosses = product && product->getBlock() == loop.getBody() && stageOf(product).getStage() == 0 &&
                   stageOf(wait).getStage() == 1;
    return crosses ? product : GemmAsyncOp();
  }

  /// Whether the wait's result is carried to the very product that it waits for, and to nothing else.
  bool isChain(GemmWaitOp wait, BlockArgument argument) {
    GemmAsyncOp product = wait ? productInFlight(wait) : GemmAsyncOp();
    return product && product.getAcc() == argument && argument.hasOneUse();
  }

  /// The number of the carried value that the wait completes, if that is in flight between rounds.
  std::optional<unsigned> chainOf(GemmWaitOp wait) {
    for (auto [i, yielded] : llvm::enumerate(loop.getYieldedValues()))
      if (yielded == wait.getResult() && carriedBy[i] == CarriedBy::product)
        return i;
    return std::nullopt;
  }

  /// Calls `visit` with what the operation, or one inside it, uses of this iteration.
  void forEachUse(Operation *op, function_ref<void(Operation *user, Value value)> visit) {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (operand.getParentBlock() == loop.getBody())
          visit(inner, operand);
    });
  }

  bool isCarriedByStage1(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument != loop.getInductionVar() &&
           carriedBy[argument.getArgNumber() - 1] == CarriedBy::stage1;
  }

  /// The operation that computes what the next iteration finds in this argument.
  Operation *yieldedFor(Value argument) {
    return loop.getYieldedValues()[cast<BlockArgument>(argument).getArgNumber() - 1].getDefiningOp();
  }

  /// Values of stage 0 that stage 1 of the same iteration uses: they wait one round.
  LogicalResult collectCrossing() {
    for (Operation *op : stages[1])
      forEachUse(op, [&](Operation *user, Value value) {
        if (auto wait = dyn_cast<GemmWaitOp>(user); wait && chainOf(wait))
          return; // waits on the newest value of the chain instead
        Operation *definition = value.getDefiningOp();
        if (definition ? stageOf(definition).getStage() == 0 : !isCarriedByStage1(value))
          crossing.insert(value);
      });
    for (Operation *op : stages[0]) {
      bool usesLate = false;
      forEachUse(op, [&](Operation *, Value value) {
        usesLate |=
            isCarriedByStage1(value) && stageOf(yieldedFor(value)).getOrder() >= stageOf(op).getOrder();
      });
      if (usesLate)
        return op->emitError(
            "operation of stage 0 uses a value that stage 1 of the iteration before computes, "
            "which comes later in the round");
    }
    return success();
  }

  /// Products of a sequence (a round, or one stage of an iteration) that are started after the awaited one
  /// and before the wait, which is one round later where it is of another stage.
  static int64_t startedBetween(GemmAsyncOp awaited, GemmWaitOp wait, ArrayRef<Operation *> sequence) {
    StageAttr from = stageOf(awaited), to = stageOf(wait);
    int64_t count = 0;
    for (Operation *op : sequence) {
      if (!isa<GemmAsyncOp>(op))
        continue;
      bool after = stageOf(op).getOrder() > from.getOrder(), before = stageOf(op).getOrder() < to.getOrder();
      count += from.getStage() == to.getStage() ? after && before : after + before;
    }
    return count;
  }

  /// An operation in a sequence.
  void clone(Operation *op, IRMapping &mapping, ArrayRef<Operation *> sequence) {
    Operation *copy = builder.clone(*op, mapping);
    copy->removeDiscardableAttr(TileDialect::stageAttrName);
    auto wait = dyn_cast<GemmWaitOp>(op);
    if (auto product = wait ? wait.getAcc().getDefiningOp<GemmAsyncOp>() : GemmAsyncOp();
        product && product->getBlock() == loop.getBody())
      cast<GemmWaitOp>(copy).setPending(startedBetween(product, wait, sequence));
  }

  /// A stage 1 operation of an iteration. `newest` maps the accumulators in flight to
  /// their latest value; in the last round nothing later is in flight.
  void writeStage1(Operation *op, IRMapping &mapping, IRMapping &newest, bool last) {
    auto wait = dyn_cast<GemmWaitOp>(op);
    GemmAsyncOp product = wait ? productInFlight(wait) : GemmAsyncOp();
    if (!product)
      return clone(op, mapping, last ? ArrayRef<Operation *>(stages[1]) : round);
    std::optional<unsigned> chain = chainOf(wait);
    Value acc = (chain ? newest : mapping).lookupOrDefault(wait.getAcc());
    auto copy =
        GemmWaitOp::create(builder, wait.getLoc(), acc, last ? 0 : startedBetween(product, wait, round));
    mapping.map(wait.getResult(), copy.getResult());
    if (!chain)
      return;
    newest.map(wait.getAcc(), copy.getResult());
    newest.map(loop.getRegionIterArg(*chain),
               copy.getResult()); // for a product that comes later in the round
  }

  /// The value that stage 0 hands to the next iteration for carried value `i`.
  Value handedOn(unsigned i, IRMapping &mapping) {
    Value yielded = loop.getYieldedValues()[i];
    if (carriedBy[i] == CarriedBy::product)
      yielded = cast<GemmWaitOp>(yielded.getDefiningOp()).getAcc();
    return mapping.lookupOrDefault(yielded);
  }

  /// Or the loop's end, if there is one position.
  Value secondPosition() {
    Location loc = loop.getLoc();
    Value first = loop.getLowerBound(), end = loop.getUpperBound();
    Value second = builder.createOrFold<arith::AddIOp>(loc, first, loop.getStep());
    if (PositionRanges().fitsAfter(loop, 1))
      return second;
    Value distance = builder.createOrFold<arith::SubIOp>(loc, end, first);
    Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, loop.getStep(), distance);
    return arith::SelectOp::create(builder, loc, exists, second, end);
  }

  SmallVector<Value> writeRounds() {
    Location loc = loop.getLoc();
    unsigned carried = loop.getNumRegionIterArgs();

    IRMapping first;
    first.map(loop.getInductionVar(), loop.getLowerBound());
    for (auto [argument, init] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs()))
      first.map(argument, init);
    for (Operation *op : stages[0])
      clone(op, first, stages[0]);
    SmallVector<Value> inits;
    for (unsigned i = 0; i < carried; ++i)
      inits.push_back(carriedBy[i] == CarriedBy::stage1 ? loop.getInitArgs()[i] : handedOn(i, first));
    for (Value value : crossing)
      inits.push_back(first.lookupOrDefault(value));

    Value second = secondPosition();
    auto rounds = scf::ForOp::create(builder, loc, second, loop.getUpperBound(), loop.getStep(), inits);
    rounds.getBody()->clear();
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(rounds.getBody());
      IRMapping current, previous;
      current.map(loop.getInductionVar(), rounds.getInductionVar());
      mapStage1(previous, rounds.getRegionIterArgs());
      for (unsigned i = 0; i < carried; ++i)
        if (carriedBy[i] != CarriedBy::stage1)
          current.map(loop.getRegionIterArg(i), rounds.getRegionIterArg(i));
      mapInFlight(current, rounds.getRegionIterArgs());
      auto [turnBegins, turnEnds] = turn();
      for (Operation *op : round) {
        if (op == turnBegins)
          TakeTurnOp::create(builder, loc);
        if (stageOf(op).getStage() == 0) {
          clone(op, current, round);
        } else {
          writeStage1(op, previous, current, /*last=*/false);
          handOver(op, previous, current);
        }
        if (op == turnEnds)
          PassTurnOp::create(builder, loc);
      }
      SmallVector<Value> crossed;
      for (Value value : crossing)
        crossed.push_back(current.lookupOrDefault(value));
      SmallVector<Value> yielded;
      for (unsigned i = 0; i < carried; ++i)
        yielded.push_back(carriedBy[i] == CarriedBy::stage1
                              ? previous.lookupOrDefault(loop.getYieldedValues()[i])
                              : handedOn(i, current));
      llvm::append_range(yielded, crossed);
      scf::YieldOp::create(builder, loc, yielded);
    }

    IRMapping last, newest;
    mapStage1(last, rounds.getResults());
    mapInFlight(newest, rounds.getResults());
    for (Operation *op : stages[1])
      writeStage1(op, last, newest, /*last=*/true);
    SmallVector<Value> results;
    for (unsigned i = 0; i < carried; ++i)
      results.push_back(carriedBy[i] == CarriedBy::stage0 ? rounds.getResult(i)
                                                          : last.lookupOrDefault(loop.getYieldedValues()[i]));
    return results;
  }

  /// The first and the last product of a round that warpgroups start in turn: one's products are to run under
  /// what another computes between them. Nothing where a round has products of one stage alone, which it
  /// does not wait for, or where there is one warpgroup.
  std::pair<Operation *, Operation *> turn() {
    auto role = loop->getParentOfType<RoleOp>();
    SmallVector<Operation *> products = llvm::filter_to_vector(round, llvm::IsaPred<GemmAsyncOp>);
    bool ofBothStages = llvm::any_of(products, [&](Operation *product) {
      return stageOf(product).getStage() != stageOf(products.front()).getStage();
    });
    if (!ofBothStages || !role || role.getWarps() % warpsPerWarpgroup != 0 ||
        role.getWarps() <= uint64_t(warpsPerWarpgroup))
      return {};
    return {products.front(), products.back()};
  }

  /// What a stage 1 operation computes for the next iteration is there for what comes later in the round.
  void handOver(Operation *op, IRMapping &previous, IRMapping &current) {
    for (auto [i, yielded] : llvm::enumerate(loop.getYieldedValues()))
      if (carriedBy[i] == CarriedBy::stage1 && yielded.getDefiningOp() == op)
        current.map(loop.getRegionIterArg(unsigned(i)), previous.lookup(yielded));
  }

  /// What stage 1 sees: its own carried values, and the previous round's crossing values.
  void mapStage1(IRMapping &mapping, ValueRange values) {
    for (unsigned i = 0; i < carriedBy.size(); ++i)
      if (carriedBy[i] == CarriedBy::stage1)
        mapping.map(loop.getRegionIterArg(i), values[i]);
    for (auto [value, carried] : llvm::zip_equal(crossing, values.drop_front(carriedBy.size())))
      mapping.map(value, carried);
  }

  void mapInFlight(IRMapping &mapping, ValueRange values) {
    for (unsigned i = 0; i < carriedBy.size(); ++i)
      if (carriedBy[i] == CarriedBy::product)
        mapping.map(cast<GemmWaitOp>(loop.getYieldedValues()[i].getDefiningOp()).getAcc(), values[i]);
  }

  scf::ForOp loop;
  OpBuilder builder;
  SmallVector<Operation *> round; ///< all operations, in order
  std::array<SmallVector<Operation *>, 2> stages;
  SmallVector<CarriedBy> carriedBy;
  llvm::SetVector<Value> crossing;
};

struct ExpandPipeline : impl::ExpandPipelineBase<ExpandPipeline> {
  void runOnOperation() override {
    // Outermost first: what an outer loop repeats of an inner one is expanded afterwards.
    while (scf::ForOp loop = findScheduledLoop())
      if (failed(checkStages(loop)) || failed(canRunAhead(loop) ? runAhead(loop) : LoopExpander(loop).run()))
        return signalPassFailure();
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
