// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fragments to and from tensors in the order of accumulators: where threads hold their parts of whole
/// pieces, in vectors that cross two rows.
#include "compiler/analysis/Divisibility.h"
#include "compiler/lowering/TileToSimt/FragmentAccess.h"

#include <set>

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

GlobalAccess::PieceAxis GlobalAccess::pieceAxis(const AccumulatorAxis &order, size_t axis) const {
  // They add up if no digit of one is carried into the other's.
  int64_t ofThreads = 0, ofRegisters = 0, tileAxis = axes[axis];
  if (tileAxis >= 0) {
    for (int64_t warp = 0; warp < layout.numWarps(); ++warp)
      for (int64_t lane = 0; lane < lanesPerWarp; ++lane)
        ofThreads |= layout.coordinatesOf({0, lane, warp})[size_t(tileAxis)];
    for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg)
      ofRegisters |= layout.coordinatesOf({reg, 0, 0})[size_t(tileAxis)];
  }
  PieceAxis along = {&order, axis, /*isSum=*/false};
  along.isSum = beginsAtMultiple(along) && (ofThreads & ofRegisters & (order.extent - 1)) == 0;
  return along;
}

bool GlobalAccess::beginsAtMultiple(const PieceAxis &along) const {
  return tile::knownDivisor(tile::SliceOp(slice.op).getOrigin()[along.axis]) % along.order->extent == 0;
}

bool GlobalAccess::beginsWithPiece() const {
  return llvm::all_of(pieces, [&](const PieceAxis &along) { return beginsAtMultiple(along); });
}

/// From the first element of a vector to each of them.
std::vector<Coordinates> GlobalAccess::pieceVector(int64_t elements) const {
  std::vector<Coordinates> vector;
  for (int64_t row = 0; row < accumulatorRows.extent; ++row)
    for (int64_t column = 0; column < accumulatorColumns.extent; ++column)
      if (accumulatorRows.placeInPiece(row) + accumulatorColumns.placeInPiece(column) < elements) {
        Coordinates at(size_t(layout.rank()), 0);
        at[size_t(axes[pieces[0].axis])] = row;
        at[size_t(axes[pieces[1].axis])] = column;
        vector.push_back(std::move(at));
      }
  return vector;
}

bool GlobalAccess::beginsPieceVector(const Coordinates &at, int64_t elements) const {
  int64_t place = 0;
  for (const PieceAxis &along : pieces)
    place += along.order->placeInPiece(constantAlong(along.axis, at));
  return place % elements == 0;
}

/// Whether the registers are whole vectors of so many elements.
bool GlobalAccess::hasPieceVectors(ArrayRef<int64_t> tileShape, int64_t elements) const {
  for (const PieceAxis &along : pieces)
    if (!along.isSum || axes[along.axis] < 0 ||
        tileShape[size_t(axes[along.axis])] % along.order->extent != 0)
      return false;
  std::set<Coordinates> held;
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg)
    held.insert(layout.coordinatesOf({reg, 0, 0}));
  size_t inVectors = 0;
  for (const RegisterGroup &group : groups(elements).groups)
    for (Coordinates at : pieceVector(elements)) {
      for (auto [coordinate, start] : llvm::zip_equal(at, group.start))
        coordinate += start;
      inVectors += held.contains(at);
    }
  return inVectors == held.size() && inVectors == groups(elements).groups.size() * size_t(elements);
}

void GlobalAccess::choosePieceVectors(ArrayRef<int64_t> tileShape, int64_t widest, GlobalUse use) {
  size_t columns = axes.size() - 1;
  pieces = {pieceAxis(accumulatorRows, columns - 1), pieceAxis(accumulatorColumns, columns)};
  for (int64_t elements = adjacentInOrder; elements > 1 && width == 1; elements /= 2)
    if (elements <= widest && hasPieceVectors(tileShape, elements))
      width = elements;
  if (width == 1)
    return;
  for (const PieceAxis &along : pieces) {
    auto axis = int(along.axis);
    // Memory has room for whole pieces, of which nobody reads what lies outside of the tensor.
    if (use == GlobalUse::load || slice.limitedAxis == axis)
      notePart(along.axis, along.order->extent);
    else if (slice.isGuarded(axis) && slice.endMultiple(axis) % along.order->extent != 0)
      ends[along.axis] = b.bitAnd(b.add(ends[along.axis], along.order->extent - 1), -along.order->extent);
  }
}

/// Of a coordinate of the tensor: its share of an element's place.
Value GlobalAccess::placeInPieces(const PieceAxis &along, Value coordinate) {
  bool isRow = along.order == &accumulatorRows;
  Value wholePieces = b.extend(b.bitAnd(coordinate, -along.order->extent)), inPiece = b.i32(0);
  Value place = isRow ? b.mul(wholePieces, slice.tensor->strides[along.axis])
                      : b.mul(wholePieces, accumulatorRows.extent);
  along.order->forEachDigit([&](const LayoutMode &digit, int64_t weight) {
    inPiece = b.add(inPiece, b.mul(b.remainder(b.divide(coordinate, weight), digit.extent), digit.step));
  });
  return b.add(place, b.extend(inPiece));
}

Value GlobalAccess::addressInPieces(ArrayRef<int64_t> constant) {
  const GlobalTensor &tensor = *slice.tensor;
  size_t outerAxes = pieces.front().axis;
  if (!base) {
    base = b.i64(0);
    for (size_t axis = 0; axis < outerAxes; ++axis)
      base = b.add(base, b.mul(b.extend(position[axis]), tensor.strides[axis]));
    for (const PieceAxis &along : pieces)
      if (along.isSum)
        base = b.add(base, placeInPieces(along, position[along.axis]));
  }
  // What of the constants is no constant number of places.
  std::vector<int64_t> outer;
  for (size_t axis = 0; axis < outerAxes; ++axis)
    outer.push_back(constantAlong(axis, constant));
  int64_t places = 0;
  for (const PieceAxis &along : pieces) {
    int64_t at = constantAlong(along.axis, constant), wholePieces = at & -along.order->extent;
    if (!along.isSum) {
      outer.push_back(at);
      continue;
    }
    bool isRow = along.order == &accumulatorRows;
    outer.push_back(isRow ? wholePieces : 0);
    places += along.order->placeInPiece(at) + (isRow ? 0 : wholePieces * accumulatorRows.extent);
  }
  Value &row = rows[outer];
  if (!row) {
    Value index = base;
    for (size_t axis = 0; axis < outerAxes; ++axis)
      index = b.add(index, b.mul(tensor.strides[axis], outer[axis]));
    for (const PieceAxis &along : pieces) {
      int64_t at = outer[along.axis];
      if (!along.isSum)
        index = b.add(index, placeInPieces(along, b.add(position[along.axis], at)));
      else if (at != 0)
        index = b.add(index, b.mul(tensor.strides[along.axis], at));
    }
    row = b.element(slice.pointer, tensor.element, index);
  }
  return b.element(row, tensor.element, places);
}
