// SPDX-License-Identifier: Apache-2.0
/// \file
/// Looks at all uses of a buffer, through its views.

#include "compiler/analysis/ElementOrders.h"

namespace tlc::tile {

using namespace mlir;

namespace {

/// How the operation takes the order of the view's elements.
OrderUse useOf(Operation *user, Value view) {
  for (const MemoryAccess &access : memoryAccessesOf(user))
    if (access.memory == view)
      return access.order;
  return OrderUse::natural;
}

} // namespace

AllocSharedOp bufferOf(Value view) {
  while (Operation *op = view.getDefiningOp()) {
    if (auto buffer = dyn_cast<AllocSharedOp>(op))
      return buffer;
    if (!isa<ViewOpInterface>(op))
      break;
    view = op->getOperand(0);
  }
  return nullptr;
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
      if (isa<ViewOpInterface>(user)) {
        views.push_back(user->getResult(0));
        continue;
      }
      OrderUse use = useOf(user, view);
      if (use == OrderUse::natural)
        return ElementOrder::natural;
      isFactor |= use == OrderUse::interleaved;
    }
  }
  return isFactor ? ElementOrder::interleaved : ElementOrder::natural;
}

} // namespace tlc::tile
