// SPDX-License-Identifier: Apache-2.0
/// \file
/// The fundamental types of PTX.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tlc::emulator {

enum class Type : uint8_t {
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  bf16,
  f32,
  f64,
  f16x2,
  bf16x2,
  f32x2,
  u16x2,
  s16x2,
  e4m3,
  e5m2,
  e2m1,
  e2m3,
  e3m2,
  ue8m0,
  tf32,
  e4m3x2,
  e5m2x2,
  e2m1x2,
  e2m3x2,
  e3m2x2,
  ue8m0x2,
  e4m3x4,
  e5m2x4,
  e2m1x4,
  e2m3x4,
  e3m2x4,
};

/// "f32" to `Type::f32`; nothing for other words.
std::optional<Type> parseType(std::string_view word);
std::string_view toString(Type type);

/// Bytes of one element, which is also what a register of the type holds in
/// each lane. A predicate is a bit per lane, hence 0.
unsigned sizeInBytes(Type type);
/// The untyped bits of 1, 2, 4 or 8 bytes.
Type bitsOf(unsigned bytes);

bool isSigned(Type type);
bool isFloat(Type type);
/// Unsigned, signed or untyped integer of 8 to 64 bits.
bool isInteger(Type type);

} // namespace tlc::emulator
