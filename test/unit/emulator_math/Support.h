// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the tests of the emulator's arithmetic share: fresh random numbers,
/// packing of elements, and swizzles as tables of 16-byte units, a second way
/// to say what the emulator says with address bits.
#pragma once

#include "runtime/emulator/math/Float.h"
#include "runtime/emulator/math/Mma.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <random>
#include <set>

namespace tlc::emulator::test {

/// A generator seeded anew; print `seed` with INFO to repeat a failure.
struct Random {
  uint32_t seed = Catch::rngSeed();
  std::mt19937 engine{seed};

  /// An integer from low to high.
  int64_t integer(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }
  double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine); }
  uint32_t bits() { return uint32_t(engine()); }
};

inline unsigned bytesOf(MatrixElement element) {
  static const std::map<MatrixElement, unsigned> sizes = {
      {MatrixElement::f16, 2},  {MatrixElement::bf16, 2}, {MatrixElement::tf32, 4}, {MatrixElement::e4m3, 1},
      {MatrixElement::e5m2, 1}, {MatrixElement::s8, 1},   {MatrixElement::u8, 1},   {MatrixElement::f32, 4},
      {MatrixElement::s32, 4},  {MatrixElement::f64, 8}};
  return sizes.at(element);
}

/// The element's bits for a value it can represent.
inline uint32_t bitsOf(MatrixElement element, double value) {
  switch (element) {
  case MatrixElement::f16:
    return fromDouble(FloatFormat::f16, value);
  case MatrixElement::bf16:
    return fromDouble(FloatFormat::bf16, value);
  case MatrixElement::tf32:
    return fromDouble(FloatFormat::tf32, value);
  case MatrixElement::e4m3:
    return fromDouble(FloatFormat::e4m3, value);
  case MatrixElement::e5m2:
    return fromDouble(FloatFormat::e5m2, value);
  case MatrixElement::f32:
    return std::bit_cast<uint32_t>(float(value));
  default:
    return uint32_t(int32_t(value)) & (bytesOf(element) == 1 ? 0xFFu : ~0u);
  }
}

/// A small integer that the element holds exactly, so that sums are exact too.
inline double smallValue(MatrixElement element, Random &random) {
  return double(random.integer(element == MatrixElement::u8 ? 0 : -8, 8));
}

/// A row-major matrix of doubles.
struct Matrix {
  unsigned rows, columns;
  std::vector<double> values;

  Matrix(unsigned rows, unsigned columns) : rows(rows), columns(columns), values(size_t(rows) * columns) {}
  double &operator()(unsigned row, unsigned column) { return values[size_t(row) * columns + column]; }
  double operator()(unsigned row, unsigned column) const { return values[size_t(row) * columns + column]; }

  static Matrix small(unsigned rows, unsigned columns, MatrixElement element, Random &random) {
    Matrix matrix(rows, columns);
    for (double &value : matrix.values)
      value = smallValue(element, random);
    return matrix;
  }
};

/// a (m x k) times the transpose of b (n x k).
inline double product(const Matrix &a, const Matrix &b, unsigned row, unsigned column) {
  double sum = 0;
  for (unsigned k = 0; k < a.columns; ++k)
    sum += a(row, k) * b(column, k);
  return sum;
}

/// A word of each thread, which says where the elements of a sparse A are that are stored.
struct Metadata {
  std::array<std::array<uint32_t, 32>, 4> words = {};

  WarpgroupRegisters spans() const { return {words[0], words[1], words[2], words[3]}; }
  void set(const Wgmma &instruction, unsigned row, unsigned group, uint32_t pair) {
    const unsigned first = row % 8 * 4, below = row / 8 % 2;
    const bool isByte = bytesOf(instruction.a) == 1;
    const unsigned lane =
        isByte ? first + group / 8 * 2 + below : first + 2 * instruction.selector + group / 4;
    const unsigned bit = isByte ? group % 8 * 4 : 16 * below + group % 4 * 4;
    uint32_t &word = words[row / 16][lane];
    word = (word & ~(15u << bit)) | pair << bit;
  }
  /// Makes other elements of `a` 0, and gives those that are stored.
  Matrix prune(const Wgmma &instruction, Matrix &a, Random &random) {
    constexpr unsigned pairs[] = {4, 8, 12, 9, 13, 14};
    const unsigned extent = instruction.a == MatrixElement::tf32 ? 2 : 4;
    Matrix stored(a.rows, a.columns / 2);
    for (unsigned row = 0; row < a.rows; ++row)
      for (unsigned group = 0; group < a.columns / extent; ++group) {
        const unsigned pair =
            extent == 2 ? (random.integer(0, 1) ? 14u : 4u) : pairs[unsigned(random.integer(0, 5))];
        set(instruction, row, group, pair);
        unsigned next = group * extent / 2;
        for (unsigned i = 0; i < extent; ++i) {
          const unsigned place = extent == 2 ? 2 * i : i;
          if (place == (pair & 3) || (extent == 4 && place == pair >> 2))
            stored(row, next++) = a(row, group * extent + i);
          else
            a(row, group * extent + i) = 0;
        }
      }
    return stored;
  }
};

/// Where a swizzle puts the byte at `address`: the patterns drawn unit by unit.
inline uint32_t swizzledByTable(Swizzle swizzle, uint32_t address) {
  static const unsigned pattern128[8][8] = {
      {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4},
      {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2}, {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}};
  static const unsigned pattern64[4][8] = {
      {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4}};
  static const unsigned pattern32[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}};
  const unsigned line = address / 128, unit = address % 128 / 16;
  unsigned to = unit;
  if (swizzle == Swizzle::bytes128)
    to = pattern128[line % 8][unit];
  else if (swizzle == Swizzle::bytes64)
    to = pattern64[line % 4][unit];
  else if (swizzle == Swizzle::bytes32)
    to = pattern32[line % 2][unit];
  return line * 128 + to * 16 + address % 16;
}

inline std::set<uint64_t> bytesIn(const std::vector<ByteRange> &ranges) {
  std::set<uint64_t> bytes;
  for (const ByteRange &range : ranges)
    for (uint64_t i = 0; i < range.bytes; ++i)
      bytes.insert(range.address + i);
  return bytes;
}

} // namespace tlc::emulator::test
