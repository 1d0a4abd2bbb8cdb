// SPDX-License-Identifier: Apache-2.0
/// \file
/// The digits of matrix instructions' operands.
#include "dialects/layout/InstructionLayouts.h"

#include "runtime/support/Math.h"

#include <algorithm>
#include <cassert>

using namespace tlc;

namespace {
constexpr int64_t places = 4; ///< lanes along a row of the pattern
constexpr int64_t bitsOfColumn = registerBits;
/// Lanes of tensor memory that a warp reaches.
constexpr int64_t warpLanes = tcgen05Rows / warpsPerWarpgroup;
static_assert(warpLanes == lanesPerWarp);

/// Elements of a register; at least one.
int64_t perRegister(int elementBits) { return std::max<int64_t>(1, registerBits / elementBits); }

LayoutMap fragment(Modes reg, Modes lane) {
  return {{{Dim::reg, std::move(reg)}, {Dim::lane, std::move(lane)}}, {axisDim(0), axisDim(1)}};
}

// The outputs of maps to tensor memory.
enum { toLane, toBit, toBlock };

int64_t registersOf(TensorMemoryShape shape) {
  return shape == TensorMemoryShape::lanes16x128b ? 2 : shape == TensorMemoryShape::lanes16x256b ? 4 : 1;
}
} // namespace

LayoutMap tlc::mmaSyncA(int64_t m, int64_t k, int elementBits) {
  int64_t v = perRegister(elementBits);
  assert(m % matrixRows == 0 && k % (places * v) == 0 && "whole patterns of 8 rows");
  return fragment({{v, 1, 1}, {m / matrixRows, 0, matrixRows}, {k / (places * v), 1, places * v}},
                  {{places, 1, v}, {matrixRows, 0, 1}});
}

LayoutMap tlc::mmaSyncB(int64_t k, int elementBits) {
  int64_t v = perRegister(elementBits);
  assert(k % (places * v) == 0 && "whole patterns of 8 columns");
  return fragment({{v, 0, 1}, {k / (places * v), 0, places * v}}, {{places, 0, v}, {mmaSyncColumns, 1, 1}});
}

LayoutMap tlc::mmaSyncAccumulator(int64_t m) {
  constexpr int64_t pair = mmaSyncColumns / places;
  assert(m % matrixRows == 0 && "whole patterns of 8 rows");
  return fragment({{pair, 1, 1}, {m / matrixRows, 0, matrixRows}}, {{places, 1, pair}, {matrixRows, 0, 1}});
}

LayoutMap tlc::sparseMetadata(int elementBits, int64_t steps) {
  assert((steps == 1 || (steps == 2 && elementBits != 8)) && "a word of each lane");
  if (elementBits == 8)
    return fragment({{4, 1, 1}}, {{2, 0, matrixRows}, {2, 1, 4}, {matrixRows, 0, 1}});
  LayoutMode others = steps == 2 ? LayoutMode{2, 1, 4} : LayoutMode::replicated(2);
  return fragment({{2, 1, 1}, {2, 0, matrixRows}}, {{2, 1, 2}, others, {matrixRows, 0, 1}});
}

/// What ptxas 13.0 wants a thread to have when a kernel starts, besides the registers that an instruction
/// moves to or from tensor memory (C7602).
static constexpr int64_t otherRegisters = 18;

int64_t tlc::maxRepeat(TensorMemoryShape shape, int64_t registersAtLaunch) {
  int64_t registers = std::min(maxTensorMemoryRegisters, registersAtLaunch - otherRegisters);
  return int64_t(1) << log2Floor(std::max<int64_t>(registers / registersOf(shape), 1));
}

LayoutMap tlc::tensorMemoryMove(const TensorMemoryMove &move, int elementBits) {
  assert((!move.packs || elementBits * 2 == registerBits) && "halves of columns");
  assert(registerBits % elementBits == 0 && "whole elements in a register");
  // Columns of a register, and the elements in it.
  const int64_t width = move.packs ? 2 : 1, column = bitsOfColumn * width, n = move.repeat, rows = matrixRows;
  Modes reg = {{registerBits / elementBits, toBit, move.packs ? bitsOfColumn : elementBits}}, lane;
  auto registers = [&](Modes modes) { reg.insert(reg.end(), modes.begin(), modes.end()); };
  switch (move.shape) {
  case TensorMemoryShape::lanes32x32b:
    registers({{n, toBit, column}});
    lane = {{warpLanes, toLane, 1}};
    break;
  case TensorMemoryShape::lanes16x64b:
    registers({{n, toBit, 2 * column}});
    lane = {{2, toLane, rows}, {2, toBit, column}, {rows, toLane, 1}};
    break;
  case TensorMemoryShape::lanes16x128b:
    registers({{2, toLane, rows}, {n, toBit, 4 * column}});
    lane = {{places, toBit, column}, {rows, toLane, 1}};
    break;
  case TensorMemoryShape::lanes16x256b:
    registers({{2, toBit, column}, {2, toLane, rows}, {n, toBit, 8 * column}});
    lane = {{places, toBit, 2 * column}, {rows, toLane, 1}};
    break;
  case TensorMemoryShape::lanes16x32bx2:
    registers({{n, toBit, column}});
    lane = {{warpLanes / 2, toLane, 1}, {2, toBit, move.splitColumns * bitsOfColumn}};
    break;
  }
  return {{{Dim::reg, std::move(reg)}, {Dim::lane, std::move(lane)}}, {Dim::tensorLane, Dim::tensorBit}};
}

