// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fragments to and from global memory: guarded, in vectors where alignment is known.
#include "compiler/analysis/Divisibility.h"
#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "runtime/support/Math.h"

#include <numeric>

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

GlobalAccess::GlobalAccess(KernelLowering &k, const Slice &slice, const FragmentLayout &layout,
                           ArrayRef<int64_t> tileShape)
    : b(k.b), slice(slice), axes(slice.tileAxes(tileShape)), thread(threadCoordinates(b, layout, k.team)),
      inside(b, layout, tileShape, thread) {
  const GlobalTensor &tensor = *slice.tensor;
  for (auto [origin, axis] : llvm::zip(slice.origin, axes))
    position.push_back(axis < 0 ? origin : b.add(origin, thread[size_t(axis)]));
  inner = axes.back();
  if (inner < 0)
    return;
  int64_t bytes = tensor.element.getIntOrFloatBitWidth() / 8;
  int64_t widest = std::min<int64_t>(k.target.maxVectorBytes, tensor.argument.getAlignment()) / bytes;
  int64_t fits = std::gcd(layout.contiguousAlong(inner), tileShape[size_t(inner)]);
  fits = std::gcd(fits, tile::knownDivisor(tile::SliceOp(slice.op).getOrigin().back()));
  while (width * 2 <= widest && fits % (width * 2) == 0)
    width *= 2;
  int last = int(axes.size()) - 1;
  int64_t endMultiple = tensor.multiples.back();
  if (slice.limitedAxis == last)
    endMultiple = std::gcd(endMultiple, tile::knownDivisor(tile::SliceOp(slice.op).getLimit()));
  straddles = slice.isGuarded(last) && endMultiple % width != 0;
}

bool GlobalAccess::isKnownInside(size_t axis) const {
  std::optional<int64_t> origin = Emitter::known(slice.origin[axis]);
  std::optional<int64_t> end = Emitter::known(slice.ends[axis]);
  return origin && end && *origin >= 0 && *origin + slice.shape[axis] <= *end;
}

Value GlobalAccess::isInterior() {
  using arith::CmpIPredicate;
  Value all;
  for (size_t axis = 0; axis < slice.origin.size(); ++axis) {
    if (isKnownInside(axis))
      continue;
    Value origin = slice.origin[axis], end = slice.ends[axis];
    std::optional<int64_t> known = Emitter::known(origin);
    if (known.value_or(-1) < 0)
      all = b.both(all, arith::CmpIOp::create(b, CmpIPredicate::sge, origin, b.i32(0)));
    // The extent is taken from the end: added to a position just below 2^31 it would wrap around.
    if (known && llvm::isInt<32>(*known + slice.shape[axis]))
      origin = b.add(origin, slice.shape[axis]);
    else
      end = b.add(end, -slice.shape[axis]);
    all = b.both(all, arith::CmpIOp::create(b, CmpIPredicate::sle, origin, end));
  }
  return all;
}

Value GlobalAccess::address(ArrayRef<int64_t> constant) {
  const GlobalTensor &tensor = *slice.tensor;
  size_t last = position.size() - 1;
  if (!base) {
    base = b.i64(0);
    for (auto [at, stride] : llvm::zip(position, tensor.strides))
      base = b.add(base, b.mul(b.extend(at), stride));
  }
  std::vector<int64_t> outer;
  for (size_t axis = 0; axis < last; ++axis)
    outer.push_back(axes[axis] < 0 ? 0 : constant[size_t(axes[axis])]);
  Value &row = rows[outer];
  if (!row) {
    Value index = base;
    for (auto [step, stride] : llvm::zip(outer, tensor.strides))
      index = b.add(index, b.mul(stride, step));
    row = b.element(tensor.pointer, tensor.element, index);
  }
  return b.element(row, tensor.element, inner < 0 ? 0 : constant[size_t(inner)]);
}

Value GlobalAccess::predicate(ArrayRef<int64_t> constant) {
  Value all = inside.at(constant);
  for (auto [axis, tileAxis] : llvm::enumerate(axes)) {
    if (!slice.isGuarded(int(axis)) || isKnownInside(axis))
      continue;
    int64_t step = tileAxis < 0 ? 0 : constant[size_t(tileAxis)];
    // Unsigned, so that positions before the tensor are outside, too.
    Value &guard = guards[{int(axis), step}];
    if (!guard) {
      Value at = b.add(position[axis], step);
      // A constant before the tensor is outside whatever its size. This must fold here: see simt.load.
      bool isBefore = b.known(at).value_or(0) < 0;
      guard = isBefore ? b.i1(false) : b.isBelow(at, slice.ends[axis]);
    }
    all = b.both(all, guard);
  }
  return all;
}

