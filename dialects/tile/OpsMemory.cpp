// SPDX-License-Identifier: Apache-2.0
/// \file
/// Buffers, views, copies: checks and folders.
#include "dialects/layout/StockLayouts.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "dialects/tile/Tile.h"
#include "runtime/target/Hardware.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

//===----------------------------------------------------------------------===//
// What moves between two places is one tile
//===----------------------------------------------------------------------===//

namespace {
/// Same extents, those of 1 aside, and the same element type; `from` and `to` say
/// what the two are where the user gave them no name.
LogicalResult verifySameTile(Operation *op, Value source, StringRef from, Value destination, StringRef to) {
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
} // namespace

//===----------------------------------------------------------------------===//
// Buffers and views
//===----------------------------------------------------------------------===//

void AllocSharedOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getBuffer(), getName()); }

int64_t AllocSharedOp::getAlignment() { return getBuffer().getType().getLayout().getLayout().alignment(); }

int64_t AllocSharedOp::takePlace(BlockBudget &block) {
  SharedType type = getBuffer().getType();
  SharedLayout layout = type.getLayout().getLayout();
  bool hasSlots = int64_t(type.getShape().size()) > layout.rank();
  // Each slot starts where its swizzle pattern does.
  return block.addBuffer({layout.totalBytes(), layout.alignment()}, hasSlots ? type.getShape().front() : 1);
}

LogicalResult AllocSharedOp::verify() {
  SharedType type = getBuffer().getType();
  if (type.getTransposed()) // alloc_shared_c1
    return emitOpError() << "expected buffer '" << getName()
                         << "' not to be a transposed view because an allocation "
                         << "is no view, but got " << type;
  auto isRowsOfMore = [](const SharedLayout &layout, ArrayRef<int64_t> shape) {
    return layout.rank() == 2 && shape.size() == 2 && layout.shape.front() != shape.front();
  };
  if (type.getLayout() && isRowsOfMore(type.getLayout().getLayout(), type.getShape()))
    return emitOpError() << "expected buffer '" << getName()
                         << "' not to be some rows of another because an allocation is no view, but got "
                         << type;
  if (!getOffset())
    return success();
  int64_t alignment = type.getLayout() ? type.getLayout().getLayout().alignment() : 1;
  int64_t offset = *getOffset();
  if (offset < 0 || offset % alignment != 0) // alloc_shared_c2
    return emitOpError() << "expected the offset of '" << getName() << "' to be a multiple of " << alignment
                         << " bytes, at least 0, because its layout is aligned to that, but got " << offset;
  return success();
}

LogicalResult SlotOp::verify() { // slot_c1
  Type buffer = getBuffer().getType(), tile = getTile().getType();
  ArrayRef<int64_t> extents = extentsOf(buffer);
  int64_t slots = getCursor().getType().getSlots();
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, getBuffer());
    return diagnostic;
  };
  std::string name = describe(getBuffer(), "the buffer");
  auto inTensorMemory = dyn_cast<TensorMemoryType>(buffer);
  size_t least = inTensorMemory ? 3 : 2; // axes, with that of the slots
  if (extents.size() < least || extents.front() != slots)
    return report(emitOpError() << "expected " << name << " to have a leading axis of " << slots
                                << " because the cursor counts " << slots << " slots, but got "
                                << toText(extents));
  Type slot = inTensorMemory ? Type(inTensorMemory.slot()) : Type(cast<SharedType>(buffer).slot());
  if (tile != slot)
    return report(emitOpError() << "expected a tile of " << toText(extents.drop_front())
                                << " with the element type, layout and transposition of " << name
                                << " because it is one of its slots, but got " << tile);
  return success();
}

Value SlotOp::getSlotCursor() { return getCursor(); }

Value tile::viewedTile(Operation *op) {
  auto view = dyn_cast_if_present<ViewOpInterface>(op);
  return view && !view.getSlotCursor() ? op->getOperand(0) : Value();
}

