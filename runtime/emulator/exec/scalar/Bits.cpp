// SPDX-License-Identifier: Apache-2.0
/// \file
/// Logic, shifts, bit fields and bytes.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/decode/TypeDispatch.h"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace tlc::emulator {

namespace {

template <class T> using Unsigned = std::make_unsigned_t<T>;

struct And {
  template <class T> T operator()(T a, T b) const { return a & b; }
};
struct Or {
  template <class T> T operator()(T a, T b) const { return a | b; }
};
struct Xor {
  template <class T> T operator()(T a, T b) const { return a ^ b; }
};
struct Not {
  template <class T> T operator()(T a) const { return T(~a); }
};
struct LogicalNot {
  template <class T> T operator()(T a) const { return a == 0; }
};
/// Shift amounts beyond the width count as the width.
struct ShiftLeft {
  template <class T> T operator()(T a, uint32_t n) const {
    return n >= sizeof(T) * 8 ? T(0) : T(Unsigned<T>(a) << n);
  }
};
struct ShiftRight {
  template <class T> T operator()(T a, uint32_t n) const {
    const uint32_t most = sizeof(T) * 8 - 1;
    if (n > most)
      return std::is_signed_v<T> ? T(a >> most) : T(0);
    return T(a >> n);
  }
};
struct CountOnes {
  template <class T> uint32_t operator()(T a) const { return uint32_t(std::popcount(a)); }
};
struct LeadingZeros {
  template <class T> uint32_t operator()(T a) const { return uint32_t(std::countl_zero(a)); }
};
struct ReverseBits {
  template <class T> T operator()(T a) const {
    T result = 0;
    for (unsigned i = 0; i < sizeof(T) * 8; ++i)
      result |= ((a >> i) & 1) << (sizeof(T) * 8 - 1 - i);
    return result;
  }
};
struct FindLeading {
  template <class T> uint32_t operator()(T a) const {
    const Unsigned<T> bits = a < 0 ? Unsigned<T>(~a) : Unsigned<T>(a);
    return bits == 0 ? ~0u : uint32_t(sizeof(T) * 8 - 1 - std::countl_zero(bits));
  }
};
struct FindLeadingShift {
  template <class T> uint32_t operator()(T a) const {
    const uint32_t position = FindLeading()(a);
    return position == ~0u ? ~0u : uint32_t(sizeof(T) * 8 - 1) - position;
  }
};
struct ExtractBits {
  template <class T> T operator()(T a, uint32_t from, uint32_t length) const {
    const uint32_t most = sizeof(T) * 8 - 1;
    from &= 0xFF, length &= 0xFF;
    const bool sign =
        std::is_signed_v<T> && length != 0 && (Unsigned<T>(a) >> std::min(from + length - 1, most) & 1);
    Unsigned<T> result = 0;
    for (uint32_t i = 0; i <= most; ++i) {
      const bool bit = i < length && from + i <= most ? bool(Unsigned<T>(a) >> (from + i) & 1) : sign;
      result |= Unsigned<T>(bit) << i;
    }
    return T(result);
  }
};
struct InsertBits {
  template <class T> T operator()(T a, T b, uint32_t from, uint32_t length) const {
    from &= 0xFF, length &= 0xFF;
    for (uint32_t i = 0; i < length && from + i < sizeof(T) * 8; ++i) {
      const T bit = T(1) << (from + i);
      b = (b & ~bit) | ((a >> i & 1) << (from + i));
    }
    return b;
  }
};
/// bmsk: ones from bit `a`, `b` of them.
template <bool clamp> struct BitMask {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    a = clamp ? std::min(a, 32u) : a & 31;
    b = clamp ? std::min(b, 32u) : b & 31;
    const uint64_t ones = (uint64_t(1) << b) - 1;
    return uint32_t(ones << a);
  }
};
template <bool clamp> struct FunnelLeft {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    const uint32_t n = clamp ? std::min(c, 32u) : c & 31;
    return uint32_t(((uint64_t(b) << 32 | a) << n) >> 32);
  }
};
template <bool clamp> struct FunnelRight {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    const uint32_t n = clamp ? std::min(c, 32u) : c & 31;
    return uint32_t((uint64_t(b) << 32 | a) >> n);
  }
};
struct Logic3 {
  explicit Logic3(const Instruction &instruction) : table(uint32_t(instruction.immediate)) {}
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    uint32_t result = 0;
    for (unsigned i = 0; i < 8; ++i)
      if (table >> i & 1)
        result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return result;
  }
  uint32_t table;
};

