// SPDX-License-Identifier: Apache-2.0
/// \file
/// cvt in all combinations, and the packed conversions. A value travels as an
/// integer or as a double, which hold every source exactly; it is rounded once,
/// at the result.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/math/Float.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tlc::emulator {

namespace {

struct Conversion {
  Type to = Type::b32, from = Type::b32;
  uint8_t toBytes = 4, fromBytes = 4; ///< of the registers, which may be wider
  Rounding rounding = Rounding::nearestEven;
  bool toIntegral = false; ///< .rni .rzi ...: to an integral value
  bool flush = false, saturate = false, saturateFinite = false, relu = false;
};

std::optional<FloatFormat> formatOf(Type type) {
  switch (type) {
  case Type::f16:
  case Type::f16x2:
    return FloatFormat::f16;
  case Type::bf16:
  case Type::bf16x2:
    return FloatFormat::bf16;
  case Type::f32:
    return FloatFormat::f32;
  case Type::tf32:
    return FloatFormat::tf32;
  case Type::e4m3:
  case Type::e4m3x2:
  case Type::e4m3x4:
    return FloatFormat::e4m3;
  case Type::e5m2:
  case Type::e5m2x2:
  case Type::e5m2x4:
    return FloatFormat::e5m2;
  case Type::e2m1x2:
  case Type::e2m1x4:
    return FloatFormat::e2m1;
  case Type::e2m3x2:
  case Type::e2m3x4:
    return FloatFormat::e2m3;
  case Type::e3m2x2:
  case Type::e3m2x4:
    return FloatFormat::e3m2;
  case Type::ue8m0x2:
    return FloatFormat::ue8m0;
  default:
    return std::nullopt;
  }
}

uint64_t loadBits(const std::byte *at, unsigned bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, bytes);
  return bits;
}

double roundToIntegral(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::nearestEven:
    return std::nearbyint(value);
  case Rounding::towardZero:
    return std::trunc(value);
  case Rounding::down:
    return std::floor(value);
  case Rounding::up:
    return std::ceil(value);
  case Rounding::nearestAway:
    return std::round(value);
  }
  return value;
}

/// Limits of an integer type as doubles and bits.
uint64_t clampToInteger(double value, Type type, Type from) {
  const unsigned bits = sizeInBytes(type) * 8;
  if (value != value) // NaN gives 0, but the highest bit where either side has 64 bits
    return bits == 64 || from == Type::f64 ? uint64_t(1) << (bits - 1) : 0;
  if (isSigned(type)) {
    const double limit = std::ldexp(1.0, int(bits) - 1);
    if (value >= limit)
      return (uint64_t(1) << (bits - 1)) - 1;
    if (value < -limit)
      return uint64_t(0) - (uint64_t(1) << (bits - 1));
    return uint64_t(int64_t(value));
  }
  if (value <= 0)
    return 0;
  if (value >= std::ldexp(1.0, int(bits)))
    return bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  return uint64_t(value);
}

/// An integer of up to 64 bits to double, rounded to odd where it is longer
/// than 53 bits, so that the rounding that follows is the only one.
double integerToOdd(uint64_t magnitude, bool negative) {
  const unsigned length = 64 - unsigned(std::countl_zero(magnitude | 1));
  if (length > 53) {
    const unsigned drop = length - 53;
    const uint64_t lost = magnitude & ((uint64_t(1) << drop) - 1);
    magnitude = (magnitude >> drop | (lost != 0)) << drop;
  }
  const double value = double(magnitude);
  return negative ? -value : value;
}

/// An integer to f64 in any rounding.
double integerToDouble(uint64_t magnitude, bool negative, Rounding rounding) {
  const double nearest = double(magnitude);
  const unsigned __int128 rounded = (unsigned __int128)nearest;
  double value = nearest;
  if (rounded != magnitude && rounding != Rounding::nearestEven && rounding != Rounding::nearestAway) {
    const bool larger = rounding == Rounding::towardZero ? false : (rounding == Rounding::up) != negative;
    if (larger && rounded < magnitude)
      value = std::nextafter(nearest, INFINITY);
    if (!larger && rounded > magnitude)
      value = std::nextafter(nearest, 0.0);
  }
  return negative ? -value : value;
}

