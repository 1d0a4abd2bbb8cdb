// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards slices that lie inside their tensor or shared tile for all arguments that the
/// launcher accepts are marked unchecked.

#include "compiler/analysis/PositionRanges.h"
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
#include "dialects/tile/SharedSlice.h"
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

/// The loop that counts this value, or null.
scf::ForOp countingLoop(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  return loop && argument == loop.getInductionVar() ? loop : scf::ForOp();
}

class SliceProver {
public:
  bool isInside(SliceOp slice) {
    auto argument = dyn_cast<BlockArgument>(slice.getTensor());
    if (!argument) // no dimension is an extent of a member
      return false;
    auto kernel = cast<KernelOp>(argument.getOwner()->getParentOp());
    auto tensor = cast<program::TensorAttr>(kernel.getArgument(argument.getArgNumber()));
    ArrayRef<int64_t> shape = cast<GlobalType>(argument.getType()).getShape();
    ArrayRef<int64_t> box = cast<SliceType>(slice.getSlice().getType()).getShape();
    for (auto [axis, origin] : llvm::enumerate(slice.getOrigin())) {
      if (ShapedType::isDynamic(shape[axis])) {
        unsigned number = tensor.getDims()[axis];
        auto dimension = cast<program::DimensionAttr>(kernel.getArgument(number));
        if (!isWholeTile(origin, box[axis], kernel.getBody().getArgument(number), dimension.getMultipleOf()))
          return false;
        continue;
      }
      if (!isInside(origin, box[axis], shape[axis]))
        return false;
    }
    return true;
  }

  bool isInside(SliceSharedOp slice) {
    return llvm::all_of(
        llvm::zip_equal(slice.getOrigin(), slice.getType().getShape(), slice.getTile().getType().getShape()),
        [&](auto axis) { return std::apply([&](auto... of) { return isInside(of...); }, axis); });
  }

private:
  bool isInside(Value origin, int64_t extent, int64_t end) {
    PositionRange range = ranges.of(origin);
    return range.isProven() && range.isNonNegative() && range.max + extent <= end;
  }

  /// A number that the position is always below, as a value; null if there is none at hand, or if the
  /// position may be negative.
  Value boundOf(Value position) {
    if (scf::ForOp loop = countingLoop(position)) {
      PositionRange first = ranges.of(loop.getLowerBound());
      return first.isProven() && first.isNonNegative() ? loop.getUpperBound() : Value();
    }
    auto grid = position.getDefiningOp<GridOp>();
    return grid ? grid.getExtents()[cast<OpResult>(position).getResultNumber()] : Value();
  }

  /// `tile * size` with `tile` below ceil(extent / size), where the extent is a multiple of `size`.
  bool isWholeTile(Value origin, int64_t size, Value extent, int64_t multipleOf) {
    if (size == 1 && boundOf(origin) == extent)
      return true;
    auto product = origin.getDefiningOp<arith::MulIOp>();
    if (!product || constantOf(product.getRhs()) != size || multipleOf % size)
      return false;
    Value bound = boundOf(product.getLhs());
    Operation *tiles = bound ? bound.getDefiningOp() : nullptr;
    return isa_and_present<arith::CeilDivUIOp, arith::CeilDivSIOp>(tiles) && tiles->getOperand(0) == extent &&
           constantOf(tiles->getOperand(1)) == size;
  }

  PositionRanges ranges;
};

struct RemoveProvenGuards : impl::RemoveProvenGuardsBase<RemoveProvenGuards> {
  void runOnOperation() override {
    SliceProver prover;
    auto removeGuard = [&](auto slice) {
      if (!slice.getUnchecked() && slice.getGatheredAxes().empty() && prover.isInside(slice))
        slice.setUnchecked("proven");
    };
    getOperation().walk([&](SliceOp slice) { removeGuard(slice); });
    getOperation().walk([&](SliceSharedOp slice) { removeGuard(slice); });
  }
};

} // namespace
} // namespace tlc::tile
