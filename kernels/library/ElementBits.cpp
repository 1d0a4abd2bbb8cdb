// SPDX-License-Identifier: Apache-2.0
/// \file
/// Conversions of single elements.
#include "kernels/library/ElementBits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

using namespace tlc;

namespace {

template <class T> void put(std::byte *bytes, T value) { std::memcpy(bytes, &value, sizeof(T)); }
template <class T> T get(const std::byte *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

/// Sign, exponent and fraction of a 16-bit format.
struct Format16 {
  int fractionBits;
  int smallestExponent; ///< of normal numbers
  uint16_t infinity;
};
constexpr Format16 f16Format = {10, -14, 0x7C00};
constexpr Format16 bf16Format = {7, -126, 0x7F80};

uint16_t toBits(Format16 format, double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | format.infinity | 1 << (format.fractionBits - 1);
  if (magnitude == 0)
    return sign;
  if (std::isinf(magnitude))
    return sign | format.infinity;
  int exponent = std::max(std::ilogb(magnitude), format.smallestExponent);
  // In units of the last place; `nearbyint` rounds to nearest even. Carries go on into the exponent by
  // themselves.
  double units = std::nearbyint(std::ldexp(magnitude, format.fractionBits - exponent));
  double bits = std::ldexp(exponent - format.smallestExponent, format.fractionBits) + units;
  return bits >= format.infinity ? sign | format.infinity : sign | static_cast<uint16_t>(bits);
}

/// The fraction and exponent stand where f32 has them; the product moves the bias and makes subnormals
/// normal.
double f16ToDouble(uint16_t bits) {
  float magnitude = std::bit_cast<float>(uint32_t(bits & 0x7FFF) << 13) * 0x1p112f;
  if ((bits & 0x7FFF) >= f16Format.infinity)
    magnitude = (bits & 0x7FFF) == f16Format.infinity ? INFINITY : NAN;
  return bits & 0x8000 ? -magnitude : magnitude;
}

/// bf16 is the upper half of f32.
double bf16ToDouble(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

} // namespace

void kernels::storeElement(ElementType type, std::byte *bytes, double value) {
  switch (type) {
  case ElementType::i8:
    return put(bytes, static_cast<int8_t>(value));
  case ElementType::i32:
    return put(bytes, static_cast<int32_t>(value));
  case ElementType::i64:
    return put(bytes, static_cast<int64_t>(value));
  case ElementType::f16:
    return put(bytes, toBits(f16Format, value));
  case ElementType::bf16:
    return put(bytes, toBits(bf16Format, value));
  case ElementType::f32:
    return put(bytes, static_cast<float>(value));
  case ElementType::f64:
    return put(bytes, value);
  }
}

double kernels::loadElement(ElementType type, const std::byte *bytes) {
  switch (type) {
  case ElementType::i8:
    return get<int8_t>(bytes);
  case ElementType::i32:
    return get<int32_t>(bytes);
  case ElementType::i64:
    return static_cast<double>(get<int64_t>(bytes));
  case ElementType::f16:
    return f16ToDouble(get<uint16_t>(bytes));
  case ElementType::bf16:
    return bf16ToDouble(get<uint16_t>(bytes));
  case ElementType::f32:
    return get<float>(bytes);
  case ElementType::f64:
    return get<double>(bytes);
  }
  return 0;
}
