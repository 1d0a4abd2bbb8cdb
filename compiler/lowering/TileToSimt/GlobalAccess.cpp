// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fragments to and from global memory: guarded, in vectors where alignment is known.
#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "dialects/tile/Fetch.h"
#include "runtime/support/Math.h"

#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {
/// Whether elements of a fragment that differ in their coordinate along the axis alone are known to be the
/// same.
bool isRepeatedAlong(Value fragment, int64_t axis, int depth = 8) {
  auto type = dyn_cast<RankedTensorType>(fragment.getType());
  if (!type || type.getDimSize(unsigned(axis)) == 1)
    return true;
  Operation *op = fragment.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (isa<tile::SplatOp, arith::ConstantOp>(op))
    return true;
  if (auto coordinates = dyn_cast<tile::CoordinatesOp>(op))
    return int64_t(coordinates.getAxis()) != axis;
  bool keepsPlaces =
      isa<tile::BroadcastOp, tile::ConvertLayoutOp>(op) || op->hasTrait<OpTrait::Elementwise>();
  return keepsPlaces && llvm::all_of(op->getOperands(), [&](Value operand) {
           return isRepeatedAlong(operand, axis, depth - 1);
         });
}

/// Whether all elements of a vector along the axis have one position along the gathered one.
bool sharePositions(tile::SliceOp slice, int64_t axis) {
  return llvm::all_of(slice->getUsers(), [&](Operation *user) {
    Value indices =
        llvm::TypeSwitch<Operation *, Value>(user).Case<tile::AtomicFetchOp, tile::GatherOp, tile::ScatterOp>(
            [](auto at) { return at.getIndices(); });
    return isRepeatedAlong(indices, axis);
  });
}
} // namespace

GlobalAccess::GlobalAccess(KernelLowering &k, const Slice &slice, const FragmentLayout &layout,
                           ArrayRef<int64_t> tileShape, GlobalUse use)
    : b(k.b), slice(slice), layout(layout), ends(slice.ends), axes(slice.tileAxes(tileShape)),
      thread(threadCoordinates(b, layout, k.team)), inside(b, layout, tileShape, thread) {
  const GlobalTensor &tensor = *slice.tensor;
  gathered = slice.gatheredAxis();
  if (gathered >= 0) {
    axes[size_t(gathered)] = -1; // its positions do not follow from the tile's coordinates
    for (int64_t reg = layout.registersPerThread(); reg-- > 0;)
      registerAt[layout.coordinatesOf({reg, 0, 0})] = reg;
  }
  for (auto [origin, axis] : llvm::zip(slice.origin, axes))
    position.push_back(axis < 0 ? origin : b.add(origin, thread[size_t(axis)]));
  inner = axes.back();
  int64_t bytes = tensor.element.getIntOrFloatBitWidth() / 8;
  int64_t widest = std::min<int64_t>(k.target.maxVectorBytes, tensor.argument.getAlignment()) / bytes;
  if (use == GlobalUse::combine)
    widest = std::min<int64_t>(widest, tensor.element.isF32() ? k.target.maxAddedFloats : 1);
  if (tensor.argument.getOrder() == program::TensorOrder::accumulator)
    choosePieceVectors(tileShape, widest, use);
  else if (inner >= 0 && (gathered < 0 || sharePositions(slice.op, inner)))
    chooseRowVectors(tileShape, widest);
}

void GlobalAccess::chooseRowVectors(ArrayRef<int64_t> tileShape, int64_t widest) {
  int64_t fits = std::gcd(layout.contiguousAlong(inner), tileShape[size_t(inner)]);
  fits = std::gcd(fits, slice.originMultiple());
  while (width * 2 <= widest && fits % (width * 2) == 0)
    width *= 2;
  int last = int(axes.size()) - 1;
  straddles = slice.isGuarded(last) && slice.endMultiple(last) % width != 0;
}

RegisterGroups GlobalAccess::groups(int64_t elements) const {
  if (hasRows() || elements == 1)
    return groupRegisters(layout, inner, elements);
  return groupRegisters(layout, pieceVector(elements),
                        [&](const Coordinates &at) { return beginsPieceVector(at, elements); });
}

bool GlobalAccess::isKnownInside(size_t axis) const {
  std::optional<int64_t> origin = Emitter::known(slice.origin[axis]);
  std::optional<int64_t> end = Emitter::known(ends[axis]);
  return origin && end && *origin >= 0 && *origin + slice.shape[axis] <= *end;
}

