// SPDX-License-Identifier: Apache-2.0
/// \file
/// mma.sync. All fragments follow one rule: lane l is in group g = l / 4 at
/// place t = l % 4; a register holds `pack` neighbours along k (1 for 64 bits).
#include "runtime/emulator/math/MatrixSum.h"
#include "runtime/target/Hardware.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <fmt/format.h>

namespace tlc::emulator {

std::string_view toString(MatrixElement element) {
  switch (element) {
  case MatrixElement::f16:
    return "f16";
  case MatrixElement::bf16:
    return "bf16";
  case MatrixElement::tf32:
    return "tf32";
  case MatrixElement::e4m3:
    return "e4m3";
  case MatrixElement::e5m2:
    return "e5m2";
  case MatrixElement::e2m3:
    return "e2m3";
  case MatrixElement::e3m2:
    return "e3m2";
  case MatrixElement::e2m1:
    return "e2m1";
  case MatrixElement::s8:
    return "s8";
  case MatrixElement::u8:
    return "u8";
  case MatrixElement::s4:
    return "s4";
  case MatrixElement::u4:
    return "u4";
  case MatrixElement::b1:
    return "b1";
  case MatrixElement::f32:
    return "f32";
  case MatrixElement::s32:
    return "s32";
  case MatrixElement::f64:
    break;
  }
  return "f64";
}

namespace {

constexpr unsigned lanes = lanesPerWarp;

bool isSupported(const MmaSync &i) {
  if (i.n != 8)
    return false;
  if (i.a == MatrixElement::f64)
    return i.b == i.a && i.accumulator == i.a &&
           (i.m == 8 ? i.k == 4 : i.m == 16 && (i.k == 4 || i.k == 8 || i.k == 16));
  if (const unsigned unit = isInteger8(i.a) && isInteger8(i.b)       ? 16
                            : isInteger4(i.a) && isInteger4(i.b)     ? 32
                            : i.a == i.b && i.a == MatrixElement::b1 ? 128
                                                                     : 0)
    return i.accumulator == MatrixElement::s32 &&
           (i.m == 8 ? i.k == unit : i.m == 16 && (i.k == unit || i.k == 2 * unit));
  if (i.m != 16)
    return false;
  const bool toFloat = i.accumulator == MatrixElement::f32, toHalf = i.accumulator == MatrixElement::f16;
  if (isFloat8(i.a) && isFloat8(i.b))
    return (i.k == 16 || i.k == 32) && (toFloat || toHalf);
  if (i.a != i.b)
    return false;
  switch (i.a) {
  case MatrixElement::f16:
    return (i.k == 8 || i.k == 16) && (toFloat || toHalf);
  case MatrixElement::bf16:
    return (i.k == 8 || i.k == 16) && toFloat;
  case MatrixElement::tf32:
    return (i.k == 4 || i.k == 8) && toFloat;
  default:
    return false;
  }
}

double pairToDouble(std::span<const uint32_t> registers, unsigned element, unsigned lane) {
  const uint64_t low = registers[element * 2 * lanes + lane],
                 high = registers[(element * 2 + 1) * lanes + lane];
  return std::bit_cast<double>(high << 32 | low);
}

/// Elements of A come in pairs of rows g and g + 8, then four columns on.
void mmaF64(const MmaSync &instruction, std::span<const uint32_t> a, std::span<const uint32_t> b,
            std::span<const uint32_t> c, std::span<uint32_t> d) {
  const unsigned halves = instruction.m / 8;
  volatile double left[16][16], right[8][16], sums[16][8];
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const unsigned group = lane / 4, place = lane % 4;
    for (unsigned step = 0; step < instruction.k / 4; ++step) {
      for (unsigned half = 0; half < halves; ++half)
        left[group + 8 * half][4 * step + place] = pairToDouble(a, step * halves + half, lane);
      right[group][4 * step + place] = pairToDouble(b, step, lane);
    }
    for (unsigned i = 0; i < 2 * halves; ++i)
      sums[group + 8 * (i / 2)][2 * place + i % 2] = pairToDouble(c, i, lane);
  }
  const int before = std::fegetround();
  std::fesetround(instruction.rounding == Rounding::towardZero ? FE_TOWARDZERO
                  : instruction.rounding == Rounding::down     ? FE_DOWNWARD
                  : instruction.rounding == Rounding::up       ? FE_UPWARD
                                                               : FE_TONEAREST);
  for (unsigned row = 0; row < instruction.m; ++row)
    for (unsigned column = 0; column < 8; ++column)
      for (unsigned k = 0; k < instruction.k; ++k)
        sums[row][column] = std::fma(left[row][k], right[column][k], sums[row][column]);
  std::fesetround(before);
  for (unsigned lane = 0; lane < lanes; ++lane)
    for (unsigned i = 0; i < 2 * halves; ++i) {
      const uint64_t bits =
          std::bit_cast<uint64_t>(double(sums[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2]));
      d[i * 2 * lanes + lane] = uint32_t(bits);
      d[(i * 2 + 1) * lanes + lane] = uint32_t(bits >> 32);
    }
}

/// The i-th element of a register.
int integerElement(MatrixElement element, uint32_t word, unsigned i) {
  switch (element) {
  case MatrixElement::s8:
    return int8_t(word >> (8 * i));
  case MatrixElement::u8:
    return uint8_t(word >> (8 * i));
  case MatrixElement::s4:
    return int32_t(word << (28 - 4 * i)) >> 28;
  default:
    return int(word >> (4 * i) & 15);
  }
}

/// The sum of the products of two registers' elements.
int64_t wordProduct(const MmaSync &instruction, uint32_t a, uint32_t b) {
  if (instruction.a == MatrixElement::b1)
    return std::popcount(instruction.bitProduct == BitProduct::conjunction ? a & b : a ^ b);
  int64_t sum = 0;
  for (unsigned i = 0; i < 32 / elementBits(instruction.a); ++i)
    sum += int64_t(integerElement(instruction.a, a, i)) * integerElement(instruction.b, b, i);
  return sum;
}

void mmaIntegers(const MmaSync &instruction, std::span<const uint32_t> a, std::span<const uint32_t> b,
                 std::span<const uint32_t> c, std::span<uint32_t> d) {
  const unsigned halves = instruction.m / 8, steps = instruction.k * elementBits(instruction.a) / 128;
  uint32_t results[4 * lanes];
  for (unsigned lane = 0; lane < lanes; ++lane)
    for (unsigned i = 0; i < 2 * halves; ++i) {
      int64_t sum = 0;
      for (unsigned step = 0; step < steps; ++step)
        for (unsigned place = 0; place < 4; ++place)
          sum += wordProduct(instruction, a[(step * halves + i / 2) * lanes + lane / 4 * 4 + place],
                             b[step * lanes + (2 * (lane % 4) + i % 2) * 4 + place]);
      results[i * lanes + lane] = integerResult(c[i * lanes + lane], sum, instruction.overflow);
    }
  std::copy(results, results + 2 * halves * lanes, d.begin());
}

/// A has no instruction for 8-bit floating point: it becomes f16, in two products, the first
/// with the first two of each four elements along k, and the accumulator is added at the end.
constexpr unsigned splitPosition(unsigned k) { return k % 4 / 2 * 16 + k / 4 * 2 + k % 2; }

/// Parts of the operands, each of which is one sum.
struct RawParts {
  RawPanel a[2][16 / sumRows], b[2][8 / sumColumns];
};

template <class Raw>
TLC_WITH_CALLER void gather(const MmaSync &instruction, unsigned depth, std::span<const uint32_t> a,
                            std::span<const uint32_t> b, RawParts &parts) {
  constexpr unsigned pack = 4 / sizeof(Raw);
  const unsigned steps = instruction.k / (4 * pack);
  for (unsigned step = 0; step < steps; ++step)
    for (unsigned lane = 0; lane < lanes; ++lane)
      for (unsigned e = 0; e < pack; ++e) {
        const unsigned group = lane / 4, k = (step * 4 + lane % 4) * pack + e,
                       at = instruction.k > depth ? splitPosition(k) : k;
        const auto element = [&](std::span<const uint32_t> registers, unsigned index) TLC_LAMBDA_WITH_CALLER {
          return Raw(registers[index * lanes + lane] >> e * 8 * sizeof(Raw));
        };
        for (unsigned half = 0; half < 2; ++half)
          parts.a[at / depth][half * 2 + group / sumRows].set(group % sumRows, at % depth,
                                                              element(a, step * 2 + half));
        parts.b[at / depth][columnHalf(group)].set(columnPlace(group), at % depth, element(b, step));
      }
}

template <MatrixElement accumulator, class Raw>
TLC_WITH_CALLER void mmaFloats(const MmaSync &instruction, std::span<const uint32_t> a,
                               std::span<const uint32_t> b, std::span<const uint32_t> c,
                               std::span<uint32_t> d) {
  constexpr bool split = sizeof(Raw) == 1;
  const MatrixElement elementA = split ? MatrixElement::f16 : instruction.a,
                      elementB = split ? MatrixElement::f16 : instruction.b;
  const SumRules rules =
      sumRules(SumWidth::wide, elementA, elementB, split ? MatrixElement::f32 : accumulator);
  const unsigned parts = split ? instruction.k / 16 : 1, depth = instruction.k / parts;
  RawParts raw;
  gather<Raw>(instruction, depth, a, b, raw);
  ColumnPanel columns[2][2];
  for (unsigned part = 0; part < parts; ++part)
    for (unsigned i = 0; i < 2; ++i)
      decodePanel(raw.b[part][i], instruction.b, depth, rules.leastExponentB, columns[part][i]);
  for (unsigned upper = 0; upper < 2; ++upper) {
    const unsigned at = upper * (accumulator == MatrixElement::f16 ? 1 : 2) * lanes;
    SumPair old, sums = {};
    loadSums<accumulator>(&c[at], old);
    if (!split)
      std::memcpy(sums, old, sizeof(sums));
    for (unsigned part = 0; part < parts; ++part) {
      RowPanel rows[2];
      for (unsigned i = 0; i < 2; ++i)
        decodePanel(raw.a[part][2 * upper + i], instruction.a, depth, rules.leastExponentA, 1, rows[i]);
      addProducts(rows, columns[part], depth, rules, sums);
    }
    for (unsigned i = 0; split && i < 4; ++i)
      for (unsigned lane = 0; lane < sumLanes; ++lane)
        sums[i / 2][i % 2][lane] = canonical(sums[i / 2][i % 2][lane] + old[i / 2][i % 2][lane]);
    storeSums<accumulator>(sums, &d[at]);
  }
}

} // namespace

