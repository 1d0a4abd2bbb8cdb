// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tensor maps of a slice, and where its boxes begin.
#include "compiler/lowering/TileToSimt/BoxMaps.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

int64_t lowering::granuleElements(const GlobalTensor &tensor, const Target &target) {
  return std::max<int64_t>(1, target.tma.innerBoxGranularity * 8 / tensor.element.getIntOrFloatBitWidth());
}

std::string lowering::limitProblem(const Slice &slice, const Target &target) {
  if (slice.limitedAxis < 0)
    return "";
  std::string name = slice.tensor->argument.getName().str();
  if (slice.limitedAxis + 1 == int(slice.shape.size()))
    return "expected a limit along another axis of '" + name + "' than the last, whose elements are adjacent";
  if (slice.shape.size() >= target.tma.maxRank)
    return "expected a tensor of at most " + std::to_string(target.tma.maxRank - 1) +
           " axes because a limit takes one more, but '" + name + "' has " +
           std::to_string(slice.shape.size());
  return "";
}

BoxMaps::BoxMaps(KernelLowering &k, const Slice &slice, Shape box, Swizzle swizzle)
    : b(k.b), slice(slice), box(std::move(box)), atTensor(k.tensorMap(slice, this->box, swizzle)) {
  if (slice.limitedAxis >= 0)
    before = k.tensorMap(slice, this->box, swizzle, rows());
}

Value BoxMaps::place(SmallVectorImpl<Value> &coordinates) {
  if (slice.limitedAxis < 0)
    return atTensor;
  Value &at = coordinates[coordinates.size() - 1 - size_t(slice.limitedAxis)];
  Value begin = at, end = slice.ends[size_t(slice.limitedAxis)];
  Value inside = b.clamp(b.sub(end, begin), b.i32(rows()));
  Value last = b.add(begin, inside), fromTensor = b.add(last, -rows());
  Value near = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, fromTensor, b.i32(0));
  near = b.both(near, b.isBelow(b.i32(0), inside));
  near = b.both(near, isInsideElsewhere(coordinates));
  at = b.sub(b.i32(rows()), inside);
  coordinates.push_back(b.select(near, last, b.larger(fromTensor, 0)));
  return b.select(near, before, atTensor);
}

Value BoxMaps::isInsideElsewhere(ArrayRef<Value> coordinates) {
  Value all;
  for (auto [axis, begin] : llvm::enumerate(llvm::reverse(coordinates))) {
    if (int(axis) == slice.limitedAxis || !slice.isGuarded(int(axis)) || Emitter::known(begin) == 0)
      continue;
    // Unsigned, counted from the first place where a part of the box is inside.
    int64_t reach = box[axis] - 1;
    all = b.both(all, b.isBelow(b.add(begin, reach), b.add(slice.ends[axis], reach)));
  }
  return all;
}
