// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operands of matrix instructions for the emulator: elements as bits of registers and memory.
#pragma once

#include "dialects/layout/InstructionLayouts.h"
#include "dialects/layout/SharedOperands.h"
#include "runtime/emulator/math/TensorMma.h"
#include "test/unit/layout/LayoutLaws.h"

#include <bit>

namespace tlc::test {
namespace emu = tlc::emulator;

inline int bitsOf(emu::MatrixElement element) {
  switch (element) {
  case emu::MatrixElement::b1:
    return 1;
  case emu::MatrixElement::s4:
  case emu::MatrixElement::u4:
  case emu::MatrixElement::e2m1:
    return 4;
  case emu::MatrixElement::e2m3:
  case emu::MatrixElement::e3m2:
    return 6;
  case emu::MatrixElement::e4m3:
  case emu::MatrixElement::e5m2:
  case emu::MatrixElement::s8:
  case emu::MatrixElement::u8:
    return 8;
  case emu::MatrixElement::f16:
  case emu::MatrixElement::bf16:
    return 16;
  case emu::MatrixElement::tf32:
  case emu::MatrixElement::f32:
  case emu::MatrixElement::s32:
    return 32;
  case emu::MatrixElement::f64:
    return 64;
  }
  return 0;
}

/// The element's bits for 0, 1, or 2.
inline uint64_t codeOf(emu::MatrixElement element, int value) {
  auto pick = [&](uint64_t one, uint64_t two) { return value == 0 ? 0 : value == 1 ? one : two; };
  switch (element) {
  case emu::MatrixElement::f16:
    return pick(0x3C00, 0x4000);
  case emu::MatrixElement::bf16:
    return pick(0x3F80, 0x4000);
  case emu::MatrixElement::tf32:
  case emu::MatrixElement::f32:
    return std::bit_cast<uint32_t>(float(value));
  case emu::MatrixElement::f64:
    return std::bit_cast<uint64_t>(double(value));
  case emu::MatrixElement::e4m3:
    return pick(0x38, 0x40);
  case emu::MatrixElement::e5m2:
    return pick(0x3C, 0x40);
  case emu::MatrixElement::e2m3:
    return pick(0x08, 0x10);
  case emu::MatrixElement::e3m2:
    return pick(0x0C, 0x10);
  case emu::MatrixElement::e2m1:
    return pick(0x2, 0x4);
  default:
    return uint64_t(value);
  }
}

/// The integer that an accumulator's element is.
inline int64_t valueOf(emu::MatrixElement element, uint64_t code) {
  if (element == emu::MatrixElement::f64)
    return int64_t(std::bit_cast<double>(code));
  if (element == emu::MatrixElement::f32)
    return int64_t(std::bit_cast<float>(uint32_t(code)));
  if (element == emu::MatrixElement::f16)
    return int64_t(emu::f16ToFloat(uint16_t(code)));
  return int32_t(code);
}

/// Registers of a warp, `words[r * 32 + lane]`, as slots of elements.
struct WarpRegisters {
  std::vector<uint32_t> words = std::vector<uint32_t>(256 * 32);

  void set(int bits, int64_t slot, int64_t lane, uint64_t code) {
    for (int64_t done = 0; done < bits; done += 32) {
      uint32_t &word = words[size_t((slot * bits + done) / 32 * 32 + lane)];
      int64_t shift = slot * bits % 32, width = std::min(bits, 32);
      uint32_t mask = uint32_t((uint64_t(1) << width) - 1) << shift;
      word = (word & ~mask) | (uint32_t(code >> done) << shift & mask);
    }
  }
  uint64_t get(int bits, int64_t slot, int64_t lane) const {
    uint64_t code = 0;
    for (int64_t done = 0; done < bits; done += 32) {
      uint32_t word = words[size_t((slot * bits + done) / 32 * 32 + lane)];
      code |= uint64_t(word >> slot * bits % 32 & uint32_t((uint64_t(1) << std::min(bits, 32)) - 1)) << done;
    }
    return code;
  }
};

inline void setBits(std::span<std::byte> memory, int64_t bit, int bits, uint64_t code) {
  for (int i = 0; i < bits; ++i) {
    std::byte mask = std::byte(1 << (bit + i) % 8);
    std::byte &byte = memory[size_t((bit + i) / 8)];
    byte = code >> i & 1 ? byte | mask : byte & ~mask;
  }
}

template <class Visit> void forEachInput(const LayoutMap &map, Visit visit) {
  Shape extents;
  for (size_t input = 0; input < map.inputs().size(); ++input)
    extents.push_back(map.extent(input));
  forEachPoint(extents, visit);
}

/// Small integers.
struct Matrix {
  int64_t rows, columns;
  std::vector<int> values;

  Matrix(int64_t rows, int64_t columns, std::mt19937 &random) : rows(rows), columns(columns) {
    for (int64_t i = 0; i < rows * columns; ++i)
      values.push_back(int(random() % 3));
  }
  int at(int64_t row, int64_t column) const { return values[size_t(row * columns + column)]; }
};

/// Of A [m, k] and B [n, k].
inline int64_t product(const Matrix &a, const Matrix &b, int64_t row, int64_t column) {
  int64_t sum = 0;
  for (int64_t k = 0; k < a.columns; ++k)
    sum += a.at(row, k) * b.at(column, k);
  return sum;
}

} // namespace tlc::test
