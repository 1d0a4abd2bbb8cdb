// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies, loads, stores and atomic operations: what memory they access, in which layouts of fragments, with
/// which unit.
#include "dialects/layout/StockLayouts.h"
#include "dialects/tile/Shapes.h"
#include "dialects/tile/SharedSlice.h"
#include "dialects/tile/Tile.h"
#include "runtime/target/Hardware.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {
/// The TMA moves bytes as they lie on its other side.
RowOrder orderByTma(Value otherSide) {
  auto slice = otherSide.getDefiningOp<SliceOp>();
  return slice ? rowOrderOf(slice.getTensorOrder()) : RowOrder();
}

AccessKind accessKindOf(CombineKind kind) {
  switch (kind) {
  case CombineKind::add:
    return AccessKind::add;
  case CombineKind::min:
    return AccessKind::min;
  case CombineKind::max:
    return AccessKind::max;
  case CombineKind::bitAnd:
    return AccessKind::bitAnd;
  case CombineKind::bitOr:
    return AccessKind::bitOr;
  case CombineKind::bitXor:
    break;
  }
  return AccessKind::bitXor;
}

std::optional<Unit> unitOf(std::optional<CopyAtom> atom) {
  if (!atom || atom == CopyAtom::simt)
    return std::nullopt;
  return atom == CopyAtom::tma ? Unit::tma : Unit::cpAsync;
}

/// Ordinary loads and stores are faster where threads have elements that are neighbours in `memory`: as many
/// as one access takes by the tensor's alignment.
FragmentLayout coalesced(Value value, Value memory, Operation *op) {
  Shape shape = shapeOf(value);
  auto slice = memory.getDefiningOp<SliceOp>();
  if (slice && slice.getTensorOrder() == program::TensorOrder::accumulator && shape.size() == 2)
    return accumulatorFor(shape[0], shape[1], executingWarps(op));
  int64_t alignment = slice ? slice.getTensorFacts().getAlignment() : maxSharedVectorBytes;
  return blockedLayout(shape, elementBitsOf(value), executingWarps(op), int(shape.size()) - 1,
                       std::min(alignment, maxSharedVectorBytes));
}

/// Each thread has all elements of a byte, or several would write it, and has as many bytes as fill a
/// register.
FragmentLayout wholeBytes(Value value, Type memory, Operation *op) {
  Shape shape = shapeOf(value);
  int64_t axis = matchingAxis(extentsOf(memory), contiguousAxisOf(memory), shape);
  return blockedLayout(shape, elementBitsOf(value), executingWarps(op), int(axis), registerBytes);
}
constexpr StringLiteral sharedBytes = "elements that share a byte";

/// The fragment's layout on its way from or to tensor memory; fails with a diagnostic where there is none.
FailureOr<FragmentLayout> tensorMemoryLayout(Operation *op, Value value) {
  Result<FragmentLayout> layout = tensorMemoryFragment(shapeOf(value).front(), shapeOf(value).back(),
                                                       elementBitsOf(value), executingWarps(op));
  if (!layout)
    return op->emitError() << layout.error().message;
  return *layout;
}
/// multimem accesses 4 bytes at least: narrower elements of all ranks have their neighbour in the same
/// thread.
Strength strengthOfCoalesced(Value memory) {
  auto slice = memory.getDefiningOp<SliceOp>();
  bool needsPairs = slice && slice.getOfAll() && elementTypeOf(slice.getType()).getIntOrFloatBitWidth() < 32;
  return needsPairs ? Strength::required : Strength::preferred;
}
constexpr StringLiteral reachedLanes = "the lanes of tensor memory that each warp reaches";
} // namespace

