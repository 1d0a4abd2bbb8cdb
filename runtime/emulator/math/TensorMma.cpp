// SPDX-License-Identifier: Apache-2.0
/// \file
/// tcgen05.mma. A lane of tensor memory holds a run of columns of one row of
/// the accumulator, so the product is taken lane by lane: operands become float
/// panels, A's by lane, once per instruction.
#include "runtime/emulator/math/TensorMma.h"

#include "runtime/emulator/math/MatrixElements.h"
#include "runtime/emulator/math/TensorUnits.h"

#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace tlc::emulator {

namespace {

constexpr unsigned maxColumns = 256, maxDepth = 64, maxScales = 4, blockLanes = 4, blockColumns = 8;

/// Eight neighbouring columns of a row.
using Columns = float __attribute__((vector_size(32)));

struct Panels {
  /// a[lane / 4][k][lane % 4], lanes of one block together for the product loop.
  alignas(64) float a[tensorLanes / blockLanes][maxDepth][blockLanes];
  /// b[column / 8][k][column % 8]
  alignas(64) float b[maxColumns / blockColumns][maxDepth][blockColumns];
  /// Factors of the blocks of k, placed alike; of block-scaled kinds only.
  float scalesA[tensorLanes / blockLanes][maxScales][blockLanes];
  alignas(64) float scalesB[maxColumns / blockColumns][maxScales][blockColumns];
};

/// A binary number of 4 or 6 bits: sign, `exponentBits`, `fractionBits`, no infinities.
float smallFloat(unsigned bits, unsigned exponentBits, unsigned fractionBits) {
  const int bias = (1 << (exponentBits - 1)) - 1;
  const unsigned fraction = bits & ((1u << fractionBits) - 1),
                 exponent = bits >> fractionBits & ((1u << exponentBits) - 1);
  const float magnitude = exponent == 0 ? std::ldexp(float(fraction), 1 - bias - int(fractionBits))
                                        : std::ldexp(float(fraction | 1u << fractionBits),
                                                     int(exponent) - bias - int(fractionBits));
  return bits >> (exponentBits + fractionBits) & 1 ? -magnitude : magnitude;
}

float smallFloat(MatrixElement element, unsigned bits) {
  return element == MatrixElement::e2m3   ? smallFloat(bits, 2, 3)
         : element == MatrixElement::e3m2 ? smallFloat(bits, 3, 2)
                                          : smallFloat(bits, 2, 1);
}

bool isSmallFloat(MatrixElement element) {
  return element == MatrixElement::e2m3 || element == MatrixElement::e3m2 || element == MatrixElement::e2m1;
}

/// `count` elements of 6 or 4 bits that follow each other.
void decodePacked(MatrixElement element, const std::byte *bytes, unsigned count, float *values) {
  const unsigned bits = element == MatrixElement::e2m1 ? 4 : 6;
  for (unsigned i = 0; i < count; ++i) {
    if (bits == 4) {
      values[i] = smallFloat(element, unsigned(bytes[i / 2]) >> i % 2 * 4 & 0xF);
      continue;
    }
    uint16_t word;
    std::memcpy(&word, bytes + i * bits / 8, sizeof(word));
    values[i] = smallFloat(element, word >> i * bits % 8 & ((1u << bits) - 1));
  }
}

/// Cells of tensor memory, in which elements of 6 or 4 bits stand in the middle
/// of a byte, but for the packed kinds.
void decodeCells(const TensorMma &mma, const uint32_t *cells, unsigned count, float *values) {
  const MatrixElement element = mma.a;
  const auto *bytes = reinterpret_cast<const std::byte *>(cells);
  if (isPacked4(mma.form.kind))
    return decodePacked(element, bytes, count * 8, values);
  if (!isSmallFloat(element))
    return decodeElements(element, bytes, count * 4, values);
  const unsigned shift = element == MatrixElement::e2m1 ? 2 : 1;
  for (unsigned i = 0; i < count * 4; ++i)
    values[i] = smallFloat(element, unsigned(bytes[i]) >> shift);
}

/// Elements of an operand in shared memory: store(row, k, value).
template <class Store>
void unpackShared(const TensorMma &mma, WgmmaOperand operand, const TensorDescriptor &descriptor,
                  std::span<const std::byte> shared, Store store) {
  const MatrixElement element = operand == WgmmaOperand::a ? mma.a : mma.b;
  const unsigned perUnit = mma.elementsOfUnit(operand);
  const Major major = operand == WgmmaOperand::a ? mma.majorA : mma.majorB;
  visitOperand(mma, operand, descriptor, [&](unsigned i, unsigned j, uint32_t address) {
    float values[2 * unitBytes];
    if (isSmallFloat(element))
      decodePacked(element, shared.data() + address, perUnit, values);
    else
      decodeElements(element, shared.data() + address, unitBytes, values);
    for (unsigned e = 0; e < perUnit; ++e)
      if (major == Major::k)
        store(i, j * perUnit + e, values[e]);
      else
        store(i * perUnit + e, j, values[e]);
  });
}

void unpackA(const TensorMma &mma, const TensorMmaCall &call, const TensorBlock &block, Panels &panels) {
  const float sign = float(mma.signA * mma.signB);
  if (mma.form.a == TensorOperandA::tensorMemory) {
    for (unsigned lane = 0; lane < tensorLanes; ++lane) {
      if (!tensorRow(mma, lane, call.d.lane).used)
        continue;
      float values[maxDepth];
      decodeCells(mma, &tensorCell(block.cells, lane, call.tensorA.column), mma.columnsA(), values);
      for (unsigned k = 0; k < mma.depth(); ++k)
        panels.a[lane / blockLanes][k][lane % blockLanes] = values[k] * sign;
    }
    return;
  }
  // Lanes of a row: the accumulator's layouts repeat rows in up to four places.
  unsigned lanes[tensorLanes][4], counts[tensorLanes] = {};
  for (unsigned lane = 0; lane < tensorLanes; ++lane)
    if (const TensorRow row = tensorRow(mma, lane, call.d.lane); row.used)
      lanes[row.row][counts[row.row]++] = lane;
  unpackShared(mma, WgmmaOperand::a, call.a, block.shared, [&](unsigned row, unsigned k, float value) {
    for (unsigned i = 0; i < counts[row]; ++i)
      panels.a[lanes[row][i] / blockLanes][k][lanes[row][i] % blockLanes] = value * sign;
  });
}

/// All columns of B: each block holds its part.
void unpackB(const TensorMma &mma, const TensorMmaCall &call, std::span<const TensorBlock> blocks,
             Panels &panels) {
  for (size_t p = 0; p < blocks.size(); ++p)
    unpackShared(mma, WgmmaOperand::b, call.b, blocks[p].shared, [&](unsigned row, unsigned k, float value) {
      const unsigned column = unsigned(p) * mma.rowsB() + row;
      panels.b[column / blockColumns][k][column % blockColumns] = value;
    });
}

/// The factor of block `block` of k of a row.
float scaleOf(const TensorMma &mma, WgmmaOperand operand, TensorCells cells, uint32_t column, unsigned row,
              unsigned block) {
  const unsigned byte = operand == WgmmaOperand::a ? mma.scaleByteA : mma.scaleByteB;
  const uint32_t cell = tensorCell(cells, row % quarterLanes, column + row / quarterLanes);
  const uint8_t bits = uint8_t(cell >> (byte + block) * 8);
  if (mma.scale == ScaleElement::ue4m3)
    return e4m3ToFloat(bits & 0x7F);
  return bits == 0xFF ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, int(bits) - 127);
}