enum class Permutation : uint8_t { plain, f4e, b4e, rc8, ecl, ecr, rc16 };
struct Permute {
  explicit Permute(const Instruction &instruction) : mode(Permutation(instruction.immediate)) {}
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    const uint64_t bytes = uint64_t(b) << 32 | a;
    uint32_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      unsigned from = 0;
      bool sign = false;
      const unsigned n = c & 3;
      switch (mode) {
      case Permutation::plain:
        from = c >> (4 * i) & 7, sign = c >> (4 * i + 3) & 1;
        break;
      case Permutation::f4e:
        from = n + i;
        break;
      case Permutation::b4e:
        from = (n - i) & 7;
        break;
      case Permutation::rc8:
        from = n;
        break;
      case Permutation::ecl:
        from = std::max(i, n);
        break;
      case Permutation::ecr:
        from = std::min(i, n);
        break;
      case Permutation::rc16:
        from = (n & 1) * 2 + (i & 1);
        break;
      }
      uint32_t byte = uint32_t(bytes >> (8 * from)) & 0xFF;
      if (sign)
        byte = byte & 0x80 ? 0xFF : 0;
      result |= byte << (8 * i);
    }
    return result;
  }
  Permutation mode;
};
/// fns: the n-th set bit at or above the base, or below for negative n.
struct FindNthSet {
  uint32_t operator()(uint32_t mask, uint32_t base, int32_t n) const {
    if (n == 0)
      return base < 32 && (mask >> base & 1) ? base : ~0u;
    const int step = n > 0 ? 1 : -1;
    int left = n > 0 ? n : -n;
    for (int64_t i = int32_t(base); i >= 0 && i < 32; i += step)
      if (mask >> i & 1 && --left == 0)
        return uint32_t(i);
    return ~0u;
  }
};
/// szext: the low `n` bits, with their sign or with zeros above.
template <bool isSigned, bool clamp> struct ExtendBits {
  uint32_t operator()(uint32_t a, uint32_t n) const {
    n = clamp ? n : n & 31;
    if (n == 0 || n >= 32)
      return n == 0 ? 0 : a;
    return isSigned ? uint32_t(int32_t(a << (32 - n)) >> (32 - n)) : a & ((1u << n) - 1);
  }
};
// --- decoding -------------------------------------------------------------------

template <class Op> Step mapPredicate(Warp &warp, uint32_t active, const Instruction &instruction) {
  warp.setPredicate(instruction.slots[0], active,
                    Op()(warp.predicate(instruction.slots[1]), warp.predicate(instruction.slots[2])));
  return Step::next;
}

template <class Op> void logic(Decoder &d) {
  const Type type = d.type();
  d.expectOperands(3);
  const Slot slots[] = {d.out(0, type), d.in(1, type), d.in(2, type)};
  if (type == Type::pred)
    d.emit(mapPredicate<Op>, slots);
  else if (!withBits(type, [&](auto t) {
             using T = decltype(t);
             d.emit(mapLanes<Op, T, T, T>, slots);
           }))
    failForType(d, type);
}

void decodeNot(Decoder &d) {
  const Type type = d.type();
  d.expectOperands(2);
  const Slot slots[] = {d.out(0, type), d.in(1, type)};
  if (type == Type::pred)
    d.emit(evalNotPredicate, slots);
  else if (!withBits(type, [&](auto t) {
             using T = decltype(t);
             d.emit(mapLanes<Not, T, T>, slots);
           }))
    failForType(d, type);
}

void decodeCnot(Decoder &d) {
  const Type type = d.type();
  d.expectOperands(2);
  if (!withBits(type, [&](auto t) {
        using T = decltype(t);
        d.emit(mapLanes<LogicalNot, T, T>, {d.out(0, type), d.in(1, type)});
      }))
    failForType(d, type);
}

void decodeShl(Decoder &d) {
  const Type type = d.type();
  d.expectOperands(3);
  if (!withBits(type, [&](auto t) {
        using T = decltype(t);
        d.emit(mapLanes<ShiftLeft, T, T, uint32_t>, {d.out(0, type), d.in(1, type), d.in(2, Type::u32)});
      }))
    failForType(d, type);
}

