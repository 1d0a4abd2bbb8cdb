// SPDX-License-Identifier: Apache-2.0
/// \file
/// The sums of floating-point matrix instructions, bit for bit as an H200 makes
/// them. The ISA leaves them open; the rules below were found from recorded
/// results (docs/emulator.md) and hold for every one of them.
///
/// All products of an instruction and the accumulator are one sum. Its terms are
/// exact; each is cut, towards zero, to a multiple of 2^(E - fraction), where E
/// is the largest exponent among them: of a product the sum of its factors'
/// exponents, without normalising it; a subnormal's is that of the smallest
/// normal number. What is left is added exactly and cut to the result's bits, or, of an
/// f16, rounded to the nearest.
#pragma once

#include "runtime/emulator/math/HostVectors.h"
#include "runtime/emulator/math/MatrixElements.h"

#include <cmath>

namespace tlc::emulator {

struct SumRules {
  int fraction = 25;
  int resultFraction = 23;
  int leastExponentA = -126, leastExponentB = -126;
  /// The last bit of a result stands for all that is cut, so that it is still rounded right to an f16.
  bool marksCut = false;
};

constexpr int leastExponent(MatrixElement element) {
  switch (element) {
  case MatrixElement::f16:
  case MatrixElement::e5m2:
    return -14;
  case MatrixElement::e4m3:
    return -6;
  default:
    return -126;
  }
}

/// The narrow sums are those of 8-bit operands in wgmma.
enum class SumWidth : uint8_t { wide, narrow };
constexpr SumRules sumRules(SumWidth width, MatrixElement a, MatrixElement b, MatrixElement accumulator) {
  const bool narrow = width == SumWidth::narrow;
  return {narrow ? 13 : 25, narrow && accumulator == MatrixElement::f32 ? 13 : 23, leastExponent(a),
          leastExponent(b), accumulator == MatrixElement::f16};
}

/// Exponents of a zero, which no sum with another brings near those of numbers,
/// and of infinities and NaN.
inline constexpr int16_t zeroExponent = -4000, specialExponent = 12000;

inline int16_t sumExponent(float value, int least) {
  const uint32_t bits = std::bit_cast<uint32_t>(value) & 0x7FFFFFFF;
  if (bits == 0)
    return zeroExponent;
  return bits >= 0x7F800000 ? specialExponent : int16_t(std::max(int(bits >> 23) - 127, least));
}

/// `depth` terms a[i] * b[i * stride] and the accumulator, in any range.
float sumOfProducts(const float *a, unsigned strideA, const float *b, unsigned strideB, unsigned depth,
                    float accumulator, SumRules rules);

/// What the loops below work on is half an accumulator register of a warp: lanes 4 r + t hold
/// four rows r by four columns t, the even or the odd ones of eight.
inline constexpr unsigned sumRows = 4, sumColumns = 4, sumLanes = sumRows * sumColumns, maxSumDepth = 64;

/// Operands as they lie in memory, up to 64 bytes of each row or column: [k][row or column].
struct RawPanel {
  alignas(64) std::byte bytes[4 * 64];