void unpackScales(const TensorMma &mma, const TensorMmaCall &call, const TensorBlock &block, Panels &panels) {
  for (unsigned i = 0; i < mma.form.scales; ++i) {
    for (unsigned lane = 0; lane < tensorLanes; ++lane)
      panels.scalesA[lane / blockLanes][i][lane % blockLanes] =
          scaleOf(mma, WgmmaOperand::a, block.cells, call.scalesA, tensorRow(mma, lane, 0).row, i);
    for (unsigned column = 0; column < mma.n; ++column)
      panels.scalesB[column / blockColumns][i][column % blockColumns] =
          scaleOf(mma, WgmmaOperand::b, block.cells, call.scalesB, column, i);
  }
}

/// The sums of products of a block; finish(lane, first of eight columns, sums).
template <class Finish>
void multiply(const TensorMma &mma, uint32_t addressLane, const Panels &panels, Finish finish) {
  const unsigned columns = mma.columnsD(), scales = mma.form.scales, parts = scales == 0 ? 1 : scales,
                 depth = mma.depth() / parts;
  for (unsigned lane = 0; lane < tensorLanes; lane += blockLanes) {
    const TensorRow first = tensorRow(mma, lane, addressLane);
    if (!first.used)
      continue;
    const auto &a = panels.a[lane / blockLanes];
    for (unsigned column = 0; column < columns; column += blockColumns) {
      const auto &b = panels.b[(first.n + column) / blockColumns];
      Columns sums[blockLanes] = {};
      for (unsigned part = 0; part < parts; ++part) {
        Columns products[blockLanes] = {};
        for (unsigned k = part * depth; k < (part + 1) * depth; ++k) {
          Columns row;
          std::memcpy(&row, b[k], sizeof(row));
          for (unsigned l = 0; l < blockLanes; ++l)
            products[l] += a[k][l] * row;
        }
        Columns factors;
        if (scales != 0)
          std::memcpy(&factors, panels.scalesB[(first.n + column) / blockColumns][part], sizeof(factors));
        for (unsigned l = 0; l < blockLanes; ++l)
          sums[l] += scales == 0 ? products[l]
                                 : products[l] * (panels.scalesA[lane / blockLanes][part][l] * factors);
      }
      for (unsigned l = 0; l < blockLanes; ++l)
        finish(lane + l, column, reinterpret_cast<const float *>(&sums[l]));
    }
  }
}

