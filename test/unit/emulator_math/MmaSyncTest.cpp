// SPDX-License-Identifier: Apache-2.0
/// \file
/// mma.sync against a plain product; fragments are filled element by element
/// through the maps of the PTX ISA, one per operand width.
#include "test/unit/emulator_math/Support.h"

#include <cmath>

using namespace tlc::emulator;
using namespace tlc::emulator::test;

namespace {

struct Place {
  unsigned row, k;
};

/// Element i of lane `lane` of A, as the ISA lists it for each element size.
Place placeA(unsigned bytes, unsigned lane, unsigned i) {
  const unsigned group = lane >> 2, inGroup = lane % 4;
  if (bytes == 1)
    return {i % 8 < 4 ? group : group + 8, inGroup * 4 + (i & 3) + (i < 8 ? 0 : 16)};
  if (bytes == 2)
    return {i % 4 < 2 ? group : group + 8, inGroup * 2 + (i & 1) + (i < 4 ? 0 : 8)};
  return {i % 2 == 0 ? group : group + 8, inGroup + (i < 2 ? 0 : 4)};
}

/// Element i of B: its column is the lane's group; this is its row, k.
unsigned placeB(unsigned bytes, unsigned lane, unsigned i) {
  const unsigned inGroup = lane % 4;
  if (bytes == 1)
    return inGroup * 4 + (i & 3) + (i < 4 ? 0 : 16);
  if (bytes == 2)
    return inGroup * 2 + (i & 1) + (i < 2 ? 0 : 8);
  return inGroup + (i < 1 ? 0 : 4);
}

void setElement(std::vector<uint32_t> &registers, unsigned bytes, unsigned lane, unsigned i, uint32_t bits) {
  const unsigned pack = 4 / bytes;
  registers[(i / pack) * 32 + lane] |= bits << (i % pack * 8 * bytes);
}

/// Runs the instruction on random small integers and compares every element.
void checkAgainstProduct(MmaSync instruction) {
  Random random;
  INFO("seed " << random.seed << ", m16n8k" << instruction.k << " " << toString(instruction.a) << " "
               << toString(instruction.b) << " " << toString(instruction.accumulator));
  const auto counts = mmaSyncRegisters(instruction);
  REQUIRE(counts);
  const unsigned bytes = bytesOf(instruction.a);
  const Matrix a = Matrix::small(16, instruction.k, instruction.a, random);
  const Matrix b = Matrix::small(8, instruction.k, instruction.b, random);
  const Matrix c = Matrix::small(16, 8, MatrixElement::s32, random);

  std::vector<uint32_t> registersA(counts->a * 32), registersB(counts->b * 32), d(counts->accumulator * 32);
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < counts->a * 4 / bytes; ++i) {
      const Place place = placeA(bytes, lane, i);
      setElement(registersA, bytes, lane, i, bitsOf(instruction.a, a(place.row, place.k)));
    }
    for (unsigned i = 0; i < counts->b * 4 / bytes; ++i)
      setElement(registersB, bytes, lane, i, bitsOf(instruction.b, b(lane >> 2, placeB(bytes, lane, i))));
    for (unsigned i = 0; i < 4; ++i)
      setElement(d, bytesOf(instruction.accumulator), lane, i,
                 bitsOf(instruction.accumulator, c((lane >> 2) + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1))));
  }
  mmaSync(instruction, registersA, registersB, d, d);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = (lane >> 2) + (i < 2 ? 0 : 8), column = lane % 4 * 2 + (i & 1);
      const uint32_t expected = bitsOf(instruction.accumulator, c(row, column) + product(a, b, row, column));
      const unsigned size = bytesOf(instruction.accumulator);
      const uint32_t word = d[(i * size / 4) * 32 + lane];
      const uint32_t actual = size == 2 ? word >> (i % 2 * 16) & 0xFFFF : word;
      if (actual != expected)
        FAIL("row " << row << ", column " << column << ": " << actual << " instead of " << expected);
    }
}

} // namespace

TEST_CASE("mma.sync computes a * b + c for every shape and type") {
  using E = MatrixElement;
  for (unsigned k : {8u, 16u}) {
    checkAgainstProduct({.k = k, .a = E::f16, .b = E::f16, .accumulator = E::f32});
    checkAgainstProduct({.k = k, .a = E::f16, .b = E::f16, .accumulator = E::f16});
    checkAgainstProduct({.k = k, .a = E::bf16, .b = E::bf16, .accumulator = E::f32});
  }
  for (unsigned k : {4u, 8u})
    checkAgainstProduct({.k = k, .a = E::tf32, .b = E::tf32, .accumulator = E::f32});
  for (unsigned k : {16u, 32u}) {
    for (E a : {E::s8, E::u8})
      for (E b : {E::s8, E::u8})
        checkAgainstProduct({.k = k, .a = a, .b = b, .accumulator = E::s32});
    for (E a : {E::e4m3, E::e5m2})
      for (E b : {E::e4m3, E::e5m2})
        for (E accumulator : {E::f16, E::f32})
          checkAgainstProduct({.k = k, .a = a, .b = b, .accumulator = accumulator});
  }
}