Value GlobalAccess::isInterior() {
  using arith::CmpIPredicate;
  Value all;
  for (size_t axis = 0; axis < slice.origin.size(); ++axis) {
    if (int(axis) == gathered || isKnownInside(axis))
      continue;
    Value origin = slice.origin[axis], end = ends[axis];
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
  return all || gathered < 0 ? all : b.i1(true);
}

Value GlobalAccess::gatheredPosition(ArrayRef<int64_t> constant) {
  int64_t reg = registerAt.at(Coordinates(constant.begin(), constant.end()));
  return b.add(position[size_t(gathered)], b.extract(slice.indices, reg));
}

Value GlobalAccess::gatheredInside(ArrayRef<int64_t> constant) {
  if (gathered < 0 || !slice.isGuarded(gathered))
    return {};
  return b.isBelow(gatheredPosition(constant), ends[size_t(gathered)]);
}

Value GlobalAccess::address(ArrayRef<int64_t> constant) {
  if (!hasRows())
    return addressInPieces(constant);
  const GlobalTensor &tensor = *slice.tensor;
  size_t last = position.size() - 1;
  if (!base) {
    base = b.i64(0);
    for (auto [axis, at, stride] : llvm::enumerate(position, tensor.strides))
      if (int(axis) != gathered)
        base = b.add(base, b.mul(b.extend(at), stride));
  }
  if (gathered >= 0) {
    Value index = b.add(base, b.mul(b.extend(gatheredPosition(constant)), tensor.strides[size_t(gathered)]));
    for (size_t axis = 0; axis < last; ++axis)
      index = b.add(index, b.mul(tensor.strides[axis], constantAlong(axis, constant)));
    Value element = b.element(slice.pointer, tensor.element, index);
    return b.element(element, tensor.element, inner < 0 ? 0 : constant[size_t(inner)]);
  }
  std::vector<int64_t> outer;
  for (size_t axis = 0; axis < last; ++axis)
    outer.push_back(constantAlong(axis, constant));
  Value &row = rows[outer];
  if (!row) {
    Value index = base;
    for (auto [step, stride] : llvm::zip(outer, tensor.strides))
      index = b.add(index, b.mul(stride, step));
    row = b.element(slice.pointer, tensor.element, index);
  }
  return b.element(row, tensor.element, inner < 0 ? 0 : constant[size_t(inner)]);
}

Value GlobalAccess::predicate(ArrayRef<int64_t> constant) {
  Value all = insideTile(constant);
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (int(axis) == gathered || !slice.isGuarded(int(axis)) || isKnownInside(axis))
      continue;
    int64_t step = constantAlong(axis, constant);
    // Unsigned, so that positions before the tensor are outside, too.
    Value &guard = guards[{int(axis), step}];
    if (!guard) {
      Value at = b.add(position[axis], step);
      // A constant before the tensor is outside whatever its size. This must fold here: see simt.load.
      bool isBefore = b.known(at).value_or(0) < 0;
      guard = isBefore ? b.i1(false) : b.isBelow(at, ends[axis]);
    }
    all = b.both(all, guard);
  }
  return all;
}

Value GlobalAccess::bytesInside(ArrayRef<int64_t> constant, int64_t elements) {
  Value first = predicate(constant);
  if (!first)
    return {};
  int64_t elementBytes = slice.tensor->element.getIntOrFloatBitWidth() / 8;
  Value bytes = b.i32(elements * elementBytes);
  if (straddles) {
    Value at = b.add(position.back(), constant[size_t(inner)]);
    Value rest = b.add(ends.back(), b.mul(at, -1));
    bytes = b.mul(b.smaller(rest, b.i32(elements)), elementBytes);
  }
  return b.select(first, bytes, b.i32(0));
}

