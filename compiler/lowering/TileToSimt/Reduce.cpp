// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reductions and scans: the thread's registers, then the lanes by shuffles, then the warps
/// through shared memory.
#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "compiler/lowering/TileToSimt/Relayout.h"
#include "dialects/layout/LayoutText.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {
Value combine(Emitter &b, tile::ReduceKind kind, Value lhs, Value rhs) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(lhs.getType()));
  switch (kind) {
  case tile::ReduceKind::sum:
    return isFloat ? arith::AddFOp::create(b, lhs, rhs).getResult()
                   : arith::AddIOp::create(b, lhs, rhs).getResult();
  case tile::ReduceKind::max:
    return isFloat ? arith::MaxNumFOp::create(b, lhs, rhs).getResult()
                   : arith::MaxSIOp::create(b, lhs, rhs).getResult();
  case tile::ReduceKind::min:
    return isFloat ? arith::MinNumFOp::create(b, lhs, rhs).getResult()
                   : arith::MinSIOp::create(b, lhs, rhs).getResult();
  case tile::ReduceKind::product:
    return isFloat ? arith::MulFOp::create(b, lhs, rhs).getResult()
                   : arith::MulIOp::create(b, lhs, rhs).getResult();
  case tile::ReduceKind::maxOrNaN:
    return arith::MaximumFOp::create(b, lhs, rhs);
  case tile::ReduceKind::minOrNaN:
    return arith::MinimumFOp::create(b, lhs, rhs);
  case tile::ReduceKind::bitAnd:
    return arith::AndIOp::create(b, lhs, rhs);
  case tile::ReduceKind::bitOr:
    return arith::OrIOp::create(b, lhs, rhs);
  case tile::ReduceKind::bitXor:
    return arith::XOrIOp::create(b, lhs, rhs);
  }
  llvm_unreachable("unknown kind");
}

/// What changes nothing, for the places that a layout covers and the tile has not.
Value neutral(Emitter &b, tile::ReduceKind kind, Type element) {
  if (auto type = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    if (kind == tile::ReduceKind::product)
      return b.constant(b.getFloatAttr(type, APFloat::getOne(semantics)));
    if (kind == tile::ReduceKind::maxOrNaN || kind == tile::ReduceKind::minOrNaN)
      return b.constant(b.getFloatAttr(type, APFloat::getInf(semantics, kind == tile::ReduceKind::maxOrNaN)));
    // NaN loses against every number, and is what the largest of nothing but NaN must be.
    return b.constant(b.getFloatAttr(type, kind == tile::ReduceKind::sum
                                               ? APFloat::getZero(semantics, /*Negative=*/true)
                                               : APFloat::getQNaN(semantics)));
  }
  unsigned bits = element.getIntOrFloatBitWidth();
  if (kind == tile::ReduceKind::sum || kind == tile::ReduceKind::bitOr || kind == tile::ReduceKind::bitXor)
    return b.zero(element);
  if (kind == tile::ReduceKind::bitAnd)
    return b.constant(b.getIntegerAttr(element, APInt::getAllOnes(bits)));
  if (kind == tile::ReduceKind::product)
    return b.constant(b.getIntegerAttr(element, 1));
  bool max = kind == tile::ReduceKind::max;
  return b.constant(
      b.getIntegerAttr(element, max ? APInt::getSignedMinValue(bits) : APInt::getSignedMaxValue(bits)));
}

class Reduction {
public:
  Reduction(KernelLowering &k, tile::ReduceOp op)
      : k(k), b(k.b), op(op), layout(k.layoutOf(op.getSource().getType())), axis(int(op.getAxis())),
        result(layout.reduced(axis)), steps(layout.reduction(axis)) {}

  const FragmentLayout &resultLayout() const { return result; }

