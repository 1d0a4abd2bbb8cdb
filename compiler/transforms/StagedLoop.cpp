// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stages up to the base compute their own numbers, since a number that travels takes a register for each
/// round; later stages take them from the rounds before.

#include "compiler/transforms/StagedLoop.h"

#include <algorithm>

using namespace mlir;
using namespace tlc::tile;

namespace {

StageAttr stageAttrOf(Operation *op) { return op->getAttrOfType<StageAttr>(TileDialect::stageAttrName); }

bool isNumber(Type type) { return !isa<RankedTensorType>(type); }

/// Whether each stage can compute the results itself. A number that is read again is late once more.
bool isRepeatable(Operation *op) {
  return isMemoryEffectFree(op) && !isa<LoadIndexOp>(op) && llvm::all_of(op->getResultTypes(), isNumber);
}

/// A loop cannot carry a view of shared memory, a tensor or a slice of one.
bool isView(Operation *op) { return isa<ViewOpInterface, MemberOp, SliceOp, WindowsOp>(op); }

/// What a wait of the body is for, if that is in the body: a product, or the group that was closed last.
Operation *startOf(Operation *wait) {
  if (auto products = dyn_cast<GemmWaitOp>(wait)) {
    auto product = products.getAcc().getDefiningOp<GemmAsyncOp>();
    return product && product->getBlock() == wait->getBlock() ? product.getOperation() : nullptr;
  }
  if (!isa<AwaitCopiesOp>(wait))
    return nullptr;
  Operation *closed = nullptr;
  for (auto commit : wait->getBlock()->getOps<CommitCopiesOp>())
    if (commit->isBeforeInBlock(wait))
      closed = commit;
  return closed;
}

} // namespace

bool tlc::tile::canBeLeftOut(Operation *op) {
  return isMemoryEffectFree(op) ||
         (!isa<GemmAsyncOp, GemmWaitOp>(op) && llvm::all_of(op->getResultTypes(), [](Type type) {
           return isa<RankedTensorType>(type) || type.isIntOrIndexOrFloat();
         }));
}

bool tlc::tile::runsInEveryRound(Operation *op) { return isMemoryEffectFree(op) || isa<CommitCopiesOp>(op); }

SmallVector<scf::ForOp> tlc::tile::removeStages(Operation *root,
                                                llvm::function_ref<bool(GemmAsyncOp)> isConcerned) {
  SmallVector<scf::ForOp> loops;
  root->walk([&](scf::ForOp loop) {
    auto body = loop.getBody()->without_terminator();
    if (!llvm::all_of(body, [](Operation &op) { return bool(stageAttrOf(&op)); }) ||
        !llvm::any_of(loop.getBody()->getOps<GemmAsyncOp>(), isConcerned))
      return;
    for (Operation &op : body)
      op.removeDiscardableAttr(TileDialect::stageAttrName);
    loops.push_back(loop);
  });
  return loops;
}

FailureOr<StagedLoop> StagedLoop::read(scf::ForOp loop) {
  StagedLoop staged(loop);
  staged.findBase();
  staged.repeatInLaterStages();
  staged.orderRound();
  for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i)
    staged.carriedBy.push_back(staged.stageOfCarried(i));
  staged.findChains();
  if (failed(staged.collectUses()))
    return failure();
  return staged;
}

int64_t StagedLoop::stageOf(Operation *op) const { return stageAttrOf(op).getStage(); }

/// The operation of the body that the use is in.
Operation *StagedLoop::userOf(OpOperand &use) {
  return loop.getBody()->findAncestorOpInBlock(*use.getOwner());
}

void StagedLoop::findBase() {
  auto body = loop.getBody()->without_terminator();
  for (Operation &op : body)
    last = std::max(last, stageOf(&op));
  base = last;
  for (Operation &op : body)
    if (!canBeLeftOut(&op))
      base = std::min(base, stageOf(&op));
}

