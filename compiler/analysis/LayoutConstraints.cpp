// SPDX-License-Identifier: Apache-2.0
/// \file
/// Collects the rules that operations state for the layouts of their fragments.

#include "compiler/analysis/LayoutConstraints.h"

#include "dialects/layout/LayoutText.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <numeric>

namespace tlc::tile {

using namespace mlir;

namespace {

/// Four times the registers of a thread: beyond that nothing useful can come out.
constexpr int64_t maxElementsPerThread = 1024;

bool isFragment(Value value) { return isa<RankedTensorType>(value.getType()); }

/// Conversions in a loop run about this much more often than outside.
int64_t weightOf(Operation *op) {
  constexpr int64_t perLoop = 10, most = 1000000;
  int64_t weight = 1;
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
    if (isa<scf::ForOp>(parent))
      weight = std::min(most, perLoop * weight);
  return weight;
}

/// Whether what the wait is for may go on after it: fewer have begun since than the wait leaves.
bool leavesInFlight(CompletionOpInterface wait) {
  Operation *started = wait.getAwaitedValue().getDefiningOp();
  if (!started || completionOf(started) != wait.getCompleted() || started->getBlock() != wait->getBlock())
    return wait.getNumInFlight() > 0;
  int64_t later = 0;
  for (Operation *op = started->getNextNode(); op != wait; op = op->getNextNode())
    later += completionOf(op) == wait.getCompleted();
  return later < wait.getNumInFlight();
}

/// Whether something in flight may still be writing the fragment's registers: nothing can move it then.
bool isInFlight(Value value, llvm::SmallPtrSetImpl<Value> &seen) {
  if (!seen.insert(value).second)
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument == loop.getInductionVar())
      return false;
    unsigned i = argument.getArgNumber() - 1;
    return isInFlight(loop.getInitArgs()[i], seen) || isInFlight(loop.getYieldedValues()[i], seen);
  }
  Operation *op = value.getDefiningOp();
  if (auto started = dyn_cast<InFlightOpInterface>(op))
    return started.getCompletion() && started.getValueInFlight() == value;
  if (auto wait = dyn_cast<CompletionOpInterface>(op))
    return leavesInFlight(wait);
  unsigned i = cast<OpResult>(value).getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return isInFlight(loop.getRegionIterArg(i), seen);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return isInFlight(branch.thenYield().getOperand(i), seen) ||
           isInFlight(branch.elseYield().getOperand(i), seen);
  return false;
}

bool isInFlight(Value value) {
  llvm::SmallPtrSet<Value, 8> seen;
  return isInFlight(value, seen);
}

RoleOp roleOf(Operation *op) { return isa<RoleOp>(op) ? cast<RoleOp>(op) : op->getParentOfType<RoleOp>(); }

class Collector {
public:
  Collector(LayoutConstraints &out) : out(out) {}

  LogicalResult collect(KernelOp kernel) {
    auto checked =
        kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { return WalkResult(check(op)); });
    if (checked.wasInterrupted())
      return failure();
    kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            declare(argument, op);
      for (Value result : op->getResults())
        declare(result, op);
    });
    auto stated =
        kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { return WalkResult(state(op)); });
    return failure(stated.wasInterrupted());
  }