double flushed(double value, Type type) {
  return (type == Type::f32 && std::fabs(value) < 0x1p-126) ? std::copysign(0.0, value) : value;
}

uint64_t finishFloat(double value, const Conversion &c) {
  if (c.toIntegral)
    value = roundToIntegral(value, c.rounding);
  if (c.saturate)
    value = value > 0 ? std::min(value, 1.0) : 0.0;
  if (c.flush)
    value = flushed(value, c.to);
  if (c.to == Type::f64)
    return std::bit_cast<uint64_t>(value);
  const Rounding rounding = c.toIntegral ? Rounding::nearestEven : c.rounding;
  const uint32_t bits = fromDouble(*formatOf(c.to), value, {rounding, c.saturateFinite, c.relu});
  if (c.flush && c.to == Type::f32 && (bits & 0x7F800000u) == 0)
    return bits & 0x80000000u;
  return bits;
}

uint64_t convertOne(uint64_t bits, const Conversion &c) {
  const unsigned fromBits = sizeInBytes(c.from) * 8;
  if (isFloat(c.from)) {
    double value =
        c.from == Type::f64 ? std::bit_cast<double>(bits) : toDouble(*formatOf(c.from), uint32_t(bits));
    if (c.flush && c.to != Type::f16) // whose .ftz the hardware does not heed
      value = flushed(value, c.from);
    // To tf32 the fraction is cut without a look at what it is: a NaN of its low bits alone becomes an
    // infinity.
    if (c.to == Type::tf32 && c.rounding == Rounding::nearestAway && (bits & 0x7FFFE000) == 0x7F800000)
      return bits & 0xFFFFE000;
    if (isFloat(c.to))
      return finishFloat(value, c);
    return clampToInteger(roundToIntegral(value, c.rounding), c.to, c.from);
  }
  if (fromBits < 64)
    bits &= (uint64_t(1) << fromBits) - 1;
  const bool negative = isSigned(c.from) && (bits >> (fromBits - 1) & 1);
  if (negative && fromBits < 64)
    bits |= ~uint64_t(0) << fromBits;
  if (isFloat(c.to)) {
    const uint64_t magnitude = negative ? 0 - bits : bits;
    if (c.to == Type::f64 && !c.saturate)
      return std::bit_cast<uint64_t>(integerToDouble(magnitude, negative, c.rounding));
    return finishFloat(integerToOdd(magnitude, negative), c);
  }
  if (!c.saturate)
    return bits;
  const unsigned toBits = sizeInBytes(c.to) * 8;
  if (isSigned(c.to)) {
    const int64_t most = int64_t((uint64_t(1) << (toBits - 1)) - 1);
    if (!isSigned(c.from))
      return std::min<uint64_t>(bits, uint64_t(most));
    return uint64_t(std::clamp<int64_t>(int64_t(bits), -most - 1, most));
  }
  if (negative)
    return 0;
  return toBits == 64 ? bits : std::min<uint64_t>(bits, (uint64_t(1) << toBits) - 1);
}

Step convert(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Conversion &c = instruction.payloadAs<Conversion>();
  const std::byte *from = warp.read(instruction.slots[1]);
  std::byte *to = warp.at(instruction.slots[0]);
  const unsigned sourceBytes = sizeInBytes(c.from), resultBits = sizeInBytes(c.to) * 8;
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    uint64_t bits = convertOne(loadBits(from + l * c.fromBytes, sourceBytes), c);
    // A wider register gets the sign, or zeros.
    if (resultBits < 64 && isInteger(c.to)) {
      bits &= (uint64_t(1) << resultBits) - 1;
      if (isSigned(c.to) && bits >> (resultBits - 1) & 1)
        bits |= ~uint64_t(0) << resultBits;
    }
    std::memcpy(to + l * c.toBytes, &bits, c.toBytes);
  }
  return Step::next;
}

template <class D, class S> struct Cast {
  D operator()(S v) const { return D(v); }
};

/// To a register of 8, 16 or 32 bits.
Step storeNarrow(Warp &warp, Slot slot, uint32_t active, const uint32_t *values) {
  std::byte *to = warp.at(slot);
  for (unsigned l = 0; l < warpSize; ++l)
    if (active >> l & 1)
      std::memcpy(to + l * slot.bytes, values + l, slot.bytes);
  return Step::next;
}