LogicalResult TransposeOp::verify() { // transpose_c1
  SharedType source = getSource().getType(), view = getView().getType();
  InFlightDiagnostic diagnostic = emitOpError();
  if (source.getShape().size() < 2) {
    diagnostic << "expected " << describe(getSource(), "the source")
               << " to have at least two axes because the last two are exchanged, but got "
               << toText(source.getShape());
  } else if (view != source.transpose()) {
    diagnostic << "expected a view of type " << source.transpose() << " because "
               << describe(getSource(), "the source") << " is " << source << ", but got " << view;
  } else {
    diagnostic.abandon();
    return success();
  }
  noteDeclaration(diagnostic, getSource());
  return diagnostic;
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (auto inner = getSource().getDefiningOp<TransposeOp>())
    return inner.getSource();
  return {};
}

LogicalResult RowsOp::verify() {
  SharedType source = getSource().getType(), view = getView().getType();
  std::string name = describe(getSource(), "the source");
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, getSource());
    return diagnostic;
  };
  if (source.getShape().size() != 2 || source.getTransposed()) // rows_c1
    return report(emitOpError() << "expected " << name
                                << " to have two axes and not to be transposed because its rows lie side "
                                   "by side, but got "
                                << source);
  int64_t rows = source.getShape()[0];
  if (view.getShape().size() != 2 || view.getShape()[1] != source.getShape()[1] ||
      view.getElementType() != source.getElementType() || view.getLayout() != source.getLayout() ||
      view.getTransposed())
    return report(emitOpError() << "expected a view with rows of " << source.getShape()[1] << " "
                                << source.getElementType() << " and the layout of " << name
                                << " because they are its rows, but got " << view);
  int64_t first = getFirst(), count = view.getShape()[0];
  if (first < 0 || first % swizzleRows != 0) // rows_c2
    return report(emitOpError() << "expected the first row to be a multiple of " << swizzleRows
                                << ", after which every swizzle repeats, but got " << first);
  if (count > rows || first > rows - count)
    return report(emitOpError() << "expected rows of " << name << ", which has " << rows << ", but got "
                                << count << " from row " << first);
  return success();
}

LogicalResult SliceOp::verify() {
  GlobalType tensor = getTensor().getType();
  SliceType slice = getSlice().getType();
  std::string name = describe(getTensor(), "the tensor");
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, getTensor());
    return diagnostic;
  };
  size_t rank = tensor.getShape().size();
  if (getOrigin().size() != rank) // slice_c1
    return report(emitOpError() << "expected " << rank << " positions in the origin because " << name
                                << " has " << rank << " axes, but got " << getOrigin().size());
  if (slice.getShape().size() != rank)
    return report(emitOpError() << "expected a slice of " << rank << " extents because " << name << " has "
                                << rank << " axes (1 for an axis that stands still), but got "
                                << slice.getShape().size());
  if (slice.getElementType() != tensor.getElementType())
    return report(emitOpError() << "expected a slice of " << tensor.getElementType() << " because " << name
                                << " is, but got " << slice.getElementType());
  if (getFill() && getFill().getType() != slice.getElementType()) // slice_c2
    return report(emitOpError() << "expected a fill value of " << slice.getElementType() << " because "
                                << name << " is, but got " << getFill().getType());
  auto argument = dyn_cast<BlockArgument>(getTensor());
  if (!argument || !isa<KernelOp>(argument.getOwner()->getParentOp())) { // slice_c3
    InFlightDiagnostic diagnostic =
        emitOpError()
        << "expected an argument of the kernel as tensor because that is what the launcher knows "
           "facts of, but got another value";
    diagnostic.attachNote(getTensor().getLoc()) << "it comes from here";
    return diagnostic;
  }
  if (bool(getLimit()) != getLimitedAxis().has_value()) // slice_c4
    return report(emitOpError() << "expected a limit and the axis that it is along, or neither, but got "
                                << (getLimit() ? "only the limit" : "only the axis"));
  if (int64_t axis = getLimitedAxis().value_or(0); axis < 0 || axis >= int64_t(rank))
    return report(emitOpError() << "expected a limit along axis 0 to " << rank - 1 << " because " << name
                                << " has " << rank << " axes, but got axis " << axis);
  return success();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

LogicalResult CopyOp::verify() {
  if (failed(
          verifySameTile(*this, getSource(), "the source", getDestination(), "the destination"))) // copy_c1
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
  return success();
}

