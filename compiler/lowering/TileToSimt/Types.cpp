// SPDX-License-Identifier: Apache-2.0
/// \file
/// What tile types become: index is i32, a fragment is the vector of a thread's
/// registers, a cursor is two numbers.
#include "compiler/analysis/Divisibility.h"
#include "compiler/lowering/TileToSimt/Lowering.h"
#include "compiler/lowering/TileToSimt/PackedElements.h"

#include <numeric>

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

Type KernelLowering::typeOf(Type type) {
  if (type.isIndex())
    return b.getI32Type();
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return registersOf(tensor);
  return registerTypeOf(type);
}

VectorType KernelLowering::registersOf(RankedTensorType type) {
  return b.vectorOf(layoutOf(type).registersPerThread(), typeOf(type.getElementType()));
}

const FragmentLayout &KernelLowering::layoutOf(Type fragment) {
  return cast<tile::LayoutAttr>(cast<RankedTensorType>(fragment).getEncoding()).getLayout();
}

int SharedTile::layoutAxis(int axis) const {
  int last = rank() - 1;
  if (!transposed || axis < last - 1)
    return axis;
  return axis == last ? last - 1 : last;
}

Coordinates SharedTile::layoutCoordinates(ArrayRef<int64_t> coordinates) const {
  Coordinates result(coordinates.begin(), coordinates.end());
  if (transposed)
    std::swap(result[result.size() - 1], result[result.size() - 2]);
  return result;
}

bool Slice::isGuarded(int axis) const { return axis == limitedAxis || !tile::SliceOp(op).getUnchecked(); }

int64_t Slice::originMultiple() const {
  return divisorInUnits(tile::knownDivisor(tile::SliceOp(op).getOrigin().back()), tensor->packing);
}

int64_t Slice::endMultiple(int axis) const {
  int64_t multiple = tensor->multiples[size_t(axis)];
  if (axis != limitedAxis)
    return multiple;
  int64_t ofLimit = tile::knownDivisor(tile::SliceOp(op).getLimit());
  return std::gcd(multiple,
                  axis + 1 == int(origin.size()) ? divisorInUnits(ofLimit, tensor->packing) : ofLimit);
}

SmallVector<int> Slice::tileAxes(ArrayRef<int64_t> tileShape) const {
  return tileAxesOf(shape, boxAxes, tileShape);
}

SmallVector<int> lowering::tileAxesOf(ArrayRef<int64_t> sliceShape, ArrayRef<int> boxAxes,
                                      ArrayRef<int64_t> tileShape) {
  SmallVector<int> axes;
  int next = 0;
  for (int64_t extent : sliceShape) {
    if (extent == 1) {
      axes.push_back(-1);
      continue;
    }
    while (tileShape[size_t(next)] == 1)
      ++next;
    axes.push_back(next++);
  }
  return llvm::map_to_vector(boxAxes, [&](int axis) { return axis < 0 ? -1 : axes[size_t(axis)]; });
}

bool KernelLowering::isCarried(Type type) {
  return type.isIntOrIndexOrFloat() || isa<RankedTensorType, tile::CursorType>(type);
}

void KernelLowering::flatten(ValueRange tiles, SmallVectorImpl<Value> &flat) const {
  for (Value tile : tiles) {
    if (!isa<tile::CursorType>(tile.getType())) {
      flat.push_back(value(tile));
      continue;
    }
    Cursor at = cursor(tile);
    flat.append({at.slot, at.phase});
  }
}

void KernelLowering::unflatten(ValueRange tiles, ValueRange flat) {
  size_t next = 0;
  for (Value tile : tiles) {
    if (isa<tile::CursorType>(tile.getType())) {
      set(tile, Cursor{flat[next], flat[next + 1]});
      next += 2;
    } else {
      set(tile, flat[next++]);
    }
  }
}
