// SPDX-License-Identifier: Apache-2.0
/// \file
/// The element types of tensors and what is known of them. ElementTypes.def is the table.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tlc {

enum class ElementType : uint8_t {
#define TLC_ELEMENT_TYPE(name, ...) name,
#include "runtime/support/ElementTypes.def"
};

enum class NumberKind : uint8_t { signedInteger, unsignedInteger, floating };

/// Which codes of a float are no finite numbers.
enum class Specials : uint8_t {
  none,
  nan,        ///< all bits set, whatever the sign
  infinities, ///< the largest exponent: infinities, and NaN where the fraction is not 0
};

enum class ElementUse : uint8_t {
  computed,  ///< the machine computes with it
  converted, ///< registers hold its bits as an integer, of 8 bits at least, and it is converted
};

/// Sign, exponent and fraction, from the first bit on.
struct NumberFormat {
  int exponentBits = 0, fractionBits = 0, bias = 0;
  Specials specials = Specials::none;

  constexpr bool hasInfinities() const { return specials == Specials::infinities; }
  /// Bits of a significand, the one before the point included.
  constexpr int precision() const { return fractionBits + 1; }
  /// Exponent of the smallest normal number.
  constexpr int leastExponent() const { return 1 - bias; }
  constexpr uint64_t signBit() const { return uint64_t(1) << (exponentBits + fractionBits); }
  /// Of the largest finite number.
  constexpr uint64_t largestCode() const {
    switch (specials) {
    case Specials::none:
      return signBit() - 1;
    case Specials::nan:
      return signBit() - 2;
    case Specials::infinities:
      return infinityCode() - 1;
    }
    return 0;
  }
  constexpr uint64_t infinityCode() const { return signBit() - (uint64_t(1) << fractionBits); }
  /// The NaN that conversions of the machine give.
  constexpr uint64_t nanCode() const { return signBit() - 1; }
  /// The largest finite number.
  constexpr double largest() const {
    uint64_t code = largestCode(), fraction = code & ((uint64_t(1) << fractionBits) - 1);
    uint64_t exponent = uint64_t(int64_t(code >> fractionBits) - bias + 1023);
    return std::bit_cast<double>(exponent << 52 | fraction << (52 - fractionBits));
  }
};

struct ElementFacts {
  ElementType type;
  std::string_view name;
  unsigned bits;
  NumberKind number;
  NumberFormat format; ///< of a float
  ElementUse use;
  char numpy;            ///< letter of its kind in .npy files, or 0
  int dlpack;            ///< DLDataTypeCode
  std::string_view cuda; ///< in CUDA C++, or empty
};

inline constexpr std::array elementTable = {
#define TLC_ELEMENT_TYPE(name, C, bits, number, exponent, fraction, bias, specials, use, mlir, ptx, numpy,   \
                         dlpack, cuda)                                                                       \
  ElementFacts{ElementType::name,                                                                            \
               #name,                                                                                        \
               bits,                                                                                         \
               NumberKind::number,                                                                           \
               {exponent, fraction, bias, Specials::specials},                                               \
               ElementUse::use,                                                                              \
               numpy,                                                                                        \
               dlpack,                                                                                       \
               cuda},
#include "runtime/support/ElementTypes.def"
};

inline constexpr std::array allElementTypes = {
#define TLC_ELEMENT_TYPE(name, ...) ElementType::name,
#include "runtime/support/ElementTypes.def"
};

constexpr const ElementFacts &factsOf(ElementType type) { return elementTable[size_t(type)]; }

constexpr bool isFloat(ElementType type) { return factsOf(type).number == NumberKind::floating; }
constexpr bool isInteger(ElementType type) { return !isFloat(type); }
constexpr bool isUnsigned(ElementType type) { return factsOf(type).number == NumberKind::unsignedInteger; }
/// Whether the machine computes with it.
constexpr bool isComputed(ElementType type) { return factsOf(type).use == ElementUse::computed; }

/// Whether the language has arithmetic on it: on integers without a sign, too, as on those with one of as
/// many bits.
constexpr bool hasArithmetic(ElementType type) {
  return isComputed(type) || (isInteger(type) && factsOf(type).bits >= 8);
}

/// The integer with a sign of as many bits, of at least 8.
constexpr ElementType signedType(ElementType type) {
  return type == ElementType::u8 ? ElementType::i8 : type == ElementType::u32 ? ElementType::i32 : type;
}

/// Whether conversions to it always saturate.
constexpr bool saturates(ElementType type) { return isFloat(type) && factsOf(type).bits <= 8; }

/// One that the machine computes with and that has all numbers of the type.
constexpr ElementType computedType(ElementType type) {
  if (isComputed(type))
    return type;
  return isFloat(type) ? ElementType::f32 : factsOf(type).bits < 32 ? ElementType::i32 : ElementType::i64;
}

constexpr unsigned bitsOf(ElementType type) { return factsOf(type).bits; }

/// Whether several elements share a byte, the first of them in its lowest bits.
constexpr bool isPacked(ElementType type) { return bitsOf(type) < 8; }
/// Elements of the least piece of memory that has an address: those of a byte where they are packed, else 1.
constexpr int64_t elementsPerUnit(ElementType type) { return isPacked(type) ? 8 / bitsOf(type) : 1; }

/// What this many elements take that follow one another, in bytes; nothing if it is not below 2^63.
constexpr std::optional<int64_t> checkedBytesOf(ElementType type, int64_t count) {
  const int64_t bits = bitsOf(type);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(count / 8, bits, &bytes) ||
      __builtin_add_overflow(bytes, (count % 8 * bits + 7) / 8, &bytes))
    return std::nullopt;
  return bytes;
}

/// The same where it is known to be small.
constexpr int64_t bytesOf(ElementType type, int64_t count) { return (count * bitsOf(type) + 7) / 8; }

/// How many elements fill so many bytes.
constexpr int64_t elementsOf(ElementType type, int64_t bytes) { return bytes * 8 / bitsOf(type); }

/// Of one element, which is to be of whole bytes: of a packed one it traps, and in a constant does not
/// compile.
constexpr unsigned sizeInBytes(ElementType type) {
  if (bitsOf(type) % 8 != 0)
    __builtin_trap();
  return bitsOf(type) / 8;
}

constexpr std::string_view toString(ElementType type) { return factsOf(type).name; }

constexpr std::optional<ElementType> parseElementType(std::string_view text) {
  for (const ElementFacts &facts : elementTable) {
    if (facts.name == text)
      return facts.type;
  }
  return std::nullopt;
}

} // namespace tlc
