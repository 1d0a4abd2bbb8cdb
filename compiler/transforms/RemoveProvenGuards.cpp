// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards slices that lie inside their tensor for all arguments that the launcher
/// accepts are marked unchecked.

#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tlc::tile {
#define GEN_PASS_DEF_REMOVEPROVENGUARDS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

std::optional<int64_t> constantOf(Value value) {
  if (auto constant = value.getDefiningOp<arith::ConstantIndexOp>())
    return constant.value();
  return std::nullopt;
}

/// Smallest and largest value of a non-negative index; nothing if unknown.
struct Range {
  int64_t min, max;
};

std::optional<Range> rangeOf(Value value) {
  if (std::optional<int64_t> constant = constantOf(value))
    return Range{*constant, *constant};
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument != loop.getInductionVar())
      return std::nullopt;
    std::optional<Range> lower = rangeOf(loop.getLowerBound()), upper = rangeOf(loop.getUpperBound());
    std::optional<int64_t> step = constantOf(loop.getStep());
    if (!lower || !upper || !step || lower->min != lower->max || upper->max <= lower->min)
      return std::nullopt;
    return Range{lower->min, lower->min + (upper->max - lower->min - 1) / *step * *step};
  }
  Operation *op = value.getDefiningOp();
  if (auto grid = dyn_cast<GridOp>(op)) {
    std::optional<Range> extent = rangeOf(grid.getExtents()[cast<OpResult>(value).getResultNumber()]);
    return extent && extent->max > 0 ? std::optional<Range>({0, extent->max - 1}) : std::nullopt;
  }
  if (op->getNumOperands() != 2)
    return std::nullopt;
  std::optional<Range> a = rangeOf(op->getOperand(0)), b = rangeOf(op->getOperand(1));
  if (!a || !b || a->min < 0 || b->min < 0)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return Range{a->min + b->min, a->max + b->max};
  if (isa<arith::MulIOp>(op))
    return Range{a->min * b->min, a->max * b->max};
  if (isa<arith::DivUIOp>(op) && b->min > 0)
    return Range{a->min / b->max, a->max / b->min};
  if (isa<arith::RemUIOp>(op) && b->min > 0)
    return Range{0, std::min(a->max, b->max - 1)};
  if (isa<arith::MinUIOp>(op))
    return Range{std::min(a->min, b->min), std::min(a->max, b->max)};
  return std::nullopt;
}

/// `tile * size` with `tile` below ceil(extent / size), where the extent is a multiple of `size`.
bool isWholeTile(Value origin, int64_t size, Value extent) {
  auto product = origin.getDefiningOp<arith::MulIOp>();
  if (!product || constantOf(product.getRhs()) != size)
    return false;
  auto argument = dyn_cast<BlockArgument>(product.getLhs());
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  Value bound;
  if (loop && argument == loop.getInductionVar() && rangeOf(loop.getLowerBound()))
    bound = loop.getUpperBound();
  else if (auto grid = product.getLhs().getDefiningOp<GridOp>())
    bound = grid.getExtents()[cast<OpResult>(product.getLhs()).getResultNumber()];
  auto tiles = bound ? bound.getDefiningOp<arith::CeilDivUIOp>() : arith::CeilDivUIOp();
  return tiles && tiles.getLhs() == extent && constantOf(tiles.getRhs()) == size;
}

bool isInside(SliceOp slice) {
  auto argument = cast<BlockArgument>(slice.getTensor());
  auto kernel = cast<KernelOp>(argument.getOwner()->getParentOp());
  auto tensor = cast<program::TensorAttr>(kernel.getArgument(argument.getArgNumber()));
  ArrayRef<int64_t> shape = cast<GlobalType>(argument.getType()).getShape();
  ArrayRef<int64_t> box = cast<SliceType>(slice.getSlice().getType()).getShape();
  for (auto [axis, origin] : llvm::enumerate(slice.getOrigin())) {
    if (ShapedType::isDynamic(shape[axis])) {
      unsigned number = tensor.getDims()[axis];
      auto dimension = cast<program::DimensionAttr>(kernel.getArgument(number));
      if (dimension.getMultipleOf() % box[axis] ||
          !isWholeTile(origin, box[axis], kernel.getBody().getArgument(number)))
        return false;
      continue;
    }
    std::optional<Range> range = rangeOf(origin);
    if (!range || range->min < 0 || range->max + box[axis] > shape[axis])
      return false;
  }
  return true;
}

struct RemoveProvenGuards : impl::RemoveProvenGuardsBase<RemoveProvenGuards> {
  void runOnOperation() override {
    getOperation().walk([](SliceOp slice) {
      if (!slice.getUnchecked() && isInside(slice))
        slice.setUnchecked("proven");
    });
  }
};

} // namespace
} // namespace tlc::tile
