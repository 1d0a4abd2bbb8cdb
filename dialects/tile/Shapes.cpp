// SPDX-License-Identifier: Apache-2.0
/// \file
/// Extents of tiles, whatever holds them.
#include "dialects/tile/Shapes.h"

#include "dialects/tile/TileTypes.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

ArrayRef<int64_t> tile::extentsOf(Type type) {
  return TypeSwitch<Type, ArrayRef<int64_t>>(type)
      .Case<RankedTensorType, SharedType, TensorMemoryType, SliceType, GlobalType>(
          [](auto shaped) { return shaped.getShape(); });
}

Type tile::elementTypeOf(Type type) {
  return TypeSwitch<Type, Type>(type)
      .Case<RankedTensorType, SharedType, TensorMemoryType, SliceType, GlobalType>(
          [](auto shaped) { return shaped.getElementType(); });
}

SmallVector<int64_t> tile::withoutUnitExtents(ArrayRef<int64_t> extents) {
  return llvm::to_vector(llvm::make_filter_range(extents, [](int64_t extent) { return extent != 1; }));
}

bool tile::sameTile(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return withoutUnitExtents(a) == withoutUnitExtents(b);
}

int64_t tile::numElements(ArrayRef<int64_t> extents) {
  int64_t product = 1;
  for (int64_t extent : extents)
    product *= extent;
  return product;
}

std::string tile::toText(ArrayRef<int64_t> extents) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      extents, os,
      [&](int64_t extent) {
        if (ShapedType::isDynamic(extent))
          os << "?";
        else
          os << extent;
      },
      "x");
  return text;
}
