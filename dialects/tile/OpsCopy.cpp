// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies, loads, stores and atomics: checks, accesses, layouts.
#include "dialects/layout/StockLayouts.h"
#include "dialects/tile/CopyChecks.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "dialects/tile/SharedSlice.h"
#include "dialects/tile/Tile.h"
#include "dialects/tile/Transfers.h"
#include "runtime/target/Hardware.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

LogicalResult tile::verifySameTile(Operation *op, Value source, StringRef from, Value destination,
                                   StringRef to) {
  Type sourceType = source.getType(), destinationType = destination.getType();
  std::string sourceName = describe(source, from), destinationName = describe(destination, to);
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, source);
    noteDeclaration(diagnostic, destination);
    return diagnostic;
  };
  if (!sameTile(extentsOf(sourceType), extentsOf(destinationType)))
    return report(op->emitOpError() << "expected " << sourceName << " and " << destinationName
                                    << " to have the same extents, those of 1 aside, but got "
                                    << toText(extentsOf(sourceType)) << " and "
                                    << toText(extentsOf(destinationType)));
  if (elementTypeOf(sourceType) != elementTypeOf(destinationType))
    return report(op->emitOpError() << "expected " << sourceName << " and " << destinationName
                                    << " to have the same element type because copies do not convert, "
                                    << "but got " << elementTypeOf(sourceType) << " and "
                                    << elementTypeOf(destinationType));
  return success();
}

namespace {
/// copy_c6: of two memories.
LogicalResult verifySameBytes(Operation *op, Value source, Value destination) {
  Type from = source.getType(), to = destination.getType();
  int64_t axis = contiguousAxisOf(from), other = contiguousAxisOf(to);
  if (!isPacked(elementTypeOf(from)) || matchingAxis(extentsOf(from), axis, extentsOf(to)) == other)
    return success();
  InFlightDiagnostic diagnostic =
      op->emitOpError() << "expected " << describe(source, "the source") << " and "
                        << describe(destination, "the destination")
                        << " to have the same elements side by side because several " << elementTypeOf(from)
                        << " share a byte, but the one has those along axis " << axis
                        << " and the other those along axis " << other << "; copy through a fragment";
  noteDeclaration(diagnostic, source);
  noteDeclaration(diagnostic, destination);
  return diagnostic;
}
} // namespace

LogicalResult CopyOp::verify() {
  if (failed(
          verifySameTile(*this, getSource(), "the source", getDestination(), "the destination"))) // copy_c1
    return failure();
  if (failed(verifySameBytes(*this, getSource(), getDestination()))) // copy_c6
    return failure();
  if (failed(verifySliceOfTensor(*this, getSource())) ||
      failed(verifySliceOfTensor(*this, getDestination()))) // slice_shared_c7
    return failure();
  bool fromGlobal = isa<SliceType>(getSource().getType()),
       toGlobal = isa<SliceType>(getDestination().getType());
  if (fromGlobal && toGlobal) { // copy_c2
    InFlightDiagnostic diagnostic =
        emitOpError() << "expected a shared buffer as " << describe(getSource(), "the source") << " or "
                      << describe(getDestination(), "the destination")
                      << " because no instruction copies within global memory, but got two slices";
    diagnostic.attachNote() << "copy through a fragment: load the one, store to the other";
    return diagnostic;
  }
  if (getAtom() == CopyAtom::tma && !fromGlobal && !toGlobal) // copy_c3
    return emitOpError()
           << "expected a slice as source or destination because the atom tma copies between global "
           << "and shared memory, but got two shared buffers";
  if (getAtom() == CopyAtom::cp_async && (!fromGlobal || toGlobal)) // copy_c4
    return emitOpError() << "expected a slice as source and a shared buffer as destination because the atom "
                            "cp_async copies that way only, but got "
                         << getSource().getType() << " and " << getDestination().getType();
  if (getUntilRead() && !storesByEngine()) // copy_c5
    return emitOpError(
        "expected the atom tma and a slice as destination because only such a copy goes on after "
        "its source was read, but got another with 'until_read'");
  return success();
}

