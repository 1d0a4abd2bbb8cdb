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

template <class T> void put(std::byte *bytes, T value) { std::memcpy(bytes, &value, sizeof(T)); }
template <class T> T get(const std::byte *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

/// Sign, exponent and fraction of a format of up to 16 bits.
struct NarrowFormat {
  int fractionBits;
  int smallestExponent; ///< of normal numbers
  uint16_t sign;
  uint16_t overflow; ///< what is too large becomes
  uint16_t nan;
};
constexpr NarrowFormat f16Format = {10, -14, 0x8000, 0x7C00, 0x7E00};
constexpr NarrowFormat bf16Format = {7, -126, 0x8000, 0x7F80, 0x7FC0};
/// Without infinities, saturating at 448.
constexpr NarrowFormat e4m3Format = {3, -6, 0x80, 0x7E, 0x7F};

uint16_t toBits(NarrowFormat format, double value) {
  uint16_t sign = std::signbit(value) ? format.sign : 0;
  double magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | format.nan;
  if (magnitude == 0)
    return sign;
  if (std::isinf(magnitude))
    return sign | format.overflow;
  int exponent = std::max(std::ilogb(magnitude), format.smallestExponent);
  // In units of the last place; `nearbyint` rounds to nearest even. Carries go on into the exponent by
  // themselves.
  double units = std::nearbyint(std::ldexp(magnitude, format.fractionBits - exponent));
  double bits = std::ldexp(exponent - format.smallestExponent, format.fractionBits) + units;
  return bits >= format.overflow ? sign | format.overflow : sign | static_cast<uint16_t>(bits);
}

/// The fraction and exponent stand where f32 has them; the product moves the bias and makes subnormals
/// normal.
double f16ToDouble(uint16_t bits) {
  float magnitude = std::bit_cast<float>(uint32_t(bits & 0x7FFF) << 13) * 0x1p112f;
  if ((bits & 0x7FFF) >= f16Format.overflow)
    magnitude = (bits & 0x7FFF) == f16Format.overflow ? INFINITY : NAN;
  return bits & 0x8000 ? -magnitude : magnitude;
}

/// bf16 is the upper half of f32.
double bf16ToDouble(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

/// As f16, whose bias is larger by 8.
double e4m3ToDouble(uint8_t bits) {
  if ((bits & 0x7F) == e4m3Format.nan)
    return NAN;
  return f16ToDouble(uint16_t((bits & 0x80) << 8 | (bits & 0x7F) << 7)) * 0x1p8;
}

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
  case ElementType::e4m3:
    return put(bytes, static_cast<uint8_t>(toBits(e4m3Format, value)));
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
  case ElementType::e4m3:
    return e4m3ToDouble(get<uint8_t>(bytes));
  }
  return 0;
}
