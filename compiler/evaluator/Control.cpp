// SPDX-License-Identifier: Apache-2.0
/// \file
/// Grids, tiles, loops and branches.
#include "compiler/evaluator/Machine.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;

namespace tlc::evaluator {

namespace {

Datum indexDatum(int64_t value) { return exactInteger({.bits = 32}, value); }

//===----------------------------------------------------------------------===//
// Places of a block
//===----------------------------------------------------------------------===//

Step evaluateGrid(Task &task, tile::GridOp op) {
  for (auto [axis, position] : llvm::enumerate(op.getPosition()))
    task.set(position, indexDatum(task.block.position[axis]));
  return Step::done;
}

Step evaluateBlocks(Task &task, tile::BlocksOp op) {
  task.set(op.getCount(), indexDatum(task.block.grid[0]));
  return Step::done;
}

Step evaluateBlockRank(Task &task, tile::BlockRankOp op) {
  task.set(op.getRank(), indexDatum(task.block.rank));
  return Step::done;
}

Step evaluateMultiprocessors(Task &task, tile::MultiprocessorsOp op) {
  task.set(op.getCount(), indexDatum(task.block.evaluation.options.multiprocessors));
  return Step::done;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Sets the position of the tile that the frame stands at; false if this block has none there: where the
/// extent is no multiple of the cluster, its last blocks have less to do.
bool enterTile(Task &task, tile::PersistentOp op, const Frame &frame) {
  int64_t cluster = task.block.kernel.getCluster(), left = frame.at;
  for (auto [axis, argument] : llvm::enumerate(op.getBody().getArguments())) {
    int64_t extent = task.number(op.getExtents()[axis]).integer;
    bool isShared = static_cast<int64_t>(axis) == static_cast<int64_t>(op.getClusterAxis());
    int64_t steps = isShared ? llvm::divideCeil(extent, cluster) : extent;
    int64_t position = isShared ? left % steps * cluster + task.block.rank : left % steps;
    left /= steps;
    if (position >= extent)
      return false;
    task.set(argument, indexDatum(position));
  }
  return true;
}

/// Which block computes which tile is no part of the meaning: those of a cluster take neighbours, the others
/// turns.
Step evaluatePersistent(Task &task, tile::PersistentOp op) {
  int64_t cluster = task.block.kernel.getCluster(), tiles = 1;
  for (auto [axis, operand] : llvm::enumerate(op.getExtents())) {
    bool isShared = static_cast<int64_t>(axis) == static_cast<int64_t>(op.getClusterAxis());
    int64_t extent = std::max<int64_t>(task.number(operand).integer, 0);
    tiles *= isShared ? llvm::divideCeil(extent, cluster) : extent;
  }
  task.enter(op, op.getBody());
  Frame &frame = task.frames.back();
  frame.at = task.block.numberInLaunch() / cluster;
  frame.step = std::max<int64_t>(task.block.grid[0] / cluster, 1);
  frame.end = tiles;
  while (frame.at < frame.end && !enterTile(task, op, frame))
    frame.at += frame.step;
  if (frame.at >= frame.end)
    task.frames.pop_back();
  return Step::done;
}

Step evaluateFor(Task &task, scf::ForOp op) {
  auto from = task.certain(op, op.getLowerBound(), "the start of a loop");
  auto to = task.certain(op, op.getUpperBound(), "the end of a loop");
  auto step = task.certain(op, op.getStep(), "the step of a loop");
  if (!from || !to || !step)
    return Step::failed;
  if (*from >= *to) {
    for (auto [result, initial] : llvm::zip(op.getResults(), op.getInitArgs()))
      task.set(result, Datum(task.get(initial)));
    return Step::done;
  }
  if (*step < 1)
    return task.fail(op, "expected a step of at least 1, but got " + Twine(*step));
  task.enter(op, op.getRegion());
  Frame &frame = task.frames.back();
  frame.at = *from;
  frame.end = *to;
  frame.step = *step;
  task.set(op.getInductionVar(), indexDatum(frame.at));
  for (auto [argument, initial] : llvm::zip(op.getRegionIterArgs(), op.getInitArgs()))
    task.set(argument, Datum(task.get(initial)));
  return Step::done;
}

Step evaluateYield(Task &task, scf::YieldOp op) {
  Frame &frame = task.frames.back();
  frame.yielded.clear();
  for (Value operand : op.getOperands())
    frame.yielded.push_back(task.get(operand));
  return Step::done;
}

Step evaluateReturn(Task &, tile::ReturnOp) { return Step::done; }

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

Step enterBranch(Task &task, scf::IfOp op, bool taken) {
  Region &region = taken ? op.getThenRegion() : op.getElseRegion();
  if (!region.empty())
    task.enter(op, region);
  return Step::done;
}

/// What is known before and after a branch of warps: variables that it assigns to, and its results.
struct Outcome {
  SmallVector<Datum> variables, results;
};

/// What of the two outcomes each element has.
std::optional<Datum> merge(const Fragment &condition, Type type, const Datum &then, const Datum &otherwise) {
  const auto *x = std::get_if<FragmentRef>(&then), *y = std::get_if<FragmentRef>(&otherwise);
  if (!x || !y)
    return std::nullopt;
  if (*x == *y)
    return then;
  Kind kind = kindOf(type);
  Fragment merged = **x, decision = decisionFor(condition, merged.extents);
  for (size_t i = 0; i < merged.elements.size(); ++i)
    merged.elements[i] = select(kind, decision.elements[i], (*x)->elements[i], (*y)->elements[i]);
  return std::make_shared<const Fragment>(std::move(merged));
}

/// Warps decide by themselves, and which elements share a warp is no part of the meaning: where the condition
/// does not hold, either outcome may come.
Step evaluateWarpBranch(Task &task, scf::IfOp op, FragmentRef condition) {
  auto isTaken = [](const Element &x) { return isExact(x) && x.integer; };
  auto isNotTaken = [](const Element &x) { return isExact(x) && !x.integer; };
  if (llvm::all_of(condition->elements, isTaken))
    return enterBranch(task, op, true);
  if (llvm::all_of(condition->elements, isNotTaken))
    return enterBranch(task, op, false);

  SmallVector<Value> variables;
  op->walk([&](tile::WriteOp write) {
    Value variable = write.getVariable();
    if (!op->isAncestor(variable.getParentRegion()->getParentOp()) &&
        !llvm::is_contained(variables, variable))
      variables.push_back(variable);
  });
  auto slotOf = [&](Value variable) -> Datum & {
    return std::get<std::shared_ptr<Variable>>(task.get(variable))->value;
  };
  SmallVector<Datum> before;
  for (Value variable : variables)
    before.push_back(slotOf(variable));
  Outcome outcomes[2];
  for (auto [outcome, region] : llvm::zip(outcomes, op->getRegions())) {
    for (auto [variable, value] : llvm::zip(variables, before))
      slotOf(variable) = value;
    if (!region.empty() && runAlone(task, op, region) == Step::failed)
      return Step::failed;
    for (Value variable : variables)
      outcome.variables.push_back(slotOf(variable));
    for (Value result : op->getResults())
      outcome.results.push_back(task.get(result));
  }
  auto choose = [&](Type type, const Datum &then, const Datum &otherwise) -> std::optional<Datum> {
    std::optional<Datum> merged = merge(*condition, type, then, otherwise);
    if (!merged)
      task.fail(op, "expected a branch of warps to assign to fragments only");
    return merged;
  };
  for (auto [i, variable] : llvm::enumerate(variables)) {
    Type type = cast<tile::VariableType>(variable.getType()).getValueType();
    auto merged = choose(type, outcomes[0].variables[i], outcomes[1].variables[i]);
    if (!merged)
      return Step::failed;
    slotOf(variable) = *merged;
  }
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    auto merged = choose(result.getType(), outcomes[0].results[i], outcomes[1].results[i]);
    if (!merged)
      return Step::failed;
    task.set(result, *merged);
  }
  return Step::done;
}

Step evaluateIf(Task &task, scf::IfOp op) {
  if (const auto *ofWarps = std::get_if<FragmentRef>(&task.get(op.getCondition())))
    return evaluateWarpBranch(task, op, *ofWarps);
  auto taken = task.certain(op, op.getCondition(), "a branch");
  return taken ? enterBranch(task, op, *taken != 0) : Step::failed;
}

} // namespace

//===----------------------------------------------------------------------===//
// The end of a body
//===----------------------------------------------------------------------===//

/// Whether the rounds that are left do nothing, as those of `k.loopWhile` whose condition did not hold: a
/// round is a branch on what the last one yielded, whose other side yields false.
static bool isDecided(scf::ForOp loop, ArrayRef<Datum> yielded) {
  auto branch = dyn_cast<scf::IfOp>(loop.getBody()->front());
  if (!branch || yielded.size() != 1 || branch.getCondition() != loop.getRegionIterArg(0) ||
      branch->getNextNode() != loop.getBody()->getTerminator() || branch.getElseRegion().empty())
    return false;
  scf::YieldOp otherwise = branch.elseYield();
  bool doesNothing = llvm::all_of(branch.elseBlock()->without_terminator(),
                                  [](Operation &op) { return isMemoryEffectFree(&op); });
  const auto *goesOn = std::get_if<Element>(&yielded.front());
  return doesNothing && matchPattern(otherwise.getOperand(0), m_Zero()) && goesOn && isExact(*goesOn) &&
         goesOn->integer == 0;
}

void Task::leave() {
  Frame frame = frames.pop_back_val();
  auto again = [&] {
    frame.next = frame.body->begin();
    frames.push_back(frame);
  };
  frame.at += frame.step;
  if (auto loop = dyn_cast<scf::ForOp>(frame.owner)) {
    bool isOver = frame.at >= frame.end || isDecided(loop, frame.yielded);
    if (!isOver)
      set(loop.getInductionVar(), indexDatum(frame.at));
    ValueRange targets = isOver ? ValueRange(loop.getResults()) : ValueRange(loop.getRegionIterArgs());
    for (auto [target, value] : llvm::zip(targets, frame.yielded))
      set(target, Datum(value));
    if (!isOver)
      again();
  } else if (auto tiles = dyn_cast<tile::PersistentOp>(frame.owner)) {
    while (frame.at < frame.end && !enterTile(*this, tiles, frame))
      frame.at += frame.step;
    if (frame.at < frame.end)
      again();
  } else if (auto branch = dyn_cast<scf::IfOp>(frame.owner)) {
    for (auto [result, value] : llvm::zip(branch.getResults(), frame.yielded))
      set(result, Datum(value));
  } else if (auto put = dyn_cast<tile::PutOp>(frame.owner)) {
    handOver(*this, put);
  } else if (isa<tile::RoleOp>(frame.owner)) {
    --block.runningRoles[frame.owner->getParentOp()];
  }
}

void addControlRules(Rules &rules) {
  rules.add(evaluateGrid);
  rules.add(evaluateBlocks);
  rules.add(evaluateBlockRank);
  rules.add(evaluateMultiprocessors);
  rules.add(evaluatePersistent);
  rules.add(evaluateFor);
  rules.add(evaluateYield);
  rules.add(evaluateReturn);
  rules.add(evaluateIf);
}

} // namespace tlc::evaluator
