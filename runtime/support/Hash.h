// SPDX-License-Identifier: Apache-2.0
/// \file
/// FNV-1a with 128 bits: short, portable and good enough to name content and
/// to notice damage. No protection against an adversary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tlc {

struct Hash128 {
  uint64_t high = 0x6c62272e07bb0142; ///< initially FNV's offset basis
  uint64_t low = 0x62b821756295c58d;

  bool operator==(const Hash128 &) const = default;

  void update(std::span<const std::byte> bytes) {
    // Multiplication by the FNV prime 2^88 + 0x13b, modulo 2^128.
    constexpr unsigned __int128 prime = (static_cast<unsigned __int128>(1) << 88) + 0x13b;
    unsigned __int128 state = (static_cast<unsigned __int128>(high) << 64) | low;
    for (std::byte byte : bytes)
      state = (state ^ static_cast<uint8_t>(byte)) * prime;
    high = static_cast<uint64_t>(state >> 64);
    low = static_cast<uint64_t>(state);
  }
};

} // namespace tlc