LogicalResult CopyAsyncOp::verify() {
  if (failed(verifySameTile(*this, getSource(), "the source", getDestination(), "the destination")))
    return failure(); // copy_async_c1
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
  if (!elementTypeOf(source.getType()).isInteger(32))
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

LogicalResult LoadIndexOp::verify() { return verifyElement(*this, getSource(), getPosition()); }

namespace {
bool isOnlyRead(SliceOp slice) {
  auto argument = dyn_cast<BlockArgument>(slice.getTensor());
  auto kernel = argument ? dyn_cast<KernelOp>(argument.getOwner()->getParentOp()) : KernelOp();
  auto tensor =
      kernel ? dyn_cast_or_null<program::TensorAttr>(kernel.getArgument(argument.getArgNumber())) : nullptr;
  if (!tensor || tensor.getAccess() != program::Access::input)
    return false;
  return llvm::none_of(argument.getUsers(), [](Operation *user) {
    return llvm::any_of(user->getUsers(), [&](Operation *access) {
      auto effects = dyn_cast<MemoryEffectOpInterface>(access);
      return effects && !isa<LoadIndexOp>(access) &&
             effects.getEffectOnValue<MemoryEffects::Write>(user->getResult(0));
    });
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
  if (tma && !isa<SliceType>(getDestination().getType()))
    return emitOpError()
           << "expected a slice as destination because the atom tma writes to global memory, but got "
           << getDestination().getType();
  if (tma && !getStaging())
    return emitOpError()
           << "expected a staging buffer because the atom tma reads from shared memory, but got none";
  if (!tma && getStaging())
    return emitOpError() << "expected no staging buffer because only the atom tma goes through one, but got "
                         << describe(getStaging(), "one");
  return verifyFragmentOfTensorMemory(*this, getDestination(), getValue()); // store_c3
}

LogicalResult AtomicAddOp::verify() {
  SliceType slice = getDestination().getType();
  std::string name = describe(getDestination(), "the destination");
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, getDestination());
    return diagnostic;
  };
  Type element = slice.getElementType();
  if (isa<RankedTensorType>(getValue().getType())) { // atomic_add_c1
    if (failed(verifySameTile(*this, getValue(), "the fragment", getDestination(), "the destination")))
      return failure();
  } else if (numElements(slice.getShape()) != 1) {
    return report(emitOpError() << "expected a slice of one element of " << name
                                << " because one number is added, but got " << toText(slice.getShape()));
  } else if (element != getValue().getType()) {
    return report(emitOpError() << "expected a number of " << element << " because " << name
                                << " is, but got " << getValue().getType());
  }
  if (!element.isF32() && !element.isF64() && !element.isInteger(32) &&
      !element.isInteger(64)) // atomic_add_c2
    return report(emitOpError() << "expected f32, f64, i32 or i64 because narrower elements are too inexact "
                                << "for sums, but " << name << " has " << element);
  return success();
}

//===----------------------------------------------------------------------===//
// What they say of themselves
//===----------------------------------------------------------------------===//

program::TensorOrder SliceOp::getTensorOrder() {
  auto argument = cast<BlockArgument>(getTensor());
  auto kernel = cast<KernelOp>(argument.getOwner()->getParentOp());
  return cast<program::TensorAttr>(kernel.getArgument(argument.getArgNumber())).getOrder();
}

namespace {
/// The TMA moves bytes as they lie on its other side.
OrderUse orderByTma(Value otherSide) {
  auto slice = otherSide.getDefiningOp<SliceOp>();
  return slice && slice.getTensorOrder() == program::TensorOrder::interleaved ? OrderUse::interleaved
                                                                              : OrderUse::natural;
}

std::optional<Unit> unitOf(std::optional<CopyAtom> atom) {
  if (!atom || atom == CopyAtom::simt)
    return std::nullopt;
  return atom == CopyAtom::tma ? Unit::tma : Unit::cpAsync;
}

/// Ordinary loads and stores are faster where threads have elements that are neighbours in `memory`.
FragmentLayout coalesced(Value value, Value memory, Operation *op) {
  Shape shape = shapeOf(value);
  auto slice = memory.getDefiningOp<SliceOp>();
  if (slice && slice.getTensorOrder() == program::TensorOrder::accumulator && shape.size() == 2)
    return accumulatorFor(shape[0], shape[1], executingWarps(op));
  return blockedLayout(shape, elementBitsOf(value), executingWarps(op), int(shape.size()) - 1);
}

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
                        .order = tma ? orderByTma(otherSide) : OrderUse::any};
  };
  return {access(getSource(), AccessKind::read, getDestination()),
          access(getDestination(), AccessKind::write, getSource())};
}

