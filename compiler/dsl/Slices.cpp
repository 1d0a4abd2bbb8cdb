// SPDX-License-Identifier: Apache-2.0
/// \file
/// Destinations, and slices with a position per element.
#include "compiler/dsl/Slices.h"

#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "runtime/support/Excerpt.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

Value destinationOf(Trace &trace, const Handle &to, StringRef what, Loc loc) {
  Value destination = trace.use(to.ref(), what, loc);
  auto slice = destination ? destination.getDefiningOp<tile::SliceOp>() : tile::SliceOp();
  program::TensorAttr tensor = slice ? trace.tensorOf(slice.getTensor()) : program::TensorAttr();
  if (!tensor || tensor.getAccess() != program::Access::input)
    return destination;
  Diagnostic &diagnostic =
      trace.error(loc, "expected " + what + " to be an output because inputs are only read, but '" +
                           excerpt(tensor.getName()) + "' is an input; declare it with k.inout or k.output");
  trace.noteDeclaration(diagnostic, slice);
  return {};
}

Value positionsFor(Trace &trace, const Slice &slice, RankedTensorType fragment, Loc loc) {
  Value positions = trace.use(slice.positions(), "the positions of a slice", loc);
  if (!positions)
    return {};
  ArrayRef<int64_t> own = cast<RankedTensorType>(positions.getType()).getShape(), shape = fragment.getShape();
  auto fits = [](auto extents) {
    return std::get<0>(extents) == 1 || std::get<0>(extents) == std::get<1>(extents);
  };
  if (own.size() == shape.size() && llvm::all_of(llvm::zip(own, shape), fits))
    return trace.broadcast(positions, shape, loc);
  trace.error(loc, "expected positions for " + tile::toText(shape) +
                       " elements, or extents of 1 where one is " + "repeated, but got " +
                       trace.describe(positions));
  return {};
}

Value gathered(Trace &trace, const Slice &from, RankedTensorType type, Loc loc) {
  Value source = trace.use(from.ref(), "the source of copy", loc);
  Value positions = source ? positionsFor(trace, from, type, loc) : Value();
  return positions ? trace.create<tile::GatherOp>(loc, type, source, positions) : Value();
}

void scatter(Trace &trace, Value value, Value destination, const Slice &to,
             std::optional<tile::CombineKind> kind, Loc loc) {
  Value positions = positionsFor(trace, to, cast<RankedTensorType>(value.getType()), loc);
  auto attr = kind ? tile::CombineKindAttr::get(trace.builder.getContext(), *kind) : tile::CombineKindAttr();
  if (positions)
    trace.create<tile::ScatterOp>(loc, value, destination, positions, attr);
}

RankedTensorType fragmentOf(Value tile) {
  return RankedTensorType::get(tile::extentsOf(tile.getType()), tile::elementTypeOf(tile.getType()));
}

} // namespace tlc::dsl::inline v1