void decodeShr(Decoder &d) {
  const Type type = d.type();
  d.expectOperands(3);
  const Slot slots[] = {d.out(0, type), d.in(1, type), d.in(2, Type::u32)};
  auto emit = [&](auto t) {
    using T = decltype(t);
    d.emit(mapLanes<ShiftRight, T, T, uint32_t>, slots);
  };
  if (!(isSigned(type) ? withInteger(type, emit) : withBits(type, emit)))
    failForType(d, type);
}

template <class Op> void count(Decoder &d) {
  const Type type = d.type();
  d.expectOperands(2);
  if (type == Type::b32)
    d.emit(mapLanes<Op, uint32_t, uint32_t>, {d.out(0, Type::u32), d.in(1, type)});
  else if (type == Type::b64)
    d.emit(mapLanes<Op, uint32_t, uint64_t>, {d.out(0, Type::u32), d.in(1, type)});
  else
    failForType(d, type);
}

void decodeBrev(Decoder &d) {
  const Type type = d.type();
  d.expectOperands(2);
  if (type == Type::b32)
    d.emit(mapLanes<ReverseBits, uint32_t, uint32_t>, {d.out(0, type), d.in(1, type)});
  else if (type == Type::b64)
    d.emit(mapLanes<ReverseBits, uint64_t, uint64_t>, {d.out(0, type), d.in(1, type)});
  else
    failForType(d, type);
}

void decodeBfind(Decoder &d) {
  const bool shift = d.take("shiftamt");
  const Type type = d.type();
  d.expectOperands(2);
  if (sizeInBytes(type) < 4 || !withInteger(type, [&](auto t) {
        using T = decltype(t);
        d.emit(shift ? mapLanes<FindLeadingShift, uint32_t, T> : mapLanes<FindLeading, uint32_t, T>,
               {d.out(0, Type::u32), d.in(1, type)});
      }))
    failForType(d, type);
}

void decodeBfe(Decoder &d) {
  const Type type = d.type();
  d.expectOperands(4);
  if (sizeInBytes(type) < 4 || !withInteger(type, [&](auto t) {
        using T = decltype(t);
        d.emit(mapLanes<ExtractBits, T, T, uint32_t, uint32_t>,
               {d.out(0, type), d.in(1, type), d.in(2, Type::u32), d.in(3, Type::u32)});
      }))
    failForType(d, type);
}

void decodeBfi(Decoder &d) {
  const Type type = d.type();
  d.expectOperands(5);
  const Slot slots[] = {d.out(0, type), d.in(1, type), d.in(2, type), d.in(3, Type::u32), d.in(4, Type::u32)};
  if (type == Type::b32)
    d.emit(mapLanes<InsertBits, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>, slots);
  else if (type == Type::b64)
    d.emit(mapLanes<InsertBits, uint64_t, uint64_t, uint64_t, uint32_t, uint32_t>, slots);
  else
    failForType(d, type);
}

bool takeClamp(Decoder &d) {
  const bool clamp = d.take("clamp");
  if (!clamp && !d.take("wrap"))
    d.fail("'{}' needs .clamp or .wrap", d.at().fullName());
  return clamp;
}

void decodeBmsk(Decoder &d) {
  const bool clamp = takeClamp(d);
  d.take("b32");
  d.expectOperands(3);
  d.emit(clamp ? mapLanes<BitMask<true>, uint32_t, uint32_t, uint32_t>
               : mapLanes<BitMask<false>, uint32_t, uint32_t, uint32_t>,
         {d.out(0, Type::u32), d.in(1, Type::u32), d.in(2, Type::u32)});
}

template <template <bool> class Op> Eval funnel(bool clamp) {
  return clamp ? mapLanes<Op<true>, uint32_t, uint32_t, uint32_t, uint32_t>
               : mapLanes<Op<false>, uint32_t, uint32_t, uint32_t, uint32_t>;
}

void decodeShf(Decoder &d) {
  const bool leftward = d.take("l");
  if (!leftward && !d.take("r"))
    d.fail("'{}' needs .l or .r", d.at().fullName());
  const bool clamp = takeClamp(d);
  d.take("b32");
  d.expectOperands(4);
  d.emit(leftward ? funnel<FunnelLeft>(clamp) : funnel<FunnelRight>(clamp),
         {d.out(0, Type::u32), d.in(1, Type::u32), d.in(2, Type::u32), d.in(3, Type::u32)});
}

