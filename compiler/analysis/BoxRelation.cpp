// SPDX-License-Identifier: Apache-2.0
/// \file
/// Supposes that the boxes meet, and derives which values must then be equal in both rounds, until the
/// loop's counter would have to be, or nothing more follows.
///
/// Each axis says that a sum of multiples of differences lies in an interval: of `i * 64` and boxes of 64,
/// |64 (i' - i)| < 64, so i' = i. Quotient and remainder of a number by the same divisor give the number, and
/// so on.
#include "compiler/analysis/BoxRelation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

/// Beyond this, numbers are no positions.
constexpr int64_t largest = int64_t(1) << 40;

/// A product, or the most of its sign that sums of a few have room for.
int64_t saturatedProduct(int64_t a, int64_t b) {
  constexpr int64_t most = int64_t(1) << 60;
  int64_t product = 0;
  if (llvm::MulOverflow(a, b, product))
    return (a < 0) == (b < 0) ? most : -most;
  return std::clamp(product, -most, most);
}

/// A number as multiples of values and a constant.
struct Sum {
  llvm::SmallMapVector<Value, int64_t, 4> multiples;
  int64_t constant = 0;

  void add(Value value, int64_t factor) {
    if (std::optional<int64_t> known = getConstantIntValue(value)) {
      constant = saturatedProduct(constant + saturatedProduct(factor, *known), 1);
      return;
    }
    Operation *op = value.getDefiningOp();
    if (isa_and_present<arith::AddIOp>(op)) {
      add(op->getOperand(0), factor);
      return add(op->getOperand(1), factor);
    }
    if (isa_and_present<arith::SubIOp>(op)) {
      add(op->getOperand(0), factor);
      return add(op->getOperand(1), -factor);
    }
    if (isa_and_present<arith::MulIOp>(op))
      for (unsigned side : {0u, 1u})
        if (std::optional<int64_t> known = getConstantIntValue(op->getOperand(side));
            known && std::abs(saturatedProduct(factor, *known)) < largest)
          return add(op->getOperand(1 - side), factor * *known);
    multiples[value] += factor;
  }
};

/// An upper bound of a number that is not negative, where the operation that makes it shows one.
std::optional<int64_t> upperBound(Value value) {
  if (std::optional<int64_t> known = getConstantIntValue(value))
    return known;
  std::optional<int64_t> least;
  if (auto min = value.getDefiningOp<arith::MinUIOp>())
    for (Value operand : min->getOperands())
      if (std::optional<int64_t> bound = upperBound(operand); bound && *bound >= 0)
        least = std::min(least.value_or(*bound), *bound);
  return least;
}

/// How far apart two values of `value` can be; nothing if that is not seen.
std::optional<int64_t> spread(Value value) {
  if (isa_and_present<arith::RemUIOp, arith::RemSIOp>(value.getDefiningOp())) {
    std::optional<int64_t> divisor = upperBound(value.getDefiningOp()->getOperand(1));
    if (!divisor || *divisor < 1 || *divisor > largest)
      return std::nullopt;
    bool isSigned = isa<arith::RemSIOp>(value.getDefiningOp());
    return (isSigned ? 2 : 1) * (*divisor - 1);
  }
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  if (!loop || argument != loop.getInductionVar())
    return std::nullopt;
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> upper = getConstantIntValue(loop.getUpperBound());
  int64_t count = 0;
  if (!lower || !upper || llvm::SubOverflow(*upper, *lower, count))
    return std::nullopt;
  return std::max<int64_t>(count, 1) - 1;
}

/// Numbers from `first` to `last`; none if `last` is less.
struct Range {
  int64_t first, last;
};

/// The whole numbers n with low < factor * n < high.
Range multiplesBetween(int64_t low, int64_t high, int64_t factor) {
  if (factor < 0)
    return multiplesBetween(-high, -low, -factor);
  return {llvm::divideFloorSigned(low, factor) + 1, llvm::divideCeilSigned(high, factor) - 1};
}

/// The boxes of one iteration of a loop, and those of a later one.
class IterationPair {
public:
  explicit IterationPair(scf::ForOp loop) : loop(loop) {}

  BoxRelation relate(SliceOp earlier, SliceOp later) {
    collect(earlier->getOperands());
    collect(later->getOperands());
    ArrayRef<int64_t> extents = earlier.getType().getShape(), laterExtents = later.getType().getShape();
    bool sameBox = false;
    for (bool again = true; again;) {
      size_t known = equal.size();
      sameBox = extents == laterExtents;
      for (auto [axis, from, to, extent, laterExtent] :
           llvm::enumerate(earlier.getOrigin(), later.getOrigin(), extents, laterExtents)) {
        if (earlier.getGatheredAxis() == axis || later.getGatheredAxis() == axis) {
          sameBox = false;
          continue;
        }
        Overlap overlap = suppose(from, to, extent, laterExtent);
        if (overlap == Overlap::never)
          return BoxRelation::disjoint;
        sameBox &= overlap == Overlap::exact;
      }
      if (!derive())
        return BoxRelation::disjoint;
      again = equal.size() != known;
    }
    return sameBox ? BoxRelation::same : BoxRelation::unknown;
  }

private:
  enum class Overlap : uint8_t { never, exact, open };

