// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reductions: the thread's registers, then the lanes by shuffles, then the warps
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
  }
  llvm_unreachable("unknown kind");
}

/// What changes nothing, for the places that a layout covers and the tile has not.
Value neutral(Emitter &b, tile::ReduceKind kind, Type element) {
  if (auto type = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    if (kind == tile::ReduceKind::product)
      return b.constant(b.getFloatAttr(type, APFloat::getOne(semantics)));
    // NaN loses against every number, and is what the largest of nothing but NaN must be.
    return b.constant(b.getFloatAttr(type, kind == tile::ReduceKind::sum
                                               ? APFloat::getZero(semantics, /*Negative=*/true)
                                               : APFloat::getQNaN(semantics)));
  }
  unsigned bits = element.getIntOrFloatBitWidth();
  if (kind == tile::ReduceKind::sum)
    return b.zero(element);
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

void lowering::addReduceLowerings(LoweringTable &table) {
  table.add<tile::ReduceOp>(lowerOp);
  table.add<tile::AnyInWarpOp>(lowerOp);
}
