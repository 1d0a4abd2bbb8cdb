// SPDX-License-Identifier: Apache-2.0
/// \file
/// Enums that are written once, as a list:
///
///     #define TLC_COLOURS(X) X(red) X(green)
///     TLC_ENUM(Colour, TLC_COLOURS)
///     TLC_ENUM_NAMES(Colour, TLC_COLOURS)
///
/// is `enum class Colour { red, green, last = green }` and `toString(Colour)`. TableGen has enums of its own:
/// `TLC_ENUM_CONVERSION` converts one with the same values, and does not compile where one is missing on
/// either side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#define TLC_ENUM_VALUE(name) name,
#define TLC_ENUM_ONE(name) +1
#define TLC_ENUM_NAME(name) #name,
#define TLC_ENUM_CASE(name)                                                                                  \
  case From::name:                                                                                           \
    return To::name;

#define TLC_ENUM(Name, LIST)                                                                                 \
  enum class Name : uint8_t { LIST(TLC_ENUM_VALUE) last = 0 LIST(TLC_ENUM_ONE) - 1 };

#define TLC_ENUM_NAMES(Name, LIST)                                                                           \
  constexpr std::string_view toString(Name value) {                                                          \
    constexpr std::string_view names[] = {LIST(TLC_ENUM_NAME)};                                              \
    return names[size_t(value)];                                                                             \
  }

/// `ToEnum function(FromEnum)`: the value of the same name.
#define TLC_ENUM_CONVERSION(function, FromEnum, ToEnum, LIST)                                                \
  constexpr ToEnum function(FromEnum value) {                                                                \
    using From = FromEnum;                                                                                   \
    using To = ToEnum;                                                                                       \
    switch (value) { LIST(TLC_ENUM_CASE) }                                                                   \
    return {};                                                                                               \
  }