  bool isInLoop(Value value) { return loop && loop.getRegion().isAncestor(value.getParentRegion()); }

  /// What the origins are computed from inside the loop.
  void collect(ValueRange values) {
    for (Value value : values)
      if (isInLoop(value) && steps.insert(value))
        if (Operation *op = value.getDefiningOp())
          collect(op->getOperands());
  }

  /// Whether a value is the same in both rounds.
  bool isEqual(Value value) {
    if (!isInLoop(value) || equal.contains(value))
      return true;
    Operation *op = value.getDefiningOp();
    bool follows = op && isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
                   llvm::all_of(op->getOperands(), [&](Value operand) { return isEqual(operand); });
    if (follows)
      equal.insert(value);
    return follows;
  }

  /// What follows if boxes that begin at `from` in the earlier and at `to` in the later round meet along the
  /// axis.
  Overlap suppose(Value from, Value to, int64_t extent, int64_t laterExtent) {
    Sum before, after;
    before.add(from, 1);
    after.add(to, 1);
    int64_t offset = after.constant - before.constant;
    SmallVector<std::pair<Value, int64_t>> moving; // and by how much the origin moves with each
    for (auto [value, factor] : before.multiples)
      if (factor != after.multiples.lookup(value))
        return Overlap::open;
    for (auto [value, factor] : after.multiples) {
      if (factor != before.multiples.lookup(value))
        return Overlap::open;
      if (factor != 0 && !isEqual(value))
        moving.push_back({value, factor});
    }
    if (moving.empty()) {
      bool apart = offset >= extent || -offset >= laterExtent;
      return apart ? Overlap::never : offset == 0 ? Overlap::exact : Overlap::open;
    }
    for (auto [value, factor] : moving) {
      std::optional<int64_t> others = reachWithout(value, moving);
      if (!others)
        continue;
      Range differences =
          differencesOf(value, factor, -laterExtent - offset - *others, extent - offset + *others);
      if (differences.first > differences.last)
        return Overlap::never;
      if (differences.first == 0 && differences.last == 0)
        equal.insert(value);
    }
    return Overlap::open;
  }

  /// How far the other values can move the origin; nothing if that is not seen.
  static std::optional<int64_t> reachWithout(Value value, ArrayRef<std::pair<Value, int64_t>> moving) {
    int64_t reach = 0;
    for (auto [other, factor] : moving) {
      if (other == value)
        continue;
      std::optional<int64_t> most = spread(other);
      int64_t product = 0;
      if (!most || llvm::MulOverflow(*most, std::abs(factor), product) || product > largest)
        return std::nullopt;
      reach += product;
    }
    return reach;
  }

  /// By how much a value can have grown if `factor` times that is between `low` and `high`. The loop's
  /// counter has grown by one step at least.
  Range differencesOf(Value value, int64_t factor, int64_t low, int64_t high) {
    if (!loop || value != loop.getInductionVar())
      return multiplesBetween(low, high, factor);
    int64_t step = std::max<int64_t>(getConstantIntValue(loop.getStep()).value_or(1), 1);
    Range rounds = multiplesBetween(low, high, saturatedProduct(factor, step));
    return {std::max<int64_t>(rounds.first, 1), rounds.last};
  }

  /// What else is equal then; false if the loop's counter would have to be.
  bool derive() {
    for (Value value : steps) {
      if (!isEqual(value))
        continue;
      if (suppose(value, value, 1, 1) == Overlap::never)
        return false;
      Operation *quotient = value.getDefiningOp();
      if (!isa_and_present<arith::DivUIOp, arith::DivSIOp>(quotient) || !isEqual(quotient->getOperand(1)))
        continue;
      for (Value other : steps) {
        Operation *remainder = other.getDefiningOp();
        bool matches = isa<arith::DivUIOp>(quotient) ? isa_and_present<arith::RemUIOp>(remainder)
                                                     : isa_and_present<arith::RemSIOp>(remainder);
        if (matches && remainder->getOperands() == quotient->getOperands() && isEqual(other))
          equal.insert(quotient->getOperand(0));
      }
    }
    return !loop || !equal.contains(loop.getInductionVar());
  }

  scf::ForOp loop;
  llvm::SetVector<Value> steps;
  llvm::DenseSet<Value> equal; ///< beside what does not change
};

} // namespace

BoxRelation tile::relate(SliceOp earlier, SliceOp later, scf::ForOp loop) {
  if (earlier.getDisjoint() || later.getDisjoint())
    return BoxRelation::disjoint;
  return IterationPair(loop).relate(earlier, later);
}