/// slots: d, a (high), b (low): two floats to a pair.
Step convertToPair(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Conversion &c = instruction.payloadAs<Conversion>();
  const FloatFormat format = *formatOf(c.to);
  const unsigned bits = sizeInBytes(c.to) * 4;
  const In<float> high = lanesOf<float>(warp, instruction.slots[1]),
                  low = lanesOf<float>(warp, instruction.slots[2]);
  const FloatConversion how{c.rounding, c.saturateFinite, c.relu};
  uint32_t results[warpSize];
  const bool plain = c.rounding == Rounding::nearestEven && !c.saturateFinite && !c.relu;
  if (plain && format == FloatFormat::bf16)
    for (unsigned l = 0; l < warpSize; ++l)
      results[l] = uint32_t(floatToBf16(high[l])) << 16 | floatToBf16(low[l]);
  else if (plain && format == FloatFormat::f16)
    for (unsigned l = 0; l < warpSize; ++l)
      results[l] = uint32_t(floatToF16(high[l])) << 16 | floatToF16(low[l]);
  else
    for (unsigned l = 0; l < warpSize; ++l)
      results[l] = fromFloat(format, high[l], how) << bits | fromFloat(format, low[l], how);
  return storeNarrow(warp, instruction.slots[0], active, results);
}

/// slots: d, random bits, a pair or four floats, the highest first.
Step convertRandomly(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Conversion &c = instruction.payloadAs<Conversion>();
  const FloatFormat format = *formatOf(c.to);
  const unsigned count = instruction.slotCount - 2, bits = sizeInBytes(c.to) * 8 / count;
  // As many random bits as an f32's fraction loses, but no more than there are for each.
  const unsigned each = 32 / count, used = format == FloatFormat::f16 ? 13 : each;
  const In<uint32_t> random = lanesOf<uint32_t>(warp, instruction.slots[1]);
  uint32_t results[warpSize] = {};
  for (unsigned l = 0; l < warpSize; ++l)
    for (unsigned i = 0; i < count; ++i) {
      const float value = lanesOf<float>(warp, instruction.slots[1 + count - i])[l];
      const uint32_t part = random[l] >> (each * i) & ((1u << used) - 1);
      results[l] |=
          fromFloatRandomly(format, value, part, used, {Rounding::towardZero, c.saturateFinite, c.relu})
          << (bits * i);
    }
  return storeNarrow(warp, instruction.slots[0], active, results);
}

struct Packing {
  unsigned bits = 16; ///< of each of the two results
  bool isSigned = true;
};

/// cvt.pack: two integers, saturated, below the low bits of a third.
/// slots: d, a, b, c
Step packIntegers(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Packing &packing = instruction.payloadAs<Packing>();
  const int64_t most = (int64_t(1) << (packing.bits - packing.isSigned)) - 1,
                least = packing.isSigned ? -most - 1 : 0;
  const uint32_t mask = (1u << packing.bits) - 1;
  const auto saturate = [&](int32_t value) {
    return uint32_t(std::clamp<int64_t>(value, least, most)) & mask;
  };
  uint32_t results[warpSize];
  for (unsigned l = 0; l < warpSize; ++l) {
    const uint32_t pair = saturate(lanesOf<int32_t>(warp, instruction.slots[1])[l]) << packing.bits |
                          saturate(lanesOf<int32_t>(warp, instruction.slots[2])[l]);
    const uint64_t above = lanesOf<uint32_t>(warp, instruction.slots[3])[l];
    results[l] = uint32_t(above << (2 * packing.bits)) | pair;
  }
  store(warp, instruction.slots[0], active, results);
  return Step::next;
}

/// slots: d, a: a pair to a pair of another format.
Step convertPair(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Conversion &c = instruction.payloadAs<Conversion>();
  const unsigned fromBits = sizeInBytes(c.from) * 4, toBits = sizeInBytes(c.to) * 4;
  const std::byte *from = warp.read(instruction.slots[1]);
  std::byte *to = warp.at(instruction.slots[0]);
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    const uint32_t source = uint32_t(loadBits(from + l * c.fromBytes, c.fromBytes));
    uint32_t result = 0;
    for (unsigned half = 0; half < 2; ++half) {
      const uint32_t one = source >> (half * fromBits) & ((1u << fromBits) - 1);
      result |= fromDouble(*formatOf(c.to), toDouble(*formatOf(c.from), one),
                           {c.rounding, c.saturateFinite, c.relu})
                << (half * toBits);
    }
    std::memcpy(to + l * c.toBytes, &result, c.toBytes);
  }
  return Step::next;
}

