// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements several of which share a byte. In memory they are lowered as the bytes that they share: tensors,
/// slices and shared tiles count units, which are these bytes (and of other elements the elements
/// themselves), along the axis where elements lie side by side. Copies move units. In registers each element
/// is one; a thread that loads or stores some has all elements of each byte (`LoadOp::stateLayouts`).
#pragma once

#include "compiler/lowering/TileToSimt/Lowering.h"

namespace tlc::lowering {

/// The extents of a slice or a shared tile.
Shape shapeInUnits(Type memory);
/// The layout of a shared tile.
SharedLayout layoutInUnits(tile::SharedType type);
/// A divisor of a number of units, given one of the number of elements, which is a multiple of `packing`.
int64_t divisorInUnits(int64_t divisor, int64_t packing);
/// What both elements of a byte are: as an element of memory.
Value repeatedInUnit(Emitter &b, Value element, Type type);

/// A fragment of packed elements, and its bytes.
class PackedFragment {
public:
  /// Fails with a diagnostic where threads do not have all elements of the bytes of `memory`.
  static std::optional<PackedFragment> create(KernelLowering &k, Operation *op, mlir::RankedTensorType type,
                                              Type memory);

  const FragmentLayout &layoutOfBytes() const { return ofBytes; }
  const Shape &shapeOfBytes() const { return shape; }

  Value unpack(Emitter &b, Value bytes) const;
  Value pack(Emitter &b, Value elements) const;

private:
  PackedFragment(FragmentLayout layout, FragmentLayout ofBytes, Shape shape, int axis, Type element)
      : layout(std::move(layout)), ofBytes(std::move(ofBytes)), shape(std::move(shape)), axis(axis),
        element(element) {}

  FragmentLayout layout, ofBytes;
  Shape shape;
  int axis; ///< along which elements share bytes
  Type element;
};

} // namespace tlc::lowering