  LogicalResult run(Value source, Value &reduced) {
    reduced = withinThread(withoutPadding(source));
    for (int64_t mask : steps.laneMasks())
      reduced =
          combine(b, op.getKind(), reduced, simt::ShuffleXorOp::create(b, reduced.getType(), reduced, mask));
    return steps.warps.empty() ? success() : acrossWarps(reduced);
  }

private:
  Value withoutPadding(Value source) {
    ArrayRef<int64_t> shape = op.getSource().getType().getShape();
    if (layout.coveredExtent(axis) <= shape[size_t(axis)])
      return source;
    Value thread = threadCoordinates(b, layout, k.team)[size_t(axis)];
    Value fill = neutral(b, op.getKind(), cast<VectorType>(source.getType()).getElementType());
    std::map<int64_t, Value> inside;
    SmallVector<Value> registers;
    for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg) {
      int64_t step = layout.coordinatesOf({reg, 0, 0})[size_t(axis)];
      Value &isInside = inside[step];
      if (!isInside)
        isInside = b.isBelow(b.add(thread, step), b.i32(shape[size_t(axis)]));
      registers.push_back(b.select(isInside, b.extract(source, reg), fill));
    }
    return b.pack(registers);
  }

  /// Pairwise, so that dependent operations are few and rounding errors small.
  Value withinThread(Value source) {
    std::map<int64_t, SmallVector<int64_t>> members; // of each register of the result
    for (auto [reg, target] : llvm::enumerate(reducedRegisters(layout, result, {axis})))
      members[target].push_back(int64_t(reg));
    SmallVector<Value> layers;
    for (size_t i = 0; i < members.begin()->second.size(); ++i) {
      SmallVector<int64_t> registers;
      for (auto &[target, own] : members)
        registers.push_back(own[i]);
      layers.push_back(b.pick(source, registers));
    }
    while (layers.size() > 1) {
      SmallVector<Value> next;
      for (size_t i = 0; i + 1 < layers.size(); i += 2)
        next.push_back(combine(b, op.getKind(), layers[i], layers[i + 1]));
      if (layers.size() % 2 != 0)
        next.push_back(layers.back());
      layers = std::move(next);
    }
    return layers[0];
  }

  /// Each warp along the axis leaves its part in the scratch memory, where they lie along
  /// that axis; all read all parts.
  LogicalResult acrossWarps(Value &reduced) {
    RankedTensorType type = op.getResult().getType();
    int64_t parts = 1;
    for (const PlacedMode &mode : steps.warps)
      parts *= mode.mode.extent;
    Shape shape(type.getShape().begin(), type.getShape().end());
    Shape partShape = shape;
    partShape[size_t(axis)] = parts;
    if (!op.getScratch())
      return op.emitOpError() << "expected scratch memory because " << parts << " warps share axis " << axis
                              << ", but got none; run 'tile-materialize-relayouts' before 'tile-to-simt'";
    const SharedTile &scratch = k.shared(op.getScratch());
    if (scratch.shape != partShape || scratch.element != k.typeOf(type.getElementType()))
      return op.emitOpError() << "expected scratch memory of " << printShape(partShape) << " elements of "
                              << type.getElementType() << " because " << parts << " warps share axis " << axis
                              << ", but got " << op.getScratch().getType();
    // Previous readers of this memory must be done.
    if (failed(k.syncTeam()))
      return failure();
    storeShared(k, scratch, partLayout(), partShape, reduced);
    if (failed(k.syncTeam()))
      return failure();
    Coordinates origin(partShape.size(), 0);
    for (int64_t part = 0; part < parts; ++part) {
      origin[size_t(axis)] = part;
      Value loaded = loadShared(k, scratch, result, shape, origin);
      reduced = part == 0 ? loaded : combine(b, op.getKind(), reduced, loaded);
    }
    return success();
  }

  /// The result with the warps' parts next to each other.
  FragmentLayout partLayout() const {
    int64_t step = 1;
    FragmentLayout::Modes warps = layout.modes(HardwareAxis::warp);
    for (LayoutMode &mode : warps)
      if (mode.axis == axis) {
        mode.step = step;
        step *= mode.extent;
      }
    return FragmentLayout::get(layout.rank(), result.modes(HardwareAxis::reg),
                               result.modes(HardwareAxis::lane), warps);
  }

  KernelLowering &k;
  Emitter &b;
  tile::ReduceOp op;
  const FragmentLayout &layout;
  int axis;
  FragmentLayout result;
  AxisReduction steps;
};
} // namespace

