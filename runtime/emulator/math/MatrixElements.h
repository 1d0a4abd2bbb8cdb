// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements of matrix operands as floats, for mma.sync and wgmma alike. Every
/// operand type but f64 is exact in f32, integers included.
#pragma once

#include "runtime/emulator/math/Float.h"
#include "runtime/emulator/math/HostVectors.h"
#include "runtime/emulator/math/Mma.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

namespace tlc::emulator {

/// Bits that an element takes in memory; those of 6 and 4 bits stand 16 in 16 bytes.
inline unsigned elementBits(MatrixElement element) {
  switch (element) {
  case MatrixElement::e4m3:
  case MatrixElement::e5m2:
  case MatrixElement::e2m3:
  case MatrixElement::e3m2:
  case MatrixElement::e2m1:
  case MatrixElement::s8:
  case MatrixElement::u8:
    return 8;
  case MatrixElement::s4:
  case MatrixElement::u4:
    return 4;
  case MatrixElement::b1:
    return 1;
  case MatrixElement::f16:
  case MatrixElement::bf16:
    return 16;
  case MatrixElement::tf32:
  case MatrixElement::f32:
  case MatrixElement::s32:
    return 32;
  case MatrixElement::f64:
    break;
  }
  return 64;
}

inline bool isFloat8(MatrixElement element) {
  return element == MatrixElement::e4m3 || element == MatrixElement::e5m2;
}

inline bool isInteger8(MatrixElement element) {
  return element == MatrixElement::s8 || element == MatrixElement::u8;
}

inline bool isInteger4(MatrixElement element) {
  return element == MatrixElement::s4 || element == MatrixElement::u4;
}

inline float e4m3ToFloat(uint8_t bits) {
  // As in f16ToFloat: the fraction lies in f32's place, the product moves the bias.
  const uint32_t magnitude = bits & 0x7F;
  const float scaled = std::bit_cast<float>(magnitude << 20) * 0x1p120f;
  const uint32_t nan = magnitude == 0x7F ? 0x7FC00000u : 0u;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | nan | uint32_t(bits & 0x80) << 24);
}

/// e5m2 is the upper byte of f16.
inline float e5m2ToFloat(uint8_t bits) { return f16ToFloat(uint16_t(bits << 8)); }

/// Hardware ignores the low 13 bits of a tf32 operand.
inline float tf32ToFloat(uint32_t bits) { return std::bit_cast<float>(bits & 0xFFFFE000u); }

template <class Raw, class Decode>
TLC_WITH_CALLER void decodeBytes(const std::byte *bytes, unsigned count, float *values, Decode decode) {
  for (unsigned i = 0; i < count; ++i) {
    Raw raw;
    std::memcpy(&raw, bytes + i * sizeof(Raw), sizeof(Raw));
    values[i] = decode(raw);
  }
}

/// `size` bytes of packed elements to floats. Not for f64.
TLC_WITH_CALLER void decodeElements(MatrixElement element, const std::byte *bytes, unsigned size,
                                    float *values) {
  switch (element) {
  case MatrixElement::f16:
    return decodeBytes<uint16_t>(bytes, size / 2, values, f16ToFloat);
  case MatrixElement::bf16:
    return decodeBytes<uint16_t>(bytes, size / 2, values, bf16ToFloat);
  case MatrixElement::tf32:
    return decodeBytes<uint32_t>(bytes, size / 4, values, tf32ToFloat);
  case MatrixElement::e4m3:
    return decodeBytes<uint8_t>(bytes, size, values, e4m3ToFloat);
  case MatrixElement::e5m2:
    return decodeBytes<uint8_t>(bytes, size, values, e5m2ToFloat);
  case MatrixElement::s8:
    return decodeBytes<int8_t>(bytes, size, values, [](int8_t v) { return float(v); });
  case MatrixElement::u8:
    return decodeBytes<uint8_t>(bytes, size, values, [](uint8_t v) { return float(v); });
  case MatrixElement::e2m3:
  case MatrixElement::e3m2:
  case MatrixElement::e2m1:
  case MatrixElement::s4:
  case MatrixElement::u4:
  case MatrixElement::b1:
  case MatrixElement::f32:
  case MatrixElement::s32:
  case MatrixElement::f64:
    break;
  }
  assert(false && "not an operand element");
}

inline uint32_t floatResult(float value) {
  return value != value ? 0x7FFFFFFFu : std::bit_cast<uint32_t>(value);
}

/// `old` plus an instruction's sum of products, which is an exact integer.
inline uint32_t integerResult(uint32_t old, int64_t sum, IntegerOverflow overflow) {
  const int64_t exact = int64_t(int32_t(old)) + sum;
  if (overflow == IntegerOverflow::saturate)
    return uint32_t(int32_t(std::clamp<int64_t>(exact, std::numeric_limits<int32_t>::min(),
                                                std::numeric_limits<int32_t>::max())));
  return uint32_t(exact);
}

} // namespace tlc::emulator