LayoutMap tlc::tcgen05Accumulator(const Tcgen05Accumulator &accumulator) {
  const int64_t rows = accumulator.m / accumulator.blocks, n = accumulator.n;
  assert(accumulator.m % accumulator.blocks == 0 && tcgen05Rows % rows == 0 && "blocks share rows evenly");
  Modes m, columns;
  if (rows == tcgen05Rows / 2 && accumulator.blocks == 1 && !accumulator.weightStationary) {
    m = {{warpLanes / 2, toLane, 1}, {warpsPerWarpgroup, toLane, warpLanes}};
    columns = {{n, toBit, bitsOfColumn}};
  } else {
    int64_t parts = tcgen05Rows / rows; // of the columns, in lanes of their own
    assert(n % parts == 0 && "parts of as many columns");
    m = {{rows, toLane, 1}, {accumulator.blocks, toBlock, 1}};
    columns = {{n / parts, toBit, bitsOfColumn}, {parts, toLane, rows}};
  }
  return {{{axisDim(0), std::move(m)}, {axisDim(1), std::move(columns)}},
          {Dim::tensorLane, Dim::tensorBit, Dim::block}};
}

LayoutMap tlc::tensorMemoryRows(int64_t rows, int64_t k, int elementBits) {
  assert((rows == tcgen05Rows || rows == tcgen05Rows / 2) && "all lanes, or half of each warp's");
  return {{{axisDim(0), {{rows / warpsPerWarpgroup, toLane, 1}, {warpsPerWarpgroup, toLane, warpLanes}}},
           {axisDim(1), {{k, toBit, elementBits}}}},
          {Dim::tensorLane, Dim::tensorBit}};
}

TensorMemoryShape tlc::tensorMemoryShapeOf(int64_t rows, int elementBits) {
  return rows == tcgen05Rows           ? TensorMemoryShape::lanes32x32b
         : elementBits == registerBits ? TensorMemoryShape::lanes16x256b
                                       : TensorMemoryShape::lanes16x128b;
}

TensorMemoryStep tlc::tensorMemoryStep(TensorMemoryShape shape) {
  switch (shape) {
  case TensorMemoryShape::lanes32x32b:
  case TensorMemoryShape::lanes16x32bx2:
    return {1, registersOf(shape)};
  case TensorMemoryShape::lanes16x64b:
    return {2, registersOf(shape)};
  case TensorMemoryShape::lanes16x128b:
    return {4, registersOf(shape)};
  case TensorMemoryShape::lanes16x256b:
    return {8, registersOf(shape)};
  }
  return {1, 1};
}

LayoutMap tlc::tcgen05ScaleFactors(int64_t rows) {
  constexpr int64_t bits = 8, factors = registerBits / bits;
  assert(rows % warpLanes == 0 && "whole warps of rows");
  return {
      {{Dim::tensorLane, {{warpLanes, 0, 1}, LayoutMode::replicated(warpsPerWarpgroup)}},
       {Dim::tensorBit, {LayoutMode::replicated(bits), {factors, 1, 1}, {rows / warpLanes, 0, warpLanes}}}},
      {axisDim(0), axisDim(1)}};
}

LayoutMap tlc::sharedScaleFactors(int64_t rows) {
  // 32 rows of 16 bytes, which tcgen05.cp moves to 32 lanes; 128 rows' factors fill them.
  constexpr int64_t bits = 8, factors = registerBits / bits, rowBits = matrixRowBytes * bits,
                    together = rowBits / registerBits;
  assert(rows % warpLanes == 0 && "whole warps of rows");
  return {{{axisDim(0),
            {{warpLanes, 0, rowBits},
             {together, 0, registerBits},
             {ceilDiv(rows, warpLanes * together), 0, warpLanes * rowBits}}},
           {axisDim(1), {{factors, 0, bits}}}},
          {Dim::bit}};
}

LayoutMap tlc::spacedElements(int64_t k, int elementBits) {
  assert(k % matrixRowBytes == 0 && "whole 16 bytes");
  return {{{axisDim(0), {{matrixRowBytes, 0, elementBits}, {k / matrixRowBytes, 0, matrixRowBytes * 8}}}},
          {Dim::bit}};
}