bool isPair(Type type) {
  return type == Type::f16x2 || type == Type::bf16x2 || (type >= Type::e4m3x2 && type <= Type::ue8m0x2);
}

/// Plain integer conversions, which address arithmetic is full of.
Eval integerCast(Type to, Type from) {
  const unsigned d = sizeInBytes(to), s = sizeInBytes(from);
  if (d == 8 && s == 4)
    return isSigned(from) ? mapLanes<Cast<int64_t, int32_t>, int64_t, int32_t>
                          : mapLanes<Cast<uint64_t, uint32_t>, uint64_t, uint32_t>;
  if (d == 4 && s == 8)
    return mapLanes<Cast<uint32_t, uint64_t>, uint32_t, uint64_t>;
  if (d == 4 && s == 2)
    return isSigned(from) ? mapLanes<Cast<int32_t, int16_t>, int32_t, int16_t>
                          : mapLanes<Cast<uint32_t, uint16_t>, uint32_t, uint16_t>;
  if (d == 2 && s == 4)
    return mapLanes<Cast<uint16_t, uint32_t>, uint16_t, uint32_t>;
  return nullptr;
}

template <float (*decode)(uint16_t)> struct FromHalf {
  float operator()(uint16_t bits) const {
    const float value = decode(bits);
    return value == value ? value : std::bit_cast<float>(canonicalNan(FloatFormat::f32));
  }
};
template <uint16_t (*encode)(float)> struct ToHalf {
  uint16_t operator()(float value) const { return encode(value); }
};
struct TruncateToInt {
  int32_t operator()(float value) const {
    const double limited = std::min(std::max(double(value), -0x1p31), 0x1p31 - 1);
    return value == value ? int32_t(limited) : 0;
  }
};

/// Conversions that inner loops are full of, as loops that vectorise; they
/// agree with `convertOne`. Null for the rest.
Eval shortConversion(const Conversion &c) {
  if (c.flush || c.saturate || c.saturateFinite || c.relu)
    return nullptr;
  if (c.toIntegral)
    return c.rounding == Rounding::towardZero && c.to == Type::s32 && c.from == Type::f32
               ? mapLanes<TruncateToInt, int32_t, float>
               : nullptr;
  if (c.to == Type::f32 && c.from == Type::f16)
    return mapLanes<FromHalf<f16ToFloat>, float, uint16_t>;
  if (c.to == Type::f32 && c.from == Type::bf16)
    return mapLanes<FromHalf<bf16ToFloat>, float, uint16_t>;
  if (c.rounding != Rounding::nearestEven)
    return nullptr;
  if (c.to == Type::f16 && c.from == Type::f32)
    return mapLanes<ToHalf<floatToF16>, uint16_t, float>;
  if (c.to == Type::bf16 && c.from == Type::f32)
    return mapLanes<ToHalf<floatToBf16>, uint16_t, float>;
  if (c.to == Type::f32 && c.from == Type::s32)
    return mapLanes<Cast<float, int32_t>, float, int32_t>;
  if (c.to == Type::f32 && c.from == Type::u32)
    return mapLanes<Cast<float, uint32_t>, float, uint32_t>;
  return nullptr;
}

/// cvt.rs: a and b, or a vector of four, and the random bits.
void decodeRandomly(Decoder &d, const Conversion &c) {
  const bool four = c.to >= Type::e4m3x4 && c.to <= Type::e3m2x4;
  if (c.from != Type::f32 || (!four && c.to != Type::f16x2 && c.to != Type::bf16x2))
    return d.fail("'{}' has no form for these types", d.at().fullName());
  d.expectOperands(four ? 3 : 4);
  std::vector<Slot> slots{d.out(0, c.to), d.in(four ? 2 : 3, Type::b32)};
  if (four) {
    const auto elements = d.elements(d.operand(1));
    if (elements.size() != 4)
      return d.fail("'{}' takes 4 values, but got {}", d.at().fullName(), elements.size());
    for (const Operand &element : elements)
      slots.push_back(d.in(element, Type::f32));
  } else {
    slots.push_back(d.in(1, Type::f32));
    slots.push_back(d.in(2, Type::f32));
  }
  d.emitWith(convertRandomly, slots, c);
}

