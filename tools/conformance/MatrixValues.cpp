// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/MatrixValues.h"

#include <algorithm>
#include <bit>

namespace tlc::conformance {
namespace {

uint64_t encode(MatrixType type, bool negative, int64_t exponent, uint64_t fraction) {
  // A tf32 lies in the upper bits of its word.
  const unsigned unused = type.bits - 1 - type.exponentBits - type.fractionBits;
  const uint64_t bias = (uint64_t(1) << (type.exponentBits - 1)) - 1;
  const uint64_t biased = uint64_t(int64_t(bias) + exponent);
  const uint64_t bits = (uint64_t(negative) << type.exponentBits | biased) << type.fractionBits | fraction;
  return bits << unused;
}

uint64_t smallInteger(MatrixType type, Random &random) {
  // 0 to 7 is exact in every type.
  const unsigned value = unsigned(random.below(8));
  const bool negative = random.oneIn(2);
  if (value == 0)
    return 0;
  const unsigned exponent = unsigned(std::bit_width(value)) - 1;
  const uint64_t fraction = value ^ uint64_t(1) << exponent;
  const unsigned room = type.fractionBits;
  if (exponent > room && (fraction & 1)) // e5m2 has no 5 and 7
    return encode(type, negative, exponent, fraction >> 1);
  return encode(type, negative, exponent,
                room >= exponent ? fraction << (room - exponent) : fraction >> (exponent - room));
}

uint64_t extremeValue(MatrixType type, Random &random) {
  const uint64_t fraction = random.next() & ((uint64_t(1) << type.fractionBits) - 1);
  const int64_t bias = (int64_t(1) << (type.exponentBits - 1)) - 1;
  const bool negative = random.oneIn(2);
  switch (random.below(6)) {
  case 0:
  case 1:
    return encode(type, negative, -bias, 0); // zero
  case 2:
    return encode(type, negative, -bias, fraction); // subnormal
  case 3:
    return encode(type, negative, 1 - bias + int64_t(random.below(4)), fraction);
  case 4:
    return encode(type, negative, bias - 1 - int64_t(random.below(4)), fraction);
  default:
    return encode(type, negative, random.between(-bias / 2, bias / 2), fraction);
  }
}

uint64_t specialValue(MatrixType type, Random &random) {
  const uint64_t ones = (uint64_t(1) << type.exponentBits) - 1;
  const unsigned unused = type.bits - 1 - type.exponentBits - type.fractionBits;
  const uint64_t sign = random.next() & 1;
  const uint64_t fraction = random.next() & ((uint64_t(1) << type.fractionBits) - 1);
  const uint64_t exponent = random.oneIn(2) ? ones : 0; // infinity or NaN; zero or subnormal
  return ((sign << type.exponentBits | exponent) << type.fractionBits | (random.oneIn(2) ? fraction : 0))
         << unused;
}

} // namespace

std::string_view toString(Values values) {
  constexpr std::string_view names[] = {"integers", "unit", "wide", "special", "extreme"};
  return names[unsigned(values)];
}

uint64_t matrixElement(MatrixType type, Values values, Random &random) {
  if (type.isInteger())
    return random.next() & (type.bits == 64 ? ~uint64_t(0) : (uint64_t(1) << type.bits) - 1);
  if (values == Values::integers || (values == Values::special && !random.oneIn(24)))
    return smallInteger(type, random);
  if (values == Values::special)
    return specialValue(type, random);
  if (values == Values::extreme)
    return extremeValue(type, random);
  const uint64_t fraction = random.next() & ((uint64_t(1) << type.fractionBits) - 1);
  const int64_t bias = (int64_t(1) << (type.exponentBits - 1)) - 1;
  const int64_t reach = std::min<int64_t>(bias - 2, type.name == "f32" ? 24 : 12);
  const int64_t exponent = values == Values::unit ? random.between(-4, 0) : random.between(-reach, reach);
  return encode(type, random.oneIn(2), exponent, fraction);
}

std::vector<std::byte> matrixElements(MatrixType type, Values values, size_t bytes, Random &random) {
  std::vector<std::byte> result(bytes);
  const unsigned step = std::max(type.bits / 8, 1u);
  for (size_t at = 0; at + step <= bytes; at += step) {
    const uint64_t bits = type.bits < 8 ? random.next() : matrixElement(type, values, random);
    for (unsigned byte = 0; byte < step; ++byte)
      result[at + byte] = std::byte(bits >> 8 * byte);
  }
  return result;
}

Format accumulatorFormat(MatrixType type) {
  if (type.name == "f16")
    return Format::f16x2;
  if (type.name == "f64")
    return Format::f64;
  return type.isInteger() ? Format::b32 : Format::f32;
}

} // namespace tlc::conformance
