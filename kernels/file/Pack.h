// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values as bytes, for the way from one process to another of the same program.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace tlc::kernels {

class Packer {
public:
  template <class T>
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
  Packer &add(T value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
    return *this;
  }
  Packer &add(std::string_view text) {
    add(uint64_t(text.size()));
    bytes += text;
    return *this;
  }
  std::string take() { return std::move(bytes); }

private:
  std::string bytes;
};

/// Reads what a `Packer` wrote, in the same order. Other bytes give zeros, empty texts and small counts, and
/// `isWhole` is false at the end.
class Unpacker {
public:
  explicit Unpacker(std::string_view bytes) : bytes(bytes) {}

  template <class T>
    requires std::is_arithmetic_v<T>
  T get() {
    T value = {};
    if (bytes.size() < sizeof(value)) {
      fail();
    } else if constexpr (std::is_same_v<T, bool>) {
      value = bytes.front() != '\0';
      bytes.remove_prefix(1);
    } else {
      std::memcpy(&value, bytes.data(), sizeof(value));
      bytes.remove_prefix(sizeof(value));
    }
    return value;
  }
  /// A value up to `last`.
  template <class T>
    requires std::is_enum_v<T>
  T get(T last) {
    using Number = std::underlying_type_t<T>;
    const Number number = get<Number>();
    if (number >= Number{} && number <= Number(last))
      return T(number);
    fail();
    return {};
  }
  std::string text() {
    const uint64_t size = count(1);
    std::string result(bytes.substr(0, size));
    bytes.remove_prefix(size);
    return result;
  }
  /// A number of elements that take at least `leastBytes` each: a text has its size.
  size_t count(size_t leastBytes = sizeof(uint64_t)) {
    const auto elements = get<uint64_t>();
    if (elements <= bytes.size() / leastBytes)
      return elements;
    fail();
    return 0;
  }
  /// Nothing was missing or is left.
  bool isWhole() const { return !failed && bytes.empty(); }

private:
  void fail() {
    failed = true;
    bytes = {};
  }

  std::string_view bytes;
  bool failed = false;
};

} // namespace tlc::kernels
