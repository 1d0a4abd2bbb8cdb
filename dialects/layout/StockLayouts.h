// SPDX-License-Identifier: Apache-2.0
/// \file
/// The fragment layouts that instructions fix, and the blocked layouts for
/// coalesced memory access. All are total: any shape, with padding where the
/// instruction's granularity exceeds it and replicas where threads are left over.
#pragma once

#include "dialects/layout/SharedLayout.h"
#include "dialects/layout/WarpPolicy.h"

namespace tlc {

struct WarpGrid {
  int64_t alongM = 1, alongN = 1;
  bool operator==(const WarpGrid &) const = default;
};

/// Splits `units` workers, each of which computes a multiple of unitM x unitN.
WarpGrid divideWarps(WarpPolicy policy, int64_t m, int64_t n, int64_t units, int64_t unitM, int64_t unitN);

/// The grid of warpgroups, each computing m64 tiles, of a wgmma of m x n.
WarpGrid wgmmaGrid(int64_t m, int64_t n, int64_t warpgroups, WarpPolicy policy);
/// The grid of warps, each computing m16n8 tiles, of an mma.sync of m x n.
WarpGrid mmaGrid(int64_t m, int64_t n, int64_t warps, WarpPolicy policy);

/// Accumulator [m, n] of wgmma. Each warpgroup owns consecutive rows in blocks of 64
/// and consecutive columns in blocks of 8; register order is the instruction's, one
/// block of 64 rows after the other.
FragmentLayout wgmmaAccumulator(int64_t m, int64_t n, WarpGrid warpgroups);
/// Operand A [m, k] of wgmma in registers; warpgroups along n hold replicas.
/// `order` is operand B's along k, which A's must equal. For 16-bit elements, and for 8-bit ones in
/// interleaved order, each thread holds what it has of an accumulator.
FragmentLayout wgmmaOperandA(int64_t m, int64_t k, int elementBits, WarpGrid warpgroups,
                             const RowOrder &order = {});
/// Which elements of a sparse operand A of m rows of wgmma are stored: bytes [m, bytes], each of four or, of
/// 32 bits, two of them. Warpgroups along n hold replicas.
FragmentLayout wgmmaMetadata(int64_t m, int64_t bytes, int elementBits, WarpGrid warpgroups);
/// Bytes of a row of metadata that one instruction takes.
int64_t metadataBytesOfStep(int elementBits);
/// Instructions along k whose metadata a thread's words hold, one in two of its group's lanes each.
int64_t stepsOfMetadataWord(int64_t bytes, int elementBits);
/// Which elements are at the places along an axis that `places` gives, where they are in that order.
FragmentLayout withOrder(const FragmentLayout &places, int axis, const RowOrder &order);

/// Accumulator [m, n] of mma.sync m16n8, warps tiling m x n in consecutive blocks.
FragmentLayout mmaAccumulator(int64_t m, int64_t n, WarpGrid warps);
/// An accumulator [m, n] of so many warps, in rows if they divide among them: of wgmma where it can be.
FragmentLayout accumulatorFor(int64_t m, int64_t n, int64_t warps);
/// Operand A [m, k] of mma.sync; warps along n hold replicas.
FragmentLayout mmaOperandA(int64_t m, int64_t k, int elementBits, WarpGrid warps);
/// Operand B [k, n] of mma.sync (its "col" form); warps along m hold replicas.
FragmentLayout mmaOperandB(int64_t k, int64_t n, int elementBits, WarpGrid warps);

/// A tile [rows, n] on its way from or to tensor memory, of which each warp of a warpgroup reaches a quarter
/// of the lanes. Of 128 rows each thread has one; 64 rows are as in wgmma's accumulator. Warpgroups have
/// columns of their own. Fails where these do not divide the columns into what an instruction moves.
Result<FragmentLayout> tensorMemoryFragment(int64_t rows, int64_t n, int elementBits, int64_t warps);

/// How ldmatrix or stmatrix moves a fragment: 8x8 matrices of 16 bits, 8x16 of 8 bits or 8x4 of 32, `rowAxis`
/// counting the 16-byte rows in shared memory.
struct MatrixFragment {
  int rowAxis = 0, columnAxis = 1;
  enum class Form { plain, transposed } form = Form::plain;
  int64_t matricesPerWarp = 1; ///< a multiple of this many matrices per warp
  bool operator==(const MatrixFragment &) const = default;
};

/// Whether `columnAxis`, contiguous in shared memory, can be moved by
/// ldmatrix/stmatrix: plain if lanes hold words along it, transposed, of 16 bits only, if they hold
/// pairs along the other axis.
std::optional<MatrixFragment> matchMatrixFragment(const FragmentLayout &layout, int columnAxis,
                                                  int elementBits);

/// Coalesced access to memory that is contiguous along `contiguousAxis`: vectors of
/// at most `maxVectorBytes` along it, then lanes along it, then rows.
FragmentLayout blockedLayout(const Shape &shape, int elementBits, int64_t numWarps, int contiguousAxis,
                             int64_t maxVectorBytes = maxSharedVectorBytes);
/// The same along the last axis: what a value gets that nothing constrains.
FragmentLayout defaultLayout(const Shape &shape, int elementBits, int64_t numWarps);

} // namespace tlc