SmallVector<MemoryAccess, 3> CopyOp::getMemoryAccesses() {
  bool tma = getAtom() == CopyAtom::tma;
  auto access = [&](Value memory, AccessKind kind, Value otherSide) {
    return MemoryAccess{.memory = memory,
                        .kind = kind,
                        .proxy = tma ? Proxy::asyncCopy : Proxy::generic,
                        .agent = tma ? Agent::copyEngine : Agent::eachThread,
                        .order = tma ? std::optional(orderByTma(otherSide)) : std::nullopt};
  };
  return {access(getSource(), AccessKind::read, getDestination()),
          access(getDestination(), AccessKind::write, getSource())};
}

bool CopyOp::storesByEngine() {
  return getAtom() == CopyAtom::tma && isa<SliceType>(getDestination().getType());
}

bool CopyOp::suitsOneThread() { return getAtom() == CopyAtom::tma; }

/// By the TMA one thread makes it, and the others wait.
Synchronisation CopyOp::getSynchronisation() { return {.meetsWithin = getAtom() == CopyAtom::tma}; }

std::optional<Completion> CopyOp::getCompletion() {
  return getAtom() == CopyAtom::cp_async ? std::optional(Completion::copyGroup) : std::nullopt;
}

std::optional<Unit> CopyOp::getNeededUnit() { return unitOf(getAtom()); }

SmallVector<MemoryAccess, 3> CopyReduceOp::getMemoryAccesses() {
  auto access = [&](Value memory, AccessKind kind, Value otherSide) {
    return MemoryAccess{.memory = memory,
                        .kind = kind,
                        .proxy = Proxy::asyncCopy,
                        .agent = Agent::copyEngine,
                        .order = orderByTma(otherSide)};
  };
  return {access(getSource(), AccessKind::read, getDestination()),
          access(getDestination(), accessKindOf(getKind()), getSource())};
}

bool CopyReduceOp::suitsOneThread() { return true; }

/// One thread makes it, and the others wait.
Synchronisation CopyReduceOp::getSynchronisation() { return {.meetsWithin = true}; }

SmallVector<MemoryAccess, 3> CopyAsyncOp::getMemoryAccesses() {
  MemoryAccess read{.memory = getSource(), .proxy = Proxy::asyncCopy, .agent = Agent::copyEngine};
  MemoryAccess write = read;
  write.memory = getDestination();
  write.kind = AccessKind::write;
  write.order = orderByTma(getSource());
  return {read, write};
}

bool CopyAsyncOp::suitsOneThread() { return true; }

std::optional<Completion> CopyAsyncOp::getCompletion() { return Completion::ring; }

Value CopyAsyncOp::getCompletingRing() { return getRing(); }

SmallVector<MemoryAccess, 3> LoadOp::getMemoryAccesses() {
  return {ordinaryAccess(getSource(), AccessKind::read)};
}

LogicalResult LoadOp::stateLayouts(FragmentRules &rules) {
  if (isa<TensorMemoryType>(getSource().getType())) {
    FailureOr<FragmentLayout> layout = tensorMemoryLayout(*this, getValue());
    if (failed(layout))
      return failure();
    rules.produces(getValue(), *layout, Strength::required, reachedLanes.str());
    return success();
  }
  if (isPacked(getValue().getType().getElementType())) {
    rules.produces(getValue(), wholeBytes(getValue(), getSource().getType(), *this), Strength::required,
                   sharedBytes.str());
    return success();
  }
  rules.produces(getValue(), coalesced(getValue(), getSource(), *this), strengthOfCoalesced(getSource()),
                 "coalesced loads");
  return success();
}

SmallVector<MemoryAccess, 3> StoreOp::getMemoryAccesses() {
  if (getDestination().getDefiningOp<SliceSharedOp>())
    return {ordinaryAccess(getDestination(), AccessKind::write)};
  bool tma = getAtom() == CopyAtom::tma;
  return {{.memory = getDestination(),
           .kind = AccessKind::write,
           .proxy = tma ? Proxy::asyncCopy : Proxy::generic,
           .order = std::nullopt,
           // From panels other threads store elements than hold them.
           .fragment = getStaging() ? Value() : getValue(),
           .mayBeGeneric = true}};
}