TEST_CASE("mma.sync f64 fuses its multiplications and additions") {
  Random random;
  INFO("seed " << random.seed);
  const MmaSync instruction{.m = 8,
                            .n = 8,
                            .k = 4,
                            .a = MatrixElement::f64,
                            .b = MatrixElement::f64,
                            .accumulator = MatrixElement::f64};
  const auto counts = mmaSyncRegisters(instruction);
  REQUIRE(counts);
  CHECK(counts->a == 2);
  CHECK(counts->b == 2);
  CHECK(counts->accumulator == 4);
  Matrix a(8, 4), b(8, 4), c(8, 8);
  for (Matrix *matrix : {&a, &b, &c})
    for (double &value : matrix->values)
      value = random.real(-1, 1);
  std::vector<uint32_t> registersA(64), registersB(64), registersC(128), d(128, 0xDEADBEEF);
  const auto set = [](std::vector<uint32_t> &registers, unsigned element, unsigned lane, double value) {
    const uint64_t bits = std::bit_cast<uint64_t>(value);
    registers[element * 64 + lane] = uint32_t(bits);
    registers[element * 64 + 32 + lane] = uint32_t(bits >> 32);
  };
  for (unsigned lane = 0; lane < 32; ++lane) {
    set(registersA, 0, lane, a(lane >> 2, lane % 4));
    set(registersB, 0, lane, b(lane >> 2, lane % 4));
    for (unsigned i = 0; i < 2; ++i)
      set(registersC, i, lane, c(lane >> 2, lane % 4 * 2 + i));
  }
  mmaSync(instruction, registersA, registersB, registersC, d);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned row = lane >> 2, column = lane % 4 * 2 + i;
      double expected = c(row, column);
      for (unsigned k = 0; k < 4; ++k)
        expected = std::fma(a(row, k), b(column, k), expected);
      const uint64_t bits = uint64_t(d[i * 64 + 32 + lane]) << 32 | d[i * 64 + lane];
      CHECK(std::bit_cast<double>(bits) == expected);
    }
}

TEST_CASE("mma.sync saturates integers when asked and wraps otherwise") {
  MmaSync instruction{
      .k = 32, .a = MatrixElement::u8, .b = MatrixElement::u8, .accumulator = MatrixElement::s32};
  const std::vector<uint32_t> a(4 * 32, 0xFFFFFFFF), b(2 * 32, 0xFFFFFFFF), c(4 * 32, 0x7FFFFFFF);
  std::vector<uint32_t> d(4 * 32);
  mmaSync(instruction, a, b, c, d);
  CHECK(d[0] == 0x7FFFFFFFu + 32 * 255 * 255);
  instruction.overflow = IntegerOverflow::saturate;
  mmaSync(instruction, a, b, c, d);
  CHECK(d[0] == 0x7FFFFFFF);
  instruction.a = MatrixElement::s8; // all -1
  mmaSync(instruction, a, b, std::vector<uint32_t>(4 * 32, 0x80000000), d);
  CHECK(d[0] == 0x80000000);
}

TEST_CASE("mma.sync gives the canonical NaN") {
  const MmaSync instruction{};
  const std::vector<uint32_t> a(4 * 32, 0x7F807F80), b(2 * 32, 0), c(4 * 32, 0);
  std::vector<uint32_t> d(4 * 32);
  mmaSync(instruction, a, b, c, d);
  for (uint32_t word : d)
    CHECK(word == 0x7FFFFFFF);
}

TEST_CASE("mma.sync names a combination that does not exist") {
  const auto counts = mmaSyncRegisters({.k = 16, .a = MatrixElement::tf32, .b = MatrixElement::tf32});
  REQUIRE_FALSE(counts);
  CHECK(counts.error().message ==
        "mma.sync m16n8k16 of tf32 and tf32 into f32 is not an instruction that is emulated");
  CHECK_FALSE(mmaSyncRegisters({.a = MatrixElement::bf16, .accumulator = MatrixElement::f16}));
  CHECK_FALSE(mmaSyncRegisters({.a = MatrixElement::f16, .b = MatrixElement::bf16}));
  CHECK_FALSE(mmaSyncRegisters({.m = 8}));
}
