// SPDX-License-Identifier: Apache-2.0
/// \file
/// Interval arithmetic; what a loop carries is shown not to be negative by induction.
#include "compiler/analysis/PositionRanges.h"

#include "dialects/program/Program.h"
#include "dialects/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {
constexpr int maxDepth = 256; ///< of operations whose operands are asked for

/// An end that is further out may be anywhere.
constexpr int64_t furthest = int64_t(1) << 60;

/// Inductions within one another; what is found in one is forgotten after it.
constexpr int maxHypotheses = 6;

PositionRange between(int64_t min, int64_t max) { return {min, max, RangeCondition::none}; }

int64_t product(int64_t a, int64_t b) {
  int64_t result = 0;
  if (llvm::MulOverflow(a, b, result))
    return (a < 0) == (b < 0) ? furthest : -furthest;
  return result;
}

/// From the smallest to the largest of what `combine` makes of the ends. It is monotonic in each number.
template <typename Combine> PositionRange overEnds(PositionRange a, PositionRange b, Combine combine) {
  int64_t ends[] = {combine(a.min, b.min), combine(a.min, b.max), combine(a.max, b.min),
                    combine(a.max, b.max)};
  return between(*llvm::min_element(ends), *llvm::max_element(ends));
}

int64_t magnitude(PositionRange a) { return std::max(std::abs(a.min), std::abs(a.max)); }

/// Truncation makes a quotient no larger than the dividend, whatever the divisor.
PositionRange quotient(PositionRange a, PositionRange b) {
  if (b.min > 0)
    return overEnds(a, b, [](int64_t x, int64_t y) { return x / y; });
  return a.min >= 0 && b.min >= 0 ? between(0, a.max) : between(-magnitude(a), magnitude(a));
}

/// Of numbers without a sign: of one below 0 nothing is known.
PositionRange unsignedQuotient(PositionRange a, PositionRange b) {
  if (a.min < 0)
    return {};
  return b.min > 0 ? between(a.min / b.max, a.max / b.min) : between(0, a.max);
}

PositionRange rounded(PositionRange a, PositionRange b, int64_t (*divide)(int64_t, int64_t)) {
  if (b.min > 0)
    return overEnds(a, b, divide);
  return a.min >= 0 && b.min >= 0 ? between(0, a.max) : PositionRange();
}

PositionRange remainder(PositionRange a, PositionRange b) {
  int64_t most = std::min(magnitude(a), std::max<int64_t>(magnitude(b) - 1, 0));
  return between(a.min >= 0 ? 0 : -most, a.max <= 0 ? 0 : most);
}

PositionRange unsignedRemainder(PositionRange a, PositionRange b) {
  int64_t most = b.min >= 0 ? std::max<int64_t>(b.max - 1, 0) : PositionRange::largest;
  if (a.min >= 0)
    return between(0, std::min(a.max, most));
  return b.min >= 0 ? between(0, most) : PositionRange();
}

PositionRange smaller(PositionRange a, PositionRange b) {
  return between(std::min(a.min, b.min), std::min(a.max, b.max));
}
PositionRange larger(PositionRange a, PositionRange b) {
  return between(std::max(a.min, b.min), std::max(a.max, b.max));
}

PositionRange unsignedSmaller(PositionRange a, PositionRange b) {
  if (a.min >= 0 && b.min >= 0)
    return smaller(a, b);
  return a.min >= 0 ? between(0, a.max) : b.min >= 0 ? between(0, b.max) : PositionRange();
}

/// Of bits: a number that is not negative clears those above its own.
PositionRange commonBits(PositionRange a, PositionRange b) {
  PositionRange limit = unsignedSmaller(a, b);
  return limit.min >= 0 ? between(0, limit.max) : limit;
}

PositionRange either(PositionRange a, PositionRange b) {
  return {std::min(a.min, b.min), std::max(a.max, b.max), std::max(a.condition, b.condition)};
}