private:
  /// What no layout can make good.
  LogicalResult check(Operation *op) {
    int64_t warps = executingWarps(op);
    for (Value operand : op->getOperands())
      if (isFragment(operand) && roleOf(operand.getParentBlock()->getParentOp()) != roleOf(op)) {
        InFlightDiagnostic diag =
            op->emitError("expected fragments of the role that uses them because each role has "
                          "its own registers, but got one from outside");
        diag.attachNote(operand.getLoc()) << "it is computed here";
        return diag;
      }
    for (Value result : op->getResults()) {
      if (!isFragment(result))
        continue;
      Shape shape = shapeOf(result);
      int64_t perThread = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>()) /
                          (warps * lanesPerWarp);
      if (perThread > maxElementsPerThread)
        return op->emitError("expected fragments of at most ")
               << maxElementsPerThread << " elements per thread because they live in registers, but "
               << printShape(shape) << " has " << perThread << " for each thread of " << warps << " warps";
    }
    auto constant = dyn_cast<arith::ConstantOp>(op);
    if (constant && isFragment(constant) && !isa<SplatElementsAttr>(constant.getValue()))
      return op->emitError(
          "expected constant fragments of one number, but got several; load them from a tensor");
    return success();
  }

  void declare(Value value, Operation *op) {
    if (!isFragment(value))
      return;
    LayoutVariable variable;
    variable.shape = shapeOf(value);
    variable.elementBits = elementBitsOf(value);
    variable.numWarps = executingWarps(op);
    variable.name = isa<CastOpInterface>(op) ? "to" : callOf(op->getName().getStringRef());
    out.variables[value] = out.problem.addVariable(variable);
  }

  Anchor anchor(Operation *op, std::string reason) {
    out.anchors.push_back(op);
    return {int64_t(out.anchors.size()) - 1, std::move(reason)};
  }

  VariableId id(Value value) { return out.variables.lookup(value); }

  void add(const FragmentRule &rule) {
    LayoutConstraint constraint;
    static_cast<LayoutRule &>(constraint) = rule.rule;
    constraint.result = id(rule.result);
    std::string reason = rule.reason;
    if (rule.source)
      constraint.source = id(rule.source);
    if (rule.rule.kind == ConstraintKind::equal && rule.use && isInFlight(rule.source)) {
      constraint.conversion = ConversionPolicy::forbidden;
      reason = "a product in flight";
    }
    constraint.weight = weightOf(rule.asker);
    constraint.anchor = anchor(rule.asker, std::move(reason));
    out.problem.addConstraint(std::move(constraint));
    out.sites.push_back({rule.use, rule.use ? Value() : rule.result});
  }

  /// Operations of the dialect state their own rules; loops and branches carry what they carry, and all else
  /// is arithmetic on elements.
  LogicalResult state(Operation *op) {
    FragmentRules rules(op);
    if (auto stating = dyn_cast<FragmentOpInterface>(op)) {
      if (failed(stating.stateLayouts(rules)))
        return failure();
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      stateLoop(loop, rules);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      stateBranch(branch, rules);
    } else if (!isa<TileDialect>(op->getDialect())) {
      stateElementwise(op, rules);
    } else if (hasFragments(op)) {
      return op->emitError("internal error: expected '")
             << op->getName() << "' to state the layouts of its fragments";
    }
    for (const FragmentRule &rule : rules.all())
      add(rule);
    return success();
  }

  static bool hasFragments(Operation *op) {
    return llvm::any_of(op->getOperands(), isFragment) || llvm::any_of(op->getResults(), isFragment);
  }

  static void stateLoop(scf::ForOp loop, FragmentRules &rules) {
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
      if (!isFragment(argument))
        continue;
      rules.equal(argument, loop.getInitArgsMutable()[i], "what the loop carries");
      rules.equal(argument, yield->getOpOperand(i), "what the loop carries");
      rules.same(loop.getResult(i), argument);
    }
  }

  static void stateBranch(scf::IfOp branch, FragmentRules &rules) {
    for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
      if (region->empty())
        continue;
      for (OpOperand &yielded : region->front().getTerminator()->getOpOperands())
        if (isFragment(yielded.get()))
          rules.equal(branch.getResult(yielded.getOperandNumber()), yielded, "what the branch results in");
    }
  }

  static void stateElementwise(Operation *op, FragmentRules &rules) {
    if (op->getNumRegions() || op->getNumResults() != 1 || !isFragment(op->getResult(0)))
      return;
    for (OpOperand &operand : op->getOpOperands())
      if (isFragment(operand.get()))
        rules.equal(op->getResult(0), operand, "elementwise arithmetic");
  }

  LayoutConstraints &out;
};

} // namespace

FailureOr<LayoutConstraints> LayoutConstraints::collect(KernelOp kernel) {
  LayoutConstraints constraints;
  if (failed(Collector(constraints).collect(kernel)))
    return failure();
  return constraints;
}

} // namespace tlc::tile