LogicalResult CopyReduceOp::verify() {
  if (failed(verifySameTile(*this, getSource(), "the source", getDestination(),
                            "the destination"))) // copy_reduce_c1
    return failure();
  if (failed(verifySliceOfTensor(*this, getDestination()))) // slice_shared_c7
    return failure();
  auto report = [&](InFlightDiagnostic diagnostic, Value of) -> LogicalResult {
    noteDeclaration(diagnostic, of);
    return diagnostic;
  };
  Type element = getDestination().getType().getElementType(); // copy_reduce_c2
  std::string name = describe(getDestination(), "the destination");
  bool isShort = element.isF16() || element.isBF16() || element.isSignlessInteger(32);
  if (getKind() == CombineKind::add && !isShort && !element.isF32())
    return report(emitOpError() << "expected f32, f16, bf16 or i32 because the TMA adds no others, but "
                                << name << " has " << element
                                << "; atomicAdd of a fragment adds f64 and i64, too",
                  getDestination());
  bool isOfBits = getKind() >= CombineKind::bitAnd;
  if (isOfBits && !element.isSignlessInteger(32))
    return report(emitOpError() << "expected i32 because the TMA combines the bits of no others, but " << name
                                << " has " << element,
                  getDestination());
  if (getKind() != CombineKind::add && !isShort)
    return report(emitOpError() << "expected f16, bf16 or i32 because the TMA takes the "
                                << (getKind() == CombineKind::min ? "smaller" : "larger")
                                << " of no others, but " << name << " has " << element,
                  getDestination());
  if (auto slice = getDestination().getDefiningOp<SliceOp>(); slice && slice.getRank()) // copy_reduce_c4
    return report(emitOpError() << "expected a tensor of this device alone because what the TMA combines is "
                                   "not atomic for others, but "
                                << name << " is symmetric; combine a fragment with it",
                  getDestination());
  if (getSource().getType().getTransposed()) // copy_reduce_c3
    return report(emitOpError() << "expected a tile as it lies because the TMA moves whole rows, but "
                                << describe(getSource(), "the source")
                                << " is transposed; copy it through a fragment",
                  getSource());
  return success();
}

LogicalResult CopyAsyncOp::verify() {
  if (failed(verifySameTile(*this, getSource(), "the source", getDestination(), "the destination")) ||
      failed(verifySameBytes(*this, getSource(), getDestination())) || // copy_async_c1, copy_async_c3
      failed(verifySliceOfTensor(*this, getSource())))                 // slice_shared_c7
    return failure();
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (getMulticast() && kernel && kernel.getCluster() < 2) // copy_async_c2
    return emitOpError()
           << "expected a kernel with a cluster of at least 2 blocks because multicast shares a tile "
           << "among them, but '" << kernel.getName() << "' has " << kernel.getCluster();
  return success();
}

namespace {
/// load_c2, store_c3
LogicalResult verifyFragmentOfTensorMemory(Operation *op, Value memory, Value fragment) {
  if (!isa<TensorMemoryType>(memory.getType()) ||
      extentsOf(memory.getType()) == extentsOf(fragment.getType()))
    return success();
  return op->emitOpError() << "expected a fragment of " << toText(extentsOf(memory.getType()))
                           << " because warps hold rows of tensor memory, but got "
                           << toText(extentsOf(fragment.getType()));
}
} // namespace

LogicalResult LoadOp::verify() {
  if (failed(verifySameTile(*this, getSource(), "the source", getValue(), "the fragment"))) // load_c1
    return failure();
  return verifyFragmentOfTensorMemory(*this, getSource(), getValue()); // load_c2
}

