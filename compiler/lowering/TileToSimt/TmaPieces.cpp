// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tiles in the order of accumulators, which bulk reductions add without a tensor map: whole pieces are
/// adjacent.
#include "compiler/analysis/Divisibility.h"
#include "compiler/lowering/TileToSimt/Tma.h"
#include "dialects/layout/AccumulatorOrder.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {
/// Why the tile cannot be combined with the slice, of a tensor in the order of accumulators, in whole pieces;
/// empty if it can.
std::string pieceProblem(const Slice &slice, const SharedTile &tile) {
  std::string name = slice.tensor->argument.getName().str();
  size_t last = slice.shape.size() - 1;
  auto divides = [&](size_t axis, const AccumulatorAxis &piece) {
    return slice.shape[axis] % piece.extent == 0 &&
           tile::knownDivisor(tile::SliceOp(slice.op).getOrigin()[axis]) % piece.extent == 0;
  };
  if (slice.limitedAxis >= 0 && size_t(slice.limitedAxis) + 1 >= last)
    return "expected no limit along rows or columns of '" + name +
           "' because whole pieces of an accumulator are moved; add a fragment";
  if (!divides(last - 1, accumulatorRows) || !divides(last, accumulatorColumns))
    return "expected the slice of '" + name +
           "' to begin at a multiple of 16 rows and 8 columns and to have as many because it is in the order "
           "of accumulators, but that is not known; add a fragment";
  if (!tile.layout.isInPieces() || tile.transposed)
    return "expected a tile in the order of accumulators as '" + name +
           "' is, but another use of it takes no such order";
  return {};
}

/// The first and the last row or column, of so many from `origin` on, that memory has: whole pieces.
std::pair<Value, Value> rangeInMemory(Emitter &b, Value origin, Value end, int64_t count, int64_t piece) {
  Value wholeEnd = b.bitAnd(b.add(end, piece - 1), -piece);
  return {b.clamp(b.sub(b.i32(0), origin), b.i32(count)), b.clamp(b.sub(wholeEnd, origin), b.i32(count))};
}

/// cp.reduce.async.bulk of adjacent elements, which NVVM does not have: it completes with its bulk group. The
/// policy may be null.
void startBulkReduction(Emitter &b, tile::CombineKind kind, Type element, Value source, Value destination,
                        Value bytes, Value policy) {
  std::string instruction = "cp.reduce.async.bulk.global.shared::cta.bulk_group.";
  if (policy)
    instruction += "L2::cache_hint.";
  StringRef operation = tile::stringifyCombineKind(kind);
  bool isOfBits = operation.consume_front("bit_");
  instruction += operation;
  if (isOfBits)
    instruction += ".b32";
  else if (element.isF32())
    instruction += ".f32";
  else if (element.isSignlessInteger())
    instruction += ".s32";
  else
    instruction += StringRef(kind == tile::CombineKind::add ? ".noftz" : "").str() +
                   (element.isBF16() ? ".bf16" : ".f16");
  Value shared = LLVM::PtrToIntOp::create(b, b.getI32Type(), source);
  SmallVector<Value> operands = {destination, shared, bytes};
  if (policy)
    operands.push_back(policy);
  LLVM::InlineAsmOp::create(b, TypeRange(), operands,
                            instruction + (policy ? " [$0], [$1], $2, $3;" : " [$0], [$1], $2;"),
                            policy ? "l,r,r,l,~{memory}" : "l,r,r,~{memory}",
                            /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                            LLVM::AsmDialectAttr(), ArrayAttr());
}
} // namespace

LogicalResult lowering::reducePieces(KernelLowering &k, tile::CopyReduceOp op) {
  Emitter &b = k.b;
  const Slice &slice = k.slice(op.getDestination());
  const SharedTile &tile = k.shared(op.getSource());
  if (std::string problem = pieceProblem(slice, tile); !problem.empty())
    return op.emitError() << problem;
  const GlobalTensor &tensor = *slice.tensor;
  size_t columnAxis = slice.shape.size() - 1, rowAxis = columnAxis - 1;
  constexpr int64_t pieceRows = accumulatorRows.extent, pieceColumns = accumulatorColumns.extent;
  int64_t rows = slice.shape[rowAxis], columns = slice.shape[columnAxis], bytes = tile.elementBytes();
  k.byOneThread([&] {
    Value index = b.i64(0), isInside;
    for (size_t axis = 0; axis < rowAxis; ++axis) {
      index = b.add(index, b.mul(b.extend(slice.origin[axis]), tensor.strides[axis]));
      if (slice.isGuarded(int(axis)))
        isInside = b.both(isInside, b.isBelow(slice.origin[axis], slice.ends[axis]));
    }
    index = b.add(index, b.mul(b.extend(slice.origin[rowAxis]), tensor.strides[rowAxis]));
    index = b.add(index, b.mul(b.extend(slice.origin[columnAxis]), pieceRows));
    Value to = b.element(slice.pointer, tensor.element, index);
    auto [firstRow, lastRow] = rangeInMemory(b, slice.origin[rowAxis], slice.ends[rowAxis], rows, pieceRows);
    auto [firstColumn, lastColumn] =
        rangeInMemory(b, slice.origin[columnAxis], slice.ends[columnAxis], columns, pieceColumns);
    auto reduce = [&](Value source, Value destination, Value count) {
      b.when(b.both(isInside, arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, count, b.i32(0))), [&] {
        startBulkReduction(b, op.getKind(), tensor.element, source, destination, count, k.policyOf(slice));
      });
    };
    bool hasWholeRows = Emitter::known(slice.origin[columnAxis]) == 0 &&
                        Emitter::known(tensor.extents[columnAxis]) == columns;
    if (hasWholeRows) {
      int64_t rowBytes = columns * bytes;
      reduce(b.offset(tile.base, b.mul(firstRow, rowBytes)),
             b.offset(to, b.mul(b.extend(firstRow), rowBytes)), b.mul(b.sub(lastRow, firstRow), rowBytes));
    } else {
      Value skipped = b.mul(firstColumn, pieceRows * bytes);
      Value count = b.mul(b.sub(lastColumn, firstColumn), pieceRows * bytes);
      for (int64_t row = 0; row < rows; row += pieceRows) {
        Value isRow = b.both(arith::CmpIOp::create(b, arith::CmpIPredicate::sle, firstRow, b.i32(row)),
                             arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, lastRow, b.i32(row)));
        Value destination = b.element(to, tensor.element, b.mul(tensor.strides[rowAxis], row));
        reduce(b.offset(b.offset(tile.base, skipped), row * columns * bytes),
               b.offset(destination, b.extend(skipped)), b.select(isRow, count, b.i32(0)));
      }
    }
    simt::BulkCommitOp::create(b);
    simt::BulkWaitOp::create(b, 0, op.getUntilRead());
  });
  return k.syncTeam();
}
