// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values as bytes, for the way from one process to another of the same program.
#pragma once

#include <algorithm>
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

/// Reads what a `Packer` wrote, in the same order; zeros and empty texts after its end.
class Unpacker {
public:
  explicit Unpacker(std::string_view bytes) : bytes(bytes) {}

  template <class T> T get() {
    T value = {};
    if (bytes.size() >= sizeof(value)) {
      std::memcpy(&value, bytes.data(), sizeof(value));
      bytes.remove_prefix(sizeof(value));
    }
    return value;
  }
  std::string text() {
    const uint64_t size = std::min<uint64_t>(get<uint64_t>(), bytes.size());
    std::string result(bytes.substr(0, size));
    bytes.remove_prefix(size);
    return result;
  }

private:
  std::string_view bytes;
};

} // namespace tlc::kernels
