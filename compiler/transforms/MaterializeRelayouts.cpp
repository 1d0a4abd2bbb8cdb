// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards exactly the conversions and reductions that move data between warps have
/// scratch memory.

#include "compiler/transforms/Passes.h"
#include "dialects/layout/BankModel.h"
#include "dialects/layout/LayoutText.h"
#include "dialects/layout/Relayout.h"
#include "dialects/layout/SharedLayout.h"

namespace tlc::tile {
#define GEN_PASS_DEF_MATERIALIZERELAYOUTS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

FragmentLayout layoutOf(Value fragment) {
  return cast<LayoutAttr>(cast<RankedTensorType>(fragment.getType()).getEncoding()).getLayout();
}

/// Memory holds no single bits and no `index`.
Type memoryType(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  return element.isIndex() ? IntegerType::get(element.getContext(), 32) : element;
}

/// Warps along the axis that is reduced.
int64_t warpsAlong(ReduceOp reduce) {
  int64_t warps = 1;
  for (const PlacedMode &mode : layoutOf(reduce.getSource()).reduction(int(reduce.getAxis())).warps)
    warps *= mode.mode.extent;
  return warps;
}

/// Whether data goes from warp to warp.
bool needsScratch(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return warpsAlong(reduce) != 1;
  auto convert = dyn_cast<ConvertLayoutOp>(op);
  if (!convert)
    return false;
  auto type = cast<RankedTensorType>(convert.getSource().getType());
  Shape shape(type.getShape().begin(), type.getShape().end());
  return planRelayout(layoutOf(convert.getSource()), layoutOf(convert.getResult()), shape).kind ==
         RelayoutKind::throughShared;
}

Value allocateScratch(KernelOp kernel, Location loc, const SharedLayout &layout, Type element,
                      const Twine &name) {
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  auto type = SharedType::get(kernel.getContext(), layout.shape, element,
                              SharedLayoutAttr::get(kernel.getContext(), layout), /*transposed=*/false);
  return AllocSharedOp::create(builder, loc, type, name.str(), IntegerAttr());
}

/// Whether the warps that hold a result know the truth values that its elements hang on.
bool isDecidedWhereItIs(AnyInWarpOp any, Value result) {
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!type || !isa_and_present<LayoutAttr>(type.getEncoding()))
    return true;
  ArrayRef<int64_t> from = any.getCondition().getType().getShape(), to = type.getShape();
  return staysInWarps(layoutOf(any.getCondition()), Shape(from.begin(), from.end()), layoutOf(result),
                      Shape(to.begin(), to.end()));
}

/// What a warp that takes a branch by itself cannot do there, and the way out.
std::string whyItWaits(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  std::string shape = printShape(Shape(type.getShape().begin(), type.getShape().end()));
  constexpr StringLiteral because = " because each warp decides by itself whether it comes here, but ";
  if (!reduce)
    return ("expected fragments that stay within their warps" + because + "this one of " + shape +
            " moves to other warps; compute it before k.whenAny")
        .str();
  auto isProduct = [](Operation *each) {
    return isa<GemmOp, GemmAsyncOp>(each) ? WalkResult::interrupt() : WalkResult::advance();
  };
  bool isOfRows = int64_t(reduce.getAxis()) + 1 == type.getRank();
  bool helps = isOfRows && op->getParentOfType<KernelOp>()->walk(isProduct).wasInterrupted();
  return ("expected a reduction that stays within a warp" + because + Twine(warpsAlong(reduce)) +
          " warps share axis " + Twine(reduce.getAxis()) + " of " + shape + "; reduce before k.whenAny" +
          (helps ? " or let products use WarpPolicy::fullRow" : ""))
      .str();
}

/// A warp that takes a branch by itself cannot wait for others there, nor decide for them.
LogicalResult checkBranchOfWarp(AnyInWarpOp any, Operation *branch) {
  auto refuse = [&](Operation *op, const Twine &message) {
    InFlightDiagnostic diagnostic = op->emitError(message);
    diagnostic.attachNote(any.getLoc()) << "decided here";
    return failure();
  };
  if (!llvm::all_of(branch->getResults(), [&](Value result) { return isDecidedWhereItIs(any, result); }))
    return refuse(branch, "expected what is assigned to lie in the warps that hold what belongs to it of the "
                          "condition, because each warp decides by itself, but other warps hold it; compute "
                          "the condition from what is assigned, or use 'where' instead");
  Operation *waiting = nullptr;
  branch->walk([&](Operation *op) {
    waiting = needsScratch(op) ? op : nullptr;
    return waiting ? WalkResult::interrupt() : WalkResult::advance();
  });
  return waiting ? refuse(waiting, whyItWaits(waiting)) : success();
}

LogicalResult checkBranchesOfWarps(KernelOp kernel) {
  auto checked = kernel.walk([](AnyInWarpOp any) {
    for (Operation *branch : decisionsBy(any.getResult()))
      if (failed(checkBranchOfWarp(any, branch)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(checked.wasInterrupted());
}

struct MaterializeRelayouts : impl::MaterializeRelayoutsBase<MaterializeRelayouts> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto checked = kernel.walk([](ReduceOp reduce) {
      RankedTensorType type = reduce.getSource().getType();
      if (isa_and_present<LayoutAttr>(type.getEncoding()))
        return WalkResult::advance();
      reduce.emitError("expected fragments with a layout, but got ")
          << type << "; run 'tile-infer-layouts' before 'tile-materialize-relayouts'";
      return WalkResult::interrupt();
    });
    if (checked.wasInterrupted())
      return signalPassFailure();
    if (failed(checkBranchesOfWarps(kernel)))
      return signalPassFailure();
    int64_t conversions = 0, reductions = 0;
    kernel.walk([&](Operation *op) {
      if (auto convert = dyn_cast<ConvertLayoutOp>(op)) {
        auto type = cast<RankedTensorType>(convert.getSource().getType());
        Shape shape(type.getShape().begin(), type.getShape().end());
        FragmentLayout from = layoutOf(convert.getSource()), to = layoutOf(convert.getResult());
        convert.getScratchMutable().clear();
        if (!needsScratch(op))
          return;
        Type element = memoryType(type.getElementType());
        SharedLayout layout = stagingLayout(from, to, shape, int(element.getIntOrFloatBitWidth()));
        convert.getScratchMutable().assign(
            allocateScratch(kernel, op->getLoc(), layout, element, "relayout." + Twine(conversions++)));
      } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
        auto type = cast<RankedTensorType>(reduce.getResult().getType());
        int64_t warps = warpsAlong(reduce);
        reduce.getScratchMutable().clear();
        if (warps == 1)
          return;
        Shape shape(type.getShape().begin(), type.getShape().end());
        shape[reduce.getAxis()] = warps;
        Type element = memoryType(type.getElementType());
        SharedLayout layout =
            SharedLayout::preferred(shape, element.getIntOrFloatBitWidth(), int(shape.size()) - 1);
        reduce.getScratchMutable().assign(
            allocateScratch(kernel, op->getLoc(), layout, element, "reduce." + Twine(reductions++)));
      }
    });
  }
};

} // namespace
} // namespace tlc::tile
