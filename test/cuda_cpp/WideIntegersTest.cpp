// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integers of 128 bits and more: carries over several instructions.
#include "test/cuda_cpp/Run.h"

#include <catch2/catch.hpp>

using namespace tlc::test;

namespace {

using Wide = unsigned __int128;
using SignedWide = __int128;

/// Of every length.
std::vector<Wide> wideValues(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Wide> values(count);
  for (Wide &value : values) {
    value = Wide(random()) << 64 | random();
    value >>= random() % 128;
    if (random() % 4 == 0)
      value = ~value;
  }
  return values;
}

size_t differences(const std::vector<Wide> &result, const std::vector<Wide> &expected) {
  size_t count = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    count += result[i] != expected[i];
  return count;
}

} // namespace

TEST_CASE("128-bit sums, differences, products and shifts", "[cuda-cpp][wide]") {
  const auto a = wideValues(128, 1), b = wideValues(128, 2);
  const auto out = run({.source = R"(
typedef unsigned __int128 Wide;
extern "C" __global__ void k(const Wide *a, const Wide *b, Wide *out) {
  const int i = threadIdx.x, shift = (int)(b[i] & 127);
  const Wide x = a[i], y = b[i];
  out[6 * i] = x + y;
  out[6 * i + 1] = x - y;
  out[6 * i + 2] = x * y;
  out[6 * i + 3] = x << shift;
  out[6 * i + 4] = (Wide)((__int128)x >> shift) ^ (x >> (127 - shift));
  out[6 * i + 5] = (x < y) + 2 * ((__int128)x < (__int128)y) + 4 * (x == y) + 8 * ((__int128)x >= -(__int128)y);
})",
                        .arrays = {bytesOf(a), bytesOf(b), Bytes(128 * 96)}});
  std::vector<Wide> expected;
  for (size_t i = 0; i < 128; ++i) {
    const Wide x = a[i], y = b[i];
    const int shift = int(y & 127);
    for (Wide value : {x + y, x - y, x * y, x << shift, Wide(SignedWide(x) >> shift) ^ (x >> (127 - shift)),
                       Wide((x < y) + 2 * (SignedWide(x) < SignedWide(y)) + 4 * (x == y) +
                            8 * (SignedWide(x) >= SignedWide(-y)))})
      expected.push_back(value);
  }
  CHECK(differences(valuesOf<Wide>(out[2]), expected) == 0);
}

TEST_CASE("128-bit quotients and remainders", "[cuda-cpp][wide]") {
  const auto a = wideValues(128, 3);
  auto b = wideValues(128, 4);
  for (Wide &value : b)
    value |= 1;
  const auto out = run({.source = R"(
typedef unsigned __int128 Wide;
extern "C" __global__ void k(const Wide *a, const Wide *b, Wide *out) {
  const int i = threadIdx.x;
  out[4 * i] = a[i] / b[i];
  out[4 * i + 1] = a[i] % b[i];
  out[4 * i + 2] = (Wide)((__int128)a[i] / (__int128)b[i]);
  out[4 * i + 3] = (Wide)((__int128)a[i] % (__int128)b[i]);
})",
                        .arrays = {bytesOf(a), bytesOf(b), Bytes(128 * 64)}});
  std::vector<Wide> expected;
  for (size_t i = 0; i < 128; ++i)
    for (Wide value : {a[i] / b[i], a[i] % b[i], Wide(SignedWide(a[i]) / SignedWide(b[i])),
                       Wide(SignedWide(a[i]) % SignedWide(b[i]))})
      expected.push_back(value);
  CHECK(differences(valuesOf<Wide>(out[2]), expected) == 0);
}

TEST_CASE("powers modulo a prime of 61 bits", "[cuda-cpp][wide]") {
  const auto base = randomValues<uint64_t>(64, 2, UINT64_MAX, 5),
             exponent = randomValues<uint64_t>(64, 1, UINT64_MAX, 6);
  const auto out = run({.source = R"(
typedef unsigned long long Word;
__device__ Word multiply(Word a, Word b, Word prime) { return (Word)((unsigned __int128)a * b % prime); }
extern "C" __global__ void k(const Word *base, const Word *exponent, Word *out) {
  const Word prime = (1ull << 61) - 1;
  Word result = 1, power = base[threadIdx.x] % prime;
  for (Word left = exponent[threadIdx.x] >> 40; left; left >>= 1) {
    if (left & 1)
      result = multiply(result, power, prime);
    power = multiply(power, power, prime);
  }
  out[threadIdx.x] = result;
})",
                        .threads = 64,
                        .arrays = {bytesOf(base), bytesOf(exponent), Bytes(512)}});
  const uint64_t prime = (uint64_t(1) << 61) - 1;
  std::vector<uint64_t> expected;
  for (size_t i = 0; i < 64; ++i) {
    uint64_t result = 1, power = base[i] % prime;
    for (uint64_t left = exponent[i] >> 40; left; left >>= 1) {
      if (left & 1)
        result = uint64_t(Wide(result) * power % prime);
      power = uint64_t(Wide(power) * power % prime);
    }
    expected.push_back(result);
  }
  CHECK(valuesOf<uint64_t>(out[2]) == expected);
}

