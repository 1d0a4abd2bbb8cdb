// SPDX-License-Identifier: Apache-2.0
/// \file
/// Philox on the host.
#include "kernels/reference/Philox.h"

#include "kernels/attention/problem/Options.h"

namespace tlc::kernels {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const uint64_t p = uint64_t(counter[0]) * 0xD2511F53u, q = uint64_t(counter[2]) * 0xCD9E8D57u;
    counter = {uint32_t(q >> 32) ^ counter[1] ^ key[0], uint32_t(q), uint32_t(p >> 32) ^ counter[3] ^ key[1],
               uint32_t(p)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

uint32_t PhiloxState::bitsAt(uint32_t matrix, uint32_t query, uint32_t key) const {
  // Queries 8 apart, and keys 8, 16 and 24 apart, share a counter.
  const auto words =
      philox({key & ~24u, query & ~8u, matrix, uint32_t(offset)},
             {uint32_t(seed), uint32_t(uint64_t(seed) >> 32) ^ uint32_t(uint64_t(offset) >> 32)},
             AttentionProblem::philoxRounds);
  return words[query / 8 % 2 * 2 + key / 8 % 2] >> (key / 16 % 2 * 16) & 0xffff;
}

} // namespace tlc::kernels
