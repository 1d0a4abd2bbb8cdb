// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/ptx/Type.h"

#include <array>

namespace tlc::emulator {

namespace {

struct TypeInfo {
  std::string_view name;
  unsigned bytes;
};

// In the order of the enumeration.
constexpr std::array<TypeInfo, 41> types = {{
    {"pred", 0},    {"b8", 1},     {"b16", 2},    {"b32", 4},    {"b64", 8},    {"b128", 16},  {"u8", 1},
    {"u16", 2},     {"u32", 4},    {"u64", 8},    {"s8", 1},     {"s16", 2},    {"s32", 4},    {"s64", 8},
    {"f16", 2},     {"bf16", 2},   {"f32", 4},    {"f64", 8},    {"f16x2", 4},  {"bf16x2", 4}, {"f32x2", 8},
    {"u16x2", 4},   {"s16x2", 4},  {"e4m3", 1},   {"e5m2", 1},   {"e2m1", 1},   {"e2m3", 1},   {"e3m2", 1},
    {"ue8m0", 1},   {"tf32", 4},   {"e4m3x2", 2}, {"e5m2x2", 2}, {"e2m1x2", 1}, {"e2m3x2", 2}, {"e3m2x2", 2},
    {"ue8m0x2", 2}, {"e4m3x4", 4}, {"e5m2x4", 4}, {"e2m1x4", 2}, {"e2m3x4", 4}, {"e3m2x4", 4},
}};

} // namespace

std::optional<Type> parseType(std::string_view word) {
  for (size_t i = 0; i < types.size(); ++i)
    if (types[i].name == word)
      return Type(i);
  return std::nullopt;
}

std::string_view toString(Type type) { return types[size_t(type)].name; }
unsigned sizeInBytes(Type type) { return types[size_t(type)].bytes; }

Type bitsOf(unsigned bytes) {
  return bytes == 1 ? Type::b8 : bytes == 2 ? Type::b16 : bytes == 4 ? Type::b32 : Type::b64;
}

bool isSigned(Type type) { return type >= Type::s8 && type <= Type::s64; }
bool isFloat(Type type) {
  return (type >= Type::f16 && type <= Type::f32x2) || (type >= Type::e4m3 && type <= Type::e3m2x4);
}
bool isInteger(Type type) { return type >= Type::b8 && type <= Type::s64 && type != Type::b128; }

} // namespace tlc::emulator
