// SPDX-License-Identifier: Apache-2.0
/// \file
/// Conversions of single elements.
#include "kernels/harness/ElementBits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

using namespace tlc;

namespace {

/// 2^exponent, for exponents of normal numbers.
double powerOfTwo(int exponent) { return std::bit_cast<double>(uint64_t(exponent + 1023) << 52); }

/// In a format of up to 32 bits. What is too large becomes infinite, or the largest number where there is no
/// infinity.
uint64_t codeOf(const NumberFormat &format, double value) {
  const uint64_t sign = std::signbit(value) ? format.signBit() : 0;
  const uint64_t overflow = format.hasInfinities() ? format.infinityCode() : format.largestCode();
  double magnitude = std::fabs(value);
  if (std::isnan(value))
    return format.specials == Specials::none ? format.largestCode() : sign | format.nanCode();
  if (magnitude == 0)
    return sign;
  if (magnitude >= 2 * format.largest())
    return sign | overflow;
  // A subnormal double's exponent is below that of every format.
  int exponent = std::max(int(std::bit_cast<uint64_t>(magnitude) >> 52) - 1023, format.leastExponent());
  // In units of the last place; `nearbyint` rounds to nearest even. Carries go on into the exponent by
  // themselves.
  double units = std::nearbyint(magnitude * powerOfTwo(format.fractionBits - exponent));
  double code = double(uint64_t(exponent - format.leastExponent()) << format.fractionBits) + units;
  return sign | (code >= double(overflow) ? overflow : static_cast<uint64_t>(code));
}

/// The code stands where f32 has exponent and fraction; the product moves the bias and makes subnormals
/// normal.
double valueOf(const NumberFormat &format, uint64_t code) {
  const uint64_t magnitude = code & (format.signBit() - 1);
  float value = std::bit_cast<float>(static_cast<uint32_t>(magnitude << (23 - format.fractionBits))) *
                std::bit_cast<float>(static_cast<uint32_t>(254 - format.bias) << 23);
  if (magnitude > format.largestCode())
    value = format.hasInfinities() && magnitude == format.infinityCode() ? INFINITY : NAN;
  return code & format.signBit() ? -value : value;
}

int64_t signExtended(uint64_t code, unsigned bits) {
  return static_cast<int64_t>(code << (64 - bits)) >> (64 - bits);
}

} // namespace

uint64_t kernels::encodeElement(ElementType type, double value) {
  const ElementFacts &facts = factsOf(type);
  if (isInteger(type)) // modulo 2^bits, also of a negative number
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  if (facts.bits == 64)
    return std::bit_cast<uint64_t>(value);
  return facts.bits == 32 ? std::bit_cast<uint32_t>(static_cast<float>(value)) : codeOf(facts.format, value);
}

double kernels::decodeElement(ElementType type, uint64_t code) {
  const ElementFacts &facts = factsOf(type);
  if (isUnsigned(type))
    return static_cast<double>(code);
  if (isInteger(type))
    return static_cast<double>(signExtended(code, facts.bits));
  if (facts.bits == 64)
    return std::bit_cast<double>(code);
  return facts.bits == 32 ? std::bit_cast<float>(static_cast<uint32_t>(code)) : valueOf(facts.format, code);
}

namespace {
/// Where a packed element lies in its byte.
unsigned shiftOf(ElementType type, int64_t number) {
  return unsigned(number % elementsPerUnit(type)) * bitsOf(type);
}
uint64_t maskOf(ElementType type) { return ~uint64_t(0) >> (64 - bitsOf(type)); }
} // namespace

void kernels::storeElement(ElementType type, std::byte *bytes, double value, int64_t number) {
  storeCode(type, bytes, encodeElement(type, value), number);
}

void kernels::storeCode(ElementType type, std::byte *bytes, uint64_t code, int64_t number) {
  if (!isPacked(type)) {
    std::memcpy(bytes + number * sizeInBytes(type), &code, sizeInBytes(type)); // the lowest byte is the first
    return;
  }
  std::byte &unit = bytes[number / elementsPerUnit(type)];
  unsigned shift = shiftOf(type, number);
  unit = (unit & ~std::byte(maskOf(type) << shift)) | std::byte((code & maskOf(type)) << shift);
}

uint64_t kernels::loadCode(ElementType type, const std::byte *bytes, int64_t number) {
  uint64_t code = 0;
  if (isPacked(type))
    return uint64_t(bytes[number / elementsPerUnit(type)]) >> shiftOf(type, number) & maskOf(type);
  std::memcpy(&code, bytes + number * sizeInBytes(type), sizeInBytes(type));
  return code;
}

double kernels::loadElement(ElementType type, const std::byte *bytes, int64_t number) {
  return decodeElement(type, loadCode(type, bytes, number));
}
