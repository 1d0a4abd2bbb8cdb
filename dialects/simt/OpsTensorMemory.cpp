// SPDX-License-Identifier: Apache-2.0
/// \file
/// tcgen05: checks.
#include "dialects/simt/Simt.h"
#include "runtime/support/Math.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::simt;

namespace {
/// tcgen05_alloc_c1
LogicalResult verifyColumns(Operation *op, int64_t columns) {
  const Target *target = program::findTarget(op);
  TensorMemoryFacts facts = target ? target->tensorMemory : TensorMemoryFacts();
  if (isPowerOf2(columns) && columns >= facts.minAllocation && columns <= facts.columns)
    return success();
  return op->emitOpError() << "expected a power of two from " << facts.minAllocation << " to "
                           << facts.columns
                           << " columns because tensor memory is reserved in such parts, but got " << columns;
}

LogicalResult verifyMove(Operation *op, Type type, int64_t rowBits) {
  if (rowBits != 32 && rowBits != 128 && rowBits != 256) // tcgen05_load_c2
    return op->emitOpError() << "expected 'row_bits' to be 32, 128 or 256, but got " << rowBits;
  const int64_t least = rowBits == 32 ? 1 : rowBits / 64; // two rows of four lanes
  int64_t registers = cast<VectorType>(type).getNumElements();
  if (isPowerOf2(registers) && registers >= least && registers <= maxTensorMemoryRegisters) // c1
    return success();
  return op->emitOpError() << "expected a power of two of registers from " << least << " to "
                           << maxTensorMemoryRegisters << " because one instruction moves as many, but got "
                           << registers;
}
} // namespace

LogicalResult Tcgen05AllocOp::verify() { return verifyColumns(*this, getColumns()); }
LogicalResult Tcgen05DeallocOp::verify() { return verifyColumns(*this, getColumns()); } // tcgen05_dealloc_c1

LogicalResult Tcgen05LoadOp::verify() { return verifyMove(*this, getResult().getType(), getRowBits()); }
LogicalResult Tcgen05StoreOp::verify() { return verifyMove(*this, getValues().getType(), getRowBits()); }

namespace {
bool areFactors(Type left, Type right) { // tcgen05_mma_c2
  auto areEach = [&](auto is) { return is(left) && is(right); };
  return (left == right && (left.isF16() || left.isBF16() || left.isF32())) ||
         areEach(llvm::IsaPred<Float8E4M3FNType, Float8E5M2Type>) ||
         areEach([](Type type) { return type.isInteger(8) && !type.isSignedInteger(); });
}
} // namespace

LogicalResult Tcgen05MmaOp::verify() {
  int64_t m = getM(), n = getN();
  if (m != tcgen05Rows && m != tcgen05Rows / 2) // tcgen05_mma_c1
    return emitOpError() << "expected 'm' to be " << tcgen05Rows / 2 << " or " << tcgen05Rows << ", but got "
                         << m;
  const int64_t step =
      m == tcgen05Rows || getAElement().isInteger() ? tcgen05ColumnStep : tcgen05ColumnStep / 2;
  if (n < step || n > maxTcgen05Columns || n % step != 0)
    return emitOpError() << "expected 'n' to be a multiple of " << step << " from " << step << " to "
                         << maxTcgen05Columns << ", but got " << n;
  if (!areFactors(getAElement(), getBElement()))
    return emitOpError()
           << "expected factors of f16, bf16 or f32, or each of f8E4M3FN or f8E5M2, or of i8 or "
              "ui8, but got "
           << getAElement() << " and " << getBElement();
  if (getAElement().isF32() && (getTransposeA() || getTransposeB()))
    return emitOpError()
           << "expected factors along k because those of 32 bits cannot be read transposed, but "
           << (getTransposeA() ? "'a'" : "'b'") << " is";
  if (getTransposeA() && !getA().getType().isInteger(64))
    return emitOpError()
           << "expected 'a' to be a descriptor because only shared memory can be read transposed, but got "
           << getA().getType();
  return success();
}