PositionRange combined(Operation *op, PositionRange a, PositionRange b) {
  return llvm::TypeSwitch<Operation *, PositionRange>(op)
      .Case<arith::AddIOp>([&](auto) { return between(a.min + b.min, a.max + b.max); })
      .Case<arith::SubIOp>([&](auto) { return between(a.min - b.max, a.max - b.min); })
      .Case<arith::MulIOp>([&](auto) { return overEnds(a, b, product); })
      .Case<arith::DivSIOp>([&](auto) { return quotient(a, b); })
      .Case<arith::DivUIOp>([&](auto) { return unsignedQuotient(a, b); })
      .Case<arith::FloorDivSIOp>([&](auto) { return rounded(a, b, llvm::divideFloorSigned); })
      .Case<arith::CeilDivSIOp>([&](auto) { return rounded(a, b, llvm::divideCeilSigned); })
      .Case<arith::CeilDivUIOp>([&](auto) {
        return a.min < 0   ? PositionRange()
               : b.min > 0 ? rounded(a, b, llvm::divideCeilSigned)
                           : between(0, a.max);
      })
      .Case<arith::RemSIOp>([&](auto) { return remainder(a, b); })
      .Case<arith::RemUIOp>([&](auto) { return unsignedRemainder(a, b); })
      .Case<arith::MinSIOp>([&](auto) { return smaller(a, b); })
      .Case<arith::MaxSIOp>([&](auto) { return larger(a, b); })
      .Case<arith::MinUIOp>([&](auto) { return unsignedSmaller(a, b); })
      .Case<arith::MaxUIOp>([&](auto) { return a.min >= 0 && b.min >= 0 ? larger(a, b) : PositionRange(); })
      .Case<arith::AndIOp>([&](auto) { return commonBits(a, b); })
      .Default([](Operation *) { return PositionRange(); });
}

bool divides(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp,
             arith::RemSIOp, arith::RemUIOp>(op);
}

/// With what the operands' ranges suppose, and the operation itself.
PositionRange conditional(Operation *op, PositionRange a, PositionRange b) {
  PositionRange range = combined(op, a, b);
  range.condition = std::max(a.condition, b.condition);
  if (divides(op) && b.min <= 0 && b.max >= 0)
    range.condition = std::max(range.condition, RangeCondition::divisorsAreNotZero);
  return range;
}

/// What holds even if numbers need more bits than there are.
PositionRange withoutCondition(PositionRange range) {
  return range.condition == RangeCondition::nothingNeedsMoreBits ? PositionRange() : range;
}

bool fits(PositionRange range) {
  return range.min >= PositionRange::least && range.max <= PositionRange::largest;
}

/// Of numbers below each extent.
PositionRange below(PositionRange extent) { return between(0, std::max<int64_t>(extent.most() - 1, 0)); }
} // namespace

PositionRange PositionRanges::of(Value position) {
  if (auto known = answers.find(position); known != answers.end())
    return known->second;
  if (depth == maxDepth)
    return {};
  ++depth;
  PositionRange range = decide(position);
  --depth;
  range.min = std::clamp(range.min, -furthest, furthest);
  range.max = std::clamp(range.max, -furthest, furthest);
  if (!fits(range))
    range.condition = RangeCondition::nothingNeedsMoreBits;
  if (answers.try_emplace(position, range).second)
    order.push_back(position);
  return range;
}

std::optional<int64_t> PositionRanges::reachOf(scf::ForOp loop, int64_t steps) {
  PositionRange step = of(loop.getStep());
  return step.isProven() && step.min >= 1 ? std::optional(product(steps, step.max)) : std::nullopt;
}

bool PositionRanges::fitsAfter(scf::ForOp loop, int64_t steps) {
  std::optional<int64_t> reach = reachOf(loop, steps);
  return reach && of(loop.getUpperBound()).most() - 1 + *reach <= PositionRange::largest;
}

