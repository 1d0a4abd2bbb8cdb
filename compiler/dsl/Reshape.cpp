// SPDX-License-Identifier: Apache-2.0
/// \file
/// The same bits with other extents or as elements of another type.
#include "compiler/dsl/Operands.h"
#include "compiler/dsl/Trace.h"
#include "dialects/tile/Shapes.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

namespace {

/// Reports the mistake, with the place where the value was declared. Returns false.
bool refuse(Trace &trace, Value value, const Twine &message, Loc loc) {
  Diagnostic &diagnostic = trace.error(loc, message);
  trace.noteDeclaration(diagnostic, value);
  return false;
}

/// Whether the value can have these extents.
bool checkReshape(Trace &trace, Value value, const Shape &extents, Loc loc) {
  if (!trace.checkExtents("the result of reshape", extents, loc))
    return false;
  int64_t has = tile::numElements(tile::extentsOf(value.getType())), gets = tile::numElements(extents);
  std::string message = llvm::formatv(
      "expected extents of {0} elements for reshape because {1} has as many, but got {2}, which has {3}", has,
      trace.describe(value), tile::toText(extents), gets);
  return has == gets || refuse(trace, value, message, loc);
}

/// Whether the bits of a fragment can be elements of that type.
bool checkBitcast(Trace &trace, Value value, ElementType element, Loc loc) {
  ElementType from = *toElementType(getElementTypeOrSelf(value));
  std::string name = trace.describe(value);
  if (isPacked(from) || isPacked(element))
    return refuse(trace, value,
                  "expected elements of 8 bits or more for bitcast, but got " + name + " to become " +
                      std::string(toString(element)) + "; convert it with .to(...)",
                  loc);
  int64_t had = bitsOf(from), has = bitsOf(element), last = tile::extentsOf(value.getType()).back();
  std::string message = llvm::formatv("expected a last extent that is a multiple of {0} for bitcast of {1} "
                                      "because {0} of its elements are one of {2}, but got {3}",
                                      has / had, name, toString(element), last);
  return last * had % has == 0 || refuse(trace, value, message, loc);
}

/// Whether the fragment, or the variable that holds one, has the extents with which the tile is copied.
bool checkCopied(Trace &trace, Value tile, const Shape &extents, Value fragment, Loc loc) {
  auto variable = dyn_cast<tile::VariableType>(fragment.getType());
  auto type = cast<RankedTensorType>(variable ? variable.getValueType() : fragment.getType());
  std::string message =
      llvm::formatv("expected a fragment of {0} because {1} is copied with these extents, but got {2} of {3}",
                    tile::toText(extents), trace.describe(tile), tile::toText(type.getShape()),
                    textOf(type.getElementType()));
  return type.getShape() == ArrayRef<int64_t>(extents) || refuse(trace, tile, message, loc);
}

Value reshapedTo(Trace &trace, Value value, ArrayRef<int64_t> extents, Type element, Loc loc) {
  auto type = RankedTensorType::get(extents, element);
  return value.getType() == type ? value : trace.create<tile::ReshapeOp>(loc, type, value);
}

/// To a type of the same width.
Value sameWidth(Trace &trace, Value value, ElementType from, ElementType to, Loc loc) {
  if (isInteger(from))
    value = convert(trace, value, signedType(from), {}, loc);
  ElementType plain = isInteger(to) ? signedType(to) : to;
  if (plain != from) {
    auto type = cast<RankedTensorType>(value.getType()).clone(trace.typeOf(plain));
    value = trace.create<arith::BitcastOp>(loc, type, value);
  }
  return value ? convert(trace, value, to, {}, loc) : Value();
}

} // namespace

FragmentValue reshape(const FragmentValue &x, const TileExtents &extents, Loc loc) {
  Trace *trace = traceOf(x.ref());
  if (!trace)
    return {};
  Value value = trace->use(x.ref(), "the operand of reshape", loc);
  if (!value || !checkReshape(*trace, value, extents, loc))
    return trace->poison<FragmentValue>();
  return trace->make<FragmentValue>(
      reshapedTo(*trace, value, extents, getElementTypeOrSelf(value.getType()), loc));
}

FragmentValue bitcast(const FragmentValue &x, ElementType element, Loc loc) {
  Trace *trace = traceOf(x.ref());
  if (!trace)
    return {};
  Value value = trace->use(x.ref(), "the operand of bitcast", loc);
  if (!value || !checkBitcast(*trace, value, element, loc))
    return trace->poison<FragmentValue>();
  ElementType from = *toElementType(getElementTypeOrSelf(value));
  if (bitsOf(from) == bitsOf(element)) {
    if (isInteger(from) && isInteger(element)) // the bits are kept anyway
      return x.to(element, loc);
    return trace->make<FragmentValue>(sameWidth(*trace, value, from, element, loc));
  }
  SmallVector<int64_t> extents(tile::extentsOf(value.getType()));
  extents.back() = extents.back() * int64_t(bitsOf(from)) / int64_t(bitsOf(element));
  return trace->make<FragmentValue>(reshapedTo(*trace, value, extents, trace->typeOf(element), loc));
}

//===----------------------------------------------------------------------===//
// Shared tiles
//===----------------------------------------------------------------------===//

ReshapedTile Shared::reshape(const TileExtents &extents, Loc loc) const {
  Trace *trace = traceOf(reference);
  if (!trace)
    return {};
  Value tile = trace->use(reference, "a shared tile", loc);
  if (!tile)
    return trace->poison<ReshapedTile>();
  if (slots)
    refuse(*trace, tile,
           "expected a tile without slots, or one of its slots, for reshape, but got " +
               trace->describe(tile) + "; take .slot(at) first",
           loc);
  if (slots || !checkReshape(*trace, tile, extents, loc))
    return trace->poison<ReshapedTile>();
  return ReshapedTile(reference, extents);
}

void copy(const ReshapedTile &from, Fragment &to, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref());
  if (!trace)
    return;
  Value tile = trace->use(from.ref(), "the source of copy", loc);
  Value variable = trace->use(to.ref(), "the destination of copy", loc);
  if (!tile || !variable || !checkCopied(*trace, tile, from.shape(), variable, loc))
    return;
  auto type = RankedTensorType::get(tile::extentsOf(tile.getType()), tile::elementTypeOf(tile.getType()));
  if (Value value = trace->create<tile::LoadOp>(loc, type, tile))
    copy(reshape(trace->make<FragmentValue>(value), from.shape(), loc), to, loc);
}

void copy(const FragmentValue &from, const ReshapedTile &to, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref());
  if (!trace)
    return;
  Value value = trace->use(from.ref(), "the source of copy", loc);
  Value tile = trace->use(to.ref(), "the destination of copy", loc);
  if (!value || !tile || !checkCopied(*trace, tile, to.shape(), value, loc))
    return;
  Value stored =
      reshapedTo(*trace, value, tile::extentsOf(tile.getType()), getElementTypeOrSelf(value.getType()), loc);
  if (stored)
    trace->create<tile::StoreOp>(loc, stored, tile, Value(), tile::CopyAtomAttr());
}

} // namespace tlc::dsl::inline v1
