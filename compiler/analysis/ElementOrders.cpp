// SPDX-License-Identifier: Apache-2.0
/// \file
/// Looks at all uses of a buffer, through its views.

#include "compiler/analysis/ElementOrders.h"

#include "llvm/ADT/TypeSwitch.h"

namespace tlc::tile {

using namespace mlir;

namespace {

enum class Use {
  factor,  ///< wants the interleaved order
  any,     ///< moves elements one by one: takes either
  natural, ///< takes the natural order only
};

template <class Gemm> Use useInProduct(Gemm gemm, Value view) {
  bool isRight = gemm.getB() == view && isa<RankedTensorType>(gemm.getA().getType());
  return isRight && gemm.getAtom() == MatrixAtom::wgmma ? Use::factor : Use::natural;
}

/// The TMA moves bytes as they lie.
Use useByTma(Value tensorSide) {
  auto slice = tensorSide.getDefiningOp<SliceOp>();
  return slice && elementOrder(slice) == ElementOrder::interleaved ? Use::factor : Use::natural;
}

Use useOf(Operation *user, Value view) {
  return llvm::TypeSwitch<Operation *, Use>(user)
      .Case<GemmOp, GemmAsyncOp>([&](auto gemm) { return useInProduct(gemm, view); })
      .Case([&](CopyOp copy) {
        Value other = copy.getSource() == view ? copy.getDestination() : copy.getSource();
        return copy.getAtom() == CopyAtom::tma ? useByTma(other) : Use::any;
      })
      .Case([](CopyAsyncOp copy) { return useByTma(copy.getSource()); })
      .Case<LoadOp, StoreOp>([](auto) { return Use::any; })
      .Default([](Operation *) { return Use::natural; });
}

} // namespace

AllocSharedOp bufferOf(Value view) {
  while (Operation *op = view.getDefiningOp()) {
    if (auto buffer = dyn_cast<AllocSharedOp>(op))
      return buffer;
    if (!isa<SlotOp, TransposeOp, RowsOp>(op))
      break;
    view = op->getOperand(0);
  }
  return nullptr;
}

ElementOrder elementOrder(SliceOp slice) {
  auto argument = cast<BlockArgument>(slice.getTensor());
  auto kernel = cast<KernelOp>(argument.getOwner()->getParentOp());
  return kernel.getArgAttr(argument.getArgNumber(), interleavedAttrName) ? ElementOrder::interleaved
                                                                         : ElementOrder::natural;
}

ElementOrder elementOrder(AllocSharedOp buffer) {
  auto type = cast<SharedType>(buffer.getBuffer().getType());
  if (type.getElementType().getIntOrFloatBitWidth() != 8 ||
      type.getShape().back() % orderPeriod(ElementOrder::interleaved) != 0)
    return ElementOrder::natural;
  bool isFactor = false;
  SmallVector<Value> views = {buffer.getBuffer()};
  while (!views.empty()) {
    Value view = views.pop_back_val();
    for (Operation *user : view.getUsers()) {
      if (isa<SlotOp, TransposeOp, RowsOp>(user)) {
        views.push_back(user->getResult(0));
        continue;
      }
      Use use = useOf(user, view);
      if (use == Use::natural)
        return ElementOrder::natural;
      isFactor |= use == Use::factor;
    }
  }
  return isFactor ? ElementOrder::interleaved : ElementOrder::natural;
}

} // namespace tlc::tile
