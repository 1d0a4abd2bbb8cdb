// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tiles of bytes from shared memory to shared memory with the axes exchanged, by ldmatrix and stmatrix.
///
/// Below, the source's rows are `r` and its columns `c`: it is contiguous along c, the destination along r.
/// Both instructions move elements of 16 bits. Loaded with `transpose`, a matrix of 8 rows and 8 pairs of
/// columns leaves rows 2a, 2a + 1 of the pair p in lane 4p + a. Two such matrices have four rows there, of
/// which one byte permutation collects what belongs to column 2p and another what belongs to column 2p + 1: a
/// word of a row of the destination. Which source rows the two matrices have decides in which order the words
/// have them:
///
///                    low matrix             high matrix            word a of a row
///     interleaved    0 1 2 3 4 5 6 7        8 9 ... 15             2a, 2a+1, 8+2a, 8+2a+1
///     natural        0 1 4 5 8 9 12 13      2 3 6 7 10 11 14 15    4a, 4a+1, 4a+2, 4a+3
///
/// Stored as they are, the even columns would be one matrix and the odd ones another; every other row of a
/// swizzled tile has its banks in common with the one four further. So lanes of the upper four pairs exchange
/// the two, and a matrix has columns 0 2 4 6 9 11 13 15.
#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "runtime/support/Math.h"

#include <numeric>

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {
/// What one pair of instructions of four matrices moves.
constexpr int64_t rowsPerMove = 16, columnsPerMove = 32;
/// Moves loaded before the first is stored.
constexpr size_t movesInFlight = 2;
constexpr int64_t evenBytes = 0x6420, oddBytes = 0x7531; ///< of two words

bool hasChunks(const SharedLayout &layout) {
  return layout.withOrder({})->contiguousElements() % matrixRowBytes == 0;
}

/// The orders of a row that moves can leave; see above.
bool fitsMoves(const RowOrder &order) { return order.empty() || order == interleavedRows(); }

/// How the warps share the moves.
struct Shares {
  int64_t warpsAlongRows, warpsAlongColumns;
  int64_t rowMoves, columnMoves; ///< of each warp; the last ones along the rows may be none

  Shares(int64_t warps, int64_t rows, int64_t columns) {
    int64_t rowBlocks = rows / rowsPerMove, columnBlocks = columns / columnsPerMove;
    warpsAlongColumns = std::gcd(warps / std::gcd(warps, rowBlocks), columnBlocks);
    warpsAlongRows = warps / warpsAlongColumns;
    rowMoves = ceilDiv(rowBlocks, warpsAlongRows);
    columnMoves = columnBlocks / warpsAlongColumns;
  }

  /// Lanes that address rows of matrices, and the bytes of such a row, become a layout of the tile.
  FragmentLayout layout(int rowAxis, int columnAxis, FragmentLayout::Modes lane, LayoutMode bytes) const {
    int64_t rowStep = rowsPerMove * warpsAlongRows, columnStep = columnsPerMove * warpsAlongColumns;
    return FragmentLayout::get(
        2, {bytes, {rowMoves, rowAxis, rowStep}, {columnMoves, columnAxis, columnStep}}, std::move(lane),
        {{warpsAlongRows, rowAxis, rowsPerMove}, {warpsAlongColumns, columnAxis, columnsPerMove}});
  }
};
} // namespace

bool lowering::fitsTransposingMoves(KernelLowering &k, const SharedTile &source,
                                    const SharedTile &destination) {
  if (!k.target.stmatrix || source.rank() != 2 || source.layout.elementBits() != 8 ||
      source.contiguousAxis() == destination.contiguousAxis() || !source.layout.hasNaturalOrder() ||
      !fitsMoves(destination.layout.rowOrder()))
    return false;
  int64_t rows = source.shape[size_t(destination.contiguousAxis())],
          columns = source.shape[size_t(source.contiguousAxis())];
  return rows % rowsPerMove == 0 && columns % columnsPerMove == 0 && hasChunks(source.layout) &&
         hasChunks(destination.layout);
}

void lowering::copyTransposed(KernelLowering &k, const SharedTile &source, const SharedTile &destination) {
  Emitter &b = k.b;
  int row = destination.contiguousAxis(), column = source.contiguousAxis();
  Shares shares(k.team.warps, source.shape[size_t(row)], source.shape[size_t(column)]);

  FragmentLayout::Modes lanes = {{8, row, 1}, {2, row, 8}, {2, column, 16}};
  if (destination.layout.hasNaturalOrder())
    lanes = {{2, row, 1}, {4, row, 4}, {2, row, 2}, {2, column, 16}};
  FragmentLayout loads = shares.layout(row, column, lanes, {16, column, 1});
  FragmentLayout stores =
      shares.layout(row, column, {{8, column, 2}, {2, column, 1}, {2, column, 16}}, {16, row, 1});
  // Rows 4 to 7 of a matrix are the other one's.
  Team exchanged = k.team;
  exchanged.lane = b.bitXor(k.team.lane, b.mul(b.bitAnd(k.team.lane, 4), 2));
  SharedAddresses from(b, source, loads, k.team), to(b, destination, stores, exchanged);
  InsidePredicates inside(b, loads, source.shape, threadCoordinates(b, loads, k.team));
  Value upper = b.isEqual(b.bitAnd(k.team.lane, 16), 16);
  Value first = b.select(upper, b.i32(oddBytes), b.i32(evenBytes)),
        second = b.select(upper, b.i32(evenBytes), b.i32(oddBytes));

  auto move = [&](ArrayRef<Coordinates> starts) {
    constexpr int64_t words = 4;
    SmallVector<Value> loaded;
    for (const Coordinates &start : starts)
      loaded.push_back(
          simt::LdMatrixOp::create(b, b.vectorOf(words, b.getI32Type()), from.at(start), /*transpose=*/true));
    for (auto [start, matrices] : llvm::zip(starts, loaded)) {
      SmallVector<Value> stored;
      for (int64_t low = 0; low < words; low += 2)
        for (Value bytes : {first, second})
          stored.push_back(
              simt::PermuteBytesOp::create(b, b.extract(matrices, low), b.extract(matrices, low + 1), bytes));
      simt::StMatrixOp::create(b, b.pack(stored), to.at(start), /*transpose=*/false);
    }
  };
  auto moveRows = [&](int64_t begin, int64_t end) {
    SmallVector<Coordinates> starts;
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = 0; j < shares.columnMoves; ++j) {
        starts.emplace_back(2, 0);
        starts.back()[size_t(row)] = i * shares.warpsAlongRows * rowsPerMove;
        starts.back()[size_t(column)] = j * shares.warpsAlongColumns * columnsPerMove;
      }
    for (size_t done = 0; done < starts.size(); done += movesInFlight)
      move(ArrayRef(starts).drop_front(done).take_front(movesInFlight));
  };
  Coordinates last(2, 0);
  last[size_t(row)] = (shares.rowMoves - 1) * shares.warpsAlongRows * rowsPerMove;
  Value hasLast = inside.at(last);
  moveRows(0, hasLast ? shares.rowMoves - 1 : shares.rowMoves);
  if (hasLast)
    b.when(hasLast, [&] { moveRows(shares.rowMoves - 1, shares.rowMoves); });
}