Value StoreOp::getStagingMemory() { return getStaging(); }

std::optional<Completion> StoreOp::getCompletion() {
  return getAtom() == CopyAtom::tma ? std::optional(Completion::storeGroup) : std::nullopt;
}

LogicalResult StoreOp::stateLayouts(FragmentRules &rules) {
  OpOperand &value = getValueMutable();
  if (getStaging()) {
    constexpr StringLiteral panels = "the panels of a store through shared memory";
    Shape shape = shapeOf(getValue());
    int64_t warps = executingWarps(*this);
    // As it comes from tensor memory, or from wgmma.
    if (getStaging().getType().getShape().drop_back().back() == tcgen05Rows) {
      Result<FragmentLayout> layout = tensorMemoryFragment(shape[0], shape[1], registerBits, warps);
      if (!layout)
        return emitOpError() << layout.error().message;
      rules.takes(value, *layout, Strength::required, panels.str());
      return success();
    }
    rules.takes(value, wgmmaAccumulator(shape[0], shape[1], {warps / warpsPerWarpgroup, 1}),
                Strength::required, panels.str());
    return success();
  }
  if (isa<TensorMemoryType>(getDestination().getType())) {
    FailureOr<FragmentLayout> layout = tensorMemoryLayout(*this, getValue());
    if (failed(layout))
      return failure();
    rules.takes(value, *layout, Strength::required, reachedLanes.str());
    return success();
  }
  if (isPacked(getValue().getType().getElementType())) {
    rules.takes(value, wholeBytes(getValue(), getDestination().getType(), *this), Strength::required,
                sharedBytes.str());
    return success();
  }
  rules.takes(value, coalesced(getValue(), getDestination(), *this), strengthOfCoalesced(getDestination()),
              "coalesced stores");
  return success();
}

std::optional<Unit> StoreOp::getNeededUnit() { return unitOf(getAtom()); }

SmallVector<MemoryAccess, 3> AtomicOp::getMemoryAccesses() {
  if (getDestination().getDefiningOp<SliceSharedOp>())
    return {ordinaryAccess(getDestination(), accessKindOf(getKind()))};
  bool isFragment = isa<RankedTensorType>(getValue().getType());
  return {{.memory = getDestination(),
           .kind = accessKindOf(getKind()),
           .agent = isFragment ? Agent::eachThread : Agent::oneThread,
           .order = std::nullopt,
           .fragment = isFragment ? getValue() : Value()}};
}

SmallVector<MemoryAccess, 3> GatherOp::getMemoryAccesses() {
  return {ordinaryAccess(getSource(), AccessKind::read)};
}

LogicalResult GatherOp::stateLayouts(FragmentRules &rules) {
  rules.produces(getValue(), coalesced(getValue(), getSource(), *this), Strength::preferred,
                 "coalesced loads");
  for (OpOperand &indices : getIndicesMutable())
    rules.equal(getValue(), indices, "the positions of a gather");
  return success();
}

SmallVector<MemoryAccess, 3> ScatterOp::getMemoryAccesses() {
  return {
      ordinaryAccess(getDestination(), getKind() ? accessKindOf(*getKind()) : AccessKind::write, getValue())};
}

LogicalResult ScatterOp::stateLayouts(FragmentRules &rules) {
  for (OpOperand &indices : getIndicesMutable())
    rules.equal(getValue(), indices, "the positions of a scatter");
  return success();
}

SmallVector<MemoryAccess, 3> LoadIndexOp::getMemoryAccesses() { return {{.memory = getSource()}}; }
bool LoadIndexOp::suitsOneThread() { return true; }

SmallVector<MemoryAccess, 3> StoreIndexOp::getMemoryAccesses() {
  return {{.memory = getDestination(), .kind = AccessKind::write, .agent = Agent::oneThread}};
}
bool StoreIndexOp::suitsOneThread() { return true; }
