// SPDX-License-Identifier: Apache-2.0
#include "compiler/transforms/ColumnParts.h"

#include "compiler/analysis/TensorMemory.h"
#include "dialects/tile/Names.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

Value tile::numberOfRows(Value fragment) {
  if (auto splat = fragment.getDefiningOp<SplatOp>())
    return splat.getValue();
  auto broadcast = fragment.getDefiningOp<BroadcastOp>();
  return broadcast && broadcast.getSource().getType().getShape().back() == 1 ? broadcast.getSource()
                                                                             : Value();
}

RankedTensorType tile::withColumns(Value fragment, int64_t columns) {
  auto type = cast<RankedTensorType>(fragment.getType());
  return type.clone(ArrayRef<int64_t>{type.getShape().front(), columns});
}

Value tile::repeat(OpBuilder &builder, Value fragment, Value number, int64_t columns) {
  RankedTensorType type = withColumns(fragment, columns);
  if (isa<RankedTensorType>(number.getType()))
    return BroadcastOp::create(builder, fragment.getLoc(), type, number);
  return SplatOp::create(builder, fragment.getLoc(), type, number);
}

Value tile::viewColumns(OpBuilder &builder, Value sum, int64_t first, int64_t columns) {
  auto type = cast<TensorMemoryType>(sum.getType());
  auto part =
      TensorMemoryType::get(builder.getContext(), {type.getShape().front(), columns}, type.getElementType());
  return ColumnsOp::create(builder, sum.getLoc(), part, sum, first);
}

bool tile::isUnchanged(LoadOp load, Operation *later) {
  Value sum = declarationOf(load.getSource());
  Block *block = later->getBlock();
  Operation *begin = block->findAncestorOpInBlock(*load);
  if (!begin || !begin->isBeforeInBlock(later))
    return false;
  auto isBetween = [&](Operation *op) {
    Operation *here = block->findAncestorOpInBlock(*op);
    bool isWithLoad = here == begin && here != load;
    return here && (isWithLoad || (begin->isBeforeInBlock(here) && here->isBeforeInBlock(later)));
  };
  WalkResult walked = later->getParentOfType<KernelOp>().walk([&](Operation *op) {
    bool writes = llvm::any_of(memoryAccessesOf(op), [&](const MemoryAccess &access) {
      return access.kind != AccessKind::read && sharesColumns(declarationOf(access.memory), sum);
    });
    return writes && isBetween(op) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !walked.wasInterrupted();
}