namespace {
/// load_index_c1: `source` is a shared tile, or a slice, in which there are no positions to name.
LogicalResult verifyElement(Operation *op, Value source, OperandRange position) {
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, source);
    return diagnostic;
  };
  std::string name = describe(source, "the tile");
  if (!elementTypeOf(source.getType()).isSignlessInteger(32))
    return report(op->emitOpError() << "expected " << name
                                    << " to be of i32 because its elements are positions, but got "
                                    << elementTypeOf(source.getType()));
  ArrayRef<int64_t> extents = extentsOf(source.getType());
  if (isa<SliceType>(source.getType())) {
    if (numElements(extents) == 1 && position.empty())
      return success();
    return report(op->emitOpError() << "expected a slice of one element of " << name
                                    << " and no positions in it because one is read, but got "
                                    << toText(extents) << " and " << position.size() << " positions");
  }
  if (position.size() != extents.size())
    return report(op->emitOpError() << "expected " << extents.size() << " positions because " << name
                                    << " has " << extents.size() << " axes, but got " << position.size());
  return success();
}
} // namespace

LogicalResult LoadIndexOp::verify() {
  if (failed(verifySliceOfTensor(*this, getSource())))
    return failure();
  return verifyElement(*this, getSource(), getPosition());
}

namespace {
/// Whether an operation writes to what the slice is of.
bool isWrittenThrough(Operation *slice) {
  return llvm::any_of(slice->getUsers(), [&](Operation *user) {
    return llvm::any_of(memoryAccessesOf(user), [&](const MemoryAccess &access) {
      return access.kind != AccessKind::read && access.memory == slice->getResult(0);
    });
  });
}

bool isOnlyRead(SliceOp slice) {
  if (slice.getRank() || isWrittenByTransfer(slice.getTensor())) // before this kernel may go on
    return false;
  program::TensorAttr tensor = slice.getTensorFacts();
  if (!tensor ||
      (tensor.getAccess() != program::Access::input && tensor.getAccess() != program::Access::workspace))
    return false;
  return llvm::none_of(declarationOf(slice.getTensor()).getUsers(), [](Operation *user) {
    auto member = dyn_cast<MemberOp>(user);
    return member ? llvm::any_of(member->getUsers(), isWrittenThrough) : isWrittenThrough(user);
  });
}
} // namespace

void LoadIndexOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  auto slice = getSource().getDefiningOp<SliceOp>();
  if (!slice || !isOnlyRead(slice))
    effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable());
}

LogicalResult StoreIndexOp::verify() { return verifyElement(*this, getDestination(), getPosition()); }

LogicalResult StoreOp::verify() {
  if (failed(
          verifySameTile(*this, getValue(), "the fragment", getDestination(), "the destination"))) // store_c1
    return failure();
  bool tma = getAtom() == CopyAtom::tma; // store_c2
  if ((tma || getStaging()) && !isa<SliceType>(getDestination().getType()))
    return emitOpError() << "expected a slice as destination because "
                         << (tma ? "the atom tma writes" : "what goes through a staging buffer is written")
                         << " to global memory, but got " << getDestination().getType();
  if ((tma || getStaging()) && failed(verifySliceOfTensor(*this, getDestination())))
    return failure();
  if (tma && !getStaging())
    return emitOpError()
           << "expected a staging buffer because the atom tma reads from shared memory, but got none";
  return verifyFragmentOfTensorMemory(*this, getDestination(), getValue()); // store_c3
}

/// atomic_c2
LogicalResult tile::verifyCombined(Operation *op, CombineKind kind, Value destination) {
  Type element = elementTypeOf(destination.getType());
  bool isSum = kind == CombineKind::add;
  if (element.isInteger(32) || element.isSignlessInteger(64) ||
      (isSum && (element.isF32() || element.isF64())))
    return success();
  InFlightDiagnostic diagnostic =
      op->emitOpError()
      << (isSum
              ? "expected f32, f64, i32, u32 or i64 because narrower elements are too inexact for sums, but "
              : "expected i32, u32 or i64 because other minima, maxima and bits are not combined atomically, "
                "but ")
      << describe(destination, "the destination") << " has " << element;
  noteDeclaration(diagnostic, destination);
  return diagnostic;
}