/// slots: p, d, q. lop3 may also say whether its result is zero, with q.
template <class Op> Step combineWithResult(Warp &warp, uint32_t active, const Instruction &instruction) {
  const In<uint32_t> result = lanesOf<uint32_t>(warp, instruction.slots[1]);
  uint32_t bits = 0;
  for (unsigned l = 0; l < warpSize; ++l)
    bits |= uint32_t(result[l] != 0) << l;
  warp.setPredicate(instruction.slots[0], active, Op()(bits, warp.predicate(instruction.slots[2])));
  return Step::next;
}

void decodeLop3(Decoder &d) {
  d.take("b32");
  const bool disjunction = d.take("or"), combines = disjunction || d.take("and");
  if (combines) {
    d.expectOperands(6);
    Operand value = d.operand(0);
    value.second.reset();
    // The sink is shared, so a result that nobody keeps needs a place too.
    const Slot result = value.kind == Operand::Kind::sink ? d.temporary(4) : d.out(value, Type::b32),
               with = d.in(5, Type::pred);
    d.emit(mapLanesWith<Logic3, uint32_t, uint32_t, uint32_t, uint32_t>,
           {result, d.in(1, Type::u32), d.in(2, Type::u32), d.in(3, Type::u32)}, d.immediate(4));
    d.emit(disjunction ? combineWithResult<Or> : combineWithResult<And>,
           {d.second(d.operand(0), Type::pred), result, with});
    return;
  }
  d.expectOperands(5);
  d.emit(mapLanesWith<Logic3, uint32_t, uint32_t, uint32_t, uint32_t>,
         {d.out(0, Type::u32), d.in(1, Type::u32), d.in(2, Type::u32), d.in(3, Type::u32)}, d.immediate(4));
}

void decodePrmt(Decoder &d) {
  d.take("b32");
  const auto mode = d.takeOneOf<Permutation>({{"f4e", Permutation::f4e},
                                              {"b4e", Permutation::b4e},
                                              {"rc8", Permutation::rc8},
                                              {"ecl", Permutation::ecl},
                                              {"ecr", Permutation::ecr},
                                              {"rc16", Permutation::rc16}});
  d.expectOperands(4);
  d.emit(mapLanesWith<Permute, uint32_t, uint32_t, uint32_t, uint32_t>,
         {d.out(0, Type::u32), d.in(1, Type::u32), d.in(2, Type::u32), d.in(3, Type::u32)},
         int64_t(mode.value_or(Permutation::plain)));
}

void decodeFns(Decoder &d) {
  d.take("b32");
  d.expectOperands(4);
  d.emit(mapLanes<FindNthSet, uint32_t, uint32_t, uint32_t, int32_t>,
         {d.out(0, Type::u32), d.in(1, Type::u32), d.in(2, Type::u32), d.in(3, Type::u32)});
}

void decodeSzext(Decoder &d) {
  const bool clamp = takeClamp(d);
  const Type type = d.type();
  d.expectOperands(3);
  if (type != Type::u32 && type != Type::s32)
    return failForType(d, type);
  const Eval eval = isSigned(type)
                        ? (clamp ? mapLanes<ExtendBits<true, true>, uint32_t, uint32_t, uint32_t>
                                 : mapLanes<ExtendBits<true, false>, uint32_t, uint32_t, uint32_t>)
                        : (clamp ? mapLanes<ExtendBits<false, true>, uint32_t, uint32_t, uint32_t>
                                 : mapLanes<ExtendBits<false, false>, uint32_t, uint32_t, uint32_t>);
  d.emit(eval, {d.out(0, type), d.in(1, type), d.in(2, Type::u32)});
}

constexpr DecodeEntry entries[] = {
    {"and", logic<And>},          {"or", logic<Or>},    {"xor", logic<Xor>},    {"not", decodeNot},
    {"cnot", decodeCnot},         {"shl", decodeShl},   {"shr", decodeShr},     {"popc", count<CountOnes>},
    {"clz", count<LeadingZeros>}, {"brev", decodeBrev}, {"bfind", decodeBfind}, {"bfe", decodeBfe},
    {"bfi", decodeBfi},           {"bmsk", decodeBmsk}, {"shf", decodeShf},     {"lop3", decodeLop3},
    {"prmt", decodePrmt},         {"fns", decodeFns},   {"szext", decodeSzext},
};

} // namespace

Step evalNotPredicate(Warp &warp, uint32_t active, const Instruction &instruction) {
  warp.setPredicate(instruction.slots[0], active, ~warp.predicate(instruction.slots[1]));
  return Step::next;
}

std::span<const DecodeEntry> bitInstructions() { return entries; }

} // namespace tlc::emulator