namespace {
enum class Guarding { everyElement, interior };

Value loadElements(KernelLowering &k, const Slice &slice, const FragmentLayout &layout,
                   ArrayRef<int64_t> shape, Guarding guarding) {
  Emitter &b = k.b;
  GlobalAccess access(k, slice, layout, shape);
  bool vectors = guarding == Guarding::interior || !access.mayStraddle();
  int64_t width = vectors ? access.vectorWidth() : 1;
  Type element = slice.tensor->element;
  RegisterGroups groups = groupRegisters(layout, access.innerAxis(), width);
  SmallVector<Value> registers(size_t(layout.registersPerThread()));
  for (const RegisterGroup &group : groups.groups) {
    Value predicate =
        guarding == Guarding::interior ? access.insideTile(group.start) : access.predicate(group.start);
    Type type = width == 1 ? element : Type(b.vectorOf(width, element));
    Value loaded = simt::LoadOp::create(b, type, access.address(group.start), predicate);
    if (predicate && slice.fill)
      loaded = b.select(predicate, loaded, width == 1 ? slice.fill : b.splat(slice.fill, width));
    for (auto [i, reg] : llvm::enumerate(group.registers))
      registers[size_t(reg)] = width == 1 ? loaded : b.extract(loaded, int64_t(i));
  }
  for (auto [replica, original] : groups.replicas)
    registers[size_t(replica)] = registers[size_t(original)];
  return b.pack(registers);
}

void storeElements(KernelLowering &k, const Slice &slice, const FragmentLayout &layout,
                   ArrayRef<int64_t> shape, Value value, Guarding guarding) {
  Emitter &b = k.b;
  GlobalAccess access(k, slice, layout, shape);
  bool vectors = guarding == Guarding::interior || !access.mayStraddle();
  int64_t width = vectors ? access.vectorWidth() : 1;
  Value owner = isOwner(b, layout, k.team);
  for (const RegisterGroup &group : groupRegisters(layout, access.innerAxis(), width).groups) {
    Value predicate =
        guarding == Guarding::interior ? access.insideTile(group.start) : access.predicate(group.start);
    Value piece = width == 1 ? b.extract(value, group.registers[0]) : b.pick(value, group.registers);
    simt::StoreOp::create(b, piece, access.address(group.start), b.both(owner, predicate));
  }
}
} // namespace

// Where a vector may lie across the tensor's edge, tiles inside the tensor (all but the
// last ones) take a path with vectors and without guards, the others go element by element.

Value lowering::loadGlobal(KernelLowering &k, const Slice &slice, const FragmentLayout &layout,
                           ArrayRef<int64_t> shape) {
  Emitter &b = k.b;
  GlobalAccess access(k, slice, layout, shape);
  if (!access.mayStraddle())
    return loadElements(k, slice, layout, shape, Guarding::everyElement);
  auto path = [&](Guarding guarding) {
    return [&, guarding](OpBuilder &, Location) {
      scf::YieldOp::create(b, loadElements(k, slice, layout, shape, guarding));
    };
  };
  return scf::IfOp::create(b, access.isInterior(), path(Guarding::interior), path(Guarding::everyElement))
      .getResult(0);
}

void lowering::storeGlobal(KernelLowering &k, const Slice &slice, const FragmentLayout &layout,
                           ArrayRef<int64_t> shape, Value value) {
  Emitter &b = k.b;
  GlobalAccess access(k, slice, layout, shape);
  if (!access.mayStraddle())
    return storeElements(k, slice, layout, shape, value, Guarding::everyElement);
  auto path = [&](Guarding guarding) {
    return [&, guarding](OpBuilder &, Location) {
      storeElements(k, slice, layout, shape, value, guarding);
      scf::YieldOp::create(b);
    };
  };
  scf::IfOp::create(b, access.isInterior(), path(Guarding::interior), path(Guarding::everyElement));
}