TEST_CASE("256-bit numbers by carries in inline PTX", "[cuda-cpp][wide]") {
  const auto a = wideValues(128, 7), b = wideValues(128, 8);
  const auto out = run({.source = R"(
typedef unsigned long long Word;
struct Number { Word w[4]; };
extern "C" __global__ void k(const Number *a, const Number *b, Number *out) {
  const int i = threadIdx.x;
  const Number x = a[i], y = b[i];
  Number sum, difference, small;
  asm("add.cc.u64 %0, %4, %8; addc.cc.u64 %1, %5, %9; addc.cc.u64 %2, %6, %10; addc.u64 %3, %7, %11;"
      : "=l"(sum.w[0]), "=l"(sum.w[1]), "=l"(sum.w[2]), "=l"(sum.w[3])
      : "l"(x.w[0]), "l"(x.w[1]), "l"(x.w[2]), "l"(x.w[3]), "l"(y.w[0]), "l"(y.w[1]), "l"(y.w[2]), "l"(y.w[3]));
  asm("sub.cc.u64 %0, %4, %8; subc.cc.u64 %1, %5, %9; subc.cc.u64 %2, %6, %10; subc.u64 %3, %7, %11;"
      : "=l"(difference.w[0]), "=l"(difference.w[1]), "=l"(difference.w[2]), "=l"(difference.w[3])
      : "l"(x.w[0]), "l"(x.w[1]), "l"(x.w[2]), "l"(x.w[3]), "l"(y.w[0]), "l"(y.w[1]), "l"(y.w[2]), "l"(y.w[3]));
  asm("mad.lo.cc.u64 %0, %2, %3, %4; madc.hi.u64 %1, %2, %3, %5;" : "=l"(small.w[0]), "=l"(small.w[1])
      : "l"(x.w[0]), "l"(y.w[0]), "l"(x.w[1]), "l"(y.w[1]));
  unsigned carry, borrow;
  asm("add.cc.u64 %0, %2, %3; addc.u32 %1, 0, 0;" : "=l"(small.w[2]), "=r"(carry) : "l"(x.w[3]), "l"(y.w[3]));
  asm("sub.cc.u64 %0, %2, %3; subc.u32 %1, 0, 0;" : "=l"(small.w[3]), "=r"(borrow) : "l"(x.w[3]), "l"(y.w[3]));
  small.w[2] += carry;
  small.w[3] += borrow;
  out[3 * i] = sum;
  out[3 * i + 1] = difference;
  out[3 * i + 2] = small;
})",
                        .threads = 64,
                        .arrays = {bytesOf(a), bytesOf(b), Bytes(64 * 96)}});
  const auto result = valuesOf<Wide>(out[2]);
  size_t wrong = 0;
  for (size_t i = 0; i < 64; ++i) {
    const Wide *x = &a[2 * i], *y = &b[2 * i], *mine = &result[6 * i];
    const Wide low = x[0] + y[0], lowDifference = x[0] - y[0];
    wrong += mine[0] != low || mine[1] != x[1] + y[1] + (low < x[0]);
    wrong += mine[2] != lowDifference || mine[3] != x[1] - y[1] - (x[0] < y[0]);
    const uint64_t x0 = uint64_t(x[0]), y0 = uint64_t(y[0]), x3 = uint64_t(x[1] >> 64),
                   y3 = uint64_t(y[1] >> 64);
    const Wide product = Wide(x0) * y0 + (x[0] >> 64) + (Wide(uint64_t(y[0] >> 64)) << 64);
    wrong += mine[4] != product;
    wrong += uint64_t(mine[5]) != x3 + y3 + (x3 + y3 < x3);
    wrong += uint64_t(mine[5] >> 64) != x3 - y3 + (x3 < y3 ? 0xFFFFFFFF : 0);
  }
  CHECK(wrong == 0);
}
