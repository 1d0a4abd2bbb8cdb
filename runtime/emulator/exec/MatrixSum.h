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
/// normal number. What is left is added exactly and cut to the result's bits.
#pragma once

#include "runtime/emulator/exec/HostVectors.h"
#include "runtime/emulator/exec/MatrixElements.h"

#include <cmath>

namespace tlc::emulator {

struct SumRules {
  int fraction = 25;
  int resultFraction = 23;
  int leastExponentA = -126, leastExponentB = -126;
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
          leastExponent(b)};
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

/// Four rows of A by eight columns of B, depth by depth: what the vectors below work on.
inline constexpr unsigned sumRows = 4, sumColumns = 8, maxSumDepth = 32;
using Columns = float __attribute__((vector_size(32)));

struct RowPanel {
  alignas(64) float values[maxSumDepth][sumRows];
  alignas(64) int16_t exponents[maxSumDepth][sumRows];
};
struct ColumnPanel {
  alignas(64) float values[maxSumDepth][sumColumns];
  alignas(64) int16_t exponents[maxSumDepth][sumColumns];
};

inline void setSumElement(RowPanel &panel, unsigned row, unsigned k, float value, int least) {
  panel.values[k][row] = value;
  panel.exponents[k][row] = sumExponent(value, least);
}
inline void setSumElement(ColumnPanel &panel, unsigned column, unsigned k, float value, int least) {
  panel.values[k][column] = value;
  panel.exponents[k][column] = sumExponent(value, least);
}

/// A sum as an f16; a zero is positive, however it came about.
inline uint16_t sumToF16(float sum) {
  const uint16_t bits = floatToF16(sum);
  return bits == 0x8000 ? 0 : bits;
}

namespace detail {

using Exponents = int16_t __attribute__((vector_size(16)));
using Integers = int32_t __attribute__((vector_size(32)));
using Words = uint64_t __attribute__((vector_size(64)));
using Doubles = double __attribute__((vector_size(64)));

/// Within these every step below is exact in f32 and i32.
inline constexpr int16_t fastLeast = -90, fastMost = 100;

/// 2^exponent for exponents of normal numbers.
TLC_WITH_CALLER Columns powerOfTwo(Integers exponent) { return (Columns)((exponent + 127) << 23); }

} // namespace detail

/// results[row] = the sums of a row with accumulators[row].
TLC_WITH_CALLER void sumPanels(const RowPanel &a, const ColumnPanel &b, unsigned depth,
                               const Columns (&accumulators)[sumRows], SumRules rules,
                               Columns (&results)[sumRows]) {
  using namespace detail;
  Exponents most[sumRows];
  for (unsigned row = 0; row < sumRows; ++row)
    for (unsigned column = 0; column < sumColumns; ++column)
      most[row][column] = sumExponent(accumulators[row][column], -126);
  for (unsigned k = 0; k < depth; ++k) {
    Exponents exponents;
    std::memcpy(&exponents, b.exponents[k], sizeof(exponents));
    for (unsigned row = 0; row < sumRows; ++row) {
      const Exponents sum = exponents + a.exponents[k][row];
      most[row] = sum > most[row] ? sum : most[row];
    }
  }
  Columns scale[sumRows], unscale[sumRows];
  bool slow = false;
  for (unsigned row = 0; row < sumRows; ++row) {
    // Where there are only zeros any exponent will do.
    most[row] = most[row] < int16_t(zeroExponent / 2) ? Exponents{} : most[row];
    const Exponents outside = (most[row] < fastLeast) | (most[row] > fastMost);
    slow |= std::bit_cast<unsigned __int128>(outside) != 0;
    const Integers exponent = __builtin_convertvector(most[row], Integers);
    scale[row] = powerOfTwo(rules.fraction - exponent);
    unscale[row] = powerOfTwo(exponent - rules.fraction);
  }
  if (slow) {
    for (unsigned row = 0; row < sumRows; ++row)
      for (unsigned column = 0; column < sumColumns; ++column)
        results[row][column] = sumOfProducts(&a.values[0][row], sumRows, &b.values[0][column], sumColumns,
                                             depth, accumulators[row][column], rules);
    return;
  }
  Integers sums[sumRows] = {};
  for (unsigned k = 0; k < depth; ++k) {
    Columns column;
    std::memcpy(&column, b.values[k], sizeof(column));
    for (unsigned row = 0; row < sumRows; ++row)
      sums[row] += __builtin_convertvector(a.values[k][row] * column * scale[row], Integers); // cuts
  }
  const uint64_t kept = ~((uint64_t(1) << (52 - rules.resultFraction)) - 1);
  for (unsigned row = 0; row < sumRows; ++row) {
    const Integers accumulator = __builtin_convertvector(accumulators[row] * scale[row], Integers);
    const Doubles sum =
        __builtin_convertvector(sums[row], Doubles) + __builtin_convertvector(accumulator, Doubles);
    results[row] = __builtin_convertvector((Doubles)((Words)sum & kept), Columns) * unscale[row];
  }
}

} // namespace tlc::emulator
