// SPDX-License-Identifier: Apache-2.0
/// \file
/// Floating-point arithmetic. Halves are computed wider and rounded once; a
/// NaN result narrower than f64 is the canonical one. Approximate functions are
/// computed accurately, which is within the ISA's bounds.
#include "runtime/emulator/exec/Float.h"
#include "runtime/emulator/exec/FloatOps.h"
#include "runtime/emulator/exec/Lanes.h"
#include "runtime/emulator/exec/TypeDispatch.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

namespace tlc::emulator {

namespace {

struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};

/// What the modifiers ask for.
struct Flags {
  Rounding rounding = Rounding::nearestEven;
  bool flush = false;    ///< .ftz
  bool saturate = false; ///< .sat
  bool relu = false;
  bool propagateNan = false; ///< .NaN
  bool xorSign = false;      ///< .xorsign.abs
  bool magnitude = false;    ///< .abs of the form with three sources
  bool zeroOutside = false;  ///< .oob: what TMA filled with NaN makes the result 0
};

const float canonicalFloat = std::bit_cast<float>(0x7FFFFFFFu);

/// The type to compute in, and the way there and back.
template <class T> struct Format;
template <> struct Format<float> {
  using Compute = float;
  static float load(float v, const Flags &flags) {
    return flags.flush && std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v;
  }
  static float finish(float v, const Flags &flags) { return v != v ? canonicalFloat : load(v, flags); }
};
template <> struct Format<double> {
  using Compute = double;
  static double load(double v, const Flags &) { return v; }
  static double finish(double v, const Flags &) { return v; }
};
template <FloatFormat format, class T> struct HalfFormat {
  using Compute = double;
  static double flushed(double v, const Flags &flags) {
    // Only f16 has subnormals that .ftz flushes in practice; both end at 2^-14 and 2^-126.
    const double least = format == FloatFormat::f16 ? 0x1p-14 : 0x1p-126;
    return flags.flush && std::fabs(v) < least ? std::copysign(0.0, v) : v;
  }
  static double load(T v, const Flags &flags) { return flushed(toDouble(format, v.bits), flags); }
  static T finish(double v, const Flags &flags) {
    const T rounded{uint16_t(fromDouble(format, v, {flags.rounding, false, false}))};
    return flags.flush ? T{uint16_t(fromDouble(format, flushed(toDouble(format, rounded.bits), flags)))}
                       : rounded;
  }
};
template <> struct Format<F16> : HalfFormat<FloatFormat::f16, F16> {};
template <> struct Format<BF16> : HalfFormat<FloatFormat::bf16, BF16> {};

/// The exact a * b + c to odd, for halves: rounding it again is rounding once.
double fusedToOdd(double a, double b, double c) {
  const double product = a * b; // exact: 22 bits
  const double sum = product + c;
  if (!std::isfinite(sum))
    return sum;
  const double big = sum - product, error = (product - (sum - big)) + (c - big);
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  if (error == 0 || (bits & 1))
    return sum;
  // Towards the exact value, whose magnitude is larger when the error has the sum's sign.
  bits += (error > 0) == (sum > 0) ? 1 : -1;
  return std::bit_cast<double>(bits | 1);
}

struct Add {
  template <class T> T operator()(T a, T b) const { return a + b; }
};
struct Subtract {
  template <class T> T operator()(T a, T b) const { return a - b; }
};
struct Multiply {
  template <class T> T operator()(T a, T b) const { return a * b; }
};
struct Divide {
  template <class T> T operator()(T a, T b) const { return a / b; }
};
struct Fused {
  float operator()(float a, float b, float c) const { return __builtin_fmaf(a, b, c); }
  double operator()(double a, double b, double c) const { return __builtin_fma(a, b, c); }
};
struct FusedHalf {
  double operator()(double a, double b, double c) const { return fusedToOdd(a, b, c); }
};
/// f16 and bf16 as f32, for the sums and products of mixed precision.
template <class T> struct Widen {
  float operator()(T a) const { return float(Format<T>::load(a, {})); }
};
struct Reciprocal {
  template <class T> T operator()(T a) const { return T(1) / a; }
};
struct SquareRoot {
  template <class T> T operator()(T a) const { return std::sqrt(a); }
};
struct ReciprocalSquareRoot {
  template <class T> T operator()(T a) const { return T(1) / std::sqrt(a); }
};
struct Sine {
  template <class T> T operator()(T a) const { return std::sin(a); }
};
struct Cosine {
  template <class T> T operator()(T a) const { return std::cos(a); }
};
struct Exponential2 {
  template <class T> T operator()(T a) const { return std::exp2(a); }
};
struct Logarithm2 {
  template <class T> T operator()(T a) const { return std::log2(a); }
};
struct HyperbolicTangent {
  template <class T> T operator()(T a) const { return std::tanh(a); }
};

/// The host's rounding direction for one instruction. The loop below reads its
/// operands and writes its results through memory that the calls here may
/// alter as far as the compiler knows, so nothing moves across them.
class HostRounding {
public:
  explicit HostRounding(Rounding rounding) : previous(std::fegetround()) {
    const int mode = rounding == Rounding::towardZero ? FE_TOWARDZERO
                     : rounding == Rounding::down     ? FE_DOWNWARD
                     : rounding == Rounding::up       ? FE_UPWARD
                                                      : FE_TONEAREST;
    std::fesetround(mode);
  }
  ~HostRounding() { std::fesetround(previous); }
  HostRounding(const HostRounding &) = delete;
  HostRounding &operator=(const HostRounding &) = delete;

private:
  int previous;
};

/// What TMA writes for f16 and bf16 beyond the tensor, if asked for NaN.
constexpr uint16_t outsideNan = 0x7FFF;

/// Any modifiers, any type, `elements` per warp (64 for packed halves).
template <class Op, class T, unsigned sources, unsigned elements>
Step general(Warp &warp, uint32_t active, const Instruction &instruction) {
  using Compute = typename Format<T>::Compute;
  const Flags &flags = instruction.payloadAs<Flags>();
  volatile Compute in[3][elements];
  volatile Compute out[elements];
  for (unsigned s = 0; s < sources; ++s)
    for (unsigned l = 0; l < elements; ++l)
      in[s][l] = Format<T>::load(lanesOf<T>(warp, instruction.slots[s + 1])[l], flags);
  const bool halves = sizeof(T) == 2;
  {
    const HostRounding rounding(halves ? Rounding::nearestEven : flags.rounding);
    for (unsigned l = 0; l < elements; ++l) {
      if constexpr (sources == 1)
        out[l] = Op()(Compute(in[0][l]));
      else if constexpr (sources == 2)
        out[l] = Op()(Compute(in[0][l]), Compute(in[1][l]));
      else
        out[l] = Op()(Compute(in[0][l]), Compute(in[1][l]), Compute(in[2][l]));
    }
  }
  T results[elements];
  for (unsigned l = 0; l < elements; ++l) {
    Compute value = out[l];
    if constexpr (sources == 3 && sizeof(T) == 2)
      if (flags.zeroOutside && (lanesOf<T>(warp, instruction.slots[1])[l].bits == outsideNan ||
                                lanesOf<T>(warp, instruction.slots[2])[l].bits == outsideNan))
        value = 0;
    if (flags.saturate)
      value = value > 0 ? std::min(value, Compute(1)) : Compute(0);
    if (flags.relu && value <= 0)
      value = 0;
    results[l] = Format<T>::finish(value, flags);
  }
  if constexpr (elements == 2 * warpSize) {
    Pair<T> pairs[warpSize];
    std::memcpy(pairs, results, sizeof(pairs));
    store(warp, instruction.slots[0], active, pairs);
  } else {
    store(warp, instruction.slots[0], active, results);
  }
  return Step::next;
}

/// f32 with nothing but .rn, the bulk of all kernels.
template <class Op> struct Plain {
  template <class... T> float operator()(T... v) const {
    const float result = Op()(v...);
    return result != result ? canonicalFloat : result;
  }
};

/// The same under .ftz.
template <class Op> struct Flushing {
  static float flush(float v) { return std::fabs(v) < 0x1p-126f ? std::copysign(0.0f, v) : v; }
  template <class... T> float operator()(T... v) const {
    const float result = Op()(flush(v)...);
    return result != result ? canonicalFloat : flush(result);
  }
};

/// One source or several, all f32.
template <template <class> class Form, class Op, unsigned sources> constexpr Eval floatLanes() {
  if constexpr (sources == 1)
    return mapLanes<Form<Op>, float, float>;
  else if constexpr (sources == 2)
    return mapLanes<Form<Op>, float, float, float>;
  else
    return mapLanes<Form<Op>, float, float, float, float>;
}

// min and max on bits: the sign of zero counts, a NaN loses or wins.
template <bool maximum> struct Extreme {
  explicit Extreme(const Instruction &instruction) : flags(instruction.payloadAs<Flags>()) {}
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
  const Flags &flags;
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

// --- decoding ---------------------------------------------------------------------

Flags takeFlags(Decoder &d) {
  Flags flags;
  flags.rounding = d.takeOneOf<Rounding>({{"rn", Rounding::nearestEven},
                                          {"rz", Rounding::towardZero},
                                          {"rm", Rounding::down},
                                          {"rp", Rounding::up}})
                       .value_or(Rounding::nearestEven);
  flags.flush = d.take("ftz");
  flags.saturate = d.take("sat");
  flags.relu = d.take("relu");
  flags.propagateNan = d.take("NaN");
  flags.zeroOutside = d.take("oob");
  return flags;
}

template <class Op, class HalfOp, unsigned sources> Eval generalFor(Type type) {
  switch (type) {
  case Type::f32:
    return general<Op, float, sources, 32>;
  case Type::f32x2:
    return general<Op, float, sources, 64>;
  case Type::f64:
    return general<Op, double, sources, 32>;
  case Type::f16:
    return general<HalfOp, F16, sources, 32>;
  case Type::f16x2:
    return general<HalfOp, F16, sources, 64>;
  case Type::bf16:
    return general<HalfOp, BF16, sources, 32>;
  case Type::bf16x2:
    return general<HalfOp, BF16, sources, 64>;
  default:
    return nullptr;
  }
}

/// A source of the type; of an f32 sum or product of halves, all but the last
/// are halves.
Slot source(Decoder &d, unsigned i, unsigned last, Type type, std::optional<Type> half) {
  if (!half || i == last)
    return d.in(i, type);
  const Slot wide = d.temporary(4);
  d.emit(*half == Type::f16 ? mapLanes<Widen<F16>, float, F16> : mapLanes<Widen<BF16>, float, BF16>,
         {wide, d.in(i, *half)});
  return wide;
}

template <class Op, class HalfOp, unsigned sources> void arithmetic(Decoder &d) {
  const Type type = d.type();
  const std::optional<Type> half = sources > 1 ? d.typeIfAny() : std::nullopt;
  const Flags flags = takeFlags(d);
  d.expectOperands(sources + 1);
  if (half && (type != Type::f32 || (*half != Type::f16 && *half != Type::bf16) || flags.flush))
    return failForType(d, *half);
  if (flags.zeroOutside && (sources != 3 || type == Type::f32 || sizeInBytes(type) > 4))
    return failForType(d, type);
  std::array<Slot, sources + 1> slots;
  slots[0] = d.out(0, type);
  for (unsigned i = 1; i <= sources; ++i)
    slots[i] = source(d, i, sources, type, half);
  if (type == Type::f32 && flags.rounding == Rounding::nearestEven && !flags.saturate && !flags.relu) {
    d.emit(flags.flush ? floatLanes<Flushing, Op, sources>() : floatLanes<Plain, Op, sources>(), slots);
    return;
  }
  if (const Eval eval = generalFor<Op, HalfOp, sources>(type))
    d.emitWith(eval, slots, flags);
  else
    failForType(d, type);
}

template <bool maximum> void extreme(Decoder &d) {
  const Type type = d.type();
  Flags flags = takeFlags(d);
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

/// The approximations of f64: they see and give the upper word, and flush.
template <class Op> struct UpperWord {
  static double upper(double v) {
    return std::bit_cast<double>(std::bit_cast<uint64_t>(v) & ~uint64_t(0xFFFFFFFF));
  }
  double operator()(double a) const {
    a = std::fabs(a) < 0x1p-1022 ? std::copysign(0.0, a) : upper(a);
    const double result = Op()(a);
    if (result != result)
      return std::bit_cast<double>(uint64_t(0x7FFFFFFF) << 32);
    return std::fabs(result) < 0x1p-1022 ? std::copysign(0.0, result) : upper(result);
  }
};

template <class Op> void function(Decoder &d) {
  const bool approximate = d.take("approx");
  d.take("full");
  const auto &left = d.remaining();
  const auto has = [&](std::string_view word) {
    return std::find(left.begin(), left.end(), word) != left.end();
  };
  if (approximate && has("ftz") && has("f64")) {
    d.take("ftz"), d.take("f64");
    d.expectOperands(2);
    d.emit(mapLanes<UpperWord<Op>, double, double>, {d.out(0, Type::f64), d.in(1, Type::f64)});
    return;
  }
  arithmetic<Op, Op, 1>(d);
}

void decodeFma(Decoder &d) { decodeFloatOp(d, FloatOp::fusedMultiplyAdd); }

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

constexpr DecodeEntry entries[] = {
    {"fma", decodeFma},
    {"rcp", function<Reciprocal>},
    {"sqrt", function<SquareRoot>},
    {"rsqrt", function<ReciprocalSquareRoot>},
    {"sin", function<Sine>},
    {"cos", function<Cosine>},
    {"ex2", function<Exponential2>},
    {"lg2", function<Logarithm2>},
    {"tanh", function<HyperbolicTangent>},
    {"copysign", decodeCopysign},
};

} // namespace

void decodeFloatOp(Decoder &d, FloatOp op) {
  switch (op) {
  case FloatOp::add:
    return arithmetic<Add, Add, 2>(d);
  case FloatOp::subtract:
    return arithmetic<Subtract, Subtract, 2>(d);
  case FloatOp::multiply:
    return arithmetic<Multiply, Multiply, 2>(d);
  case FloatOp::fusedMultiplyAdd:
    return arithmetic<Fused, FusedHalf, 3>(d);
  case FloatOp::divide:
    d.ignore({"approx", "full"});
    return arithmetic<Divide, Divide, 2>(d);
  case FloatOp::minimum:
    return extreme<false>(d);
  case FloatOp::maximum:
    return extreme<true>(d);
  case FloatOp::absolute:
    return sign<false>(d);
  case FloatOp::negate:
    return sign<true>(d);
  }
}

std::span<const DecodeEntry> floatInstructions() { return entries; }

} // namespace tlc::emulator
