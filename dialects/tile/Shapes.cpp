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

int64_t tile::contiguousAxisOf(Type memory) {
  auto shared = dyn_cast<SharedType>(memory);
  return int64_t(extentsOf(memory).size()) - (shared && shared.getTransposed() ? 2 : 1);
}

int64_t tile::matchingAxis(ArrayRef<int64_t> from, int64_t axis, ArrayRef<int64_t> to) {
  size_t after = withoutUnitExtents(from.drop_front(axis)).size();
  int64_t found = int64_t(to.size());
  while (withoutUnitExtents(to.drop_front(found)).size() != after)
    --found;
  return found;
}

std::string tile::packingProblem(StringRef what, ArrayRef<int64_t> extents, int64_t axis, Type element) {
  int64_t together = elementsPerUnit(element);
  if (ShapedType::isDynamic(extents[axis]) || extents[axis] % together == 0)
    return "";
  std::string text;
  llvm::raw_string_ostream(text) << "expected a multiple of " << together << " elements along axis " << axis
                                 << " of " << what << " because as many " << toString(*toElementType(element))
                                 << " share a byte, but got " << extents[axis];
  return text;
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
