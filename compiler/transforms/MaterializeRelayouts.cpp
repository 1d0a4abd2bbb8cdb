// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards exactly the operations that move data between warps have scratch memory.

#include "compiler/transforms/Passes.h"
#include "dialects/layout/LayoutText.h"
#include "dialects/layout/Relayout.h"
#include "dialects/tile/Tile.h"

#include "llvm/ADT/StringMap.h"

namespace tlc::tile {
#define GEN_PASS_DEF_MATERIALIZERELAYOUTS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

Value allocateScratch(KernelOp kernel, Location loc, const ScratchNeed &need, const Twine &name) {
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  auto type = SharedType::get(kernel.getContext(), need.layout.shape(), need.element,
                              SharedLayoutAttr::get(kernel.getContext(), need.layout), /*transposed=*/false);
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

/// What a warp that takes a branch by itself cannot do there, and how to fix it.
std::string whyItWaits(ScratchOpInterface op, const ScratchNeed &need) {
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  std::string shape = printShape(Shape(type.getShape().begin(), type.getShape().end()));
  constexpr StringLiteral because = " because each warp decides by itself whether it comes here, but ";
  if (need.axis < 0)
    return ("expected fragments that stay within their warps" + because + "this one of " + shape +
            " moves to other warps; compute it before k.whenAny")
        .str();
  auto isProduct = [](ProductOpInterface) { return WalkResult::interrupt(); };
  bool isOfRows = need.axis + 1 == type.getRank();
  bool helps = isOfRows && op->getParentOfType<KernelOp>()->walk(isProduct).wasInterrupted();
  ScratchWords words = op.getScratchWords();
  return ("expected " + words.noun + " that stays within a warp" + because + Twine(need.warps) +
          " warps share axis " + Twine(need.axis) + " of " + shape + "; " + words.verb + " before k.whenAny" +
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
    return refuse(branch,
                  "expected the assigned value to be distributed over warps like the condition, because each "
                  "warp decides by itself, but other warps hold it; compute the condition "
                  "from the assigned value, or use 'where' instead");
  WalkResult stored = branch->walk([&](StoreOp store) {
    return isDecidedWhereItIs(any, store.getValue()) ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (stored.wasInterrupted())
    return refuse(branch, "expected what is stored in tensor memory to be distributed over warps like the "
                          "condition, because each warp decides by itself, but other warps hold it; compute "
                          "the condition from it, or use 'where' instead");
  LogicalResult checked = success();
  branch->walk([&](ScratchOpInterface op) {
    std::optional<ScratchNeed> need = op.getScratchNeed();
    if (need)
      checked = refuse(op, whyItWaits(op, *need));
    return need ? WalkResult::interrupt() : WalkResult::advance();
  });
  return checked;
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
    auto checked = kernel.walk([](ScratchOpInterface op) {
      Type type = op->getOperand(0).getType();
      if (isa_and_present<LayoutAttr>(cast<RankedTensorType>(type).getEncoding()))
        return WalkResult::advance();
      op->emitError("expected fragments with a layout, but got ")
          << type << "; run 'tile-infer-layouts' before 'tile-materialize-relayouts'";
      return WalkResult::interrupt();
    });
    if (checked.wasInterrupted())
      return signalPassFailure();
    if (failed(checkBranchesOfWarps(kernel)))
      return signalPassFailure();
    llvm::StringMap<int64_t> numbers; // of buffers by name
    kernel.walk([&](ScratchOpInterface op) {
      op.getScratchMutable().clear();
      std::optional<ScratchNeed> need = op.getScratchNeed();
      if (!need)
        return;
      StringRef name = op.getScratchWords().name;
      op.getScratchMutable().assign(
          allocateScratch(kernel, op->getLoc(), *need, name + "." + Twine(numbers[name]++)));
    });
  }
};

} // namespace
} // namespace tlc::tile
