// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Key.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

using namespace tlc;

namespace {

std::array<std::byte, 8> bytesOf(uint64_t value) {
  std::array<std::byte, 8> bytes;
  for (std::byte &byte : bytes) {
    byte = std::byte(value & 0xff);
    value >>= 8;
  }
  return bytes;
}

} // namespace

std::string Key::toHex() const { return fmt::format("{:016x}{:016x}", hash.high, hash.low); }

std::optional<Key> Key::parse(std::string_view hex) {
  constexpr size_t digits = 32;
  const auto isDigit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (hex.size() != digits || !std::ranges::all_of(hex, isDigit))
    return std::nullopt;
  Key key;
  const char *middle = hex.data() + digits / 2;
  std::from_chars(hex.data(), middle, key.hash.high, 16);
  std::from_chars(middle, hex.data() + digits, key.hash.low, 16);
  return key;
}

KeyBuilder &KeyBuilder::add(std::string_view part) {
  hash.update(bytesOf(part.size()));
  hash.update(std::as_bytes(std::span(part)));
  return *this;
}

KeyBuilder &KeyBuilder::add(int64_t part) {
  hash.update(bytesOf(part));
  return *this;
}
