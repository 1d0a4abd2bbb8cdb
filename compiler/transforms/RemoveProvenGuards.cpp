// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards slices that lie inside their tensor for all arguments that the launcher
/// accepts are marked unchecked.

#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/support/Math.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tlc::tile {
#define GEN_PASS_DEF_REMOVEPROVENGUARDS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Smallest and largest value of an index.
struct Range {
  int64_t min, max;
};

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

/// What is known of index values without the arguments.
class Ranges {
public:
  /// Nothing if unknown, or if a 32-bit index could overflow on the way.
  std::optional<Range> of(Value value) {
    auto [known, isNew] = answers.try_emplace(value, std::nullopt);
    if (!isNew || depth == maxDepth)
      return known->second;
    ++depth;
    std::optional<Range> range = decide(value);
    --depth;
    if (range && (range->min < -maxIndex || range->max > maxIndex))
      range = std::nullopt;
    return answers[value] = range;
  }

  bool isNonNegative(Value value) {
    if (value.getDefiningOp() && isa<GridOp, BlocksOp, BlockRankOp>(value.getDefiningOp()))
      return true;
    std::optional<Range> range = of(value);
    return range && range->min >= 0;
  }

private:
  static constexpr int64_t maxIndex = (int64_t(1) << 31) - 1;
  static constexpr int maxDepth = 256; ///< of operations whose operands are asked for

  std::optional<Range> decide(Value value) {
    if (std::optional<int64_t> constant = constantOf(value))
      return Range{*constant, *constant};
    if (scf::ForOp loop = countingLoop(value))
      return counted(loop);
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (auto grid = dyn_cast<GridOp>(op)) {
      std::optional<Range> extent = of(grid.getExtents()[cast<OpResult>(value).getResultNumber()]);
      return extent && extent->max > 0 ? std::optional<Range>({0, extent->max - 1}) : std::nullopt;
    }
    if (op->getNumOperands() != 2 || op->getNumRegions())
      return std::nullopt;
    std::optional<Range> a = of(op->getOperand(0)), b = of(op->getOperand(1));
    if (!a || !b || a->min < 0 || b->min < 0)
      return std::nullopt;
    return combined(op, *a, *b);
  }

  std::optional<Range> counted(scf::ForOp loop) {
    std::optional<Range> lower = of(loop.getLowerBound()), upper = of(loop.getUpperBound());
    std::optional<int64_t> step = constantOf(loop.getStep());
    if (!lower || !upper || !step || *step < 1 || lower->min != lower->max || upper->max <= lower->min)
      return std::nullopt;
    return Range{lower->min, lower->min + (upper->max - lower->min - 1) / *step * *step};
  }

  /// Of values that are not negative.
  static std::optional<Range> combined(Operation *op, Range a, Range b) {
    using Answer = std::optional<Range>;
    return llvm::TypeSwitch<Operation *, Answer>(op)
        .Case<arith::AddIOp>([&](auto) { return Range{a.min + b.min, a.max + b.max}; })
        .Case<arith::MulIOp>([&](auto) { return Range{a.min * b.min, a.max * b.max}; })
        .Case<arith::SubIOp>(
            [&](auto) { return a.min >= b.max ? Answer({a.min - b.max, a.max - b.min}) : std::nullopt; })
        .Case<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>(
            [&](auto) { return b.min > 0 ? Answer({a.min / b.max, a.max / b.min}) : std::nullopt; })
        .Case<arith::CeilDivUIOp, arith::CeilDivSIOp>([&](auto) {
          return b.min > 0 ? Answer({ceilDiv(a.min, b.max), ceilDiv(a.max, b.min)}) : std::nullopt;
        })
        .Case<arith::RemUIOp, arith::RemSIOp>(
            [&](auto) { return b.min > 0 ? Answer({0, std::min(a.max, b.max - 1)}) : std::nullopt; })
        .Case<arith::MinUIOp, arith::MinSIOp>(
            [&](auto) { return Range{std::min(a.min, b.min), std::min(a.max, b.max)}; })
        .Case<arith::MaxUIOp, arith::MaxSIOp>(
            [&](auto) { return Range{std::max(a.min, b.min), std::max(a.max, b.max)}; })
        .Default([](Operation *) { return std::nullopt; });
  }

  llvm::DenseMap<Value, std::optional<Range>> answers;
  int depth = 0;
};

class SliceProver {
public:
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
        if (!isWholeTile(origin, box[axis], kernel.getBody().getArgument(number), dimension.getMultipleOf()))
          return false;
        continue;
      }
      std::optional<Range> range = ranges.of(origin);
      if (!range || range->min < 0 || range->max + box[axis] > shape[axis])
        return false;
    }
    return true;
  }

private:
  /// A number that the position is always below, as a value; null if there is none at hand, or if the
  /// position may be negative.
  Value boundOf(Value position) {
    if (scf::ForOp loop = countingLoop(position))
      return ranges.isNonNegative(loop.getLowerBound()) ? loop.getUpperBound() : Value();
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

  Ranges ranges;
};

struct RemoveProvenGuards : impl::RemoveProvenGuardsBase<RemoveProvenGuards> {
  void runOnOperation() override {
    SliceProver prover;
    getOperation().walk([&](SliceOp slice) {
      if (!slice.getUnchecked() && !slice.getGatheredAxis() && prover.isInside(slice))
        slice.setUnchecked("proven");
    });
  }
};

} // namespace
} // namespace tlc::tile
