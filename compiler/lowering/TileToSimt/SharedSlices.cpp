// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every address is that of coordinates which the device computes, through the tile's layout: its panels, its
/// swizzle and its order of elements.
#include "compiler/lowering/TileToSimt/SharedSlices.h"

#include "compiler/analysis/Divisibility.h"
#include "runtime/support/Math.h"

#include <numeric>

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

SharedSliceAccess::SharedSliceAccess(KernelLowering &k, tile::SliceSharedOp slice, ArrayRef<Value> indices,
                                     const FragmentLayout &layout, ArrayRef<int64_t> tileShape)
    : k(k), b(k.b), slice(slice), tile(k.shared(slice.getTile())), layout(layout), indices(indices),
      gathered(slice.getGatheredAxes()),
      axes(tileAxesOf(slice.getType().getShape(), tile::boxAxesOf(slice), tileShape)),
      inside(b, layout, tileShape, threadCoordinates(b, layout, k.team)) {
  limited = int(int64_t(slice.getLimitedAxis().value_or(-1)));
  if (!gathered.empty())
    for (int64_t reg = layout.registersPerThread(); reg-- > 0;)
      registerAt[layout.coordinatesOf({reg, 0, 0})] = reg;
  SmallVector<Value> thread = threadCoordinates(b, layout, k.team);
  for (auto [axis, origin, extent] : llvm::enumerate(slice.getOrigin(), tile::boxExtentsOf(slice))) {
    Value first = k.value(origin), end = b.i32(tile.shape[axis]);
    std::optional<int64_t> known = Emitter::known(first);
    inTile.push_back(!llvm::is_contained(gathered, int64_t(axis)) && int(axis) != limited &&
                     (slice.getUnchecked() || (known && *known >= 0 && *known + extent <= tile.shape[axis])));
    if (int(axis) == limited) { // as unsigned numbers, so that a begin before the tile is beyond its end
      first = b.smaller(first, end);
      end = b.clamp(k.value(slice.getLimit()), end);
    }
    ends.push_back(end);
    position.push_back(axes[axis] < 0 ? first : b.add(first, thread[size_t(axes[axis])]));
  }
  inner = axes[size_t(tile.contiguousAxis())];
  if (inner >= 0 && (gathered.empty() || sharePositions(slice, inner)))
    chooseVectors(tileShape);
}

void SharedSliceAccess::chooseVectors(ArrayRef<int64_t> tileShape) {
  auto axis = size_t(tile.contiguousAxis());
  int64_t common = std::gcd(layout.contiguousAlong(inner), tileShape[size_t(inner)]);
  common = std::gcd(common, tile.layout.contiguousElements());
  common = std::gcd(common, tile::knownDivisor(slice.getOrigin()[axis]));
  if (int(axis) == limited)
    common = std::gcd(common, tile::knownDivisor(slice.getLimit()));
  common = std::gcd(common, tile.shape[axis]);
  width =
      powerOf2Factor(std::gcd(common, std::max<int64_t>(1, k.target.maxVectorBytes / tile.elementBytes())));
}

Value SharedSliceAccess::coordinate(size_t axis, ArrayRef<int64_t> constant) {
  if (const auto *each = llvm::find(gathered, int64_t(axis)); each != gathered.end())
    return b.add(position[axis], b.extract(indices[size_t(each - gathered.begin())],
                                           registerAt.at(Coordinates(constant.begin(), constant.end()))));
  return axes[axis] < 0 ? position[axis] : b.add(position[axis], constant[size_t(axes[axis])]);
}

Value SharedSliceAccess::address(ArrayRef<int64_t> constant) {
  SmallVector<Value> coordinates;
  for (size_t axis = 0; axis < axes.size(); ++axis)
    coordinates.push_back(coordinate(axis, constant));
  return addressIn(b, tile, coordinates);
}

bool SharedSliceAccess::isGuarded(size_t axis) const {
  return int(axis) == limited || (!inTile[axis] && !slice.getUnchecked());
}

Value SharedSliceAccess::predicate(ArrayRef<int64_t> constant) {
  Value all = inside.at(constant);
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (!isGuarded(axis))
      continue;
    // Unsigned, so that positions before the tile are outside, too.
    if (llvm::is_contained(gathered, int64_t(axis))) {
      all = b.both(all, b.isBelow(coordinate(axis, constant), ends[axis]));
      continue;
    }
    Value &guard = guards[{axis, axes[axis] < 0 ? 0 : constant[size_t(axes[axis])]}];
    if (!guard)
      guard = b.isBelow(coordinate(axis, constant), ends[axis]);
    all = b.both(all, guard);
  }
  return all;
}

