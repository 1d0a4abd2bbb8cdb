// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where matrix instructions have their operands: one instruction's share as a map of digits. Layouts of
/// tiles are made of these (StockLayouts.h).
///
/// Fragments map (reg, lane) of a warp to the axes of the operand: m and k of A, k and n of B, m and n of the
/// accumulator. A register is a slot for one element, packed in order into machine registers. Sources: PTX
/// ISA, "Matrix Fragments for mma.m16n8k...", "Tensor Memory and Register Load/Store Instructions", "tcgen05
/// Memory Layout".
#pragma once

#include "dialects/layout/LayoutMap.h"
#include "runtime/target/Hardware.h"

namespace tlc {

//===----------------------------------------------------------------------===//
// mma.sync, and a warp's part of wgmma
//===----------------------------------------------------------------------===//

/// The 8x8 pattern of all of them: lane l has, of row l / 4 of A (column of B), the 32 or 64 bits at place
/// l % 4. `m` is 8 or 16, `k` a multiple of the elements that four lanes have.
LayoutMap mmaSyncA(int64_t m, int64_t k, int elementBits);
LayoutMap mmaSyncB(int64_t k, int elementBits);
LayoutMap mmaSyncAccumulator(int64_t m);
/// Which elements of 16 rows of A are stored, where half of them are (mma.sp, wgmma.mma_async.sp): bytes of 8
/// bits, of a row those of `steps` instructions, (reg, lane) to row and byte. Of 8 bits, four lanes have
/// 2 rows of one instruction. Of 16 and 32 two lanes do, and the other two have the next instruction, if
/// there are two steps, or the same again; sparsity selector 0 is the first two.
LayoutMap sparseMetadata(int elementBits, int64_t steps);

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

enum class TensorMemoryShape : uint8_t {
  lanes32x32b,
  lanes16x64b,
  lanes16x128b,
  lanes16x256b,
  lanes16x32bx2
};

/// A form of tcgen05.ld and tcgen05.st.
struct TensorMemoryMove {
  TensorMemoryShape shape = TensorMemoryShape::lanes32x32b;
  int64_t repeat = 1; ///< .x1 to .x128
  /// .pack::16b, .unpack::16b: a register holds the lower halves of two neighbouring columns.
  bool packs = false;
  int64_t splitColumns = 0; ///< 16x32bx2: columns from the first 16 lanes' address to the others'
};
/// The largest `repeat` of a shape in a kernel whose threads have `registersAtLaunch` registers when it
/// starts; at least 1.
int64_t maxRepeat(TensorMemoryShape shape, int64_t registersAtLaunch);
/// (reg, lane) of a warp to (tensor lane, tensor bit) from the instruction's address on, for elements of 32
/// bits, or of 8 or 16 packed into registers, with `packs` of 16.
LayoutMap tensorMemoryMove(const TensorMemoryMove &move, int elementBits);

/// How tcgen05.mma places its accumulator.
struct Tcgen05Accumulator {
  int64_t m = tcgen05Rows; ///< rows of all blocks: 32 (weight-stationary), 64, 128, 256
  int64_t n = maxTcgen05Columns;
  int64_t blocks = 1;            ///< cta_group
  bool weightStationary = false; ///< .ws
};
/// (axis 0, axis 1) = (m, n) to (tensor lane, tensor bit, block). An element takes a column of 32 bits. Rows
/// below 128 of a block leave lanes to further columns, but the 64 dense ones of one block, which take the
/// first 16 lanes of each warp's 32.
LayoutMap tcgen05Accumulator(const Tcgen05Accumulator &accumulator);
/// Operand A [rows, k] in tensor memory: (axis 0, axis 1) to (tensor lane, tensor bit). 128 rows fill the
/// lanes, 64 the first 16 of each warp's 32; elements lie side by side.
LayoutMap tensorMemoryRows(int64_t rows, int64_t k, int elementBits);
/// How whole rows of 128 or 64 move: a lane has a row, or four lanes share one.
TensorMemoryShape tensorMemoryShapeOf(int64_t rows, int elementBits);
/// Columns, and registers of a lane, of one repetition of a shape.
struct TensorMemoryStep {
  int64_t columns, registers;
};
TensorMemoryStep tensorMemoryStep(TensorMemoryShape shape);

/// Scale factors of `rows` rows, a multiple of 32, up to 4 bytes each: (tensor lane, tensor bit) to (row,
/// factor). Each warp's lanes have them all; the 8 bits of a factor are a digit that changes nothing.
LayoutMap tcgen05ScaleFactors(int64_t rows);
/// The same in shared memory, (row, factor) to a bit's offset, as tcgen05.cp.32x128b.warpx4 takes 128 rows at
/// once.
LayoutMap sharedScaleFactors(int64_t rows);
/// Elements of 4 or 6 bits as tcgen05.mma of kind f8f6f4 takes them: each 16 side by side at the beginning of
/// 16 bytes. A row of `k` elements, axis 0 to a bit's offset in a row of as many bytes.
LayoutMap spacedElements(int64_t k, int elementBits);

} // namespace tlc