bool CopyOp::suitsOneThread() { return getAtom() == CopyAtom::tma; }

/// By the TMA one thread makes it, and the others wait.
Synchronisation CopyOp::getSynchronisation() { return {.meetsWithin = getAtom() == CopyAtom::tma}; }

std::optional<Completion> CopyOp::getCompletion() {
  return getAtom() == CopyAtom::cp_async ? std::optional(Completion::copyGroup) : std::nullopt;
}

std::optional<Unit> CopyOp::getNeededUnit() { return unitOf(getAtom()); }

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
  return {{.memory = getSource(), .order = OrderUse::any}};
}

LogicalResult LoadOp::stateLayouts(FragmentRules &rules) {
  if (isa<TensorMemoryType>(getSource().getType())) {
    FailureOr<FragmentLayout> layout = tensorMemoryLayout(*this, getValue());
    if (failed(layout))
      return failure();
    rules.produces(getValue(), *layout, Strength::required, reachedLanes.str());
    return success();
  }
  rules.produces(getValue(), coalesced(getValue(), getSource(), *this), Strength::preferred,
                 "coalesced loads");
  return success();
}

SmallVector<MemoryAccess, 3> StoreOp::getMemoryAccesses() {
  bool tma = getAtom() == CopyAtom::tma;
  return {{.memory = getDestination(),
           .kind = AccessKind::write,
           .proxy = tma ? Proxy::asyncCopy : Proxy::generic,
           .order = OrderUse::any,
           .fragment = getValue(),
           .mayBeGeneric = true}};
}

Value StoreOp::getStagingMemory() { return getStaging(); }

std::optional<Completion> StoreOp::getCompletion() {
  return getAtom() == CopyAtom::tma ? std::optional(Completion::storeGroup) : std::nullopt;
}

LogicalResult StoreOp::stateLayouts(FragmentRules &rules) {
  OpOperand &value = getValueMutable();
  if (getAtom() == CopyAtom::tma) {
    Shape shape = shapeOf(getValue());
    WarpGrid grid = {executingWarps(*this) / warpsPerWarpgroup, 1};
    rules.takes(value, wgmmaAccumulator(shape[0], shape[1], grid), Strength::required,
                "the panels of a store through the TMA");
    return success();
  }
  if (isa<TensorMemoryType>(getDestination().getType())) {
    FailureOr<FragmentLayout> layout = tensorMemoryLayout(*this, getValue());
    if (failed(layout))
      return failure();
    rules.takes(value, *layout, Strength::required, reachedLanes.str());
    return success();
  }
  rules.takes(value, coalesced(getValue(), getDestination(), *this), Strength::preferred, "coalesced stores");
  return success();
}

std::optional<Unit> StoreOp::getNeededUnit() { return unitOf(getAtom()); }

SmallVector<MemoryAccess, 3> AtomicAddOp::getMemoryAccesses() {
  bool isFragment = isa<RankedTensorType>(getValue().getType());
  return {{.memory = getDestination(),
           .kind = AccessKind::add,
           .agent = isFragment ? Agent::eachThread : Agent::oneThread,
           .order = OrderUse::any,
           .fragment = isFragment ? getValue() : Value()}};
}

SmallVector<MemoryAccess, 3> LoadIndexOp::getMemoryAccesses() { return {{.memory = getSource()}}; }
bool LoadIndexOp::suitsOneThread() { return true; }

SmallVector<MemoryAccess, 3> StoreIndexOp::getMemoryAccesses() {
  return {{.memory = getDestination(), .kind = AccessKind::write, .agent = Agent::oneThread}};
}
bool StoreIndexOp::suitsOneThread() { return true; }
