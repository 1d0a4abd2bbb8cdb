// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integer arithmetic. add, sub, mul, fma, min, max, abs, neg and mad
/// of floating-point types are decoded here too and handed to Float.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/decode/TypeDispatch.h"
#include "runtime/emulator/exec/scalar/FloatOps.h"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace tlc::emulator {

namespace {

template <class T> using Unsigned = std::make_unsigned_t<T>;
/// The type of twice the width.
template <class T> struct WideOf;
template <> struct WideOf<uint16_t> {
  using type = uint32_t;
};
template <> struct WideOf<int16_t> {
  using type = int32_t;
};
template <> struct WideOf<uint32_t> {
  using type = uint64_t;
};
template <> struct WideOf<int32_t> {
  using type = int64_t;
};
template <> struct WideOf<uint64_t> {
  using type = unsigned __int128;
};
template <> struct WideOf<int64_t> {
  using type = __int128;
};
template <class T> using Wide = typename WideOf<T>::type;

/// Sums and products wrap: computed unsigned, and wide enough not to promote.
template <class T, class F> T wrap(T a, T b, F f) {
  using U = std::conditional_t<sizeof(T) < 4, uint32_t, Unsigned<T>>;
  return T(f(U(a), U(b)));
}

struct Add {
  template <class T> T operator()(T a, T b) const {
    return wrap(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct AddSaturating {
  int32_t operator()(int32_t a, int32_t b) const {
    return int32_t(std::clamp<int64_t>(int64_t(a) + b, INT32_MIN, INT32_MAX));
  }
};
struct Subtract {
  template <class T> T operator()(T a, T b) const {
    return wrap(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct SubtractSaturating {
  int32_t operator()(int32_t a, int32_t b) const {
    return int32_t(std::clamp<int64_t>(int64_t(a) - b, INT32_MIN, INT32_MAX));
  }
};
struct MultiplyLow {
  template <class T> T operator()(T a, T b) const {
    return wrap(a, b, [](auto x, auto y) { return x * y; });
  }
};
struct MultiplyHigh {
  template <class T> T operator()(T a, T b) const { return T((Wide<T>(a) * Wide<T>(b)) >> (sizeof(T) * 8)); }
};
struct MultiplyWide {
  template <class T> Wide<T> operator()(T a, T b) const { return Wide<T>(a) * Wide<T>(b); }
};
template <class Product> struct MultiplyAdd {
  template <class T, class C> C operator()(T a, T b, C c) const { return Add()(C(Product()(a, b)), c); }
};
struct MultiplyAddHighSaturating {
  int32_t operator()(int32_t a, int32_t b, int32_t c) const {
    return AddSaturating()(MultiplyHigh()(a, b), c);
  }
};
/// mul24.lo: the low 32 bits of the product of the low 24 bits.
template <class T> T low24(T a) {
  return std::is_signed_v<T> ? T(T(uint32_t(a) << 8) >> 8) : T(uint32_t(a) & 0xFFFFFF);
}
struct Multiply24Low {
  template <class T> T operator()(T a, T b) const { return T(Wide<T>(low24(a)) * low24(b)); }
};
struct Multiply24High {
  template <class T> T operator()(T a, T b) const { return T((Wide<T>(low24(a)) * low24(b)) >> 16); }
};
/// Hardware gives all ones for a division by zero, and no trap on overflow.
struct Divide {
  template <class T> T operator()(T a, T b) const {
    if (b == 0)
      return T(-1);
    if (std::is_signed_v<T> && b == T(-1))
      return Subtract()(T(0), a);
    return T(a / b);
  }
};
struct Remainder {
  template <class T> T operator()(T a, T b) const {
    if (b == 0)
      return a;
    if (std::is_signed_v<T> && b == T(-1))
      return 0;
    return T(a % b);
  }
};
struct Minimum {
  template <class T> T operator()(T a, T b) const { return std::min(a, b); }
};
struct Maximum {
  template <class T> T operator()(T a, T b) const { return std::max(a, b); }
};
template <class Op> struct Relu {
  template <class T> T operator()(T a, T b) const { return std::max<T>(Op()(a, b), 0); }
};
struct AbsoluteDifference {
  template <class T> T operator()(T a, T b, T c) const {
    return Add()(c, a < b ? Subtract()(b, a) : Subtract()(a, b));
  }
};
struct Negate {
  template <class T> T operator()(T a) const { return Subtract()(T(0), a); }
};
struct Absolute {
  template <class T> T operator()(T a) const { return a < 0 ? Negate()(a) : a; }
};
/// dp4a: both operands' bytes, signed or not.
template <class A, class B> struct DotProduct4 {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    for (unsigned i = 0; i < 4; ++i)
      c += uint32_t(int32_t(A(a >> (8 * i))) * int32_t(B(b >> (8 * i))));
    return c;
  }
};

/// dp2a: the halves of a with two bytes of b.
template <class A, class B, unsigned first> struct DotProduct2 {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    for (unsigned i = 0; i < 2; ++i)
      c += uint32_t(int32_t(A(a >> (16 * i))) * int32_t(B(b >> (8 * (first + i)))));
    return c;
  }
};

// --- decoding -------------------------------------------------------------------

template <class Op> void binary(Decoder &d, Type type) {
  d.expectOperands(3);
  if (type == Type::u16x2 || type == Type::s16x2) {
    const Eval eval = type == Type::u16x2
                          ? mapLanes<Packed<Op>, Pair<uint16_t>, Pair<uint16_t>, Pair<uint16_t>>
                          : mapLanes<Packed<Op>, Pair<int16_t>, Pair<int16_t>, Pair<int16_t>>;
    d.emit(eval, {d.out(0, type), d.in(1, type), d.in(2, type)});
    return;
  }
  const bool known = withInteger(type, [&](auto t) {
    using T = decltype(t);
    d.emit(mapLanes<Op, T, T, T>, {d.out(0, type), d.in(1, type), d.in(2, type)});
  });
  if (!known)
    failForType(d, type);
}

template <class Op> void binaryEntry(Decoder &d) { binary<Op>(d, d.type()); }

template <class Op> void unary(Decoder &d, Type type) {
  d.expectOperands(2);
  if (!withInteger(type, [&](auto t) {
        using T = decltype(t);
        d.emit(mapLanes<Op, T, T>, {d.out(0, type), d.in(1, type)});
      }))
    failForType(d, type);
}

/// The type of an arithmetic instruction; true when it was a floating-point one, decoded elsewhere.
bool arithmetic(Decoder &d, FloatOp op, Type &type) {
  const auto &left = d.remaining();
  for (std::string_view word : left)
    if (auto found = parseType(word)) {
      if (isFloat(*found)) {
        decodeFloatOp(d, op);
        return true;
      }
      break;
    }
  type = d.type();
  return false;
}

// add.cc, addc, sub.cc, subc, mad.cc: the carry is kept in a register of the warp
// that all these share. a - b is the sum of a and the complement of b with a carry
// in, so what a subtraction leaves and takes is a carry, which means no borrow.
template <class T, bool subtract, bool carryIn, bool carryOut>
Step addWithCarry(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Slot flag = instruction.slots[3];
  const uint32_t carries = carryIn ? warp.predicate(flag) : 0;
  uint32_t next = 0;
  T results[warpSize];
  for (unsigned l = 0; l < warpSize; ++l) {
    const T a = lanesOf<T>(warp, instruction.slots[1])[l], b = lanesOf<T>(warp, instruction.slots[2])[l];
    const unsigned carry = carryIn ? carries >> l & 1 : subtract;
    const unsigned __int128 sum = (unsigned __int128)a + (subtract ? T(~b) : b) + carry;
    results[l] = T(sum);
    next |= uint32_t(sum >> (sizeof(T) * 8) & 1) << l;
  }
  store(warp, instruction.slots[0], active, results);
  if (carryOut)
    warp.setPredicate(flag, active, next);
  return Step::next;
}

template <bool subtract> void extended(Decoder &d, bool carryIn, bool carryOut) {
  const Type type = d.type();
  d.expectOperands(3);
  const bool known = type != Type::u16 && type != Type::s16 && withBits(type, [&](auto t) {
                       using T = decltype(t);
                       const Eval eval = carryIn ? (carryOut ? addWithCarry<T, subtract, true, true>
                                                             : addWithCarry<T, subtract, true, false>)
                                                 : addWithCarry<T, subtract, false, true>;
                       d.emit(eval, {d.out(0, type), d.in(1, type), d.in(2, type), d.carryFlag()});
                     });
  if (!known)
    failForType(d, type);
}

void decodeAdd(Decoder &d) {
  if (d.take("cc"))
    return extended<false>(d, false, true);
  Type type;
  if (arithmetic(d, FloatOp::add, type))
    return;
  if (d.take("sat") && type == Type::s32) {
    d.expectOperands(3);
    d.emit(mapLanes<AddSaturating, int32_t, int32_t, int32_t>,
           {d.out(0, type), d.in(1, type), d.in(2, type)});
    return;
  }
  binary<Add>(d, type);
}

void decodeSub(Decoder &d) {
  if (d.take("cc"))
    return extended<true>(d, false, true);
  Type type;
  if (arithmetic(d, FloatOp::subtract, type))
    return;
  if (d.take("sat") && type == Type::s32) {
    d.expectOperands(3);
    d.emit(mapLanes<SubtractSaturating, int32_t, int32_t, int32_t>,
           {d.out(0, type), d.in(1, type), d.in(2, type)});
    return;
  }
  binary<Subtract>(d, type);
}

Type widened(Type type) {
  switch (type) {
  case Type::u16:
    return Type::u32;
  case Type::s16:
    return Type::s32;
  case Type::u32:
    return Type::u64;
  case Type::s32:
    return Type::s64;
  default:
    return Type::b128;
  }
}

enum class Half : uint8_t { low, high, wide };

Half half(Decoder &d) {
  auto part = d.takeOneOf<Half>({{"lo", Half::low}, {"hi", Half::high}, {"wide", Half::wide}});
  if (!part)
    d.fail("'{}' needs .lo, .hi or .wide", d.at().fullName());
  return part.value_or(Half::low);
}

void decodeMul(Decoder &d) {
  Type type;
  if (arithmetic(d, FloatOp::multiply, type))
    return;
  const Half part = half(d);
  if (part == Half::low)
    return binary<MultiplyLow>(d, type);
  if (part == Half::high)
    return binary<MultiplyHigh>(d, type);
  d.expectOperands(3);
  const Type wide = widened(type);
  if (wide == Type::b128)
    return failForType(d, type);
  withInteger(type, [&](auto t) {
    using T = decltype(t);
    if constexpr (sizeof(T) < 8)
      d.emit(mapLanes<MultiplyWide, Wide<T>, T, T>, {d.out(0, wide), d.in(1, type), d.in(2, type)});
  });
}

void decodeMad(Decoder &d) {
  Type type;
  const bool carryOut = d.take("cc");
  if (!carryOut && arithmetic(d, FloatOp::fusedMultiplyAdd, type))
    return;
  if (carryOut)
    type = d.type();
  const Half part = half(d);
  d.expectOperands(4);
  if (carryOut || d.at().name == "madc") {
    // The product goes to a register of its own, then the addition carries.
    const bool known =
        sizeInBytes(type) >= 4 && part != Half::wide && withInteger(type, [&](auto t) {
          using T = decltype(t);
          const Slot product = d.temporary(sizeof(T)), to = d.out(0, type), c = d.in(3, type);
          d.emit(part == Half::low ? mapLanes<MultiplyLow, T, T, T> : mapLanes<MultiplyHigh, T, T, T>,
                 {product, d.in(1, type), d.in(2, type)});
          using U = Unsigned<T>;
          const bool carryIn = d.at().name == "madc";
          const Eval eval =
              carryIn ? (carryOut ? addWithCarry<U, false, true, true> : addWithCarry<U, false, true, false>)
                      : addWithCarry<U, false, false, true>;
          d.emit(eval, {to, product, c, d.carryFlag()});
        });
    if (!known)
      failForType(d, type);
    return;
  }
  if (d.take("sat") && part == Half::high && type == Type::s32) {
    d.emit(mapLanes<MultiplyAddHighSaturating, int32_t, int32_t, int32_t, int32_t>,
           {d.out(0, type), d.in(1, type), d.in(2, type), d.in(3, type)});
    return;
  }
  const Type sum = part == Half::wide ? widened(type) : type;
  const bool known = sum != Type::b128 && withInteger(type, [&](auto t) {
                       using T = decltype(t);
                       const Slot slots[] = {d.out(0, sum), d.in(1, type), d.in(2, type), d.in(3, sum)};
                       if (part == Half::low)
                         d.emit(mapLanes<MultiplyAdd<MultiplyLow>, T, T, T, T>, slots);
                       else if (part == Half::high)
                         d.emit(mapLanes<MultiplyAdd<MultiplyHigh>, T, T, T, T>, slots);
                       else if constexpr (sizeof(T) < 8)
                         d.emit(mapLanes<MultiplyAdd<MultiplyWide>, Wide<T>, T, T, Wide<T>>, slots);
                     });
  if (!known)
    failForType(d, type);
}

void decodeMul24(Decoder &d) {
  const Type type = d.type();
  const Half part = half(d);
  const bool add = d.at().name == "mad24";
  d.expectOperands(add ? 4 : 3);
  if ((type != Type::u32 && type != Type::s32) || part == Half::wide)
    return failForType(d, type);
  const Slot to = d.out(0, type), product = add ? d.temporary(4) : to;
  if (type == Type::u32)
    d.emit(part == Half::low ? mapLanes<Multiply24Low, uint32_t, uint32_t, uint32_t>
                             : mapLanes<Multiply24High, uint32_t, uint32_t, uint32_t>,
           {product, d.in(1, type), d.in(2, type)});
  else
    d.emit(part == Half::low ? mapLanes<Multiply24Low, int32_t, int32_t, int32_t>
                             : mapLanes<Multiply24High, int32_t, int32_t, int32_t>,
           {product, d.in(1, type), d.in(2, type)});
  const bool saturates = add && part == Half::high && type == Type::s32 && d.take("sat");
  if (saturates)
    d.emit(mapLanes<AddSaturating, int32_t, int32_t, int32_t>, {to, product, d.in(3, type)});
  else if (add)
    d.emit(mapLanes<Add, uint32_t, uint32_t, uint32_t>, {to, product, d.in(3, type)});
}

void decodeDiv(Decoder &d) {
  Type type;
  if (!arithmetic(d, FloatOp::divide, type))
    binary<Divide>(d, type);
}

template <class Op, FloatOp op> void decodeMinMax(Decoder &d) {
  Type type;
  if (arithmetic(d, op, type))
    return;
  if (d.take("relu"))
    binary<Relu<Op>>(d, type);
  else
    binary<Op>(d, type);
}

template <class Op, FloatOp op> void decodeSign(Decoder &d) {
  Type type;
  if (!arithmetic(d, op, type))
    unary<Op>(d, type);
}

void decodeSad(Decoder &d) {
  const Type type = d.type();
  d.expectOperands(4);
  if (!withInteger(type, [&](auto t) {
        using T = decltype(t);
        d.emit(mapLanes<AbsoluteDifference, T, T, T, T>,
               {d.out(0, type), d.in(1, type), d.in(2, type), d.in(3, type)});
      }))
    failForType(d, type);
}

void decodeDp4a(Decoder &d) {
  const Type a = d.type(), b = d.typeIfAny().value_or(a);
  d.expectOperands(4);
  const bool signedA = a == Type::s32, signedB = b == Type::s32;
  if (sizeInBytes(a) != 4 || sizeInBytes(b) != 4)
    return failForType(d, a);
  const Eval eval =
      signedA ? (signedB ? mapLanes<DotProduct4<int8_t, int8_t>, uint32_t, uint32_t, uint32_t, uint32_t>
                         : mapLanes<DotProduct4<int8_t, uint8_t>, uint32_t, uint32_t, uint32_t, uint32_t>)
              : (signedB ? mapLanes<DotProduct4<uint8_t, int8_t>, uint32_t, uint32_t, uint32_t, uint32_t>
                         : mapLanes<DotProduct4<uint8_t, uint8_t>, uint32_t, uint32_t, uint32_t, uint32_t>);
  d.emit(eval, {d.out(0, Type::u32), d.in(1, Type::u32), d.in(2, Type::u32), d.in(3, Type::u32)});
}

template <class A, class B> Eval dotProduct2(bool high) {
  return high ? mapLanes<DotProduct2<A, B, 2>, uint32_t, uint32_t, uint32_t, uint32_t>
              : mapLanes<DotProduct2<A, B, 0>, uint32_t, uint32_t, uint32_t, uint32_t>;
}

void decodeDp2a(Decoder &d) {
  const Half part = half(d);
  const Type a = d.type(), b = d.type();
  d.expectOperands(4);
  if (part == Half::wide || sizeInBytes(a) != 4 || sizeInBytes(b) != 4)
    return failForType(d, a);
  const bool signedB = b == Type::s32, high = part == Half::high;
  const Eval eval =
      a == Type::s32 ? (signedB ? dotProduct2<int16_t, int8_t>(high) : dotProduct2<int16_t, uint8_t>(high))
                     : (signedB ? dotProduct2<uint16_t, int8_t>(high) : dotProduct2<uint16_t, uint8_t>(high));
  d.emit(eval, {d.out(0, Type::u32), d.in(1, Type::u32), d.in(2, Type::u32), d.in(3, Type::u32)});
}

constexpr DecodeEntry entries[] = {
    {"add", decodeAdd},
    {"addc", [](Decoder &d) { extended<false>(d, true, d.take("cc")); }},
    {"sub", decodeSub},
    {"subc", [](Decoder &d) { extended<true>(d, true, d.take("cc")); }},
    {"mul", decodeMul},
    {"mad", decodeMad},
    {"madc", decodeMad},
    {"mul24", decodeMul24},
    {"mad24", decodeMul24},
    {"div", decodeDiv},
    {"rem", binaryEntry<Remainder>},
    {"min", decodeMinMax<Minimum, FloatOp::minimum>},
    {"max", decodeMinMax<Maximum, FloatOp::maximum>},
    {"abs", decodeSign<Absolute, FloatOp::absolute>},
    {"neg", decodeSign<Negate, FloatOp::negate>},
    {"sad", decodeSad},
    {"dp4a", decodeDp4a},
    {"dp2a", decodeDp2a},
};

} // namespace

std::span<const DecodeEntry> integerInstructions() { return entries; }

} // namespace tlc::emulator
