// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products: by wgmma (Wgmma.cpp), by mma.sync, or element by element.
#include "compiler/lowering/TileToSimt/Convert.h"
#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "compiler/lowering/TileToSimt/Wgmma.h"
#include "dialects/layout/LayoutText.h"
#include "dialects/layout/StockLayouts.h"
#include "dialects/tile/Shapes.h"
#include "runtime/support/Math.h"
#include "runtime/target/MmaAtoms.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

namespace {
std::optional<WarpGrid> mmaGridOf(const FragmentLayout &acc, ArrayRef<int64_t> shape, int64_t warps) {
  for (int64_t alongM = 1; alongM <= warps; ++alongM) {
    WarpGrid grid{alongM, warps / alongM};
    if (grid.alongM * grid.alongN == warps && mmaAccumulator(shape[0], shape[1], grid) == acc)
      return grid;
  }
  return std::nullopt;
}

Value multiplyByMmaSync(KernelLowering &k, tile::GemmOp op) {
  Emitter &b = k.b;
  auto reject = [&](const Twine &why) {
    op.emitOpError() << "expected a product that mma.sync can compute because the atom is mma_sync: " << why;
    return Value();
  };
  const SharedTile &right = k.shared(op.getB());
  Type leftElement = tile::elementTypeOf(op.getA().getType());
  ElementType ofLeft = *toElementType(leftElement),
              ofRight = *toElementType(op.getB().getType().getElementType()),
              ofSums = *toElementType(op.getAcc().getType().getElementType());
  const MmaAtom *atom = findMmaAtom(k.target, MmaKind::mmaSync, ofLeft, ofRight, ofSums);
  if (!atom)
    return reject(describeMissing(k.target, MmaKind::mmaSync, ofLeft, ofRight, ofSums));
  RankedTensorType accType = op.getAcc().getType();
  ArrayRef<int64_t> shape = accType.getShape();
  std::optional<WarpGrid> grid;
  if (shape.size() == 2)
    grid = mmaGridOf(k.layoutOf(accType), shape, k.team.warps);
  if (!grid)
    return reject("expected the accumulator in mma.sync's layout for " + Twine(k.team.warps) +
                  " warps, but got " + printLayout(k.layoutOf(accType)));
  assert(atom->m == mmaSyncRows && atom->nMax == mmaSyncColumns &&
         "the fragments' layouts are of this shape");
  const int64_t mmaM = atom->m, mmaN = atom->nMax, mmaK = atom->k;
  int elementBits = int(right.element.getIntOrFloatBitWidth());
  int64_t m = shape[0], n = shape[1], depth = right.shape[0], steps = depth / mmaK;
  if (depth % mmaK != 0)
    return reject("expected a multiple of " + Twine(mmaK) + " along the reduced axis, but got " +
                  Twine(depth));
  int64_t rowBlocks = ceilDiv(m, mmaM * grid->alongM), columnBlocks = ceilDiv(n, mmaN * grid->alongN);
  // Of one instruction, per thread.
  int64_t accRegisters = mmaM * mmaN / atom->threads;
  auto wordsOf = [&](int64_t elements) { return elements * elementBits / (atom->threads * registerBits); };
  int64_t leftWords = wordsOf(mmaM * mmaK), rightWords = wordsOf(mmaK * mmaN);

  Value left; // all of the left factor, where it is a fragment already
  if (auto type = dyn_cast<RankedTensorType>(op.getA().getType())) {
    FragmentLayout expected = mmaOperandA(m, depth, elementBits, *grid);
    if (k.layoutOf(type) != expected)
      return reject("expected the left factor's registers in the layout " + printLayout(expected) +
                    ", but got " + printLayout(k.layoutOf(type)));
    left = b.recast(k.value(op.getA()), b.getI32Type());
  }
  FragmentLayout leftStep = mmaOperandA(m, mmaK, elementBits, *grid);
  FragmentLayout rightStep = mmaOperandB(mmaK, n, elementBits, *grid);
  SmallVector<Value> blocks;
  for (int64_t block = 0; block < rowBlocks * columnBlocks; ++block)
    blocks.push_back(b.piece(k.value(op.getAcc()), block * accRegisters, accRegisters));
  for (int64_t step = 0; step < steps; ++step) {
    Value a = left;
    if (!a)
      a = b.recast(loadShared(k, k.shared(op.getA()), leftStep, {m, mmaK}, {0, step * mmaK}), b.getI32Type());
    Value factor = b.recast(loadShared(k, right, rightStep, {mmaK, n}, {step * mmaK, 0}), b.getI32Type());
    for (int64_t row = 0; row < rowBlocks; ++row) {
      int64_t first = left ? (row * steps + step) * leftWords : row * leftWords;
      Value aBlock = b.piece(a, first, leftWords);
      for (int64_t column = 0; column < columnBlocks; ++column) {
        Value &acc = blocks[size_t(row * columnBlocks + column)];
        acc = simt::MmaSyncOp::create(b, acc.getType(), acc, aBlock,
                                      b.piece(factor, column * rightWords, rightWords), leftElement,
                                      op.getB().getType().getElementType());
      }
    }
  }
  return b.join(blocks);
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

/// Of factors that are elements of this type, as numbers of the sums' type.
Value extend(KernelLowering &k, Value vector, Type element) {
  auto type = cast<VectorType>(vector.getType());
  if (element.isUnsignedInteger())
    return arith::ExtUIOp::create(k.b, type.clone(k.b.getI32Type()), vector);
  if (isa<IntegerType>(element))
    return arith::ExtSIOp::create(k.b, type.clone(k.b.getI32Type()), vector);
  if (element.isF32())
    return vector;
  if (!isComputed(element))
    return decodeFloats(k, vector, *toElementType(element));
  return arith::ExtFOp::create(k.b, type.clone(k.b.getF32Type()), vector);
}

Value multiplyAdd(Emitter &b, Value left, Value right, Value acc) {
  if (isa<FloatType>(getElementTypeOrSelf(acc)))
    return math::FmaOp::create(b, left, right, acc);
  return arith::AddIOp::create(b, arith::MulIOp::create(b, left, right), acc);
}

/// A loop along the reduced axis; in each step a thread loads what its rows and columns need.
Value multiplyByFma(KernelLowering &k, tile::GemmOp op) {
  Emitter &b = k.b;
  RankedTensorType accType = op.getAcc().getType();
  if (accType.getRank() != 2 || !isa<tile::SharedType>(op.getA().getType())) {
    op.emitOpError() << "expected two factors of two axes in shared memory because the atom is fma, but got "
                     << op.getA().getType();
    return {};
  }
  const SharedTile &left = k.shared(op.getA()), &right = k.shared(op.getB());
  const FragmentLayout &layout = k.layoutOf(accType);
  FragmentLayout rows = layout.reduced(1), columns = layout.reduced(0);
  SmallVector<int64_t> rowOf = reducedRegisters(layout, rows, {1}),
                       columnOf = reducedRegisters(layout, columns, {0});
  int64_t m = accType.getShape()[0], n = accType.getShape()[1];
  Type leftElement = tile::elementTypeOf(op.getA().getType()),
       rightElement = op.getB().getType().getElementType();
  auto loop =
      scf::ForOp::create(b, b.i32(0), b.i32(right.shape[0]), b.i32(1), ValueRange{k.value(op.getAcc())},
                         [&](OpBuilder &, Location, Value at, ValueRange carried) {
                           Value zero = b.i32(0);
                           Value a = loadShared(k, left, rows, {m, 1}, {}, {zero, at});
                           Value factor = loadShared(k, right, columns, {1, n}, {}, {at, zero});
                           a = b.pick(extend(k, a, leftElement), rowOf);
                           factor = b.pick(extend(k, factor, rightElement), columnOf);
                           scf::YieldOp::create(b, multiplyAdd(b, a, factor, carried[0]));
                         });
  return loop.getResult(0);
}
} // namespace

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static LogicalResult lowerOp(KernelLowering &k, tile::GemmOp op) {
  if (!op.getAtom())
    return op.emitOpError()
           << "expected an atom, but got none; run 'tile-select-products' before 'tile-to-simt'";
  Value result;
  switch (*op.getAtom()) {
  case tile::MatrixAtom::wgmma:
    if (Value started = startWgmma(k, {op, op.getA(), op.getB(), op.getAcc(), op.getMetadata()}))
      result =
          simt::WgmmaWaitOp::create(k.b, TypeRange{started.getType()}, ValueRange{started}, 0).getResult(0);
    break;
  case tile::MatrixAtom::mma_sync:
    result = multiplyByMmaSync(k, op);
    break;
  case tile::MatrixAtom::fma:
    result = multiplyByFma(k, op);
    break;
  case tile::MatrixAtom::tcgen05:
    llvm_unreachable("it adds in tensor memory, as the verifier says");
  }
  k.set(op.getResult(), result);
  return success(bool(result));
}

static LogicalResult lowerOp(KernelLowering &k, tile::GemmAsyncOp op) {
  Value result = startWgmma(k, {op, op.getA(), op.getB(), op.getAcc(), op.getMetadata()});
  k.set(op.getResult(), result);
  return success(bool(result));
}

static LogicalResult lowerOp(KernelLowering &k, tile::GemmWaitOp op) {
  Value value = k.value(op.getAcc());
  auto wait = simt::WgmmaWaitOp::create(k.b, TypeRange{value.getType()}, ValueRange{value}, op.getPending());
  k.set(op.getResult(), wait.getResult(0));
  return success();
}

void lowering::addGemmLowerings(LoweringTable &table) {
  table.add<tile::GemmOp>(lowerOp);
  table.add<tile::GemmAsyncOp>(lowerOp);
  table.add<tile::GemmWaitOp>(lowerOp);
}