  template <class Raw> void set(unsigned line, unsigned k, Raw element) {
    std::memcpy(bytes + (k * 4 + line) * sizeof(Raw), &element, sizeof(Raw));
  }
};

/// Four rows of A, each repeated for its four lanes.
struct RowPanel {
  alignas(64) float values[maxSumDepth][sumLanes];
  alignas(64) int16_t exponents[maxSumDepth][sumLanes];
};
/// Four columns of B.
struct ColumnPanel {
  alignas(64) float values[maxSumDepth][sumColumns];
  alignas(64) int16_t exponents[maxSumDepth][sumColumns];
};

/// A column among its eight: the half of the register pair that it is in, and its place there.
constexpr unsigned columnHalf(unsigned column) { return column % 2; }
constexpr unsigned columnPlace(unsigned column) { return column % 8 / 2; }

TLC_WITH_CALLER void decodePanel(const RawPanel &raw, MatrixElement element, unsigned depth, int least,
                                 ColumnPanel &panel) {
  float *const values = &panel.values[0][0];
  decodeElements(element, raw.bytes, depth * 4 * elementBits(element) / 8, values);
  for (unsigned i = 0; i < depth * 4; ++i)
    (&panel.exponents[0][0])[i] = sumExponent(values[i], least);
}

/// `sign` is 1 or -1.
TLC_WITH_CALLER void decodePanel(const RawPanel &raw, MatrixElement element, unsigned depth, int least,
                                 float sign, RowPanel &panel) {
  ColumnPanel once;
  decodePanel(raw, element, depth, least, once);
  for (unsigned k = 0; k < depth; ++k)
    for (unsigned row = 0; row < sumRows; ++row)
      for (unsigned t = 0; t < sumColumns; ++t) {
        panel.values[k][row * sumColumns + t] = once.values[k][row] * sign;
        panel.exponents[k][row * sumColumns + t] = once.exponents[k][row];
      }
}

/// With the canonical NaN in place of any other.
inline float canonical(float value) { return std::bit_cast<float>(floatResult(value)); }

/// A sum as an f16; a zero is positive, however it came about.
inline uint16_t sumToF16(float sum) {
  const uint16_t bits = floatToF16(sum);
  return bits == 0x8000 ? 0 : bits;
}

using SumFloats = float __attribute__((vector_size(64)));
using SumWords = int32_t __attribute__((vector_size(64)));

namespace detail {

using SumExponents = int16_t __attribute__((vector_size(32)));

/// Within these every step below is exact in f32 and i32.
inline constexpr int16_t fastLeast = -90, fastMost = 100;

/// 2^exponent for exponents of normal numbers.
TLC_WITH_CALLER SumFloats powerOfTwo(SumWords exponent) { return (SumFloats)((exponent + 127) << 23); }

template <class To, class From> TLC_WITH_CALLER To loadAs(const From *from) {
  To to;
  std::memcpy(&to, from, sizeof(to));
  return to;
}

/// Four columns, once for each row.
TLC_WITH_CALLER SumFloats repeat(const float (&columns)[sumColumns]) {
  using Four = float __attribute__((vector_size(16)));
  const Four four = loadAs<Four>(columns);
  return __builtin_shufflevector(four, four, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
}
TLC_WITH_CALLER SumExponents repeat(const int16_t (&columns)[sumColumns]) {
  using Four = int64_t __attribute__((vector_size(32)));
  const int64_t four = loadAs<int64_t>(columns);
  return (SumExponents)Four{four, four, four, four};
}

/// sumExponent, where infinities and NaN are merely too large.
TLC_WITH_CALLER SumExponents accumulatorExponents(SumFloats accumulators) {
  const SumWords magnitude = (SumWords)accumulators & 0x7FFFFFFF;
  const SumWords exponent = (magnitude >> 23) - 127 + ((magnitude == 0) & zeroExponent);
  return __builtin_convertvector(exponent, SumExponents);
}

template <class Vector> TLC_WITH_CALLER bool isAny(Vector mask) {
  uint64_t words[sizeof(Vector) / 8], any = 0;
  std::memcpy(words, &mask, sizeof(mask));
  for (uint64_t word : words)
    any |= word;
  return any != 0;
}

} // namespace detail

/// A pair of accumulator registers, eight rows by eight columns: [upper four rows][odd columns].
using SumPair = SumFloats[2][2];

/// sums becomes the sum of itself and the products of eight rows of A by eight columns of B.
TLC_WITH_CALLER void addProducts(const RowPanel *a, const ColumnPanel *b, unsigned depth, SumRules rules,
                                 SumPair &sums) {
  using namespace detail;
  const auto forHalves = [](auto act) TLC_LAMBDA_WITH_CALLER {
    for (unsigned upper = 0; upper < 2; ++upper)
      for (unsigned odd = 0; odd < 2; ++odd)
        act(upper, odd);
  };
  SumExponents most[2][2];
  forHalves([&](unsigned u, unsigned o)
                TLC_LAMBDA_WITH_CALLER { most[u][o] = accumulatorExponents(sums[u][o]); });
  for (unsigned k = 0; k < depth; ++k) {
    const SumExponents rows[] = {loadAs<SumExponents>(a[0].exponents[k]),
                                 loadAs<SumExponents>(a[1].exponents[k])};
    const SumExponents columns[] = {repeat(b[0].exponents[k]), repeat(b[1].exponents[k])};
    forHalves([&](unsigned u, unsigned o) TLC_LAMBDA_WITH_CALLER {
      const SumExponents exponents = rows[u] + columns[o];
      most[u][o] = exponents > most[u][o] ? exponents : most[u][o];
    });
  }
  SumFloats scale[2][2], unscale[2][2];
  SumWords slow[2][2], anySlow = {};
  forHalves([&](unsigned u, unsigned o) TLC_LAMBDA_WITH_CALLER {
    // Where there are only zeros any exponent will do.
    const SumExponents exponent = most[u][o] < int16_t(zeroExponent / 2) ? SumExponents{} : most[u][o];
    slow[u][o] = __builtin_convertvector((exponent < fastLeast) | (exponent > fastMost), SumWords);
    const SumWords wide = __builtin_convertvector(exponent, SumWords);
    scale[u][o] = powerOfTwo(rules.fraction - wide);
    unscale[u][o] = (SumFloats)(0x7F000000 - (SumWords)scale[u][o]); // 1 / scale
  });
  SumWords terms[2][2] = {};
  for (unsigned k = 0; k < depth; ++k) {
    const SumFloats rows[] = {loadAs<SumFloats>(a[0].values[k]), loadAs<SumFloats>(a[1].values[k])};
    const SumFloats columns[] = {repeat(b[0].values[k]), repeat(b[1].values[k])};
    forHalves([&](unsigned u, unsigned o) TLC_LAMBDA_WITH_CALLER {
      terms[u][o] += __builtin_convertvector(rows[u] * columns[o] * scale[u][o], SumWords); // cuts
    });
  }
  const int32_t kept = ~((1 << (23 - rules.resultFraction)) - 1), mark = rules.marksCut ? 1 : 0;
  SumPair results;
  forHalves([&](unsigned u, unsigned o) TLC_LAMBDA_WITH_CALLER {
    const SumWords accumulator = __builtin_convertvector(sums[u][o] * scale[u][o], SumWords);
    const SumWords sum = terms[u][o] + accumulator, sign = sum >> 31, magnitude = (sum ^ sign) - sign;
    slow[u][o] |= (((sum ^ terms[u][o]) & (sum ^ accumulator)) | magnitude) >> 31; // 2^31 and more
    anySlow |= slow[u][o];
    // Cuts to 24 bits: without the bit below those, the host's rounding to nearest rounds down.
    const SumFloats cut = __builtin_convertvector(magnitude & ~(magnitude >> 24), SumFloats);
    const SumWords rest = (__builtin_convertvector(cut, SumWords) != magnitude) & mark;
    results[u][o] = (SumFloats)(((SumWords)cut & kept) | rest | (sign << 31)) * unscale[u][o];
  });
  if (isAny(anySlow)) [[unlikely]]
    forHalves([&](unsigned u, unsigned o) TLC_LAMBDA_WITH_CALLER {
      for (unsigned lane = 0; lane < sumLanes; ++lane)
        if (slow[u][o][lane])
          results[u][o][lane] =
              canonical(sumOfProducts(&a[u].values[0][lane], sumLanes, &b[o].values[0][lane % sumColumns],
                                      sumColumns, depth, sums[u][o][lane], rules));
    });
  std::memcpy(sums, results, sizeof(results));
}

/// The sums of products of integers, which floats hold exactly.
TLC_WITH_CALLER SumFloats sumOfIntegers(const RowPanel &a, const ColumnPanel &b, unsigned depth) {
  SumFloats sums = {};
  for (unsigned k = 0; k < depth; ++k)
    sums += detail::loadAs<SumFloats>(a.values[k]) * detail::repeat(b.values[k]);
  return sums;
}

/// The pair's registers: in f32 the odd columns are a register further, in f16 in the upper halves
/// of the same words.
template <MatrixElement accumulator> TLC_WITH_CALLER void loadSums(const uint32_t *words, SumPair &sums) {
  float values[2][2][sumLanes];
  for (unsigned upper = 0; upper < 2; ++upper)
    for (unsigned odd = 0; odd < 2; ++odd)
      for (unsigned lane = 0; lane < sumLanes; ++lane) {
        const uint32_t *word = words + upper * sumLanes + lane;
        values[upper][odd][lane] = accumulator == MatrixElement::f16 ? f16ToFloat(uint16_t(*word >> 16 * odd))
                                                                     : std::bit_cast<float>(word[32 * odd]);
      }
  std::memcpy(sums, values, sizeof(values));
}

template <MatrixElement accumulator> TLC_WITH_CALLER void storeSums(const SumPair &sums, uint32_t *words) {
  float values[2][2][sumLanes];
  std::memcpy(values, sums, sizeof(values));
  for (unsigned upper = 0; upper < 2; ++upper)
    for (unsigned lane = 0; lane < sumLanes; ++lane) {
      uint32_t *word = words + upper * sumLanes + lane;
      const float even = values[upper][0][lane], odd = values[upper][1][lane];
      if constexpr (accumulator == MatrixElement::f16)
        *word = uint32_t(sumToF16(odd)) << 16 | sumToF16(even);
      else
        word[0] = std::bit_cast<uint32_t>(even), word[32] = std::bit_cast<uint32_t>(odd);
    }
}

} // namespace tlc::emulator
