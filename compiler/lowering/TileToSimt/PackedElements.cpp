// SPDX-License-Identifier: Apache-2.0
/// \file
/// From elements to bytes and back.
#include "compiler/lowering/TileToSimt/PackedElements.h"

#include "dialects/layout/LayoutText.h"
#include "dialects/tile/Shapes.h"

#include <numeric>

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

Shape lowering::shapeInUnits(Type memory) {
  ArrayRef<int64_t> extents = tile::extentsOf(memory);
  Shape shape(extents.begin(), extents.end());
  shape[size_t(tile::contiguousAxisOf(memory))] /= elementsPerUnit(tile::elementTypeOf(memory));
  return shape;
}

SharedLayout lowering::layoutInUnits(tile::SharedType type) {
  const SharedLayout &layout = type.getLayout().getLayout();
  int64_t packing = elementsPerUnit(type.getElementType());
  if (packing == 1)
    return layout;
  Shape shape = layout.shape();
  RowPlacement rows = layout.rowPlacement();
  shape[size_t(rows.contiguousAxis)] /= packing;
  rows.panelExtent /= packing;
  return *SharedLayout::create(std::move(shape), layout.elementBits() * int(packing), rows);
}

int64_t lowering::divisorInUnits(int64_t divisor, int64_t packing) {
  return divisor / std::gcd(divisor, packing);
}

namespace {
Value constantLike(Emitter &b, Value value, int64_t number) { return b.integer(value.getType(), number); }
Value shiftLeft(Emitter &b, Value value, int64_t bits) {
  return arith::ShLIOp::create(b, value, constantLike(b, value, bits));
}
Value shiftRight(Emitter &b, Value value, int64_t bits, bool isSigned) {
  Value by = constantLike(b, value, bits);
  return isSigned ? arith::ShRSIOp::create(b, value, by).getResult()
                  : arith::ShRUIOp::create(b, value, by).getResult();
}

/// Elements number 0, 1, ... of their bytes as bytes.
Value joined(Emitter &b, ArrayRef<Value> elements, int64_t bits) {
  Value all;
  for (auto [number, element] : llvm::enumerate(elements)) {
    Value code = arith::AndIOp::create(b, element, constantLike(b, element, (int64_t(1) << bits) - 1));
    code = number == 0 ? code : shiftLeft(b, code, int64_t(number) * bits);
    all = all ? arith::OrIOp::create(b, all, code).getResult() : code;
  }
  return all;
}

/// The layout of the bytes that elements side by side along the axis share; nothing where a thread does not
/// have all of a byte's.
std::optional<FragmentLayout> layoutOfBytes(const FragmentLayout &layout, int axis, int64_t packing) {
  std::array<FragmentLayout::Modes, 3> modes;
  bool hasBytes = false;
  for (HardwareAxis hardware : hardwareAxes) {
    modes[size_t(hardware)] = layout.modes(hardware);
    for (LayoutMode &mode : modes[size_t(hardware)]) {
      if (mode.axis != axis)
        continue;
      if (mode.step > 1) {
        mode.step /= packing;
      } else {
        hasBytes = hardware == HardwareAxis::reg && mode.extent % packing == 0;
        mode.extent /= packing;
      }
    }
  }
  if (!hasBytes)
    return std::nullopt;
  return FragmentLayout::get(layout.rank(), modes[size_t(HardwareAxis::reg)],
                             modes[size_t(HardwareAxis::lane)], modes[size_t(HardwareAxis::warp)]);
}
} // namespace

Value lowering::repeatedInUnit(Emitter &b, Value element, Type type) {
  SmallVector<Value> elements(size_t(elementsPerUnit(type)), element);
  return elements.size() == 1 ? element : joined(b, elements, type.getIntOrFloatBitWidth());
}

std::optional<PackedFragment> PackedFragment::create(KernelLowering &k, Operation *op, RankedTensorType type,
                                                     Type memory) {
  const FragmentLayout &layout = k.layoutOf(type);
  Shape shape(type.getShape().begin(), type.getShape().end());
  int64_t packing = elementsPerUnit(type.getElementType());
  int axis =
      int(tile::matchingAxis(tile::extentsOf(memory), tile::contiguousAxisOf(memory), type.getShape()));
  std::optional<FragmentLayout> ofBytes = ::layoutOfBytes(layout, axis, packing);
  if (!ofBytes) {
    op->emitOpError() << "expected a layout in which threads have " << packing
                      << " elements side by side along axis " << axis
                      << " because these share a byte, but got " << printLayout(layout);
    return std::nullopt;
  }
  shape[size_t(axis)] /= packing;
  return PackedFragment(layout, std::move(*ofBytes), std::move(shape), axis, type.getElementType());
}

Value PackedFragment::unpack(Emitter &b, Value bytes) const {
  int64_t packing = elementsPerUnit(element), bits = element.getIntOrFloatBitWidth();
  // One vector for all elements that stand at a place of their bytes: the sign, or zeros, above.
  SmallVector<Value> places;
  for (int64_t place = 0; place < packing; ++place) {
    Value top = shiftLeft(b, bytes, 8 - bits * (place + 1));
    places.push_back(shiftRight(b, top, 8 - bits, element.isSignlessInteger()));
  }
  SmallVector<Value> registers;
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg) {
    Coordinates at = layout.coordinatesOf({reg, 0, 0});
    int64_t place = at[size_t(axis)] % packing;
    at[size_t(axis)] /= packing;
    registers.push_back(b.extract(places[size_t(place)], *ofBytes.registerOf(at, 0, 0)));
  }
  return b.pack(registers);
}

Value PackedFragment::pack(Emitter &b, Value elements) const {
  int64_t packing = elementsPerUnit(element);
  SmallVector<SmallVector<int64_t>> registers(static_cast<size_t>(packing));
  for (int64_t reg = 0; reg < ofBytes.registersPerThread(); ++reg) {
    Coordinates at = ofBytes.coordinatesOf({reg, 0, 0});
    at[size_t(axis)] *= packing;
    for (int64_t place = 0; place < packing; ++place, ++at[size_t(axis)])
      registers[size_t(place)].push_back(*layout.registerOf(at, 0, 0));
  }
  SmallVector<Value> places;
  for (ArrayRef<int64_t> ofPlace : registers)
    places.push_back(b.pick(elements, ofPlace));
  return joined(b, places, element.getIntOrFloatBitWidth());
}
