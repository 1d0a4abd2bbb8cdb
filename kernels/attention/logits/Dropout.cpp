// SPDX-License-Identifier: Apache-2.0
/// \file
/// Philox, element by element of a tile.
#include "kernels/attention/logits/Dropout.h"

#include <array>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// kernels::philox of each counter.
std::array<FragmentValue, 4> philoxWords(std::array<FragmentValue, 4> word,
                                         std::array<FragmentValue, 2> key) {
  for (int round = 0; round < AttentionProblem::philoxRounds; ++round) {
    FragmentValue p = word[0].to(i64) * 0xD2511F53u, q = word[2].to(i64) * 0xCD9E8D57u; // 64 bits each
    word = {(q >> 32).to(u32) ^ word[1] ^ key[0], q.to(u32), (p >> 32).to(u32) ^ word[3] ^ key[1], p.to(u32)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return word;
}

} // namespace

Dropout::Dropout(Scope &k, const Inputs &inputs) : k(k), inputs(inputs) {
  if (!inputs.problem.drops())
    return;
  seed = k.fragment(i64, {1, 1});
  offset = k.fragment(i64, {1, 1});
  copy(inputs.philox.tile({0}, {1}), seed);
  copy(inputs.philox.tile({1}, {1}), offset);
}

Predicate Dropout::stays(const Sequence &sequence, const ScoreTile &at, const Shape &shape) const {
  // A thread's places of an accumulator are multiples of 8 apart. Counted from a multiple of 32 they differ
  // in bits that LLVM knows, so that it computes the words of a counter once.
  struct Places {
    FragmentValue base, rest; ///< a multiple of 32, and what is to be added
  };
  auto places = [&](Axis axis, const Index &first) -> Places {
    const FragmentValue begin = k.fragment(i32, {1, 1}) + first.to(i32), over = begin & 31;
    return {begin - over,
            (axis == at.rows ? k.positions({shape[0], 1}, 0) : k.positions({1, shape[1]}, 1)) + over};
  };
  const Places query = places(Axis::queries, at.firstQuery), key = places(Axis::keys, at.firstKey);
  auto group = [](const Places &of, int64_t members) { return (of.base + (of.rest & ~members)).to(u32); };
  const Index matrix = sequence.batch * inputs.heads + sequence.head;
  const FragmentValue zero = k.fragment(u32, shape);
  const std::array<FragmentValue, 4> word =
      philoxWords({group(key, 8 | 16) + zero, group(query, 8) + zero, zero + matrix.to(i32).to(u32),
                   zero + offset.to(u32)},
                  {seed.to(u32), (seed >> 32).to(u32) ^ (offset >> 32).to(u32)});
  auto ofKey = [&](const FragmentValue &one, const FragmentValue &other) {
    return where((key.rest & 8) == 0, one, other);
  };
  const FragmentValue chosen = where((query.rest & 8) == 0, ofKey(word[0], word[1]), ofKey(word[2], word[3]));
  return (where((key.rest & 16) == 0, chosen, chosen >> 16) & 0xffff) >= inputs.problem.leastKept();
}

} // namespace tlc::kernels
