// SPDX-License-Identifier: Apache-2.0
/// \file
/// Philox on the host.
#include "kernels/reference/Philox.h"

namespace tlc::kernels {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p = uint64_t(counter[0]) * 0xD2511F53u, q = uint64_t(counter[2]) * 0xCD9E8D57u;
    counter = {uint32_t(q >> 32) ^ counter[1] ^ key[0], uint32_t(q), uint32_t(p >> 32) ^ counter[3] ^ key[1],
               uint32_t(p)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

uint32_t PhiloxState::wordAt(uint32_t matrix, uint32_t query, uint32_t key) const {
  // Rows 8 apart, and columns 8 apart, share a counter.
  auto group = [](uint32_t place) { return place & ~8u; };
  auto half = [](uint32_t place) { return place / 8 % 2; };
  const auto words =
      philox({group(key), group(query), matrix, uint32_t(offset)},
             {uint32_t(seed), uint32_t(uint64_t(seed) >> 32) ^ uint32_t(uint64_t(offset) >> 32)});
  return words[2 * half(query) + half(key)];
}

} // namespace tlc::kernels
