// SPDX-License-Identifier: Apache-2.0
/// \file
/// setp, set and testp.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/decode/TypeDispatch.h"
#include "runtime/emulator/math/Float.h"

#include <array>
#include <bit>
#include <cmath>

namespace tlc::emulator {

namespace {

enum class Comparison : uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
enum class Combine : uint8_t { none, conjunction, disjunction, exclusive };

struct Compare {
  Comparison comparison = Comparison::eq;
  Combine combine = Combine::none;
  bool flush = false;
  uint64_t whenTrue = 0; ///< what set gives
};

/// 16-bit floats, compared as float.
template <bool bf16> struct HalfLane {
  uint16_t bits;
  operator float() const { return bf16 ? bf16ToFloat(bits) : f16ToFloat(bits); }
};

template <class T, class F> uint32_t lanesWhere(In<T> a, In<T> b, F f) {
  uint32_t bits = 0;
  for (unsigned l = 0; l < warpSize; ++l)
    bits |= f(a[l], b[l]) ? laneBits[l] : 0;
  return bits;
}

template <class V> bool unordered(V a, V b) { return a != a || b != b; }

template <class T, class V> uint32_t compareLanes(Comparison comparison, In<T> a, In<T> b) {
  switch (comparison) {
  case Comparison::eq:
    return lanesWhere(a, b, [](V x, V y) { return x == y; });
  case Comparison::ne:
    return lanesWhere(a, b, [](V x, V y) { return x != y && !unordered(x, y); });
  case Comparison::lt:
    return lanesWhere(a, b, [](V x, V y) { return x < y; });
  case Comparison::le:
    return lanesWhere(a, b, [](V x, V y) { return x <= y; });
  case Comparison::gt:
    return lanesWhere(a, b, [](V x, V y) { return x > y; });
  case Comparison::ge:
    return lanesWhere(a, b, [](V x, V y) { return x >= y; });
  case Comparison::equ:
    return lanesWhere(a, b, [](V x, V y) { return x == y || unordered(x, y); });
  case Comparison::neu:
    return lanesWhere(a, b, [](V x, V y) { return x != y; });
  case Comparison::ltu:
    return lanesWhere(a, b, [](V x, V y) { return !(x >= y); });
  case Comparison::leu:
    return lanesWhere(a, b, [](V x, V y) { return !(x > y); });
  case Comparison::gtu:
    return lanesWhere(a, b, [](V x, V y) { return !(x <= y); });
  case Comparison::geu:
    return lanesWhere(a, b, [](V x, V y) { return !(x < y); });
  case Comparison::num:
    return lanesWhere(a, b, [](V x, V y) { return !unordered(x, y); });
  case Comparison::nan:
    return lanesWhere(a, b, [](V x, V y) { return unordered(x, y); });
  }
  return 0;
}

/// f16 under .ftz: subnormals are zero.
std::array<uint16_t, warpSize> flushedHalves(In<HalfLane<false>> from) {
  std::array<uint16_t, warpSize> result;
  for (unsigned l = 0; l < warpSize; ++l)
    result[l] = (from[l].bits & 0x7C00) == 0 ? 0 : from[l].bits;
  return result;
}

template <class T> uint32_t compare(const Warp &warp, const Compare &how, Slot left, Slot right) {
  // What the comparison is made in.
  using V = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
  const In<T> a = lanesOf<T>(warp, left), b = lanesOf<T>(warp, right);
  if constexpr (std::is_same_v<T, float>)
    if (how.flush) {
      alignas(64) float x[warpSize], y[warpSize];
      auto flush = [](float v) { return std::fabs(v) < 0x1p-126f ? 0.0f : v; };
      for (unsigned l = 0; l < warpSize; ++l)
        x[l] = flush(a[l]), y[l] = flush(b[l]);
      return compareLanes<float, float>(how.comparison, {reinterpret_cast<const std::byte *>(x)},
                                        {reinterpret_cast<const std::byte *>(y)});
    }
  if constexpr (std::is_same_v<T, HalfLane<false>>)
    if (how.flush) {
      const std::array<uint16_t, warpSize> x = flushedHalves(a), y = flushedHalves(b);
      return compareLanes<T, V>(how.comparison, {reinterpret_cast<const std::byte *>(x.data())},
                                {reinterpret_cast<const std::byte *>(y.data())});
    }
  return compareLanes<T, V>(how.comparison, a, b);
}

uint32_t combine(Combine how, uint32_t bits, uint32_t with) {
  switch (how) {
  case Combine::none:
    return bits;
  case Combine::conjunction:
    return bits & with;
  case Combine::disjunction:
    return bits | with;
  case Combine::exclusive:
    return bits ^ with;
  }
  return bits;
}

/// slots: p, q, a, b, c
template <class T> Step setPredicates(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Compare &how = instruction.payloadAs<Compare>();
  const uint32_t bits = compare<T>(warp, how, instruction.slots[2], instruction.slots[3]);
  const uint32_t with = warp.predicate(instruction.slots[4]);
  warp.setPredicate(instruction.slots[1], active, combine(how.combine, ~bits, with));
  warp.setPredicate(instruction.slots[0], active, combine(how.combine, bits, with));
  return Step::next;
}

/// The low halves' comparison, then the high ones'. slots: .., .., a, b, c
template <bool bf16>
std::array<uint32_t, 2> comparePacked(const Warp &warp, const Compare &how, const Instruction &instruction) {
  std::array<uint32_t, 2> halves;
  for (unsigned half = 0; half < 2; ++half) {
    uint16_t a[warpSize], b[warpSize];
    for (unsigned l = 0; l < warpSize; ++l) {
      a[l] = lanesOf<uint16_t>(warp, instruction.slots[2])[2 * l + half];
      b[l] = lanesOf<uint16_t>(warp, instruction.slots[3])[2 * l + half];
      if (how.flush && !bf16) {
        a[l] = (a[l] & 0x7C00) == 0 ? 0 : a[l];
        b[l] = (b[l] & 0x7C00) == 0 ? 0 : b[l];
      }
    }
    halves[half] =
        combine(how.combine,
                compareLanes<HalfLane<bf16>, float>(how.comparison, {reinterpret_cast<const std::byte *>(a)},
                                                    {reinterpret_cast<const std::byte *>(b)}),
                warp.predicate(instruction.slots[4]));
  }
  return halves;
}

/// setp of packed halves: p for the low, q for the high ones.
template <bool bf16> Step setPackedPredicates(Warp &warp, uint32_t active, const Instruction &instruction) {
  const auto halves = comparePacked<bf16>(warp, instruction.payloadAs<Compare>(), instruction);
  warp.setPredicate(instruction.slots[0], active, halves[0]);
  warp.setPredicate(instruction.slots[1], active, halves[1]);
  return Step::next;
}

/// set of packed halves, each with its own result. slots: d, unused, a, b, c
template <bool bf16> Step setPackedValues(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Compare &how = instruction.payloadAs<Compare>();
  const auto halves = comparePacked<bf16>(warp, how, instruction);
  uint32_t results[warpSize];
  for (unsigned l = 0; l < warpSize; ++l)
    results[l] = (halves[0] >> l & 1 ? uint32_t(how.whenTrue) : 0) |
                 (halves[1] >> l & 1 ? uint32_t(how.whenTrue) << 16 : 0);
  store(warp, instruction.slots[0], active, results);
  return Step::next;
}

/// slots: d, unused, a, b, c
template <class T> Step setValues(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Compare &how = instruction.payloadAs<Compare>();
  const uint32_t bits =
      combine(how.combine, compare<T>(warp, how, instruction.slots[2], instruction.slots[3]),
              warp.predicate(instruction.slots[4]));
  std::byte *to = warp.at(instruction.slots[0]);
  const unsigned bytes = instruction.slots[0].bytes;
  for (unsigned l = 0; l < warpSize; ++l) {
    const uint64_t result = bits >> l & 1 ? how.whenTrue : 0;
    if (active >> l & 1)
      std::memcpy(to + l * bytes, &result, bytes);
  }
  return Step::next;
}

/// 1.0, or all ones: what `set` gives where the comparison holds.
uint64_t trueValue(Type type) {
  switch (type) {
  case Type::f32:
    return 0x3F800000;
  case Type::f16:
  case Type::f16x2:
    return 0x3C00;
  case Type::bf16:
  case Type::bf16x2:
    return 0x3F80;
  default:
    return ~uint64_t(0);
  }
}

Compare takeCompare(Decoder &d) {
  using enum Comparison;
  Compare how;
  auto comparison = d.takeOneOf<Comparison>({{"eq", eq},
                                             {"ne", ne},
                                             {"lt", lt},
                                             {"le", le},
                                             {"gt", gt},
                                             {"ge", ge},
                                             {"lo", lt},
                                             {"ls", le},
                                             {"hi", gt},
                                             {"hs", ge},
                                             {"equ", equ},
                                             {"neu", neu},
                                             {"ltu", ltu},
                                             {"leu", leu},
                                             {"gtu", gtu},
                                             {"geu", geu},
                                             {"num", num},
                                             {"nan", nan}});
  if (!comparison)
    d.fail("'{}' lacks a comparison", d.at().fullName());
  how.comparison = comparison.value_or(eq);
  how.combine =
      d.takeOneOf<Combine>(
           {{"and", Combine::conjunction}, {"or", Combine::disjunction}, {"xor", Combine::exclusive}})
          .value_or(Combine::none);
  how.flush = d.take("ftz");
  return how;
}

template <template <class> class F> Eval forType(Type type) {
  switch (type) {
  case Type::b16:
  case Type::u16:
    return F<uint16_t>::eval;
  case Type::s16:
    return F<int16_t>::eval;
  case Type::b32:
  case Type::u32:
    return F<uint32_t>::eval;
  case Type::s32:
    return F<int32_t>::eval;
  case Type::b64:
  case Type::u64:
    return F<uint64_t>::eval;
  case Type::s64:
    return F<int64_t>::eval;
  case Type::f32:
    return F<float>::eval;
  case Type::f64:
    return F<double>::eval;
  case Type::f16:
    return F<HalfLane<false>>::eval;
  case Type::bf16:
    return F<HalfLane<true>>::eval;
  default:
    return nullptr;
  }
}
template <class T> struct SetPredicates {
  static constexpr Eval eval = setPredicates<T>;
};
template <class T> struct SetValues {
  static constexpr Eval eval = setValues<T>;
};

void decodeSetp(Decoder &d) {
  const Compare how = takeCompare(d);
  const Type type = d.type();
  d.expectOperands(how.combine == Combine::none ? 3 : 4);
  const Slot with = how.combine == Combine::none ? d.constant(0, 0) : d.in(3, Type::pred);
  Eval eval = forType<SetPredicates>(type);
  if (type == Type::f16x2)
    eval = setPackedPredicates<false>;
  else if (type == Type::bf16x2)
    eval = setPackedPredicates<true>;
  if (!eval)
    return failForType(d, type);
  d.emitWith(eval,
             {d.out(0, Type::pred), d.second(d.operand(0), Type::pred), d.in(1, type), d.in(2, type), with},
             how);
}

void decodeSet(Decoder &d) {
  Compare how = takeCompare(d);
  const Type result = d.type(), type = d.type();
  d.expectOperands(how.combine == Combine::none ? 3 : 4);
  const Slot with = how.combine == Combine::none ? d.constant(0, 0) : d.in(3, Type::pred);
  const bool packed = type == Type::f16x2 || type == Type::bf16x2;
  const Eval eval = type == Type::f16x2    ? setPackedValues<false>
                    : type == Type::bf16x2 ? setPackedValues<true>
                                           : forType<SetValues>(type);
  const bool packedResult = result == Type::f16x2 || result == Type::bf16x2;
  const unsigned bytes = sizeInBytes(result);
  if (!eval || (bytes != 2 && bytes != 4) || (packed && bytes != 4) || (packed && result == Type::f32) ||
      (packedResult && result != type))
    return failForType(d, type);
  how.whenTrue = packed ? trueValue(result) & 0xFFFF : trueValue(result);
  d.emitWith(eval, {d.out(0, result), d.constant(0, 0), d.in(1, type), d.in(2, type), with}, how);
}

enum class FloatClass : uint8_t { finite, infinite, number, notanumber, normal, subnormal };

template <class T> Step testClass(Warp &warp, uint32_t active, const Instruction &instruction) {
  uint32_t bits = 0;
  for (unsigned l = 0; l < warpSize; ++l) {
    const T v = lanesOf<T>(warp, instruction.slots[1])[l];
    bool is = false;
    switch (FloatClass(instruction.immediate)) {
    case FloatClass::finite:
      is = std::isfinite(v);
      break;
    case FloatClass::infinite:
      is = std::isinf(v);
      break;
    case FloatClass::number:
      is = v == v;
      break;
    case FloatClass::notanumber:
      is = v != v;
      break;
    case FloatClass::normal:
      is = std::isnormal(v) || v == 0; // zeros count
      break;
    case FloatClass::subnormal:
      is = std::fpclassify(v) == FP_SUBNORMAL;
      break;
    }
    bits |= uint32_t(is) << l;
  }
  warp.setPredicate(instruction.slots[0], active, bits);
  return Step::next;
}

void decodeTestp(Decoder &d) {
  using enum FloatClass;
  const auto which = d.takeOneOf<FloatClass>({{"finite", finite},
                                              {"infinite", infinite},
                                              {"number", number},
                                              {"notanumber", notanumber},
                                              {"normal", normal},
                                              {"subnormal", subnormal}});
  const Type type = d.type();
  d.expectOperands(2);
  if (!which || (type != Type::f32 && type != Type::f64))
    return failForType(d, type);
  d.emit(type == Type::f32 ? testClass<float> : testClass<double>, {d.out(0, Type::pred), d.in(1, type)},
         int64_t(*which));
}

constexpr DecodeEntry entries[] = {
    {"setp", decodeSetp},
    {"set", decodeSet},
    {"testp", decodeTestp},
};

} // namespace

std::span<const DecodeEntry> compareInstructions() { return entries; }

} // namespace tlc::emulator