LogicalResult AtomicOp::verify() {
  SliceType slice = getDestination().getType();
  std::string name = describe(getDestination(), "the destination");
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, getDestination());
    return diagnostic;
  };
  Type element = slice.getElementType();
  if (isa<RankedTensorType>(getValue().getType())) { // atomic_c1
    if (failed(verifySameTile(*this, getValue(), "the fragment", getDestination(), "the destination")))
      return failure();
  } else if (numElements(slice.getShape()) != 1) {
    return report(emitOpError() << "expected a slice of one element of " << name
                                << " because one number is combined with it, but got "
                                << toText(slice.getShape()));
  } else if (element != getValue().getType()) {
    return report(emitOpError() << "expected a number of " << element << " because " << name
                                << " is, but got " << getValue().getType());
  }
  return verifyCombined(*this, getKind(), getDestination());
}

/// gather_c2
LogicalResult tile::verifyIndices(Operation *op, Value slice, Value fragment, Value indices) {
  auto type = cast<RankedTensorType>(indices.getType()), values = cast<RankedTensorType>(fragment.getType());
  if (slice.getDefiningOp() && !gatheredAxisOf(slice))
    return op->emitOpError()
           << "expected a slice with a gathered axis because there are positions for it, but got "
              "a box";
  if (type.getElementType().isIndex() && type.getShape() == values.getShape())
    return success();
  return op->emitOpError() << "expected an index for each element of the fragment of "
                           << toText(values.getShape()) << ", but got " << toText(type.getShape()) << " of "
                           << type.getElementType();
}

LogicalResult GatherOp::verify() {
  if (failed(verifySameTile(*this, getSource(), "the source", getValue(), "the fragment"))) // gather_c1
    return failure();
  return verifyIndices(*this, getSource(), getValue(), getIndices());
}

LogicalResult ScatterOp::verify() { // scatter_c1
  if (failed(verifySameTile(*this, getValue(), "the fragment", getDestination(), "the destination")) ||
      failed(verifyIndices(*this, getDestination(), getValue(), getIndices())))
    return failure();
  return getKind() ? verifyCombined(*this, *getKind(), getDestination()) : success(); // scatter_c2
}

//===----------------------------------------------------------------------===//
// Accesses, layouts, units
//===----------------------------------------------------------------------===//

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
  Result<FragmentLayout> layout =
      tensorMemoryFragment(shapeOf(value).back(), elementBitsOf(value), executingWarps(op));
  if (!layout)
    return op->emitError() << layout.error().message;
  return *layout;
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
  rules.produces(getValue(), coalesced(getValue(), getSource(), *this), Strength::preferred,
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
    Shape shape = shapeOf(getValue());
    WarpGrid grid = {executingWarps(*this) / warpsPerWarpgroup, 1};
    rules.takes(value, wgmmaAccumulator(shape[0], shape[1], grid), Strength::required,
                "the panels of a store through shared memory");
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
  rules.takes(value, coalesced(getValue(), getDestination(), *this), Strength::preferred, "coalesced stores");
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
  rules.equal(getValue(), getIndicesMutable(), "the positions of a gather");
  return success();
}

SmallVector<MemoryAccess, 3> ScatterOp::getMemoryAccesses() {
  return {
      ordinaryAccess(getDestination(), getKind() ? accessKindOf(*getKind()) : AccessKind::write, getValue())};
}

LogicalResult ScatterOp::stateLayouts(FragmentRules &rules) {
  rules.equal(getValue(), getIndicesMutable(), "the positions of a scatter");
  return success();
}

SmallVector<MemoryAccess, 3> LoadIndexOp::getMemoryAccesses() { return {{.memory = getSource()}}; }
bool LoadIndexOp::suitsOneThread() { return true; }

SmallVector<MemoryAccess, 3> StoreIndexOp::getMemoryAccesses() {
  return {{.memory = getDestination(), .kind = AccessKind::write, .agent = Agent::oneThread}};
}
bool StoreIndexOp::suitsOneThread() { return true; }
