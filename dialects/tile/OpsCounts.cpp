// SPDX-License-Identifier: Apache-2.0
/// \file
/// Counts in global memory: checks, and what they order.
#include "dialects/tile/Counts.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "dialects/tile/SharedSlice.h"
#include "runtime/target/BlockBudget.h"
#include "runtime/target/Hardware.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

#define GET_OP_CLASSES
#include "dialects/tile/OpsCounts.cpp.inc"

bool tile::letsBlocksGoOn(Operation *op) { return isa<AnnounceOp, TakeOp>(op); }
bool tile::goesOnAfterBlocks(Operation *op) { return isa<WaitForOp, TakeOp>(op); }

/// announce_c1: messages name the tensor.
static LogicalResult verifyCountSlice(Operation *op, Value count) {
  if (failed(verifySliceOfTensor(op, count)))
    return failure();
  auto type = cast<SliceType>(count.getType());
  if (type.getElementType().isSignlessInteger(32) && numElements(type.getShape()) == 1)
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError()
                                  << "expected one element of i32 because that is what is counted, but "
                                  << describe(count, "the slice") << " has " << toText(type.getShape())
                                  << " of " << type.getElementType();
  noteDeclaration(diagnostic, count);
  return diagnostic;
}

/// Counts are added up in any order. Where they are read or written otherwise, that is ordered.
static MemoryAccess accessOfCount(Value count) {
  return {.memory = count, .kind = AccessKind::add, .agent = Agent::oneThread, .order = std::nullopt};
}

LogicalResult AnnounceOp::verify() { return verifyCountSlice(*this, getCount()); }
Synchronisation AnnounceOp::getSynchronisation() { return {.meetsFirst = true, .handsOn = true}; }
SmallVector<MemoryAccess, 3> AnnounceOp::getMemoryAccesses() { return {accessOfCount(getCount())}; }
bool AnnounceOp::suitsOneThread() { return true; }

LogicalResult WaitForOp::verify() {
  if (std::optional<uint64_t> limit = getLimit(); limit && int64_t(*limit) <= 0) // wait_for_c2
    return emitOpError() << "expected a positive limit in nanoseconds, but got " << int64_t(*limit);
  return verifyCountSlice(*this, getCount()); // wait_for_c1
}
Synchronisation WaitForOp::getSynchronisation() { return {.meetsFirst = true, .waits = true}; }
SmallVector<MemoryAccess, 3> WaitForOp::getMemoryAccesses() { return {accessOfCount(getCount())}; }
bool WaitForOp::suitsOneThread() { return true; }

/// take_c2, next_block_c1
static LogicalResult verifyDestination(Operation *op, TypedValue<SharedType> destination, size_t positions) {
  SharedType tile = destination.getType();
  if (tile.getElementType().isSignlessInteger(32) && tile.getShape().size() == positions)
    return success();
  InFlightDiagnostic diagnostic =
      op->emitOpError()
      << "expected a tile of i32 and a position along each of its axes because the number is "
      << "written there, but " << describe(destination, "the tile") << " has " << toText(tile.getShape())
      << " of " << tile.getElementType() << ", and there are " << positions << " positions";
  noteDeclaration(diagnostic, destination);
  return diagnostic;
}

LogicalResult TakeOp::verify() {
  return failure(failed(verifyCountSlice(*this, getCount())) || // take_c1
                 failed(verifyDestination(*this, getDestination(), getPosition().size())));
}
Synchronisation TakeOp::getSynchronisation() { return {.meetsFirst = true, .handsOn = true, .waits = true}; }
SmallVector<MemoryAccess, 3> TakeOp::getMemoryAccesses() {
  return {accessOfCount(getCount()),
          {.memory = getDestination(), .kind = AccessKind::write, .agent = Agent::oneThread}};
}
bool TakeOp::suitsOneThread() { return true; }

bool tile::takesNumber(Operation *op) { return isa<TakeOp, NextBlockOp>(op); }

void AllocResponseOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResponse(), getName()); }
int64_t AllocResponseOp::getAlignment() { return cancelResponseBytes; }
int64_t AllocResponseOp::takePlace(BlockBudget &block) { return block.addCancelResponse(); }

LogicalResult AllocResponseOp::verify() { // alloc_response_c1
  std::optional<uint64_t> offset = getOffset();
  if (!offset || (int64_t(*offset) >= 0 && int64_t(*offset) % cancelResponseBytes == 0))
    return success();
  return emitOpError() << "expected an offset that is a multiple of " << cancelResponseBytes
                       << " because a response is written to aligned bytes, but got " << int64_t(*offset);
}

LogicalResult NextBlockOp::verify() { // next_block_c1
  return verifyDestination(*this, getDestination(), getPosition().size());
}
Synchronisation NextBlockOp::getSynchronisation() { return {.meetsFirst = true}; }
SmallVector<MemoryAccess, 3> NextBlockOp::getMemoryAccesses() {
  return {{.memory = getDestination(), .kind = AccessKind::write, .agent = Agent::oneThread}};
}
bool NextBlockOp::suitsOneThread() { return true; }
