// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the bits of a value are to be read: which values are worth trying, and
/// which results count as equal.
#pragma once

#include "tools/conformance/Random.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tlc::conformance {

enum class Format : uint8_t {
  predicate, ///< travels as a 32-bit word, 0 or 1
  b16,
  b32,
  b64,
  f16,
  bf16,
  f16x2,
  bf16x2,
  f32,
  f64,
  tf32,
  // Sources only: values of a restricted range.
  count32, ///< a shift count or bit position: 0 to 70 mostly
  byte16,  ///< two 8-bit floating-point numbers
  word8,   ///< any, with bytes that are often extreme
  half16,  ///< a non-zero 16-bit divisor
  half32,
  half64,
  angle,   ///< f32 in [-pi, pi]
  moderate ///< f32 of magnitude 2^-60 to 2^60
};

/// Of the register that holds it: 16, 32 or 64; 1 for a predicate.
unsigned registerBits(Format format);
/// "b32", "f64" ...: the type to declare a register with.
std::string_view registerType(Format format);

/// A value of the format, special ones often: zeros of both signs, infinities,
/// NaN, subnormals, the extremes, neighbours of powers of two.
uint64_t randomValue(Format format, Random &random);

/// Gives every NaN the same bits.
uint64_t withoutPayload(Format format, uint64_t bits);
/// As a number, for those with error bounds: f16, bf16, f32, f64 (a packed pair: its low half).
double numberOf(Format format, uint64_t bits);

} // namespace tlc::conformance
