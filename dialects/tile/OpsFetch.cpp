// SPDX-License-Identifier: Apache-2.0
/// \file
/// Atomic operations that return the old value: checks, accesses, layouts.
#include "dialects/layout/BankModel.h"
#include "dialects/tile/CopyChecks.h"
#include "dialects/tile/Fetch.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "dialects/tile/SharedSlice.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

#define GET_OP_CLASSES
#include "dialects/tile/OpsFetch.cpp.inc"

namespace {
/// atomic_fetch_c2
LogicalResult verifyElements(AtomicFetchOp op) {
  if (op.getKind())
    return verifyCombined(op, *op.getKind(), op.getDestination());
  Type element = elementTypeOf(op.getDestination().getType());
  if (element.isInteger(32) || element.isSignlessInteger(64) ||
      (!op.getExpected() && (element.isF32() || element.isF64())))
    return success();
  InFlightDiagnostic diagnostic =
      op.emitOpError() << "expected " << (op.getExpected() ? "i32, u32 or i64" : "f32, f64, i32, u32 or i64")
                       << " because no other elements are " << (op.getExpected() ? "compared and " : "")
                       << "exchanged atomically, but " << describe(op.getDestination(), "the destination")
                       << " has " << element;
  noteDeclaration(diagnostic, op.getDestination());
  return diagnostic;
}

/// Extents and element type: layouts differ until they are inferred.
bool isAlike(Type a, Type b) { return extentsOf(a) == extentsOf(b) && elementTypeOf(a) == elementTypeOf(b); }
} // namespace

LogicalResult AtomicFetchOp::verify() {
  if (failed(verifySameTile(*this, getValue(), "the fragment", getDestination(), "the destination"))) // c1
    return failure();
  if (!getIndices().empty()) {
    if (failed(verifyIndices(*this, getDestination(), getValue(), getIndices())))
      return failure();
  } else if (!gatheredAxesOf(getDestination()).empty()) {
    return emitOpError("expected a box because there are no positions, but got a slice with gathered axes");
  }
  if (getExpected() && getKind()) // atomic_fetch_c3
    return emitOpError("expected no numbers to compare with because the elements are combined whatever they "
                       "are, but got both");
  if (getExpected() && !isAlike(getExpected().getType(), getValue().getType()))
    return emitOpError() << "expected numbers to compare with like those that are written, but got "
                         << getExpected().getType() << " and " << getValue().getType();
  return verifyElements(*this);
}

/// Unlike what is only combined, what the elements were depends on the order.
SmallVector<MemoryAccess, 3> AtomicFetchOp::getMemoryAccesses() {
  return {ordinaryAccess(getDestination(), AccessKind::write, getValue())};
}

LogicalResult AtomicFetchOp::stateLayouts(FragmentRules &rules) {
  rules.equal(getOld(), getValueMutable(), "the old values");
  for (MutableOperandRange others : {getIndicesMutable(), getExpectedMutable()})
    for (OpOperand &other : others)
      rules.equal(getOld(), other, "the operands of an atomic operation");
  return success();
}

std::optional<ScratchNeed> AtomicFetchOp::getScratchNeed() {
  FragmentLayout layout = layoutOf(getOld());
  if (layout.replication(HardwareAxis::lane) * layout.replication(HardwareAxis::warp) == 1)
    return std::nullopt;
  Type element = memoryTypeOf(getOld().getType().getElementType());
  return ScratchNeed{stagingLayout(layout, layout, shapeOf(getOld()), int(element.getIntOrFloatBitWidth())),
                     element};
}
ScratchWords AtomicFetchOp::getScratchWords() { return {"fetch", "an atomic operation", "compute it"}; }
