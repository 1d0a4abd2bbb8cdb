// SPDX-License-Identifier: Apache-2.0
/// \file
/// Conversions of elements. What the machine computes with is converted by `arith`, floats of 8 bits or less
/// by the target's instruction or, where it has none, by integer arithmetic on their bits.
#include "compiler/lowering/TileToSimt/Convert.h"

#include "runtime/target/Units.h"

#include <cmath>

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {

constexpr NumberFormat f32Format = factsOf(ElementType::f32).format;
constexpr int64_t f32Magnitude = int64_t(f32Format.signBit()) - 1;

class Converter {
public:
  Converter(KernelLowering &k, tile::Rounding rounding, bool saturate)
      : b(k.b), target(k.target), rounding(rounding), saturate(saturate) {}

  /// A number, or the registers of a fragment.
  Value convert(Value value, ElementType from, ElementType to) const {
    if (isInteger(from))
      return isInteger(to) ? resize(value, from, to) : fromInteger(value, from, to);
    if (isComputed(from))
      return isInteger(to) ? toInteger(value, to) : toFloat(value, to);
    value = decode(value, from);
    if (isInteger(to))
      return toInteger(value, to);
    return to == ElementType::f32 ? saturated(value) : toFloat(value, to);
  }

  /// As f32.
  Value decode(Value codes, ElementType from) const {
    if (hasInstruction(from))
      return asVector(codes, [&](Value vector) {
        return simt::DecodeOp::create(b, like(vector, b.getF32Type()), vector, attrOf(from)).getResult();
      });
    return decodeBits(codes, factsOf(from).format);
  }

private:
  /// Of a float that the machine does not compute with.
  bool hasInstruction(ElementType type) const {
    return hasUnit(target, isPacked(type) ? Unit::float4 : Unit::float8);
  }

  //===--------------------------------------------------------------------===//
  // Types and constants of as many elements
  //===--------------------------------------------------------------------===//

  Type like(Value value, Type element) const {
    auto vector = dyn_cast<VectorType>(value.getType());
    return vector ? Type(vector.clone(element)) : element;
  }
  Type registers(Value value, ElementType element) const {
    return like(value, registerTypeOf(toMlirType(element, b.getContext())));
  }
  TypeAttr attrOf(ElementType element) const { return TypeAttr::get(toMlirType(element, b.getContext())); }

  Value integer(Value of, int64_t value) const { return b.integer(of.getType(), value); }
  Value real(Value of, double value) const {
    Type type = of.getType();
    FloatAttr number = b.getFloatAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      return b.constant(DenseElementsAttr::get(vector, ArrayRef<Attribute>(number)));
    return b.constant(number);
  }

  template <class Op, class... Operands> Value make(Operands... operands) const {
    return Op::create(b, operands...).getResult();
  }
  template <class Op> Value to(Value value, Type element) const {
    return make<Op>(like(value, element), value);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) const {
    return make<arith::CmpFOp>(predicate, x, y);
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) const {
    return make<arith::CmpIOp>(predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) const { return make<arith::SelectOp>(condition, x, y); }

  /// The instructions take fragments.
  Value asVector(Value value, llvm::function_ref<Value(Value)> body) const {
    if (isa<VectorType>(value.getType()))
      return body(value);
    return b.extract(body(b.splat(value, 1)), 0);
  }

  //===--------------------------------------------------------------------===//
  // Integers
  //===--------------------------------------------------------------------===//

  struct Range {
    int64_t least;
    uint64_t most;
  };
  static Range rangeOf(ElementType type) {
    unsigned bits = bitsOf(type);
    if (isUnsigned(type))
      return {0, ~uint64_t(0) >> (64 - bits)};
    uint64_t most = ~uint64_t(0) >> (65 - bits);
    return {-int64_t(most) - 1, most};
  }

  Value resize(Value value, ElementType from, ElementType target) const {
    if (saturate) {
      Range had = rangeOf(from), has = rangeOf(target);
      if (has.least > had.least)
        value = make<arith::MaxSIOp>(value, integer(value, has.least));
      if (has.most < had.most && isUnsigned(from))
        value = make<arith::MinUIOp>(value, integer(value, int64_t(has.most)));
      else if (has.most < had.most)
        value = make<arith::MinSIOp>(value, integer(value, int64_t(has.most)));
    }
    Type element = registerTypeOf(toMlirType(target, b.getContext()));
    unsigned has = element.getIntOrFloatBitWidth(),
             had = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
    if (has < had)
      value = to<arith::TruncIOp>(value, element);
    else if (has > had)
      value = isUnsigned(from) ? to<arith::ExtUIOp>(value, element) : to<arith::ExtSIOp>(value, element);
    return wrapped(value, target);
  }

  /// The number of the bits that are an element's, in a register that has more.
  Value wrapped(Value value, ElementType type) const {
    if (!isPacked(type))
      return value;
    if (isUnsigned(type))
      return bitAnd(value, int64_t(rangeOf(type).most));
    int64_t unused = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth() - bitsOf(type);
    return make<arith::ShRSIOp>(shiftLeft(value, unused), integer(value, unused));
  }

  /// By way of f32 where the float is narrow: it holds all integers of 24 bits, and larger ones saturate.
  Value fromInteger(Value value, ElementType from, ElementType target) const {
    Type element = isComputed(target) ? toMlirType(target, b.getContext()) : b.getF32Type();
    value = isUnsigned(from) ? to<arith::UIToFPOp>(value, element) : to<arith::SIToFPOp>(value, element);
    return isComputed(target) ? saturated(value) : encode(value, target);
  }

  Value toInteger(Value value, ElementType target) const {
    Type element = registerTypeOf(toMlirType(target, b.getContext()));
    auto truncated = [&](Value value) {
      return wrapped(isUnsigned(target) ? to<arith::FPToUIOp>(value, element)
                                        : to<arith::FPToSIOp>(value, element),
                     target);
    };
    if (rounding == tile::Rounding::zero && !saturate)
      return truncated(value);
    if (getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth() < 32) // whose numbers are not as large
      value = to<arith::ExtFOp>(value, b.getF32Type());
    value = whole(value, rounding);
    Value result = truncated(value);
    if (!saturate)
      return result;
    Range range = rangeOf(target);
    double end = std::ldexp(1.0, int(bitsOf(target)) - (isUnsigned(target) ? 0 : 1)); // the most, and 1
    Value above = compare(arith::CmpFPredicate::OGE, value, real(value, end));
    Value below = compare(arith::CmpFPredicate::OLT, value, real(value, double(range.least)));
    result = select(above, integer(result, int64_t(range.most)), result);
    result = select(below, integer(result, range.least), result);
    return select(compare(arith::CmpFPredicate::UNO, value, value), integer(result, 0), result);
  }

  Value whole(Value value, tile::Rounding how) const {
    switch (how) {
    case tile::Rounding::nearest:
      return make<math::RoundEvenOp>(value);
    case tile::Rounding::zero:
      return value; // the conversion does it
    case tile::Rounding::down:
      return make<math::FloorOp>(value);
    case tile::Rounding::up:
      return make<math::CeilOp>(value);
    }
    return {};
  }

  //===--------------------------------------------------------------------===//
  // Floats that the machine computes with
  //===--------------------------------------------------------------------===//

  Value toFloat(Value value, ElementType target) const {
    unsigned fromBits = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
    if (!isComputed(target))
      return encode(fromBits == 64 ? roundedToOdd(value) : widened(value, b.getF32Type()), target);
    Type element = toMlirType(target, b.getContext());
    if (bitsOf(target) > fromBits)
      return saturated(to<arith::ExtFOp>(value, element));
    if (bitsOf(target) == fromBits) // f16 and bf16 hold different numbers: by way of one that holds both
      value = to<arith::ExtFOp>(value, b.getF32Type());
    return saturated(narrowed(value, element));
  }

  Value widened(Value value, Type element) const {
    return getElementTypeOrSelf(value.getType()) == element ? value : to<arith::ExtFOp>(value, element);
  }

  Value narrowed(Value value, Type element) const {
    Value nearest = to<arith::TruncFOp>(value, element);
    if (rounding == tile::Rounding::nearest)
      return nearest;
    // It is the number below or above. Where it is the wrong one, the next: one more or less, as an integer.
    Value back = to<arith::ExtFOp>(nearest, getElementTypeOrSelf(value.getType()));
    Value bits = bitsOfFloat(nearest);
    Value isNegative = compare(arith::CmpIPredicate::slt, bits, integer(bits, 0));
    Value smaller = integer(bits, -1), larger = integer(bits, 1), step, isWrong;
    switch (rounding) {
    case tile::Rounding::down:
      isWrong = compare(arith::CmpFPredicate::OGT, back, value);
      step = select(isNegative, larger, smaller);
      break;
    case tile::Rounding::up:
      isWrong = compare(arith::CmpFPredicate::OLT, back, value);
      step = select(isNegative, smaller, larger);
      break;
    default:
      isWrong = compare(arith::CmpFPredicate::OGT, make<math::AbsFOp>(back), make<math::AbsFOp>(value));
      step = smaller;
      break;
    }
    Value corrected = make<arith::AddIOp>(bits, step);
    return floatOfBits(select(isWrong, corrected, bits), element);
  }

  /// f64 as f32, inexact ones to the odd neighbour: rounded again, they become what f64 becomes.
  Value roundedToOdd(Value value) const {
    Value nearest = to<arith::TruncFOp>(value, b.getF32Type());
    Value back = to<arith::ExtFOp>(nearest, b.getF64Type());
    Value bits = bitsOfFloat(nearest);
    Value isLarger = compare(arith::CmpFPredicate::OGT, make<math::AbsFOp>(back), make<math::AbsFOp>(value));
    bits = make<arith::AddIOp>(bits, select(isLarger, integer(bits, -1), integer(bits, 0)));
    Value isInexact = compare(arith::CmpFPredicate::ONE, back, value);
    bits = make<arith::OrIOp>(bits, select(isInexact, integer(bits, 1), integer(bits, 0)));
    return floatOfBits(bits, b.getF32Type());
  }

  /// The largest number instead of infinity.
  Value saturated(Value value) const {
    if (!saturate)
      return value;
    double largest = factsOf(*toElementType(getElementTypeOrSelf(value.getType()))).format.largest();
    for (double sign : {1.0, -1.0}) {
      Value isInfinite = compare(arith::CmpFPredicate::OEQ, value, real(value, sign * INFINITY));
      value = select(isInfinite, real(value, sign * largest), value);
    }
    return value;
  }

  Value bitsOfFloat(Value value) const {
    unsigned bits = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
    return to<arith::BitcastOp>(value, b.getIntegerType(bits));
  }
  Value floatOfBits(Value bits, Type element) const { return to<arith::BitcastOp>(bits, element); }

  //===--------------------------------------------------------------------===//
  // Floats of 8 bits or less
  //===--------------------------------------------------------------------===//

  Value shiftLeft(Value value, int64_t by) const { return make<arith::ShLIOp>(value, integer(value, by)); }
  Value shiftRight(Value value, int64_t by) const { return make<arith::ShRUIOp>(value, integer(value, by)); }
  Value bitAnd(Value value, int64_t mask) const { return make<arith::AndIOp>(value, integer(value, mask)); }

  /// Exponent and fraction stand where f32 has them; the product moves the bias and makes subnormals normal.
  Value decodeBits(Value codes, const NumberFormat &format) const {
    Value code = to<arith::ExtUIOp>(codes, b.getI32Type());
    Value magnitude = bitAnd(code, int64_t(format.signBit()) - 1);
    int unused = f32Format.fractionBits - format.fractionBits;
    Value value = floatOfBits(shiftLeft(magnitude, unused), b.getF32Type());
    value = make<arith::MulFOp>(value, real(value, std::ldexp(1.0, f32Format.bias - format.bias)));
    Value bits = bitsOfFloat(value);
    if (format.specials != Specials::none) {
      // The fraction of an infinity is 0, that of NaN is not.
      Value special = format.hasInfinities()
                          ? make<arith::OrIOp>(shiftLeft(magnitude, unused),
                                               integer(bits, int64_t(f32Format.infinityCode())))
                          : integer(bits, int64_t(f32Format.nanCode()));
      Value isSpecial =
          compare(arith::CmpIPredicate::ugt, magnitude, integer(magnitude, int64_t(format.largestCode())));
      bits = select(isSpecial, special, bits);
    }
    Value sign =
        shiftLeft(bitAnd(code, int64_t(format.signBit())), std::countl_zero(uint32_t(format.signBit())));
    return floatOfBits(make<arith::OrIOp>(bits, sign), b.getF32Type());
  }

  /// Of f32.
  Value encode(Value value, ElementType to) const {
    if (hasInstruction(to) && rounding == tile::Rounding::nearest)
      return asVector(value, [&](Value vector) {
        return simt::EncodeOp::create(b, registers(vector, to), vector, attrOf(to)).getResult();
      });
    return encodeBits(value, to);
  }

  Value encodeBits(Value value, ElementType target) const {
    const NumberFormat &format = factsOf(target).format;
    Value bits = bitsOfFloat(value);
    Value isNegative = compare(arith::CmpIPredicate::slt, bits, integer(bits, 0));
    Value magnitude = bitAnd(bits, f32Magnitude);
    Value isNaN =
        compare(arith::CmpIPredicate::ugt, magnitude, integer(magnitude, int64_t(f32Format.infinityCode())));
    magnitude = make<arith::MinUIOp>(magnitude, integer(magnitude, codeOfF32(format.largest())));
    Value code =
        select(compare(arith::CmpIPredicate::ult, magnitude,
                       integer(magnitude, codeOfF32(std::ldexp(1.0, format.leastExponent())))),
               encodeSubnormal(magnitude, isNegative, format), encodeNormal(magnitude, isNegative, format));
    code = make<arith::OrIOp>(code,
                              select(isNegative, integer(code, int64_t(format.signBit())), integer(code, 0)));
    uint64_t nan = format.specials == Specials::none ? format.largestCode() : format.nanCode();
    code = select(isNaN, integer(code, int64_t(nan)), code);
    return to<arith::TruncIOp>(code, registerTypeOf(toMlirType(target, b.getContext())));
  }

  static int64_t codeOfF32(double value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }

  /// Whether a magnitude is rounded up: a truth value for each, or what it is for all.
  Value isUp(Value isNegative, Value yes, Value no) const {
    if (rounding == tile::Rounding::zero)
      return no;
    return rounding == tile::Rounding::down ? select(isNegative, yes, no) : select(isNegative, no, yes);
  }

  /// Carries go on into the exponent by themselves.
  Value encodeNormal(Value magnitude, Value isNegative, const NumberFormat &format) const {
    int dropped = f32Format.fractionBits - format.fractionBits;
    int64_t unit = int64_t(1) << dropped;
    Value more;
    if (rounding == tile::Rounding::nearest) // half of it, and less by one before an even number
      more = make<arith::AddIOp>(bitAnd(shiftRight(magnitude, dropped), 1), integer(magnitude, unit / 2 - 1));
    else
      more = isUp(isNegative, integer(magnitude, unit - 1), integer(magnitude, 0));
    Value rounded = shiftRight(make<arith::AddIOp>(magnitude, more), dropped);
    return make<arith::SubIOp>(
        rounded, integer(rounded, int64_t(f32Format.bias - format.bias) << format.fractionBits));
  }

  /// In units of the last place.
  Value encodeSubnormal(Value magnitude, Value isNegative, const NumberFormat &format) const {
    Value value = floatOfBits(magnitude, b.getF32Type());
    double unit = std::ldexp(1.0, format.leastExponent() - format.fractionBits);
    Value units = make<arith::MulFOp>(value, real(value, 1 / unit));
    Value rounded = rounding == tile::Rounding::nearest
                        ? make<math::RoundEvenOp>(units)
                        : isUp(isNegative, make<math::CeilOp>(units), make<math::FloorOp>(units));
    return to<arith::FPToUIOp>(rounded, b.getI32Type());
  }

  Emitter &b;
  const Target &target;
  tile::Rounding rounding;
  bool saturate;
};

LogicalResult lowerConvert(KernelLowering &k, tile::ConvertOp op) {
  auto elementOf = [](Value value) { return *toElementType(getElementTypeOrSelf(value.getType())); };
  Converter converter(k, op.getRounding(), op.getSaturate());
  k.set(op.getResult(),
        converter.convert(k.value(op.getSource()), elementOf(op.getSource()), elementOf(op.getResult())));
  return success();
}

} // namespace

Value lowering::decodeFloats(KernelLowering &k, Value codes, ElementType from) {
  return Converter(k, tile::Rounding::nearest, /*saturate=*/false).decode(codes, from);
}

void lowering::addConvertLowerings(LoweringTable &table) { table.add<tile::ConvertOp>(lowerConvert); }
