// SPDX-License-Identifier: Apache-2.0
/// \file
/// Supposes that the boxes meet, and derives which values must then be equal in both rounds, until the
/// loop's counter would have to be, or nothing more follows.
///
/// Each axis says that a sum of multiples of differences lies in an interval: of `i * 64` and boxes of 64,
/// |64 (i' - i)| < 64, so i' = i. Quotient and remainder of a number by the same divisor give the number, and
/// so on.
#include "compiler/analysis/BoxRelation.h"

#include "compiler/analysis/Divisibility.h"
#include "compiler/analysis/PositionRanges.h"
#include "dialects/tile/SharedSlice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <numeric>

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

/// Positions have 32 bits and wrap around.
constexpr int64_t positions = int64_t(1) << 32;

int64_t wrapped(int64_t value) { return static_cast<int32_t>(static_cast<uint32_t>(value)); }

/// A position as multiples of values and a constant, which wrap around as it does.
struct Sum {
  llvm::SmallMapVector<Value, int64_t, 4> multiples;
  int64_t constant = 0;

  explicit Sum(Value position) { add(position, 1); }

private:
  static constexpr int maxTerms = 64; ///< a value's own operands may all be the same
  int terms = 0;

  void add(Value value, int64_t factor) {
    if (std::optional<int64_t> known = getConstantIntValue(value)) {
      constant = wrapped(constant + factor * wrapped(*known));
      return;
    }
    Operation *op = ++terms < maxTerms ? value.getDefiningOp() : nullptr;
    if (isa_and_present<arith::AddIOp>(op)) {
      add(op->getOperand(0), factor);
      return add(op->getOperand(1), factor);
    }
    if (isa_and_present<arith::SubIOp>(op)) {
      add(op->getOperand(0), factor);
      return add(op->getOperand(1), wrapped(-factor));
    }
    if (isa_and_present<arith::MulIOp>(op))
      for (unsigned side : {0u, 1u})
        if (std::optional<int64_t> known = getConstantIntValue(op->getOperand(side)))
          return add(op->getOperand(1 - side), wrapped(factor * wrapped(*known)));
    int64_t &multiple = multiples[value];
    multiple = wrapped(multiple + factor);
  }
};

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
    // Positions say nothing of members of a table that may be different tensors.
    if (earlier.getTensor() != later.getTensor() || !isEqual(earlier.getTensor()))
      return BoxRelation::unknown;
    SmallVector<int64_t> extents = boxExtentsOf(earlier), laterExtents = boxExtentsOf(later);
    bool sameBox = false;
    for (bool again = true; again;) {
      size_t known = equal.size();
      sameBox = extents == laterExtents && earlier.getRank() == later.getRank();
      for (auto [axis, from, to, extent, laterExtent] :
           llvm::enumerate(earlier.getOrigin(), later.getOrigin(), extents, laterExtents)) {
        if (llvm::is_contained(earlier.getGatheredAxes(), int64_t(axis)) ||
            llvm::is_contained(later.getGatheredAxes(), int64_t(axis))) {
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
    Sum before(from), after(to);
    int64_t offset = wrapped(after.constant - before.constant);
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
    if (mayMeetByWrapping(moving, before.constant, std::abs(offset) + std::max(extent, laterExtent)))
      return Overlap::open;
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

  /// How far a value moves the origin at most; nothing if that is not seen.
  std::optional<int64_t> reachOf(Value value, int64_t factor) {
    PositionRange range = ranges.of(value);
    int64_t reach = std::abs(factor) * std::min(range.max - range.min, positions - 1);
    bool isSeen = range.condition != RangeCondition::nothingNeedsMoreBits && reach < positions;
    return isSeen ? std::optional(reach) : std::nullopt;
  }

  /// How far the other values can move the origin; nothing if that is not seen.
  std::optional<int64_t> reachWithout(Value value, ArrayRef<std::pair<Value, int64_t>> moving) {
    int64_t reach = 0;
    for (auto [other, factor] : moving) {
      if (other == value)
        continue;
      std::optional<int64_t> more = reachOf(other, factor);
      if (!more)
        return std::nullopt;
      reach += *more;
    }
    return reach;
  }

  /// By how much a value at least grows from one round to the next: the loop's counter by its step.
  int64_t growthOf(Value value) {
    if (!loop || value != loop.getInductionVar())
      return 1;
    return std::clamp<int64_t>(getConstantIntValue(loop.getStep()).value_or(1), 1, PositionRange::largest);
  }

  /// Whether origins can differ by 2^32 but for the extent of a box. What moves them by no more than a tile
  /// at a time is taken to count tiles, and nobody counts so many.
  bool mayMeetByWrapping(ArrayRef<std::pair<Value, int64_t>> moving, int64_t constant, int64_t extent) {
    constexpr int64_t widestTile = 4096;
    int64_t reach = std::abs(constant) + extent;
    for (auto [value, factor] : moving)
      reach +=
          reachOf(value, factor).value_or(std::abs(factor) * growthOf(value) <= widestTile ? 0 : positions);
    return reach >= positions;
  }

  /// By how much a value can have grown if `factor` times that is between `low` and `high`. The loop's
  /// counter has grown by one step at least.
  Range differencesOf(Value value, int64_t factor, int64_t low, int64_t high) {
    if (!loop || value != loop.getInductionVar())
      return multiplesBetween(low, high, factor);
    Range rounds = multiplesBetween(low, high, factor * growthOf(value));
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
  PositionRanges ranges;
  llvm::SetVector<Value> steps;
  llvm::DenseSet<Value> equal; ///< beside what does not change
};

/// A position as a multiple of a number, and what is added.
struct Residue {
  int64_t divisor; ///< 0: the position is `rest`
  int64_t rest;

  static Residue of(Value position) {
    if (std::optional<int64_t> known = getConstantIntValue(position))
      return {0, *known};
    if (auto add = position.getDefiningOp<arith::AddIOp>())
      for (unsigned side : {0u, 1u})
        if (std::optional<int64_t> known = getConstantIntValue(add->getOperand(side)))
          return {knownDivisor(add->getOperand(1 - side)), *known};
    return {knownDivisor(position), 0};
  }
};

bool areApartAlong(Residue one, int64_t extent, Residue other, int64_t otherExtent) {
  const int64_t between = other.rest - one.rest, divisor = std::gcd(one.divisor, other.divisor);
  if (divisor == 0)
    return between >= extent || -between >= otherExtent;
  const int64_t distance = ((between % divisor) + divisor) % divisor;
  return distance >= extent && distance + otherExtent <= divisor;
}

} // namespace

BoxRelation tile::relate(SliceOp earlier, SliceOp later, scf::ForOp loop) {
  if (earlier.getDisjoint() || later.getDisjoint())
    return BoxRelation::disjoint;
  return IterationPair(loop).relate(earlier, later);
}

bool tile::areApart(SliceOp one, SliceOp other) {
  // Windows of a tensor overlap.
  if (one.getTensor() != other.getTensor() || one.getTensor().getDefiningOp<WindowsOp>() ||
      !one.getGatheredAxes().empty() || !other.getGatheredAxes().empty())
    return false;
  if (one.getDisjoint() && other.getDisjoint() && relate(one, other, {}) == BoxRelation::disjoint)
    return true;
  ArrayRef<int64_t> extents = one.getType().getShape(), others = other.getType().getShape();
  for (auto [origin, extent, otherOrigin, otherExtent] :
       llvm::zip_equal(one.getOrigin(), extents, other.getOrigin(), others))
    if (areApartAlong(Residue::of(origin), extent, Residue::of(otherOrigin), otherExtent))
      return true;
  return false;
}
