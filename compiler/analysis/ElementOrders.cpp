// SPDX-License-Identifier: Apache-2.0
/// \file
/// Looks at all uses of a buffer, through its views.

#include "compiler/analysis/ElementOrders.h"

#include "dialects/layout/AccumulatorOrder.h"

namespace tlc::tile {

using namespace mlir;

namespace {

/// The order of elements that the operation wants of the view; nothing if it takes any.
std::optional<RowOrder> wantedBy(Operation *user, Value view) {
  for (const MemoryAccess &access : memoryAccessesOf(user))
    if (access.memory == view || access.memory == viewedTile(view.getDefiningOp())) // which the view is of
      return access.order;
  return RowOrder();
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

/// Whether a view begins or ends within pieces of an accumulator, or is of columns.
static bool partsPieces(Operation *view) {
  auto rows = dyn_cast<RowsOp>(view);
  if (rows && rows.getSource().getType().getTransposed())
    return true;
  return rows && (int64_t(rows.getFirst()) % accumulatorRows.extent != 0 ||
                  rows.getView().getType().getShape().front() % accumulatorRows.extent != 0);
}

RowOrder rowOrderOf(AllocSharedOp buffer) {
  std::optional<RowOrder> order;
  bool hasPieces = true;
  SmallVector<Value> views = {buffer.getBuffer()};
  while (!views.empty()) {
    Value view = views.pop_back_val();
    for (Operation *user : view.getUsers()) {
      if (isa<ViewOpInterface>(user)) {
        views.push_back(user->getResult(0));
        hasPieces &= !partsPieces(user);
        continue;
      }
      std::optional<RowOrder> wanted = wantedBy(user, view);
      if (wanted && order.value_or(*wanted) != *wanted)
        return {};
      if (wanted)
        order = wanted;
    }
  }
  if (!order || (*order == accumulatorOrder() && !hasPieces))
    return {};
  return *order;
}

} // namespace tlc::tile