PositionRange PositionRanges::decide(Value value) {
  if (APInt constant; matchPattern(value, m_ConstantInt(&constant)))
    return between(constant.getSExtValue(), constant.getSExtValue());
  if (!value.getType().isIndex() && !value.getType().isInteger(32))
    return {};
  if (auto argument = dyn_cast<BlockArgument>(value))
    return ofArgument(argument);
  return ofResult(cast<OpResult>(value));
}

PositionRange PositionRanges::ofArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto kernel = dyn_cast<KernelOp>(parent)) {
    auto dimension = dyn_cast_or_null<program::DimensionAttr>(kernel.getArgument(argument.getArgNumber()));
    bool isFixed = dimension && dimension.getFixed() >= 0;
    return isFixed     ? between(dimension.getFixed(), dimension.getFixed())
           : dimension ? between(0, PositionRange::largest)
                       : PositionRange();
  }
  if (auto tiles = dyn_cast<PersistentOp>(parent))
    return below(of(tiles.getExtents()[argument.getArgNumber()]));
  auto loop = dyn_cast<scf::ForOp>(parent);
  if (!loop)
    return {};
  if (argument != loop.getInductionVar())
    return ofCarried(argument, loop.getTiedLoopInit(argument)->get(),
                     loop.getTiedLoopYieldedValue(argument)->get());
  PositionRange lower = of(loop.getLowerBound()), upper = of(loop.getUpperBound()), step = of(loop.getStep());
  int64_t last = std::max(upper.most() - 1, lower.min);
  if (lower.min == lower.max && step.min == step.max && step.min > 0)
    last = lower.min + (last - lower.min) / step.min * step.min;
  return {lower.min, last, lower.condition};
}

PositionRange PositionRanges::ofCarried(Value argument, Value initial, Value yielded) {
  PositionRange first = of(initial);
  if (!first.isNonNegative() || hypotheses == maxHypotheses)
    return {};
  size_t before = order.size();
  answers[argument] = between(0, PositionRange::largest);
  order.push_back(argument);
  ++hypotheses;
  PositionRange next = of(yielded);
  --hypotheses;
  // Without the induction's hypothesis nothing that followed from it holds.
  while (order.size() > before)
    answers.erase(order.pop_back_val());
  return next.isNonNegative()
             ? PositionRange{0, PositionRange::largest, std::max(first.condition, next.condition)}
             : PositionRange();
}

PositionRange PositionRanges::ofResult(OpResult result) {
  Operation *op = result.getOwner();
  unsigned number = result.getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    PositionRange range = of(loop.getInitArgs()[number]), carried = of(loop.getRegionIterArg(number));
    return either(range, carried);
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    PositionRange yes = of(branch.thenYield().getOperand(number)),
                  no = of(branch.elseYield().getOperand(number));
    return either(yes, no);
  }
  if (auto grid = dyn_cast<GridOp>(op))
    return below(of(grid.getExtents()[number]));
  if (isa<BlocksOp>(op)) // whole clusters
    return between(int64_t(op->getParentOfType<KernelOp>().getCluster()), PositionRange::largest);
  if (isa<BlockRankOp, MultiprocessorsOp>(op))
    return between(isa<MultiprocessorsOp>(op), PositionRange::largest);
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    PositionRange yes = of(select.getTrueValue()), no = of(select.getFalseValue());
    return either(yes, no);
  }
  if (isa<arith::IndexCastOp>(op))
    return of(op->getOperand(0));
  if (op->getNumOperands() != 2 || op->getNumRegions() != 0)
    return {};
  PositionRange a = of(op->getOperand(0)), b = of(op->getOperand(1));
  PositionRange range = conditional(op, a, b);
  if (range.condition != RangeCondition::nothingNeedsMoreBits)
    return range;
  // A remainder, say, is below its divisor whatever is divided.
  PositionRange any = conditional(op, withoutCondition(a), withoutCondition(b));
  bool tellsAsMuch = fits(any) && any.isNonNegative() == range.isNonNegative();
  return tellsAsMuch ? any : range;
}
