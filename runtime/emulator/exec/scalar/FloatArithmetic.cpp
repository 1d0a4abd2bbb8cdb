// SPDX-License-Identifier: Apache-2.0
/// \file
/// Floating-point arithmetic. Halves are computed wider and rounded once; a
/// NaN result narrower than f64 is the canonical one. Approximate functions are
/// computed accurately, which is within the ISA's bounds.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/decode/TypeDispatch.h"
#include "runtime/emulator/exec/scalar/FloatFormats.h"
#include "runtime/emulator/exec/scalar/FloatOps.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

namespace tlc::emulator {

namespace {

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
  const FloatFlags &flags = instruction.payloadAs<FloatFlags>();
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
  const FloatFlags flags = takeFloatFlags(d);
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
};

} // namespace

FloatFlags takeFloatFlags(Decoder &d) {
  FloatFlags flags;
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
  case FloatOp::maximum:
  case FloatOp::absolute:
  case FloatOp::negate:
    return decodeFloatChoice(d, op);
  }
}

std::span<const DecodeEntry> floatInstructions() { return entries; }

} // namespace tlc::emulator