static LogicalResult lowerOp(KernelLowering &k, tile::ReduceOp op) {
  Reduction reduction(k, op);
  Value reduced;
  if (failed(reduction.run(k.value(op.getSource()), reduced)))
    return failure();
  const FragmentLayout &wanted = k.layoutOf(op.getResult().getType());
  Value result = relayout(k, reduced, reduction.resultLayout(), wanted, op.getResult().getType().getShape());
  if (!result)
    return op.emitOpError() << "expected the result in the layout " << printLayout(reduction.resultLayout())
                            << " because that is where the reduction leaves it, but got "
                            << printLayout(wanted)
                            << " and elements move between warps; insert 'tile.convert_layout'";
  k.set(op.getResult(), result);
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::AnyInWarpOp op) {
  Value condition = k.value(op.getCondition()), any;
  for (int64_t reg = 0; reg < cast<VectorType>(condition.getType()).getNumElements(); ++reg) {
    Value element = k.b.extract(condition, reg);
    any = any ? arith::OrIOp::create(k.b, any, element) : element;
  }
  k.set(op.getResult(), simt::VoteAnyOp::create(k.b, any));
  return success();
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

namespace {
/// A tile along the axis is a number with digits, each of which tells registers, lanes or warps apart. Digit
/// by digit, the lowest first, what is combined in blocks of elements becomes what is combined in blocks of
/// these blocks: an element takes the sums of the blocks before its own.
class Scan {
public:
  Scan(KernelLowering &k, tile::ScanOp op)
      : k(k), b(k.b), op(op), layout(k.layoutOf(op.getSource().getType())), axis(size_t(op.getAxis())) {}

  LogicalResult run(Value source, Value &result) {
    std::vector<Coordinates> places;
    for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg) {
      places.push_back(layout.coordinatesOf({reg, 0, 0}));
      elements.try_emplace(places.back(), b.extract(source, reg));
    }
    if (op.getReverse())
      replacePadding();
    sums = elements;
    std::vector<PlacedMode> digits = layout.modesAlong(int(axis));
    llvm::sort(digits, [](const PlacedMode &x, const PlacedMode &y) { return x.mode.step < y.mode.step; });
    for (const PlacedMode &digit : digits) {
      step = digit.mode.step;
      if (digit.hardware == HardwareAxis::reg)
        acrossRegisters(digit);
      else if (digit.hardware == HardwareAxis::lane)
        acrossLanes(digit);
      else if (failed(acrossWarps(digit)))
        return failure();
    }
    SmallVector<Value> registers;
    for (const Coordinates &place : places)
      registers.push_back(elements[place]);
    result = b.pack(registers);
    return success();
  }

private:
  /// A register's part of the coordinates, and what it holds.
  using Registers = std::map<Coordinates, Value>;

  /// Padding comes first where the last elements do.
  void replacePadding() {
    int64_t extent = op.getSource().getType().getDimSize(unsigned(axis));
    if (layout.coveredExtent(int(axis)) <= extent)
      return;
    Value fill = neutral(b, op.getKind(), elements.begin()->second.getType());
    Value thread = threadCoordinates(b, layout, k.team)[axis];
    for (auto &[place, value] : elements)
      value = b.select(b.isBelow(b.add(thread, place[axis]), b.i32(extent)), value, fill);
  }

  Value joined(Value lhs, Value rhs) { return combine(b, op.getKind(), lhs, rhs); }

  /// The block of the register with these coordinates.
  Coordinates blockOf(Coordinates place, int64_t size) const {
    place[axis] -= place[axis] % size;
    return place;
  }

  void acrossRegisters(const PlacedMode &digit) {
    int64_t next = step * digit.mode.extent;
    std::map<Coordinates, std::map<int64_t, Value>> blocks; // by next block and digit
    for (const auto &[place, sum] : sums)
      blocks[blockOf(place, next)][place[axis] % next] = sum;
    Registers before, whole;
    for (auto &[block, parts] : blocks) {
      SmallVector<std::pair<int64_t, Value>> inOrder(parts.begin(), parts.end());
      if (op.getReverse())
        std::reverse(inOrder.begin(), inOrder.end());
      Value sum;
      for (auto &[offset, part] : inOrder) {
        Coordinates place = block;
        place[axis] += offset;
        if (sum)
          before[place] = sum;
        sum = sum ? joined(sum, part) : part;
      }
      whole[block] = sum;
    }
    for (auto &[place, value] : elements)
      if (auto found = before.find(blockOf(place, step)); found != before.end())
        value = joined(found->second, value);
    sums = std::move(whole);
  }

  /// Whether a thread's block comes after that of which the other lane's or warp's number is `other`.
  Value comesAfter(Value own, int64_t other, int64_t extent) {
    if (op.getReverse())
      return b.isBelow(own, b.i32(other));
    return other + 1 == extent ? b.i1(false) : b.isBelow(b.i32(other), own);
  }

  /// Lanes whose numbers differ in a bit of the digit, the lowest first, tell each other their sums.
  void acrossLanes(const PlacedMode &digit) {
    for (int64_t mask = digit.stride; mask < digit.stride * digit.mode.extent; mask *= 2) {
      SmallVector<Value> own;
      for (auto &[block, sum] : sums)
        own.push_back(sum);
      Value packed = b.pack(own);
      Value others = simt::ShuffleXorOp::create(b, packed.getType(), packed, mask);
      Value isAfter = b.isEqual(b.bitAnd(k.team.lane, mask), op.getReverse() ? 0 : mask);
      Registers before;
      int64_t i = 0;
      for (auto &[block, sum] : sums) {
        before[block] = b.extract(others, i++);
        sum = joined(sum, before[block]);
      }
      takeFrom(before, isAfter);
    }
  }

  /// The sums that come before, for threads of which that is true.
  void takeFrom(const Registers &before, Value isAfter) {
    for (auto &[place, value] : elements)
      value = b.select(isAfter, joined(before.at(blockOf(place, step)), value), value);
  }

  /// All warps leave their sums in scratch memory, and each reads those of its block of blocks.
  LogicalResult acrossWarps(const PlacedMode &digit) {
    RankedTensorType type = op.getSource().getType();
    Shape shape(type.getShape().begin(), type.getShape().end());
    shape[axis] = layout.coveredExtent(int(axis)) / step;
    if (!op.getScratch())
      return op.emitOpError() << "expected scratch memory because " << digit.mode.extent
                              << " warps share axis " << axis
                              << ", but got none; run 'tile-materialize-relayouts' before 'tile-to-simt'";
    const SharedTile &scratch = k.shared(op.getScratch());
    Shape least = shape;
    least[axis] = std::min(least[axis], scratch.shape.size() == shape.size() ? scratch.shape[axis] : 0);
    if (least != shape || scratch.element != k.typeOf(type.getElementType()))
      return op.emitOpError() << "expected scratch memory of " << printShape(shape) << " elements of "
                              << type.getElementType() << " because " << digit.mode.extent
                              << " warps share axis " << axis << ", but got " << op.getScratch().getType();
    // Previous readers of this memory must be done.
    if (failed(k.syncTeam()))
      return failure();
    FragmentLayout blocks = layoutOfBlocks(nullptr);
    storeShared(k, scratch, blocks, shape, packed(blocks));
    if (failed(k.syncTeam()))
      return failure();
    Value parts = loadShared(k, scratch, layoutOfBlocks(&digit), shape);
    take(parts, blocks, digit);
    return success();
  }

  /// Of the blocks' sums. With `read`, a thread has those of all warps that this digit tells apart, in
  /// registers next to each other.
  FragmentLayout layoutOfBlocks(const PlacedMode *read) const {
    std::array<FragmentLayout::Modes, hardwareAxes.size()> all;
    if (read)
      all[0].push_back({read->mode.extent, int(axis), 1});
    for (HardwareAxis hardware : hardwareAxes) {
      int64_t stride = 1;
      for (LayoutMode mode : layout.modes(hardware)) {
        bool isRead = read && hardware == read->hardware && stride == read->stride;
        stride *= mode.extent;
        bool isWithin = mode.axis == int(axis) && mode.step < step;
        if (hardware == HardwareAxis::reg && (isWithin || mode.isReplicated()))
          continue;
        if (isRead || isWithin)
          mode = LayoutMode::replicated(mode.extent);
        else if (mode.axis == int(axis))
          mode.step /= step;
        all[size_t(hardware)].push_back(mode);
      }
    }
    return FragmentLayout::get(layout.rank(), all[0], all[1], all[2]);
  }

  /// The register of a thread's sums that block belongs to.
  Coordinates placeOf(const FragmentLayout &blocks, int64_t reg) const {
    Coordinates place = blocks.coordinatesOf({reg, 0, 0});
    place[axis] *= step;
    return place;
  }

  Value packed(const FragmentLayout &blocks) {
    SmallVector<Value> registers;
    for (int64_t reg = 0; reg < blocks.registersPerThread(); ++reg)
      registers.push_back(sums.at(placeOf(blocks, reg)));
    return b.pack(registers);
  }

  void take(Value parts, const FragmentLayout &blocks, const PlacedMode &digit) {
    Value own = digitOf(b, digit, k.team);
    int64_t extent = digit.mode.extent;
    Registers before, whole;
    for (int64_t reg = 0; reg < blocks.registersPerThread(); ++reg) {
      Value sum, untilOwn;
      for (int64_t i = 0; i < extent; ++i) {
        int64_t number = op.getReverse() ? extent - 1 - i : i;
        Value part = b.extract(parts, reg * extent + number);
        sum = sum ? joined(sum, part) : part;
        if (i == 0)
          untilOwn = sum;
        else if (i + 1 < extent)
          untilOwn = b.select(comesAfter(own, number, extent), sum, untilOwn);
      }
      before[placeOf(blocks, reg)] = untilOwn;
      whole[placeOf(blocks, reg)] = sum;
    }
    takeFrom(before, comesAfter(own, op.getReverse() ? extent - 1 : 0, extent));
    sums = std::move(whole);
  }

  KernelLowering &k;
  Emitter &b;
  tile::ScanOp op;
  const FragmentLayout &layout;
  size_t axis;
  int64_t step = 1;   ///< of the digit at hand: the elements of a block
  Registers elements; ///< combined with those before them in their block
  Registers sums;     ///< of whole blocks, by the coordinates of their first elements
};
} // namespace

static LogicalResult lowerOp(KernelLowering &k, tile::ScanOp op) {
  Value result;
  if (failed(Scan(k, op).run(k.value(op.getSource()), result)))
    return failure();
  k.set(op.getResult(), result);
  return success();
}

void lowering::addReduceLowerings(LoweringTable &table) {
  table.add<tile::ReduceOp>(lowerOp);
  table.add<tile::ScanOp>(lowerOp);
  table.add<tile::AnyInWarpOp>(lowerOp);
}
