// SPDX-License-Identifier: Apache-2.0
/// \file
/// The element types of tensors, their sizes and their names in text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tlc {

/// `e4m3`: floats of 8 bits without infinities, up to 448.
enum class ElementType : uint8_t { i8, i32, i64, f16, bf16, f32, f64, e4m3 };

inline constexpr std::array allElementTypes = {ElementType::i8,  ElementType::i32,  ElementType::i64,
                                               ElementType::f16, ElementType::bf16, ElementType::f32,
                                               ElementType::f64, ElementType::e4m3};

/// Size of one element in bytes.
constexpr unsigned sizeInBytes(ElementType type) {
  switch (type) {
  case ElementType::i8:
  case ElementType::e4m3:
    return 1;
  case ElementType::f16:
  case ElementType::bf16:
    return 2;
  case ElementType::i32:
  case ElementType::f32:
    return 4;
  case ElementType::i64:
  case ElementType::f64:
    return 8;
  }
  return 0;
}

constexpr std::string_view toString(ElementType type) {
  switch (type) {
  case ElementType::i8:
    return "i8";
  case ElementType::i32:
    return "i32";
  case ElementType::i64:
    return "i64";
  case ElementType::f16:
    return "f16";
  case ElementType::bf16:
    return "bf16";
  case ElementType::f32:
    return "f32";
  case ElementType::f64:
    return "f64";
  case ElementType::e4m3:
    return "e4m3";
  }
  return "";
}

constexpr std::optional<ElementType> parseElementType(std::string_view text) {
  for (ElementType type : allElementTypes) {
    if (toString(type) == text)
      return type;
  }
  return std::nullopt;
}

} // namespace tlc
