// SPDX-License-Identifier: Apache-2.0
/// \file
/// Conversions of elements: checks, what constants become, and what they say of themselves.
#include "dialects/tile/Shapes.h"
#include "dialects/tile/Tile.h"

#include "llvm/ADT/APSInt.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

LogicalResult ConvertOp::verify() {
  Type source = getElementTypeOrSelf(getSource().getType()), result = getElementTypeOrSelf(getType());
  std::optional<ElementType> from = toElementType(source), to = toElementType(result);
  if (!from || !to || from == to) // convert_c1
    return emitOpError() << "expected numbers of two types that memory can hold ("
                         << elementTypesText(getContext()) << "), but got " << source << " and " << result;
  if (saturates(*to) && !getSaturate()) // convert_c2
    return emitOpError() << "expected 'saturate' because " << result << " is a float of at most 8 bits";
  if (isInteger(*from) && getRounding() != Rounding::nearest) // convert_c3
    return emitOpError() << "expected rounding to the nearest because " << source
                         << " is an integer, but got '" << stringifyRounding(getRounding()) << "'";
  return success();
}

LogicalResult ConvertOp::stateLayouts(FragmentRules &rules) {
  if (isFragment(getType()))
    rules.equal(getResult(), getSourceMutable(), "elementwise arithmetic");
  return success();
}

/// Of equally many bits, where nothing is rounded.
bool ConvertOp::mayKeepElements() { return true; }

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

namespace {

APFloat::roundingMode modeOf(Rounding rounding) {
  switch (rounding) {
  case Rounding::nearest:
    return APFloat::rmNearestTiesToEven;
  case Rounding::zero:
    return APFloat::rmTowardZero;
  case Rounding::down:
    return APFloat::rmTowardNegative;
  case Rounding::up:
    return APFloat::rmTowardPositive;
  }
  return APFloat::rmNearestTiesToEven;
}

/// The attribute of a number. Nothing is said about what becomes of NaN, and of integers that do not fit.
class Folder {
public:
  Folder(ConvertOp op, Type to) : to(to), rounding(modeOf(op.getRounding())), saturate(op.getSaturate()) {
    Type from = getElementTypeOrSelf(op.getSource().getType());
    isFromUnsigned = isUnsigned(*toElementType(from));
    isToUnsigned = isUnsigned(*toElementType(to));
  }

  TypedAttr fold(Attribute number) const {
    if (auto real = dyn_cast<FloatAttr>(number))
      return isa<FloatType>(to) ? toFloat(real.getValue()) : toInteger(real.getValue());
    APSInt integer(cast<IntegerAttr>(number).getValue(), isFromUnsigned);
    return isa<FloatType>(to) ? toFloat(integer) : toInteger(integer);
  }

private:
  const llvm::fltSemantics &format() const { return cast<FloatType>(to).getFloatSemantics(); }

  TypedAttr toFloat(APFloat value) const {
    if (value.isNaN())
      return {};
    if (saturate) {
      APFloat largest = APFloat::getLargest(format(), value.isNegative());
      bool losesInfo = false;
      largest.convert(value.getSemantics(), APFloat::rmTowardZero, &losesInfo);
      if (value.isInfinity() || abs(value) > abs(largest))
        return FloatAttr::get(to, APFloat::getLargest(format(), value.isNegative()));
    }
    bool losesInfo = false;
    value.convert(format(), rounding, &losesInfo);
    return FloatAttr::get(to, value);
  }

  TypedAttr toFloat(const APSInt &integer) const {
    APFloat exact(APFloat::IEEEquad()); // holds 64 bits
    exact.convertFromAPInt(integer, /*IsSigned=*/!isFromUnsigned, rounding);
    return toFloat(exact);
  }

  TypedAttr toInteger(const APFloat &value) const {
    APSInt integer(to.getIntOrFloatBitWidth(), isToUnsigned);
    bool isExact = false;
    bool isInvalid = value.convertToInteger(integer, rounding, &isExact) == APFloat::opInvalidOp;
    return isInvalid && !saturate ? TypedAttr() : IntegerAttr::get(to, integer);
  }

  TypedAttr toInteger(const APSInt &integer) const {
    unsigned bits = to.getIntOrFloatBitWidth();
    APSInt result = integer.extOrTrunc(bits);
    APSInt least = APSInt::getMinValue(bits, isToUnsigned), most = APSInt::getMaxValue(bits, isToUnsigned);
    if (saturate && APSInt::compareValues(integer, least) < 0)
      result = least;
    if (saturate && APSInt::compareValues(integer, most) > 0)
      result = most;
    return IntegerAttr::get(to, result);
  }

  Type to;
  APFloat::roundingMode rounding;
  bool saturate = false, isFromUnsigned = false, isToUnsigned = false;
};

/// Whether every number of `from` is one of `to`.
bool holdsAll(ElementType to, ElementType from) {
  const ElementFacts &source = factsOf(from), &result = factsOf(to);
  auto magnitudeBits = [](const ElementFacts &facts) {
    return int(facts.bits) - (facts.number == NumberKind::signedInteger ? 1 : 0);
  };
  if (isFloat(from))
    return isFloat(to) && result.format.precision() >= source.format.precision() &&
           result.format.leastExponent() <= source.format.leastExponent() &&
           result.format.largest() >= source.format.largest();
  if (isFloat(to))
    return result.format.precision() >= magnitudeBits(source) &&
           result.format.largest() >= std::ldexp(1.0, magnitudeBits(source));
  return magnitudeBits(result) >= magnitudeBits(source) && (isUnsigned(from) || !isUnsigned(to));
}

} // namespace

OpFoldResult ConvertOp::fold(FoldAdaptor adaptor) {
  Type element = getElementTypeOrSelf(getType());
  if (auto inner = getSource().getDefiningOp<ConvertOp>();
      inner && inner.getSource().getType() == getType()) {
    ElementType between = *toElementType(getElementTypeOrSelf(getSource().getType()));
    ElementType own = *toElementType(element);
    // Integers of as many bits are the same bits.
    if (isInteger(own) && isInteger(between) && bitsOf(own) == bitsOf(between) && !inner.getSaturate() &&
        !getSaturate())
      return inner.getSource();
    bool keepsInfinities = !isFloat(own) || !factsOf(own).format.hasInfinities() || !getSaturate();
    if (holdsAll(between, own) && keepsInfinities)
      return inner.getSource();
  }
  Folder folder(*this, element);
  if (auto dense = dyn_cast_if_present<DenseElementsAttr>(adaptor.getSource())) {
    TypedAttr number = dense.isSplat() ? folder.fold(dense.getSplatValue<Attribute>()) : TypedAttr();
    return number ? DenseElementsAttr::get(cast<ShapedType>(getType()), ArrayRef<Attribute>(number))
                  : OpFoldResult();
  }
  if (isa_and_present<FloatAttr, IntegerAttr>(adaptor.getSource()))
    return folder.fold(adaptor.getSource());
  return {};
}

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}
