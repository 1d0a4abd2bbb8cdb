// SPDX-License-Identifier: Apache-2.0
/// \file
/// One rule per operation: what it asks of the layouts of its fragments.

#include "compiler/analysis/LayoutConstraints.h"

#include "compiler/analysis/ElementOrders.h"
#include "dialects/layout/LayoutText.h"
#include "dialects/layout/StockLayouts.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

namespace tlc::tile {

using namespace mlir;

int64_t executingWarps(Operation *op) {
  if (auto role = op->getParentOfType<RoleOp>())
    return role.getWarps();
  return op->getParentOfType<KernelOp>().getWarps();
}

namespace {

/// Four times the registers of a thread: beyond that nothing useful can come out.
constexpr int64_t maxElementsPerThread = 1024;

bool isFragment(Value value) { return isa<RankedTensorType>(value.getType()); }

Shape shapeOf(Value value) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  return Shape(shape.begin(), shape.end());
}

int elementBits(Value value) {
  Type type = cast<RankedTensorType>(value.getType()).getElementType();
  return type.isIndex() ? 32 : int(type.getIntOrFloatBitWidth());
}

/// Conversions in a loop run about this much more often than outside.
int64_t weightOf(Operation *op) {
  constexpr int64_t perLoop = 10, most = 1000000;
  int64_t weight = 1;
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
    if (isa<scf::ForOp>(parent))
      weight = std::min(most, perLoop * weight);
  return weight;
}

/// Whether the product that the wait is for may go on after it: fewer have begun since than the wait leaves.
bool leavesInFlight(GemmWaitOp wait) {
  auto product = wait.getAcc().getDefiningOp<GemmAsyncOp>();
  if (!product || product->getBlock() != wait->getBlock())
    return wait.getPending() > 0;
  uint64_t later = 0;
  for (Operation *op = product->getNextNode(); op != wait; op = op->getNextNode())
    later += isa<GemmAsyncOp>(op);
  return later < wait.getPending();
}

/// Whether a product may still be writing the fragment's registers: nothing can move it then.
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
  if (isa<GemmAsyncOp>(op))
    return true;
  if (auto wait = dyn_cast<GemmWaitOp>(op))
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
    kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { state(op); });
    return success();
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
    if (isWgmma(op) && warps % warpsPerWarpgroup)
      return op->emitError("expected whole warpgroups because the product's atom is wgmma, but got ")
             << warps << " warps";
    return success();
  }

  static bool isWgmma(Operation *op) {
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case<GemmOp, GemmAsyncOp>([](auto gemm) { return gemm.getAtom() == MatrixAtom::wgmma; })
        .Default(false);
  }

  void declare(Value value, Operation *op) {
    if (!isFragment(value))
      return;
    LayoutVariable variable;
    variable.shape = shapeOf(value);
    variable.elementBits = elementBits(value);
    variable.numWarps = executingWarps(op);
    variable.name = isa<CastOpInterface>(op) ? "to" : callOf(op->getName().getStringRef());
    out.variables[value] = out.problem.addVariable(variable);
  }

  Anchor anchor(Operation *op, std::string reason) {
    out.anchors.push_back(op);
    return {int64_t(out.anchors.size()) - 1, std::move(reason)};
  }

  VariableId id(Value value) { return out.variables.lookup(value); }

  void add(LayoutConstraint constraint, Operation *op, std::string reason, ConstraintSite site) {
    constraint.weight = weightOf(op);
    constraint.anchor = anchor(op, std::move(reason));
    out.problem.addConstraint(std::move(constraint));
    out.sites.push_back(site);
  }

  void fixed(Value value, FragmentLayout layout, Strength strength, Operation *op, std::string reason,
             ConstraintSite site, ConversionPolicy conversion = ConversionPolicy::permitted) {
    LayoutConstraint constraint;
    constraint.kind = ConstraintKind::fixed;
    constraint.result = id(value);
    constraint.layout = std::move(layout);
    constraint.strength = strength;
    constraint.conversion = conversion;
    add(std::move(constraint), op, std::move(reason), site);
  }

  void equal(Value result, OpOperand &source, std::string reason) {
    LayoutConstraint constraint;
    constraint.kind = ConstraintKind::equal;
    constraint.result = id(result);
    constraint.source = id(source.get());
    if (isInFlight(source.get())) {
      constraint.conversion = ConversionPolicy::forbidden;
      reason = "a product in flight";
    }
    add(std::move(constraint), source.getOwner(), std::move(reason), {&source, {}});
  }

  /// Both are one register set: nothing can stand between them.
  void same(Value result, Value source, Operation *op) {
    LayoutConstraint constraint;
    constraint.kind = ConstraintKind::equal;
    constraint.result = id(result);
    constraint.source = id(source);
    constraint.conversion = ConversionPolicy::forbidden;
    add(std::move(constraint), op, "what is carried in place", {nullptr, result});
  }

  void state(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<GemmOp, GemmAsyncOp>([&](auto gemm) { stateProduct(gemm); })
        .Case<GemmWaitOp>([&](GemmWaitOp wait) { same(wait.getResult(), wait.getAcc(), wait); })
        .Case<scf::ForOp>([&](scf::ForOp loop) { stateLoop(loop); })
        .Case<scf::IfOp>([&](scf::IfOp branch) { stateBranch(branch); })
        .Case<AnyInWarpOp>([&](AnyInWarpOp any) { stateDecisions(any); })
        .Case<ReduceOp>([&](ReduceOp reduce) { stateReduce(reduce); })
        .Case<BroadcastOp>([&](BroadcastOp broadcast) { stateBroadcast(broadcast); })
        .Case<LoadOp>([&](LoadOp load) { stateLoad(load); })
        .Case<StoreOp>([&](StoreOp store) { stateStore(store); })
        .Case<SplatOp, CoordinatesOp, ConvertLayoutOp, AtomicAddOp, scf::YieldOp>([](Operation *) {})
        .Default([&](Operation *other) { stateElementwise(other); });
  }

  template <class Gemm> void stateProduct(Gemm gemm) {
    Operation *op = gemm;
    Shape acc = shapeOf(gemm.getAcc());
    int64_t warps = executingWarps(op);
    auto policy = tlc::WarpPolicy(gemm.getPolicy());
    MatrixAtom atom = gemm.getAtom().value_or(MatrixAtom::fma);
    equal(gemm.getResult(), gemm.getAccMutable(), "the accumulator of the product");
    Value a = gemm.getA();
    if (atom == MatrixAtom::wgmma) {
      WarpGrid grid = wgmmaGrid(acc[0], acc[1], warps / warpsPerWarpgroup, policy);
      fixed(gemm.getResult(), wgmmaAccumulator(acc[0], acc[1], grid), Strength::required, op,
            "the accumulator of wgmma", {nullptr, gemm.getResult()}, ConversionPolicy::forbidden);
      if (isFragment(a)) {
        AllocSharedOp right = bufferOf(gemm.getB());
        ElementOrder order = right ? elementOrder(right) : ElementOrder::natural;
        fixed(a, wgmmaOperandA(acc[0], shapeOf(a)[1], elementBits(a), grid, order), Strength::required, op,
              "operand A of wgmma", {&gemm.getAMutable(), {}});
      }
    } else if (atom == MatrixAtom::mma_sync) {
      WarpGrid grid = mmaGrid(acc[0], acc[1], warps, policy);
      fixed(gemm.getResult(), mmaAccumulator(acc[0], acc[1], grid), Strength::required, op,
            "the accumulator of mma.sync", {nullptr, gemm.getResult()}, ConversionPolicy::forbidden);
      if (isFragment(a))
        fixed(a, mmaOperandA(acc[0], shapeOf(a)[1], elementBits(a), grid), Strength::required, op,
              "operand A of mma.sync", {&gemm.getAMutable(), {}});
    }
  }

  void stateLoop(scf::ForOp loop) {
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
      if (!isFragment(argument))
        continue;
      equal(argument, loop.getInitArgsMutable()[i], "what the loop carries");
      equal(argument, yield->getOpOperand(i), "what the loop carries");
      same(loop.getResult(i), argument, loop);
    }
  }

  void stateBranch(scf::IfOp branch) {
    for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
      if (region->empty())
        continue;
      for (OpOperand &yielded : region->front().getTerminator()->getOpOperands())
        if (isFragment(yielded.get()))
          equal(branch.getResult(yielded.getOperandNumber()), yielded, "what the branch results in");
    }
  }

  /// What a warp decides is about what it holds.
  void stateDecisions(AnyInWarpOp any) {
    for (Operation *decision : decisionsBy(any.getResult()))
      for (Value result : decision->getResults())
        if (isFragment(result) && shapeOf(result) == shapeOf(any.getCondition()))
          equal(result, any.getConditionMutable(), "the decision of a warp");
  }

  void stateReduce(ReduceOp reduce) {
    LayoutConstraint constraint;
    constraint.kind = ConstraintKind::reduceOf;
    constraint.result = id(reduce.getResult());
    constraint.source = id(reduce.getSource());
    constraint.axis = int(reduce.getAxis());
    add(std::move(constraint), reduce, "the reduction", {nullptr, reduce.getResult()});
  }

  void stateBroadcast(BroadcastOp broadcast) {
    Shape from = shapeOf(broadcast.getSource()), to = shapeOf(broadcast.getResult());
    auto [first, ignored] = llvm::mismatch(from, to);
    LayoutConstraint constraint;
    constraint.kind = ConstraintKind::broadcastOf;
    constraint.result = id(broadcast.getResult());
    constraint.source = id(broadcast.getSource());
    constraint.axis = int(first - from.begin());
    add(std::move(constraint), broadcast, "the broadcast", {&broadcast.getSourceMutable(), {}});
  }

  FragmentLayout coalesced(Value value, Operation *op) {
    Shape shape = shapeOf(value);
    return blockedLayout(shape, elementBits(value), executingWarps(op), int(shape.size()) - 1);
  }

  void stateLoad(LoadOp load) {
    fixed(load.getValue(), coalesced(load.getValue(), load), Strength::preferred, load, "coalesced loads",
          {nullptr, load.getValue()});
  }

  void stateStore(StoreOp store) {
    Value value = store.getValue();
    if (store.getAtom() == CopyAtom::tma) {
      Shape shape = shapeOf(value);
      WarpGrid grid = {executingWarps(store) / warpsPerWarpgroup, 1};
      fixed(value, wgmmaAccumulator(shape[0], shape[1], grid), Strength::required, store,
            "the panels of a store through the TMA", {&store.getValueMutable(), {}});
      return;
    }
    fixed(value, coalesced(value, store), Strength::preferred, store, "coalesced stores",
          {&store.getValueMutable(), {}});
  }

  void stateElementwise(Operation *op) {
    if (op->getNumRegions() || op->getNumResults() != 1 || !isFragment(op->getResult(0)))
      return;
    for (OpOperand &operand : op->getOpOperands())
      if (isFragment(operand.get()))
        equal(op->getResult(0), operand, "elementwise arithmetic");
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