void StagedLoop::repeatInLaterStages() {
  OpBuilder builder(loop);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(loop.getBody()->without_terminator()))) {
    if (!isRepeatable(&op))
      continue;
    llvm::MapVector<int64_t, SmallVector<OpOperand *>> late; // by stage
    for (OpOperand &use : op.getUses())
      if (Operation *user = userOf(use); !user->hasTrait<OpTrait::IsTerminator>())
        if (int64_t stage = stageOf(user); stage > stageOf(&op) && (stage <= base || isView(&op)))
          late[stage].push_back(&use);
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

void StagedLoop::orderRound() {
  for (Operation &op : loop.getBody()->without_terminator())
    round.push_back(&op);
  llvm::sort(round, [](Operation *a, Operation *b) {
    int64_t first = stageAttrOf(a).getOrder(), second = stageAttrOf(b).getOrder();
    return first != second ? first < second : a->isBeforeInBlock(b);
  });
  for (auto [i, op] : llvm::enumerate(round))
    places[op] = i;
}

/// The stage that computes a carried value, or, if the body does not compute it, the first that uses it.
int64_t StagedLoop::stageOfCarried(unsigned i) {
  if (Operation *op = loop.getYieldedValues()[i].getDefiningOp(); op && op->getBlock() == loop.getBody())
    return stageOf(op);
  int64_t first = last;
  for (OpOperand &use : loop.getRegionIterArg(i).getUses())
    if (Operation *user = userOf(use); !user->hasTrait<OpTrait::IsTerminator>())
      first = std::min(first, stageOf(user));
  return first;
}

/// A sum is in flight between rounds where its wait is of a later stage than its product, and gives its
/// result to the very product that it waits for.
void StagedLoop::findChains() {
  for (auto [i, yielded] : llvm::enumerate(loop.getYieldedValues())) {
    auto wait = yielded.getDefiningOp<GemmWaitOp>();
    Operation *start = wait && wait->getBlock() == loop.getBody() ? startOf(wait) : nullptr;
    BlockArgument sum = loop.getRegionIterArg(unsigned(i));
    if (!start || stageOf(start) >= stageOf(wait) || cast<GemmAsyncOp>(start).getAcc() != sum ||
        !sum.hasOneUse())
      continue;
    chains[start] = chains[wait] = unsigned(i);
    carriedBy[i] = stageOf(start);
  }
}

std::optional<unsigned> StagedLoop::chainOf(Operation *op) const {
  auto found = chains.find(op);
  return found == chains.end() ? std::nullopt : std::optional(found->second);
}

std::optional<int64_t> StagedLoop::homeOf(Value value) {
  if (value.getParentBlock() != loop.getBody())
    return std::nullopt;
  if (value == loop.getInductionVar())
    return base;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return carriedBy[argument.getArgNumber() - 1];
  return stageOf(value.getDefiningOp());
}

LogicalResult StagedLoop::collectUses() {
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
    if (Operation *op = value.getDefiningOp(); !op || !chainOf(op))
      if (failed(addUse(yield, value, carriedBy[i])))
        return failure();
  return success();
}

LogicalResult StagedLoop::addUse(Operation *user, Value value, int64_t stage) {
  std::optional<int64_t> home = homeOf(value);
  Operation *definition = value.getDefiningOp();
  if (!home || (value == loop.getInductionVar() && stage <= base))
    return success();
  if (auto wait = dyn_cast<GemmWaitOp>(user); wait && chainOf(wait) && wait.getAcc() == value)
    return success(); // on the newest value of the sum
  auto isAfter = [&](Operation *op) {
    return !places.contains(user) || places.lookup(op) < places.lookup(user);
  };
  if (auto argument = dyn_cast<BlockArgument>(value); argument && *home > stage) {
    Operation *op = loop.getYieldedValues()[argument.getArgNumber() - 1].getDefiningOp();
    if (*home == stage + 1 && isAfter(op))
      return success(); // the iteration before computes it earlier in the round
    return user->emitError() << "operation of stage " << stage << " uses a value that stage " << *home
                             << " of the iteration before computes, which comes later in the round";
  }
  if (*home > stage || (*home == stage && definition && !isAfter(definition)))
    return user->emitError(
        "expected an operation after those whose results it uses, but its 'tile.stage' puts it before");
  if (*home < stage) {
    int64_t &distance = travelling[value];
    distance = std::max(distance, stage - *home);
  }
  return success();
}

std::optional<int64_t> StagedLoop::startedSince(Operation *wait, int64_t number) {
  Operation *start = startOf(wait);
  if (!start)
    return std::nullopt;
  int64_t apart = stageOf(wait) - stageOf(start), count = 0;
  for (Operation *op : round) {
    if (isa<GemmAsyncOp>(op) != isa<GemmAsyncOp>(start) ||
        isa<CommitCopiesOp>(op) != isa<CommitCopiesOp>(start))
      continue;
    for (int64_t back = apart; back >= 0; --back) {
      int64_t before = number - back; // a round; the first ones lack late stages, the last ones early stages
      bool executes = stageOf(op) <= before && (before <= last || stageOf(op) >= base + before - last);
      bool isSince = (back < apart || places.lookup(op) > places.lookup(start)) &&
                     (back > 0 || places.lookup(op) < places.lookup(wait));
      count += executes && isSince;
    }
  }
  return count;
}
