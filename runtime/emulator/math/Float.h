// SPDX-License-Identifier: Apache-2.0
/// \file
/// The floating-point formats of PTX and their conversions, bit exact: every
/// rounding mode, saturation to the largest finite value, relu, subnormals, and
/// NaN in the canonical form of the PTX ISA. A float or double is the exact
/// carrier on the host side; conversion to a narrow format rounds once.
#pragma once

#include <bit>
#include <cstdint>

namespace tlc::emulator {

/// PTX: .rn .rz .rm .rp .rna
enum class Rounding : uint8_t { nearestEven, towardZero, down, up, nearestAway };

/// tf32 stands in the bit positions of f32, with the low 13 bits zero. The
/// formats of 4 and 6 bits have neither infinity nor NaN, ue8m0 is a power of
/// two without a sign.
enum class FloatFormat : uint8_t { e2m1, e2m3, e3m2, e4m3, e5m2, ue8m0, f16, bf16, tf32, f32 };

/// What `cvt` may ask for beside the format.
struct FloatConversion {
  Rounding rounding = Rounding::nearestEven;
  bool saturateFinite = false; ///< .satfinite: too large (infinity too) becomes the largest finite value
  bool relu = false;           ///< .relu: a negative result (-0 too) becomes +0
};

/// What PTX instructions return for a NaN: 0x7F, 0x7FFF, 0x7FFFFFFF; the
/// largest value in formats without one.
uint32_t canonicalNan(FloatFormat format);
/// Bits of the largest finite value.
uint32_t largestFinite(FloatFormat format);

/// The value of `bits`, which is always exact. Low bits of tf32 that hardware
/// ignores are ignored. A NaN gives a NaN.
double toDouble(FloatFormat format, uint32_t bits);
float toFloat(FloatFormat format, uint32_t bits);

/// `value` rounded once to `format`. Without saturation what is too large
/// becomes infinity or the largest finite value as the rounding says; e4m3,
/// which has no infinity, then gets NaN. NaN becomes the canonical NaN, also
/// under saturation and relu. Subnormals are kept on both sides. To ue8m0, the
/// magnitude's exponent.
uint32_t fromDouble(FloatFormat format, double value, FloatConversion conversion = {});
/// Stochastic rounding, cvt.rs: `random`, of `randomBits` bits, is added to the
/// fraction bits that the format drops, from the highest on, before they go.
uint32_t fromFloatRandomly(FloatFormat format, float value, uint32_t random, unsigned randomBits,
                           FloatConversion conversion);
inline uint32_t fromFloat(FloatFormat format, float value, FloatConversion conversion = {}) {
  return fromDouble(format, value, conversion);
}

// Short ways for the conversions that matrix instructions do by the million.
// They agree with the general functions on every input; written without
// branches so that loops of them vectorise.

inline float bf16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

inline float f16ToFloat(uint16_t bits) {
  // Exponent and fraction in f32 position; the multiplication moves the bias
  // from 15 to 127 and normalises subnormals on the way. Infinities and NaNs
  // (exponent 31) come out as 2^16 and more, and get f32's exponent.
  const uint32_t magnitude = uint32_t(bits & 0x7FFF) << 13;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  const uint32_t special = scaled >= 65536.0f ? 0x7F800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | uint32_t(bits & 0x8000) << 16);
}

/// cvt.rn.bf16.f32
inline uint16_t floatToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  return uint16_t(value != value ? 0x7FFFu : rounded);
}

/// cvt.rn.f16.f32
inline uint16_t floatToF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000,
                 magnitude = bits & 0x7FFFFFFF;
  // Below 2^-14 the result is subnormal: adding 0.5 puts the unit of the last
  // place at f16's 2^-24, and the host's addition rounds to nearest even.
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u;
  const uint32_t normal = (magnitude - (112u << 23) + 0xFFF + (magnitude >> 13 & 1)) >> 13;
  uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x47800000u ? 0x7C00u : result; // 65536 and more, infinity
  return uint16_t(magnitude > 0x7F800000u ? 0x7FFFu : result | sign);
}

} // namespace tlc::emulator
