// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensor memory: checks, and what its operations say of themselves. Products that add there are in
/// OpsProduct.cpp.
#include "dialects/tile/Names.h"
#include "dialects/tile/Tile.h"
#include "runtime/support/Math.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"
#include "runtime/target/TensorColumns.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

static TensorMemoryFacts factsFor(Operation *op) {
  const Target *target = program::findTarget(op);
  return target && target->tensorMemory.available ? target->tensorMemory : TensorMemoryFacts();
}

void AllocTensorMemoryOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getBuffer(), getName()); }

MemorySpace AllocTensorMemoryOp::getMemorySpace() { return MemorySpace::tensorMemory; }

int64_t AllocTensorMemoryOp::getAlignment() { return 1; }
int64_t AllocTensorMemoryOp::takePlace(BlockBudget &block) {
  TensorMemoryType type = getBuffer().getType();
  return block.addColumns(type.numSlots() * type.slotColumns());
}

LogicalResult AllocTensorMemoryOp::verify() {
  if (!getOffset())
    return success();
  TensorMemoryType type = getBuffer().getType();
  const auto [first, lane] = TensorPlace::decode(int64_t(*getOffset()));
  const int64_t rows = type.getShape().drop_back().back();
  int64_t count = type.numSlots() * type.slotColumns(), columns = factsFor(*this).columns;
  if (first > columns - count) // alloc_tensor_memory_c1
    return emitOpError() << "expected the " << count << " columns of '" << getName() << "' to lie within the "
                         << columns << " of tensor memory, but got them from column " << first;
  if (lane != 0 && (lane != tensorMemoryUpperLane || rows == tcgen05Rows)) // alloc_tensor_memory_c2
    return emitOpError() << "expected '" << getName() << "' to begin at lane 0 of each warp, or with "
                         << tcgen05Rows / 2 << " rows at lane " << tensorMemoryUpperLane << ", but got lane "
                         << lane << " for " << rows << " rows";
  return success();
}

LogicalResult ColumnsOp::verify() {
  TensorMemoryType source = getSource().getType(), view = getView().getType();
  const int64_t first = getFirst(), bits = view.getElementType().getIntOrFloatBitWidth();
  if (source.numSlots() != 1 || view.numSlots() != 1 || source.getElementType() != view.getElementType() ||
      first < 0 || first > source.getShape().back() - view.getShape().back()) // columns_c1
    return emitOpError() << "expected columns of " << describe(getSource(), "the source") << ", which is "
                         << source << ", but got " << view << " from column " << first;
  if (first * bits % registerBits != 0) // columns_c2
    return emitOpError() << "expected a first element that begins " << registerBits
                         << " bits of tensor memory, but got " << first << " of " << bits << " bits";
  return success();
}

/// The word in which the warp that reserves the columns tells the others where they are.
int64_t ReserveTensorMemoryOp::getAlignment() { return registerBytes; }
int64_t ReserveTensorMemoryOp::takePlace(BlockBudget &block) {
  return block.addBuffer({registerBytes, registerBytes});
}

LogicalResult ReserveTensorMemoryOp::verify() {
  TensorMemoryFacts facts = factsFor(*this);
  int64_t columns = getColumns();
  if (!isPowerOf2(columns) || columns < facts.minAllocation ||
      columns > facts.columns) // reserve_tensor_memory_c1
    return emitOpError() << "expected a power of two from " << facts.minAllocation << " to " << facts.columns
                         << " columns because tensor memory is reserved in such parts, but got " << columns;
  if (std::optional<int64_t> offset = getOffset();
      offset && (*offset < 0 || *offset % registerBytes != 0)) // reserve_tensor_memory_c2
    return emitOpError() << "expected an offset that is a multiple of " << registerBytes
                         << " bytes, at least 0, because an address of tensor memory is written there, but "
                            "got "
                         << *offset;
  return success();
}

Synchronisation TensorMemoryFenceOp::getSynchronisation() { return {}; }
bool TensorMemoryFenceOp::suitsOneThread() { return true; }
