// SPDX-License-Identifier: Apache-2.0
/// \file
/// Positions of windows, and what they are in the tensor that the window moves over.
#include "compiler/lowering/TileToSimt/Windows.h"

#include "compiler/analysis/PositionRanges.h"

#include <limits>

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {
/// Zero-extends to 64 bits.
Value widened(Emitter &b, Value value) {
  std::optional<int64_t> known = Emitter::known(value);
  return known ? b.i64(int64_t(uint32_t(*known))) : arith::ExtUIOp::create(b, b.getI64Type(), value);
}

/// How many positions the window has along an inner axis, as an unsigned number.
Value countAlong(Emitter &b, const TensorWindow &window, size_t axis, Value extent) {
  if (std::optional<int64_t> known = Emitter::known(extent))
    return b.i32(window.count(axis, *known));
  int64_t slack = window.slack(axis), stride = window.strides[axis];
  if (slack == 0)
    return b.divide(extent, stride);
  Value moves = b.larger(b.add(widened(b, extent), slack), 0);
  return arith::TruncIOp::create(b, b.getI32Type(), b.divide(moves, stride));
}

/// How many there are in all images. More than positions can count are as many as these can.
Value countAll(Emitter &b, const WindowedSource &source) {
  Value all = widened(b, source.extents.front());
  for (Value count : source.counts)
    all = b.smaller(b.mul(all, widened(b, count)), b.i64(std::numeric_limits<int32_t>::max()));
  return arith::TruncIOp::create(b, b.getI32Type(), all);
}

LogicalResult lowerOp(KernelLowering &k, tile::WindowsOp op) {
  Emitter &b = k.b;
  GlobalTensor tensor = k.tensor(op.getSource());
  WindowedSource source;
  source.attr = op.getWindow();
  source.window = op.getWindow().getWindow();
  source.extents.assign(tensor.extents.begin(), std::prev(tensor.extents.end()));
  for (size_t axis = 0; axis < source.window.taps.size(); ++axis) {
    source.counts.push_back(countAlong(b, source.window, axis, source.extents[axis + 1]));
    tensor.extents[axis + 1] = b.i32(source.window.taps[axis]);
    tensor.multiples[axis + 1] = source.window.taps[axis];
  }
  tensor.extents.front() = countAll(b, source);
  tensor.multiples.front() = 1;
  // Positions are divided by these; where there is none nothing is inside.
  for (Value &count : source.counts)
    if (!Emitter::known(count).value_or(0))
      count = arith::MaxUIOp::create(b, count, b.i32(1));
  tensor.source = std::move(source);
  k.set(op.getTensor(), std::move(tensor));
  return success();
}
} // namespace

FirstTap lowering::firstTap(Emitter &b, const WindowedSource &source, Value position) {
  const TensorWindow &window = source.window;
  FirstTap tap;
  tap.at.resize(window.taps.size());
  Value rest = position;
  for (size_t axis = window.taps.size(); axis-- > 0;) {
    Value count = source.counts[axis];
    Value along = arith::RemUIOp::create(b, rest, count);
    rest = arith::DivUIOp::create(b, rest, count);
    tap.at[axis] = b.add(b.mul(along, window.strides[axis]), window.lowerCorner(axis));
  }
  tap.image = rest;
  return tap;
}

SmallVector<Value> lowering::toIm2col(Emitter &b, const Slice &slice, SmallVectorImpl<Value> &coordinates) {
  const WindowedSource &source = *slice.tensor->source;
  const TensorWindow &window = source.window;
  size_t axes = window.taps.size();
  tile::PositionRanges ranges;
  Value position = coordinates.back(), inside, isTap;
  if (slice.isGuarded(0))
    inside = b.isBelow(position, slice.ends.front());
  for (size_t axis = 0; axis < axes; ++axis) {
    tile::PositionRange range = ranges.of(tile::SliceOp(slice.op).getOrigin()[axis + 1]);
    bool isKnown = range.isProven() && range.isNonNegative() && range.max < window.taps[axis];
    if (slice.isGuarded(int(axis + 1)) && !isKnown)
      isTap = b.both(isTap, b.isBelow(coordinates[axes - axis], b.i32(window.taps[axis])));
  }
  inside = b.both(inside, isTap);
  // Outside are zeros, wherever the first tap is, but the TMA stops a kernel whose first tap is outside of
  // the bounding box. That of position 0 is inside even where the window has no position.
  FirstTap first = firstTap(b, source, inside ? b.select(inside, position, b.i32(0)) : position);
  SmallVector<Value> offsets(axes);
  for (size_t axis = 0; axis < axes; ++axis) {
    Value &coordinate = coordinates[axes - axis];
    Value offset = b.mul(coordinate, window.dilations[axis]);
    if (isTap)
      offset = b.select(isTap, offset, b.i32(0));
    offsets[axes - 1 - axis] = arith::TruncIOp::create(b, b.getI16Type(), offset);
    coordinate = first.at[axis];
  }
  coordinates.back() = inside ? b.select(inside, first.image, source.extents.front()) : first.image;
  return offsets;
}

void lowering::addWindowsLowerings(LoweringTable &table) { table.add<tile::WindowsOp>(lowerOp); }
