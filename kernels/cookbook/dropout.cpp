// SPDX-License-Identifier: Apache-2.0
/// \file
/// Dropout with a counter-based generator: an element of X is 0 with a chance p, otherwise divided by 1 - p.
///
/// X and Y are [rows, columns], bf16. Random bits are those of Philox 4 x 32 with 10 rounds: four words of 32
/// bits that depend on nothing but the seed and a counter. The counter is half of the column's number and a
/// quarter of the row's. So four rows and two columns share a counter: each row has a word, and each column
/// 16 of its bits, so that p is a multiple of 2^-16. The same elements are dropped whatever the tiles, and
/// the gradient drops them again: it is the same kernel with dY for X.
///
/// A tile is 16 rows of 256 columns. It has four parts, of every fourth row: then all arithmetic is element
/// by element, and a thread has 8 elements of each part, one vector, for which it computes four counters.
/// Tiles are narrow, as bits are also computed for columns beyond the end of a row, and are taken row by row,
/// as memory has them.
#include <array>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr uint32_t factors[] = {0xD2511F53u, 0xCD9E8D57u}, steps[] = {0x9E3779B9u, 0xBB67AE85u};
constexpr int64_t rows = 4, width = 256; ///< of a part

/// Bits from here on keep their element.
constexpr uint32_t leastKept(int64_t drop) { return uint32_t((drop << 16) / 100); }

/// Four words of random bits for each counter.
std::array<FragmentValue, 4> philox(Scope &k, const FragmentValue &row, const FragmentValue &column,
                                    int64_t seed) {
  FragmentValue zero = k.fragment(u32, {rows, width});
  std::array<FragmentValue, 4> word = {column.to(u32) + zero, row.to(u32) + zero, zero, zero};
  uint32_t keys[] = {uint32_t(seed), 0};
  for (int round = 0; round < 10; ++round) {
    FragmentValue p = word[0].to(i64) * factors[0], q = word[2].to(i64) * factors[1]; // 64 bits each
    word = {(q >> 32).to(u32) ^ word[1] ^ keys[0], q.to(u32), (p >> 32).to(u32) ^ word[3] ^ keys[1],
            p.to(u32)};
    keys[0] += steps[0];
    keys[1] += steps[1];
  }
  return word;
}

void dropout(Scope &k, const Values &v) {
  const int64_t drop = v["drop"]; // per cent
  Index m = k.dim("rows"), n = k.dim("columns");
  Global X = k.input("X", bf16, {m, n}), Y = k.output("Y", bf16, {m, n});
  k.residents(7); // while some load, others compute
  Index across = ceilDiv(n, width);
  auto [block] = k.grid(ceilDiv(m, 4 * rows) * across);
  Index i = block / across, j = block % across;
  FragmentValue row = k.positions({rows, 1}, 0) + (i * rows).to(i32);
  FragmentValue column = k.positions({1, width}, 1) + (j * width).to(i32);
  auto part = [&](const Global &tensor, size_t number) {
    return tensor.tile({(row * 4 + int64_t(number)).toIndex(), j * width}, {rows, width});
  };
  std::vector<Fragment> x; // loads are under way while the bits are computed
  for (size_t number = 0; number < 4; ++number) {
    x.push_back(k.fragment(bf16, {rows, width}));
    copy(part(X, number), x.back());
  }
  std::array<FragmentValue, 4> word = philox(k, row, column >> 1, v["seed"]);
  FragmentValue shift = ((column & 1) * 16).to(u32);
  for (size_t number = 0; number < 4; ++number) {
    FragmentValue kept = x[number].to(f32) * (100.0 / double(100 - drop));
    copy(where(((word[number] >> shift) & 0xffffu) >= leastKept(drop), kept, 0).to(bf16),
         part(Y, number).disjoint("a row is in one part"));
  }
}

/// One word of a counter's, on the host.
uint32_t philoxWord(std::array<uint32_t, 4> word, uint32_t seed, size_t number) {
  uint32_t keys[] = {seed, 0};
  for (int round = 0; round < 10; ++round) {
    const uint64_t p = uint64_t(word[0]) * factors[0], q = uint64_t(word[2]) * factors[1];
    word = {uint32_t(q >> 32) ^ word[1] ^ keys[0], uint32_t(q), uint32_t(p >> 32) ^ word[3] ^ keys[1],
            uint32_t(p)};
    keys[0] += steps[0];
    keys[1] += steps[1];
  }
  return word[number];
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("dropout", "elements of X, each 0 with a chance of drop, by Philox's random bits")
      .size("rows", 8192, {.onEmulator = 7})
      .size("columns", 8192, {.onEmulator = 2504})
      .constant("seed", 1234)
      .constant("drop", 10, {.least = 0, .most = 99, .help = "chance in per cent"})
      .program(dropout)
      .reference("Y",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X");
                   const int64_t drop = in.values["drop"];
                   return [=, seed = uint32_t(in.values["seed"])](int64_t i, int64_t j) {
                     const uint32_t word =
                         philoxWord({uint32_t(j / 2), uint32_t(i / 4), 0, 0}, seed, size_t(i % 4));
                     return (word >> j % 2 * 16 & 0xffff) >= leastKept(drop)
                                ? X(i, j) * 100 / double(100 - drop)
                                : 0;
                   };
                 })
      .flops([](const Values &v) { return 20.0 * double(v["rows"]) * double(v["columns"]); })
      .bench({{"rows", "16384"}});
}