void decodePack(Decoder &d) {
  const auto packing = d.takeOneOf<Packing>({{"u16", {16, false}},
                                             {"s16", {16, true}},
                                             {"u8", {8, false}},
                                             {"s8", {8, true}},
                                             {"u4", {4, false}},
                                             {"s4", {4, true}},
                                             {"u2", {2, false}},
                                             {"s2", {2, true}}});
  if (!packing || !d.take("sat") || !d.take("s32"))
    return d.fail("'{}' is not a known form", d.at().fullName());
  const bool merges = packing->bits < 16;
  if (merges && !d.take("b32"))
    return d.fail("'{}' needs .b32", d.at().fullName());
  d.expectOperands(merges ? 4 : 3);
  d.emitWith(packIntegers,
             {d.out(0, Type::b32), d.in(1, Type::s32), d.in(2, Type::s32),
              merges ? d.in(3, Type::b32) : d.constant(0, 4)},
             *packing);
}

void decodeCvt(Decoder &d) {
  if (d.take("pack"))
    return decodePack(d);
  Conversion c;
  const bool randomly = d.take("rs");
  const auto integral = d.takeOneOf<Rounding>({{"rni", Rounding::nearestEven},
                                               {"rzi", Rounding::towardZero},
                                               {"rmi", Rounding::down},
                                               {"rpi", Rounding::up}});
  const auto rounding = d.takeOneOf<Rounding>({{"rn", Rounding::nearestEven},
                                               {"rz", Rounding::towardZero},
                                               {"rm", Rounding::down},
                                               {"rp", Rounding::up},
                                               {"rna", Rounding::nearestAway}});
  c.toIntegral = integral.has_value();
  c.rounding = integral.value_or(rounding.value_or(Rounding::nearestEven));
  c.flush = d.take("ftz");
  c.saturate = d.take("sat");
  c.saturateFinite = d.take("satfinite");
  c.relu = d.take("relu");
  c.to = d.type();
  c.from = d.type();
  if (randomly)
    return decodeRandomly(d, c);
  if (d.operandCount() == 3) {
    d.expectOperands(3);
    if (!isPair(c.to) || c.from != Type::f32)
      return d.fail("'{}' takes 2 operands, but got 3", d.at().fullName());
    d.emitWith(convertToPair, {d.out(0, c.to), d.in(1, Type::f32), d.in(2, Type::f32)}, c);
    return;
  }
  d.expectOperands(2);
  if (isPair(c.to) || isPair(c.from)) {
    c.toBytes = uint8_t(sizeInBytes(c.to)), c.fromBytes = uint8_t(sizeInBytes(c.from));
    if (!isPair(c.to) || !isPair(c.from))
      return d.fail("'{}' converts between a pair and a single value", d.at().fullName());
    d.emitWith(convertPair, {d.out(0, c.to), d.in(1, c.from)}, c);
    return;
  }
  const bool known = (isInteger(c.to) || formatOf(c.to) || c.to == Type::f64) &&
                     (isInteger(c.from) || formatOf(c.from) || c.from == Type::f64);
  if (!known)
    return d.fail("'{}' has no form for these types", d.at().fullName());
  const Slot to = d.outWide(d.operand(0), c.to), from = d.inWide(d.operand(1), c.from);
  c.toBytes = to.bytes, c.fromBytes = from.bytes;
  if (to.bytes == sizeInBytes(c.to) && from.bytes == sizeInBytes(c.from)) {
    const bool integers = isInteger(c.to) && isInteger(c.from);
    const Eval eval = !integers ? shortConversion(c) : !c.saturate ? integerCast(c.to, c.from) : nullptr;
    if (eval) {
      d.emit(eval, {to, from});
      return;
    }
  }
  d.emitWith(convert, {to, from}, c);
}

constexpr DecodeEntry entries[] = {{"cvt", decodeCvt}};

} // namespace

std::span<const DecodeEntry> convertInstructions() { return entries; }

} // namespace tlc::emulator