namespace {
enum class Guarding { everyElement, interior };

Value loadElements(KernelLowering &k, const Slice &slice, const FragmentLayout &layout,
                   ArrayRef<int64_t> shape, Guarding guarding) {
  Emitter &b = k.b;
  GlobalAccess access(k, slice, layout, shape, GlobalUse::load);
  bool vectors = guarding == Guarding::interior || !access.mayStraddle();
  int64_t width = vectors ? access.vectorWidth() : 1;
  Type element = slice.tensor->element;
  RegisterGroups groups = access.groups(width);
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

/// Elements that registers are written to, and how.
struct Write {
  const Slice &slice;
  const FragmentLayout &layout;
  ArrayRef<int64_t> shape;
  GlobalUse use;
  /// Emits it for a vector, by the threads that satisfy the predicate.
  function_ref<void(Value piece, Value address, Value predicate)> emit;
};

/// A vector, and whether it is inside; no predicate: it is.
struct Piece {
  Value value, address, predicate;
};

void writeElements(KernelLowering &k, const Write &write, Value value, Guarding guarding) {
  Emitter &b = k.b;
  GlobalAccess access(k, write.slice, write.layout, write.shape, write.use);
  bool vectors = guarding == Guarding::interior || !access.mayStraddle();
  int64_t width = vectors ? access.vectorWidth() : 1;
  Value owner = isOwner(b, write.layout, k.team);
  SmallVector<Piece> combined;
  for (const RegisterGroup &group : access.groups(width).groups) {
    Value predicate =
        guarding == Guarding::interior ? access.insideTile(group.start) : access.predicate(group.start);
    Value piece = width == 1 ? b.extract(value, group.registers[0]) : b.pick(value, group.registers);
    if (write.use == GlobalUse::combine)
      combined.push_back({piece, access.address(group.start), predicate});
    else
      write.emit(piece, access.address(group.start), b.both(owner, predicate));
  }
  // One branch around all that have a predicate in common: ptxas makes a branch of each that has one.
  for (ArrayRef<Piece> rest = combined; !rest.empty();) {
    Value predicate = rest.front().predicate;
    ArrayRef<Piece> alike = rest.take_while([&](const Piece &piece) { return piece.predicate == predicate; });
    rest = rest.drop_front(alike.size());
    auto emit = [&] {
      for (const Piece &piece : alike)
        write.emit(piece.value, piece.address, Value());
    };
    if (Value all = b.both(owner, predicate))
      b.when(all, emit);
    else
      emit();
  }
}
} // namespace

// Where a vector may lie across the tensor's edge, tiles inside the tensor (all but the
// last ones) take a path with vectors and without guards, the others go element by element.

Value lowering::loadGlobal(KernelLowering &k, const Slice &slice, const FragmentLayout &layout,
                           ArrayRef<int64_t> shape) {
  Emitter &b = k.b;
  GlobalAccess access(k, slice, layout, shape, GlobalUse::load);
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

namespace {
void writeGlobal(KernelLowering &k, const Write &write, Value value) {
  Emitter &b = k.b;
  GlobalAccess access(k, write.slice, write.layout, write.shape, write.use);
  if (!access.mayStraddle())
    return writeElements(k, write, value, Guarding::everyElement);
  auto path = [&](Guarding guarding) {
    return [&, guarding](OpBuilder &, Location) {
      writeElements(k, write, value, guarding);
      scf::YieldOp::create(b);
    };
  };
  scf::IfOp::create(b, access.isInterior(), path(Guarding::interior), path(Guarding::everyElement));
}
} // namespace

void lowering::storeGlobal(KernelLowering &k, const Slice &slice, const FragmentLayout &layout,
                           ArrayRef<int64_t> shape, Value value) {
  writeGlobal(k,
              {slice, layout, shape, GlobalUse::store,
               [&](Value piece, Value address, Value predicate) {
                 simt::StoreOp::create(k.b, piece, address, predicate);
               }},
              value);
}

namespace {
/// An order depends on whether the elements have a sign.
arith::AtomicRMWKind atomicKindOf(tile::CombineKind kind, Type element) {
  bool isFloat = isa<FloatType>(element), isUnsigned = element.isUnsignedInteger();
  switch (kind) {
  case tile::CombineKind::add:
    return isFloat ? arith::AtomicRMWKind::addf : arith::AtomicRMWKind::addi;
  case tile::CombineKind::min:
    return isUnsigned ? arith::AtomicRMWKind::minu : arith::AtomicRMWKind::mins;
  case tile::CombineKind::max:
    return isUnsigned ? arith::AtomicRMWKind::maxu : arith::AtomicRMWKind::maxs;
  case tile::CombineKind::bitAnd:
    return arith::AtomicRMWKind::andi;
  case tile::CombineKind::bitOr:
    return arith::AtomicRMWKind::ori;
  case tile::CombineKind::bitXor:
    break;
  }
  return arith::AtomicRMWKind::xori;
}
} // namespace

void lowering::combineGlobal(KernelLowering &k, tile::CombineKind kind, const Slice &slice,
                             const FragmentLayout &layout, ArrayRef<int64_t> shape, Value value) {
  tile::SliceOp made = slice.op;
  arith::AtomicRMWKind atomic = atomicKindOf(kind, made.getType().getElementType());
  writeGlobal(k,
              {slice, layout, shape, GlobalUse::combine,
               [&](Value piece, Value address, Value) {
                 simt::AtomicOp::create(k.b, atomic, piece, address, /*system=*/bool(slice.rank));
               }},
              value);
}