void multiplyBlock(const TensorMma &mma, const TensorMmaCall &call, const Panels &panels, TensorCells cells,
                   const uint32_t *disabled) {
  const float scale = std::ldexp(1.0f, -int(call.scale));
  multiply(mma, call.d.lane, panels, [&](unsigned lane, unsigned column, const float *sums) {
    if (disabled[lane / 32] >> lane % 32 & 1)
      return;
    uint32_t *words = &tensorCell(cells, lane, call.d.column + column);
    switch (mma.accumulator) {
    case MatrixElement::f32:
      for (unsigned i = 0; i < blockColumns; ++i) {
        const float old = call.accumulate ? std::bit_cast<float>(words[i]) * scale : 0.0f;
        words[i] = floatResult(old + sums[i]);
      }
      break;
    case MatrixElement::f16:
      for (unsigned i = 0; i < blockColumns; ++i) {
        const float old = call.accumulate ? f16ToFloat(uint16_t(words[i])) * scale : 0.0f;
        words[i] = floatToF16(old + sums[i]);
      }
      break;
    default: // s32
      for (unsigned i = 0; i < blockColumns; ++i)
        words[i] = integerResult(call.accumulate ? words[i] : 0, sums[i], mma.overflow);
      break;
    }
  });
}

} // namespace

unsigned TensorMma::depth() const {
  return form.kind == TensorKind::tf32  ? 8
         : form.kind == TensorKind::f16 ? 16
         : isPacked4(form.kind)         ? 64
                                        : 32;
}

unsigned TensorMma::elementsOfUnit(WgmmaOperand operand) const {
  return isPacked4(form.kind) ? 2 * unitBytes
                              : unitBytes * 8 / elementBits(operand == WgmmaOperand::a ? a : b);
}

unsigned TensorMma::columnsD() const {
  // Where a block has fewer than 128 rows, the lanes left hold further columns of them.
  if (form.form == TensorForm::weightStationary)
    return n / (tensorLanes / m);
  return form.ctaGroup == 2 && m == tensorLanes ? n / 2 : n;
}

TensorRow tensorRow(const TensorMma &mma, unsigned lane, uint32_t addressLane) {
  const unsigned rows = mma.rowsA();
  if (rows == tensorLanes)
    return {true, lane, 0};
  if (mma.form.form == TensorForm::dense && mma.form.ctaGroup == 1) {
    // 64 rows: half of each quarter.
    const unsigned within = lane % quarterLanes, first = addressLane % quarterLanes;
    return {within - first < quarterLanes / 2, lane / quarterLanes * 16 + within % 16, 0};
  }
  return {true, lane % rows, lane / rows * mma.columnsD()};
}

Result<void> checkOperand(const TensorMma &mma, WgmmaOperand operand, const TensorDescriptor &descriptor) {
  const bool isA = operand == WgmmaOperand::a;
  const bool wantsAtom32 = (isA ? mma.majorA : mma.majorB) == Major::mn && mma.form.kind == TensorKind::tf32;
  if (wantsAtom32 == (descriptor.swizzle == TensorSwizzle::bytes128Atom32))
    return {};
  return Error{ErrorKind::execution,
               fmt::format("field 'swizzle' (bits 61-63) of the descriptor {:#018x} of {} {}",
                           descriptor.encode(), isA ? "A" : "B",
                           wantsAtom32
                               ? "must be 1 (128 bytes in atoms of 32) for transposed tf32"
                               : "is 1 (128 bytes in atoms of 32), which only transposed tf32 takes")};
}

Result<void> checkScales(const TensorMma &mma, WgmmaOperand operand, uint32_t column, TensorCells cells) {
  for (unsigned lane = quarterLanes; lane < tensorLanes; ++lane)
    for (unsigned i = 0; i < mma.columnsOfScales(operand); ++i)
      if (tensorCell(cells, lane, column + i) != tensorCell(cells, lane % quarterLanes, column + i))
        return Error{
            ErrorKind::execution,
            fmt::format("the scale factors of {} at column {} of tensor memory differ between lanes {} and "
                        "{}; every quarter holds them, as tcgen05.cp.32x128b.warpx4 leaves them",
                        operand == WgmmaOperand::a ? "A" : "B", column + i, lane % quarterLanes, lane)};
  return {};
}

void operandRanges(const TensorMma &mma, WgmmaOperand operand, const TensorDescriptor &descriptor,
                   std::vector<ByteRange> &ranges) {
  UnitSet units;
  visitOperand(mma, operand, descriptor, [&](unsigned, unsigned, uint32_t address) { units.add(address); });
  units.appendTo(ranges);
}

void tensorMma(const TensorMma &mma, const TensorMmaCall &call, std::span<const TensorBlock> blocks) {
  Panels panels;
  unpackB(mma, call, blocks, panels);
  for (size_t p = 0; p < blocks.size(); ++p) {
    unpackA(mma, call, blocks[p], panels);
    if (isScaled(mma.form.kind))
      unpackScales(mma, call, blocks[p], panels);
    multiplyBlock(mma, call, panels, blocks[p].cells, &call.disabledLanes[4 * p]);
  }
}

} // namespace tlc::emulator
