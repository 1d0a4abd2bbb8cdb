// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Key.h"

#include <array>
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

KeyBuilder &KeyBuilder::add(std::string_view part) {
  hash.update(bytesOf(part.size()));
  hash.update(std::as_bytes(std::span(part)));
  return *this;
}

KeyBuilder &KeyBuilder::add(int64_t part) {
  hash.update(bytesOf(part));
  return *this;
}