namespace {
Value loadOfTile(KernelLowering &k, tile::SliceSharedOp slice, ArrayRef<Value> indices,
                 const FragmentLayout &layout, ArrayRef<int64_t> shape) {
  Emitter &b = k.b;
  SharedSliceAccess access(k, slice, indices, layout, shape);
  int64_t width = access.vectorWidth();
  Type element = k.typeOf(slice.getType().getElementType());
  Type type = width == 1 ? element : Type(b.vectorOf(width, element));
  RegisterGroups groups = access.groups(width);
  SmallVector<Value> registers(size_t(layout.registersPerThread()));
  for (const RegisterGroup &group : groups.groups) {
    Value inside = access.predicate(group.start);
    Value loaded = simt::LoadOp::create(b, type, access.address(group.start), inside, Value());
    loaded = filledOutside(b, loaded, inside, access.fill());
    for (auto [i, reg] : llvm::enumerate(group.registers))
      registers[size_t(reg)] = width == 1 ? loaded : b.extract(loaded, int64_t(i));
  }
  for (auto [replica, original] : groups.replicas)
    registers[size_t(replica)] = registers[size_t(original)];
  return b.pack(registers);
}

void storeOfTile(KernelLowering &k, tile::SliceSharedOp slice, ArrayRef<Value> indices,
                 const FragmentLayout &layout, ArrayRef<int64_t> shape, Value value) {
  Emitter &b = k.b;
  SharedSliceAccess access(k, slice, indices, layout, shape);
  int64_t width = access.vectorWidth();
  Value owner = isOwner(b, layout, k.team);
  for (const RegisterGroup &group : access.groups(width).groups) {
    Value piece = width == 1 ? b.extract(value, group.registers[0]) : b.pick(value, group.registers);
    simt::StoreOp::create(b, piece, access.address(group.start), b.both(owner, access.predicate(group.start)),
                          Value());
  }
}

void combineOfTile(KernelLowering &k, tile::CombineKind kind, tile::SliceSharedOp slice,
                   ArrayRef<Value> indices, const FragmentLayout &layout, ArrayRef<int64_t> shape,
                   Value value) {
  Emitter &b = k.b;
  SharedSliceAccess access(k, slice, indices, layout, shape);
  SmallVector<CombinedPiece> pieces;
  for (const RegisterGroup &group : access.groups(1).groups)
    pieces.push_back(
        {b.extract(value, group.registers[0]), access.address(group.start), access.predicate(group.start)});
  arith::AtomicRMWKind atomic = atomicKindOf(kind, slice.getType().getElementType());
  combinePieces(b, isOwner(b, layout, k.team), pieces, [&](const CombinedPiece &piece) {
    simt::AtomicOp::create(b, atomic, piece.value, piece.address, /*system=*/false);
  });
}

/// The slice of a tensor with the positions of its gathered axes.
Slice ofTensor(const KernelLowering &k, Value slice, ArrayRef<Value> indices) {
  Slice found = k.slice(slice);
  found.indices.assign(indices.begin(), indices.end());
  return found;
}
} // namespace

Value lowering::loadSlice(KernelLowering &k, Value slice, ArrayRef<Value> indices,
                          const FragmentLayout &layout, ArrayRef<int64_t> shape) {
  if (auto shared = slice.getDefiningOp<tile::SliceSharedOp>())
    return loadOfTile(k, shared, indices, layout, shape);
  return loadGlobal(k, ofTensor(k, slice, indices), layout, shape);
}

void lowering::storeSlice(KernelLowering &k, Value slice, ArrayRef<Value> indices,
                          const FragmentLayout &layout, ArrayRef<int64_t> shape, Value value) {
  if (auto shared = slice.getDefiningOp<tile::SliceSharedOp>())
    storeOfTile(k, shared, indices, layout, shape, value);
  else
    storeGlobal(k, ofTensor(k, slice, indices), layout, shape, value);
}

void lowering::combineSlice(KernelLowering &k, tile::CombineKind kind, Value slice, ArrayRef<Value> indices,
                            const FragmentLayout &layout, ArrayRef<int64_t> shape, Value value) {
  if (auto shared = slice.getDefiningOp<tile::SliceSharedOp>())
    combineOfTile(k, kind, shared, indices, layout, shape, value);
  else
    combineGlobal(k, kind, ofTensor(k, slice, indices), layout, shape, value);
}
