// SPDX-License-Identifier: Apache-2.0
/// \file
/// min, max, abs, neg and copysign of floating point: they choose, and change signs.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/decode/TypeDispatch.h"
#include "runtime/emulator/exec/scalar/FloatFormats.h"
#include "runtime/emulator/exec/scalar/FloatOps.h"

#include <limits>

namespace tlc::emulator {

namespace {

// min and max on bits: the sign of zero counts, a NaN loses or wins.
template <bool maximum> struct Extreme {
  explicit Extreme(const Instruction &instruction) : flags(instruction.payloadAs<FloatFlags>()) {}
  template <class T> T operator()(T a, T b) const {
    using C = typename Format<T>::Compute;
    C x = Format<T>::load(a, flags), y = Format<T>::load(b, flags);
    C result;
    const bool negative = std::signbit(x) != std::signbit(y);
    if (flags.xorSign || flags.magnitude)
      x = std::fabs(x), y = std::fabs(y);
    if (x != x || y != y) {
      if (flags.propagateNan || (x != x && y != y))
        return Format<T>::finish(std::numeric_limits<C>::quiet_NaN(), flags);
      result = x != x ? y : x;
    } else if (x == y) {
      result = maximum == std::signbit(x) ? y : x;
    } else {
      result = (x < y) == maximum ? y : x;
    }
    if (flags.xorSign)
      result = negative ? -result : result;
    if (flags.relu && !(result > 0))
      result = 0;
    return Format<T>::finish(result, flags);
  }
  template <class T> Pair<T> operator()(Pair<T> a, Pair<T> b) const {
    return {(*this)(a.low, b.low), (*this)(a.high, b.high)};
  }
  const FloatFlags &flags;
};

/// The common forms, which vectorise.
template <bool maximum> struct PlainExtreme {
  float operator()(float a, float b) const {
    // Equal values differ at most in the sign of zero.
    const float zeros = maximum ? a + b : -(-a - b);
    const float ordered = (maximum ? a > b : a < b) ? a : b;
    const float result = a == b ? (a == 0 ? zeros : a) : ordered;
    return a != a ? (b != b ? canonicalFloat : b) : b != b ? a : result;
  }
};

/// abs and neg act on the sign bits; flushing, which `exponents` are for, is the only arithmetic.
template <bool negate, class Bits, Bits signs, Bits exponents = 0> struct Sign {
  explicit Sign(const Instruction &instruction) : flush(exponents != 0 && instruction.immediate != 0) {}
  static Bits flushed(Bits a, Bits element) {
    return (a & exponents & element) == 0 ? Bits(a & ~(element & ~signs)) : a;
  }
  Bits operator()(Bits a) const {
    constexpr bool pair = signs == 0x80008000u;
    if (flush)
      a = pair ? flushed(flushed(a, Bits(0xFFFF)), Bits(0xFFFF0000u)) : flushed(a, Bits(~Bits(0)));
    return negate ? a ^ signs : a & ~signs;
  }
  bool flush;
};

template <class T> struct CopySign {
  T operator()(T a, T b) const {
    const T sign = T(1) << (sizeof(T) * 8 - 1);
    return (a & sign) | (b & ~sign);
  }
};

template <bool maximum> void extreme(Decoder &d) {
  const Type type = d.type();
  FloatFlags flags = takeFloatFlags(d);
  if (d.take("xorsign")) {
    flags.xorSign = true;
    if (!d.take("abs"))
      d.fail("'{}' needs .abs with .xorsign", d.at().fullName());
  }
  flags.magnitude = !flags.xorSign && d.take("abs");
  d.expectOperands(3, 4);
  if (d.operandCount() == 4) {
    if (type != Type::f32 || flags.xorSign || d.codeTarget().sm < 100)
      return d.fail("'{}' takes three sources only for .f32 and from sm_100 on", d.at().fullName());
    const Slot pair = d.temporary(4);
    const Eval eval = mapLanesWith<Extreme<maximum>, float, float, float>;
    d.emitWith(eval, {pair, d.in(1, type), d.in(2, type)}, flags);
    d.emitWith(eval, {d.out(0, type), pair, d.in(3, type)}, flags);
    return;
  }
  if (flags.magnitude)
    return d.fail("'{}' takes .abs with three sources only", d.at().fullName());
  const Slot slots[] = {d.out(0, type), d.in(1, type), d.in(2, type)};
  Eval eval = nullptr;
  switch (type) {
  case Type::f32:
    eval = flags.flush || flags.propagateNan || flags.xorSign || flags.relu
               ? mapLanesWith<Extreme<maximum>, float, float, float>
               : mapLanes<PlainExtreme<maximum>, float, float, float>;
    break;
  case Type::f64:
    eval = mapLanesWith<Extreme<maximum>, double, double, double>;
    break;
  case Type::f16:
    eval = mapLanesWith<Extreme<maximum>, F16, F16, F16>;
    break;
  case Type::bf16:
    eval = mapLanesWith<Extreme<maximum>, BF16, BF16, BF16>;
    break;
  case Type::f16x2:
    eval = mapLanesWith<Extreme<maximum>, Pair<F16>, Pair<F16>, Pair<F16>>;
    break;
  case Type::bf16x2:
    eval = mapLanesWith<Extreme<maximum>, Pair<BF16>, Pair<BF16>, Pair<BF16>>;
    break;
  default:
    return failForType(d, type);
  }
  d.emitWith(eval, slots, flags);
}

template <bool negate> void sign(Decoder &d) {
  const Type type = d.type();
  const bool flush = d.take("ftz");
  d.expectOperands(2);
  const Slot slots[] = {d.out(0, type), d.in(1, type)};
  switch (type) {
  case Type::f32:
    d.emit(mapLanesWith<Sign<negate, uint32_t, 0x80000000u, 0x7F800000u>, uint32_t, uint32_t>, slots, flush);
    break;
  case Type::f64:
    d.emit(mapLanesWith<Sign<negate, uint64_t, uint64_t(1) << 63>, uint64_t, uint64_t>, slots);
    break;
  case Type::f16:
    d.emit(mapLanesWith<Sign<negate, uint16_t, 0x8000, 0x7C00>, uint16_t, uint16_t>, slots, flush);
    break;
  case Type::bf16:
    d.emit(mapLanesWith<Sign<negate, uint16_t, 0x8000>, uint16_t, uint16_t>, slots);
    break;
  case Type::f16x2:
    d.emit(mapLanesWith<Sign<negate, uint32_t, 0x80008000u, 0x7C007C00u>, uint32_t, uint32_t>, slots, flush);
    break;
  case Type::bf16x2:
    d.emit(mapLanesWith<Sign<negate, uint32_t, 0x80008000u>, uint32_t, uint32_t>, slots);
    break;
  default:
    failForType(d, type);
  }
}

void decodeCopysign(Decoder &d) {
  const Type type = d.type();
  d.expectOperands(3);
  const Slot slots[] = {d.out(0, type), d.in(1, type), d.in(2, type)};
  if (type == Type::f32)
    d.emit(mapLanes<CopySign<uint32_t>, uint32_t, uint32_t, uint32_t>, slots);
  else if (type == Type::f64)
    d.emit(mapLanes<CopySign<uint64_t>, uint64_t, uint64_t, uint64_t>, slots);
  else
    failForType(d, type);
}

constexpr DecodeEntry entries[] = {{"copysign", decodeCopysign}};

} // namespace

void decodeFloatChoice(Decoder &d, FloatOp op) {
  switch (op) {
  case FloatOp::minimum:
    return extreme<false>(d);
  case FloatOp::maximum:
    return extreme<true>(d);
  case FloatOp::absolute:
    return sign<false>(d);
  default:
    return sign<true>(d);
  }
}

std::span<const DecodeEntry> floatChoiceInstructions() { return entries; }

} // namespace tlc::emulator
