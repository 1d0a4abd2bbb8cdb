// SPDX-License-Identifier: Apache-2.0
/// \file
/// mma.sync. All fragments follow one rule: lane l is in group g = l / 4 at
/// place t = l % 4; a register holds `pack` neighbours along k (1 for 64 bits).
#include "runtime/emulator/exec/MatrixElements.h"

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

constexpr unsigned lanes = 32;

bool isSupported(const MmaSync &i) {
  if (i.a == MatrixElement::f64)
    return i.b == i.a && i.accumulator == i.a && i.m == 8 && i.n == 8 && i.k == 4;
  if (i.m != 16 || i.n != 8)
    return false;
  const bool toFloat = i.accumulator == MatrixElement::f32, toHalf = i.accumulator == MatrixElement::f16;
  if (isInteger8(i.a) && isInteger8(i.b))
    return (i.k == 16 || i.k == 32) && i.accumulator == MatrixElement::s32;
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

/// Largest operand tiles as floats: a[row][k], b[column][k].
struct Operands {
  float a[16][32];
  float b[8][32];
};

void unpack(const MmaSync &instruction, std::span<const uint32_t> a, std::span<const uint32_t> b,
            Operands &operands) {
  const unsigned pack = 32 / elementBits(instruction.a), steps = instruction.k / (4 * pack);
  for (unsigned step = 0; step < steps; ++step)
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const unsigned group = lane / 4, k = (step * 4 + lane % 4) * pack;
      for (unsigned half = 0; half < 2; ++half) {
        const uint32_t word = a[(step * 2 + half) * lanes + lane];
        decodeElements(instruction.a, reinterpret_cast<const std::byte *>(&word), 4,
                       &operands.a[group + 8 * half][k]);
      }
      const uint32_t word = b[step * lanes + lane];
      decodeElements(instruction.b, reinterpret_cast<const std::byte *>(&word), 4, &operands.b[group][k]);
    }
}

double pairToDouble(std::span<const uint32_t> registers, unsigned element, unsigned lane) {
  const uint64_t low = registers[element * 2 * lanes + lane],
                 high = registers[(element * 2 + 1) * lanes + lane];
  return std::bit_cast<double>(high << 32 | low);
}

void mmaF64(std::span<const uint32_t> a, std::span<const uint32_t> b, std::span<const uint32_t> c,
            std::span<uint32_t> d) {
  double results[2][lanes];
  for (unsigned lane = 0; lane < lanes; ++lane)
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned row = lane / 4, column = 2 * (lane % 4) + i;
      double sum = pairToDouble(c, i, lane);
      for (unsigned k = 0; k < 4; ++k)
        sum = std::fma(pairToDouble(a, 0, row * 4 + k), pairToDouble(b, 0, column * 4 + k), sum);
      results[i][lane] = sum;
    }
  for (unsigned lane = 0; lane < lanes; ++lane)
    for (unsigned i = 0; i < 2; ++i) {
      const uint64_t bits = std::bit_cast<uint64_t>(results[i][lane]);
      d[i * 2 * lanes + lane] = uint32_t(bits);
      d[(i * 2 + 1) * lanes + lane] = uint32_t(bits >> 32);
    }
}

} // namespace

Result<MmaRegisters> mmaSyncRegisters(const MmaSync &instruction) {
  if (!isSupported(instruction))
    return Error{ErrorKind::invalidArgument,
                 fmt::format("mma.sync m{}n{}k{} of {} and {} into {} is not an instruction that is emulated",
                             instruction.m, instruction.n, instruction.k, toString(instruction.a),
                             toString(instruction.b), toString(instruction.accumulator))};
  if (instruction.a == MatrixElement::f64)
    return MmaRegisters{2, 2, 4};
  const unsigned steps = instruction.k * elementBits(instruction.a) / 128;
  return MmaRegisters{2 * steps, steps, instruction.accumulator == MatrixElement::f16 ? 2u : 4u};
}

void mmaSync(const MmaSync &instruction, std::span<const uint32_t> a, std::span<const uint32_t> b,
             std::span<const uint32_t> c, std::span<uint32_t> d) {
  assert(isSupported(instruction) && "checked when the instruction was decoded");
  if (instruction.a == MatrixElement::f64)
    return mmaF64(a, b, c, d);

  Operands operands;
  unpack(instruction, a, b, operands);
  for (unsigned lane = 0; lane < lanes; ++lane)
    for (unsigned half = 0; half < 2; ++half) {
      const float *row = operands.a[lane / 4 + 8 * half];
      float sums[2] = {0.0f, 0.0f};
      for (unsigned i = 0; i < 2; ++i) {
        const float *column = operands.b[2 * (lane % 4) + i];
        for (unsigned k = 0; k < instruction.k; ++k)
          sums[i] += row[k] * column[k];
      }
      if (instruction.accumulator == MatrixElement::f16) {
        const uint32_t old = c[half * lanes + lane];
        const uint32_t low = floatToF16(f16ToFloat(uint16_t(old)) + sums[0]);
        const uint32_t high = floatToF16(f16ToFloat(uint16_t(old >> 16)) + sums[1]);
        d[half * lanes + lane] = high << 16 | low;
        continue;
      }
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned index = (half * 2 + i) * lanes + lane;
        d[index] = instruction.accumulator == MatrixElement::s32
                       ? integerResult(c[index], sums[i], instruction.overflow)
                       : floatResult(std::bit_cast<float>(c[index]) + sums[i]);
      }
    }
}

} // namespace tlc::emulator
