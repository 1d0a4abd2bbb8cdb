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

/// tcgen05_load_c1
LogicalResult verifyRegisters(Operation *op, Type type) {
  int64_t registers = cast<VectorType>(type).getNumElements();
  if (isPowerOf2(registers) && registers <= maxTensorMemoryRegisters)
    return success();
  return op->emitOpError() << "expected a power of two of registers, at most " << maxTensorMemoryRegisters
                           << ", because one instruction moves as many, but got " << registers;
}
} // namespace

LogicalResult Tcgen05AllocOp::verify() { return verifyColumns(*this, getColumns()); }
LogicalResult Tcgen05DeallocOp::verify() { return verifyColumns(*this, getColumns()); } // tcgen05_dealloc_c1

LogicalResult Tcgen05LoadOp::verify() { return verifyRegisters(*this, getResult().getType()); }
LogicalResult Tcgen05StoreOp::verify() { return verifyRegisters(*this, getValues().getType()); }

LogicalResult Tcgen05MmaOp::verify() {
  int64_t m = getM(), n = getN();
  if (m != tcgen05Rows) // tcgen05_mma_c1
    return emitOpError() << "expected 'm' to be " << tcgen05Rows << ", but got " << m;
  if (n < tcgen05ColumnStep || n > maxTcgen05Columns || n % tcgen05ColumnStep != 0)
    return emitOpError() << "expected 'n' to be a multiple of " << tcgen05ColumnStep << " from "
                         << tcgen05ColumnStep << " to " << maxTcgen05Columns << ", but got " << n;
  Type element = getElement();
  if (!element.isF16() && !element.isBF16() && !element.isF32() && !isa<Float8E4M3FNType>(element)) // c2
    return emitOpError() << "expected 'element' to be f16, bf16, f32 or f8E4M3FN, but got " << element;
  if (element.isF32() && (getTransposeA() || getTransposeB()))
    return emitOpError()
           << "expected factors along k because those of 32 bits cannot be read transposed, but "
           << (getTransposeA() ? "'a'" : "'b'") << " is";
  if (getTransposeA() && !getA().getType().isInteger(64))
    return emitOpError()
           << "expected 'a' to be a descriptor because only shared memory can be read transposed, but got "
           << getA().getType();
  return success();
}