Result<MmaRegisters> mmaSyncRegisters(const MmaSync &instruction) {
  if (!isSupported(instruction))
    return Error{ErrorKind::invalidArgument,
                 fmt::format("mma.sync m{}n{}k{} of {} and {} into {} is not an instruction that is emulated",
                             instruction.m, instruction.n, instruction.k, toString(instruction.a),
                             toString(instruction.b), toString(instruction.accumulator))};
  const unsigned halves = instruction.m / 8;
  if (instruction.a == MatrixElement::f64)
    return MmaRegisters{instruction.k / 2 * halves, instruction.k / 2, 4 * halves};
  const unsigned steps = instruction.k * elementBits(instruction.a) / 128;
  if (instruction.accumulator == MatrixElement::s32)
    return MmaRegisters{halves * steps, steps, 2 * halves};
  return MmaRegisters{2 * steps, steps, instruction.accumulator == MatrixElement::f16 ? 2u : 4u};
}

void mmaSync(const MmaSync &instruction, std::span<const uint32_t> a, std::span<const uint32_t> b,
             std::span<const uint32_t> c, std::span<uint32_t> d) {
  assert(isSupported(instruction) && "checked when the instruction was decoded");
  if (instruction.a == MatrixElement::f64)
    return mmaF64(instruction, a, b, c, d);
  if (instruction.accumulator == MatrixElement::s32)
    return mmaIntegers(instruction, a, b, c, d);
  runVectorised([&] {
    const auto run = [&]<class Raw>(Raw) TLC_LAMBDA_WITH_CALLER {
      if (instruction.accumulator == MatrixElement::f16)
        mmaFloats<MatrixElement::f16, Raw>(instruction, a, b, c, d);
      else
        mmaFloats<MatrixElement::f32, Raw>(instruction, a, b, c, d);
    };
    switch (elementBits(instruction.a)) {
    case 8:
      return run(uint8_t());
    case 16:
      return run(uint16_t());
    default:
      return run(uint32_t());
    }
  });
}

} // namespace tlc::emulator
