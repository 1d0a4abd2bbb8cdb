// SPDX-License-Identifier: Apache-2.0
/// \file
/// From PTX types to host types, while decoding.
#pragma once

#include "runtime/emulator/exec/decode/Decoder.h"

namespace tlc::emulator {

/// Calls `f` with a value of the host type; false for other types.
template <class F> bool withInteger(Type type, F f) {
  switch (type) {
  case Type::u16:
    return f(uint16_t()), true;
  case Type::s16:
    return f(int16_t()), true;
  case Type::u32:
    return f(uint32_t()), true;
  case Type::s32:
    return f(int32_t()), true;
  case Type::u64:
    return f(uint64_t()), true;
  case Type::s64:
    return f(int64_t()), true;
  default:
    return false;
  }
}
/// The unsigned host type of the type's size.
template <class F> bool withBits(Type type, F f) {
  switch (sizeInBytes(type)) {
  case 1:
    return f(uint8_t()), true;
  case 2:
    return f(uint16_t()), true;
  case 4:
    return f(uint32_t()), true;
  case 8:
    return f(uint64_t()), true;
  default:
    return false;
  }
}

inline void failForType(Decoder &decoder, Type type) {
  decoder.fail("'{}' has no form for type .{}", decoder.at().fullName(), toString(type));
}

} // namespace tlc::emulator
