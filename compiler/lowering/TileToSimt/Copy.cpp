// SPDX-License-Identifier: Apache-2.0
/// \file
/// Buffers, views, and transfers by ordinary loads and stores.
#include "compiler/analysis/CpAsyncAccess.h"
#include "compiler/analysis/Divisibility.h"
#include "compiler/analysis/Remarks.h"
#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "compiler/lowering/TileToSimt/Multicast.h"
#include "compiler/lowering/TileToSimt/PackedElements.h"
#include "compiler/lowering/TileToSimt/SharedSlices.h"
#include "compiler/lowering/TileToSimt/TensorMemory.h"
#include "compiler/lowering/TileToSimt/Tma.h"
#include "dialects/layout/LayoutText.h"
#include "dialects/layout/StockLayouts.h"
#include "dialects/tile/Counts.h"
#include "dialects/tile/Fetch.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "runtime/support/Math.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

//===----------------------------------------------------------------------===//
// Buffers and views
//===----------------------------------------------------------------------===//

namespace {
Shape shapeOf(ArrayRef<int64_t> shape) { return Shape(shape.begin(), shape.end()); }
} // namespace

static LogicalResult lowerOp(KernelLowering &k, tile::AllocSharedOp op) {
  if (!op.getOffset())
    return op.emitOpError()
           << "expected an offset in shared memory, but got none; run 'tile-plan-shared-memory' "
              "before 'tile-to-simt'";
  tile::SharedType type = op.getBuffer().getType();
  SharedTile buffer;
  buffer.base = k.sharedAt(*op.getOffset());
  buffer.shape = shapeInUnits(type);
  buffer.layout = layoutInUnits(type);
  buffer.element = k.typeOf(type.getElementType());
  k.set(op.getBuffer(), std::move(buffer));
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::SlotOp op) {
  if (isa<tile::TensorMemoryType>(op.getTile().getType())) {
    k.set(op.getTile(), slotInTensorMemory(k, op));
    return success();
  }
  SharedTile tile = k.shared(op.getBuffer());
  tile.base = k.b.offset(tile.base, k.b.mul(k.cursor(op.getCursor()).slot, slotPitch(tile.layout)));
  tile.shape = shapeInUnits(op.getTile().getType());
  k.set(op.getTile(), std::move(tile));
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::TransposeOp op) {
  SharedTile tile = k.shared(op.getSource());
  tile.shape = shapeInUnits(op.getView().getType());
  tile.transposed = !tile.transposed;
  k.set(op.getView(), std::move(tile));
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::RowsOp op) {
  SharedTile tile = k.shared(op.getSource());
  auto first = int64_t(op.getFirst());
  Coordinates start = {first, 0};
  if (op.getSource().getType().getTransposed()) // whole panels, also of elements that share bytes
    start = {0, first * op.getView().getType().getElementType().getIntOrFloatBitWidth() /
                    tile.layout.elementBits()};
  tile.base = k.b.offset(tile.base, tile.layout.linearOffset(start));
  tile.shape = shapeInUnits(op.getView().getType());
  k.set(op.getView(), std::move(tile));
  return success();
}

/// A position along an axis, which is known to be a multiple of as many elements as share a byte there.
static Value inUnits(Emitter &b, Value position, const Slice &slice, int axis) {
  int64_t packing = slice.tensor->packing;
  if (packing == 1 || axis + 1 != int(slice.origin.size()))
    return position;
  if (std::optional<int64_t> known = Emitter::known(position))
    return b.i32(*known / packing);
  return arith::ShRSIOp::create(b, position, b.i32(log2Floor(packing)));
}

/// Says of each access through the slice that gets no policy for L2 that the
/// slice's hint does nothing there.
static void remarkHint(KernelLowering &k, tile::SliceOp slice) {
  if (!slice.getEviction())
    return;
  for (Operation *user : slice->getUsers()) {
    auto scatter = dyn_cast<tile::ScatterOp>(user);
    auto copy = dyn_cast<tile::CopyOp>(user);
    StringRef reason;
    if (isa<tile::AtomicOp, tile::AtomicFetchOp>(user) || (scatter && scatter.getKind()))
      reason = "an atomic operation has no policy for L2";
    else if (isa<tile::AnnounceOp, tile::TakeOp, tile::WaitForOp>(user))
      reason = "a count has no policy for L2";
    else if (copy && tile::isByCpAsync(copy, k.target))
      reason = k.target.tma.available ? "a copy by cp.async gets no policy for L2; one by the TMA does"
                                      : "a copy by cp.async gets no policy for L2";
    if (!reason.empty())
      tile::emitRemark(user, tile::RemarkId::hintWithoutEffect)
          << "hint 'evict " << stringifyEviction(*slice.getEviction()) << "' of the slice of '"
          << tile::nameOf(slice.getTensor()) << "' has no effect because " << reason;
  }
}

static LogicalResult lowerOp(KernelLowering &k, tile::MemberOp op) {
  Emitter &b = k.b;
  const GlobalTensor &table = k.tensor(op.getAddresses());
  tile::GlobalType type = op.getTensor().getType();
  GlobalTensor tensor;
  tensor.argument = op.getFacts();
  tensor.number = table.number;
  tensor.element = k.typeOf(type.getElementType());
  Value number = k.value(op.getNumber());
  // Null outside the table: loads that run ahead ask for members that there are not.
  Value address =
      simt::LoadOp::create(b, b.getI64Type(), b.element(table.pointer, table.element, b.extend(number)),
                           b.isBelow(number, table.extents.front()), Value());
  tensor.pointer = LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), 1), address);
  for (Value stride : op.getStrides())
    tensor.strides.push_back(b.extend(k.value(stride)));
  tensor.strides.push_back(b.i64(1));
  auto open = op.getExtents().begin();
  for (int64_t extent : type.getShape()) {
    bool isOpen = ShapedType::isDynamic(extent);
    tensor.extents.push_back(isOpen ? k.value(*open) : b.i32(extent));
    tensor.multiples.push_back(isOpen ? tile::knownDivisor(*open) : extent);
    open += isOpen;
  }
  k.set(op.getTensor(), std::move(tensor));
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::SliceOp op) {
  remarkHint(k, op);
  Slice slice;
  slice.tensor = &k.tensor(op.getTensor());
  slice.pointer = op.getOfAll() ? k.multicastPointer(*slice.tensor) : slice.tensor->pointer;
  if (op.getRank()) {
    slice.rank = k.value(op.getRank());
    Type pointer = LLVM::LLVMPointerType::get(k.b.getContext(), 1);
    Value entry = k.b.element(slice.pointer, pointer, k.b.extend(slice.rank));
    slice.pointer = LLVM::LoadOp::create(k.b, pointer, entry);
  }
  for (Value origin : op.getOrigin())
    slice.origin.push_back(k.value(origin));
  slice.origin.back() = inUnits(k.b, slice.origin.back(), slice, int(slice.origin.size()) - 1);
  slice.ends = slice.tensor->extents;
  if (op.getLimit()) {
    slice.limitedAxis = int(*op.getLimitedAxis());
    Value &origin = slice.origin[size_t(slice.limitedAxis)], &end = slice.ends[size_t(slice.limitedAxis)];
    // As unsigned numbers, so that a begin before the tensor is beyond its end.
    origin = k.b.smaller(origin, end);
    end = k.b.clamp(inUnits(k.b, k.value(op.getLimit()), slice, slice.limitedAxis), end);
  }
  slice.op = op;
  if (slice.tensor->source && slice.isGuarded(0)) // so that a negative one is beyond the end
    slice.origin.front() = k.b.smaller(slice.origin.front(), slice.tensor->extents.front());
  slice.shape = shapeInUnits(op.getSlice().getType());
  slice.boxAxes = tile::boxAxesOf(op.getSlice());
  if (op.getFill())
    slice.fill = repeatedInUnit(k.b, k.value(op.getFill()), op.getFill().getType());
  k.set(op.getSlice(), std::move(slice));
  return success();
}

/// Its accesses take all they need from the operation: see SharedSlices.h.
static LogicalResult lowerOp(KernelLowering &, tile::SliceSharedOp) { return success(); }

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

namespace {
/// Vectors of so many bytes that a thread loads before it stores the first one: as many registers as a few of
/// the widest take.
size_t vectorsInFlight(const Target &target, int64_t bytes) {
  constexpr int64_t ofTheWidest = 8;
  return size_t(ofTheWidest * int64_t(target.maxVectorBytes) / std::max<int64_t>(bytes, registerBytes));
}

/// The layout in which the team's threads share a copy of this shape.
FragmentLayout copyLayout(KernelLowering &k, ArrayRef<int64_t> shape, int64_t elementBytes, int axis,
                          int64_t width) {
  return blockedLayout(shapeOf(shape), int(elementBytes * 8), k.team.warps, axis, width * elementBytes);
}

/// Copies between a slice and a tile, in the widest vectors that both take.
class SliceCopy {
public:
  SliceCopy(KernelLowering &k, const Slice &slice, const SharedTile &tile, bool byCpAsync)
      : k(k), slice(slice), tile(tile), byCpAsync(byCpAsync) {
    axis = slice.tileAxes(tile.shape).back();
    if (axis < 0)
      axis = tile.contiguousAxis();
  }

  LogicalResult run(tile::CopyOp op, bool toShared) {
    Emitter &b = k.b;
    int64_t bytes = tile.elementBytes();
    FragmentLayout layout = copyLayout(k, tile.shape, bytes, axis, k.target.maxVectorBytes / bytes);
    GlobalUse use = toShared ? GlobalUse::load : GlobalUse::store;
    GlobalAccess probe(k, slice, layout, tile.shape, use);
    int64_t widest = probe.hasRows() ? std::max<int64_t>(1, probe.vectorWidth()) : 1;
    if (byCpAsync) {
      int64_t width = std::min(widest, sharedVectorWidth(k, tile, layout, tile.shape));
      if (width * bytes < minCpAsyncBytes)
        return op.emitOpError() << "expected units of at least " << minCpAsyncBytes
                                << " bytes because cp.async copies no less, but got " << width * bytes
                                << "; run 'tile-settle-copies' before 'tile-to-simt'";
      start(width);
      return success();
    }
    if (widest == 1 || !probe.mayStraddle()) {
      move(toShared, widest);
      return success();
    }
    auto path = [&](int64_t width) {
      return [&, width](OpBuilder &, Location) {
        move(toShared, width);
        scf::YieldOp::create(b);
      };
    };
    scf::IfOp::create(b, probe.hasWholeVectors(), path(widest), path(1));
    return success();
  }

private:
  /// By cp.async, which reads a part of a vector where the tensor ends within it. It has no policy:
  /// ptxas 13.0 splits an address in shared memory into a register and a uniform one, and its instruction,
  /// which has room for one uniform register, then names neither this nor that of the policy.
  void start(int64_t width) {
    Emitter &b = k.b;
    FragmentLayout layout = copyLayout(k, tile.shape, tile.elementBytes(), axis, width);
    GlobalAccess global(k, slice, layout, tile.shape, GlobalUse::load);
    SharedAddresses addresses(b, tile, layout, k.team);
    Value owner = isOwner(b, layout, k.team);
    for (const RegisterGroup &group : groupRegisters(layout, axis, width).groups) {
      Value from = global.address(group.start), to = addresses.at(group.start);
      Value read = global.bytesInside(group.start, width);
      auto copy = [&] { simt::CopyAsyncOp::create(b, from, to, width * tile.elementBytes(), read); };
      if (Value inTile = b.both(owner, global.insideTile(group.start)))
        b.when(inTile, copy);
      else
        copy();
    }
  }

  void move(bool toShared, int64_t width) {
    Emitter &b = k.b;
    FragmentLayout layout = copyLayout(k, tile.shape, tile.elementBytes(), axis, width);
    GlobalAccess global(k, slice, layout, tile.shape, toShared ? GlobalUse::load : GlobalUse::store);
    SharedAddresses addresses(b, tile, layout, k.team);
    Value owner = isOwner(b, layout, k.team);
    bool contiguous = axis == tile.contiguousAxis();
    int64_t sharedWidth = contiguous ? std::min(width, sharedVectorWidth(k, tile, layout, tile.shape)) : 1;
    std::vector<RegisterGroup> groups = groupRegisters(layout, axis, width).groups;
    size_t together = vectorsInFlight(k.target, width * tile.elementBytes());
    for (size_t first = 0; first < groups.size(); first += together) {
      ArrayRef<RegisterGroup> chunk =
          ArrayRef(groups).slice(first, std::min(together, groups.size() - first));
      SmallVector<SmallVector<Value>> pieces;
      for (const RegisterGroup &group : chunk) {
        if (toShared)
          pieces.push_back(cut(global.load(group.start, width, owner), width, sharedWidth));
        else
          pieces.push_back(fromShared(addresses, group.start, width, sharedWidth,
                                      b.both(owner, global.insideTile(group.start))));
      }
      for (auto [group, loaded] : llvm::zip(chunk, pieces)) {
        Value inTile = b.both(owner, global.insideTile(group.start));
        if (!toShared) {
          Value inTensor = b.both(owner, global.predicate(group.start));
          simt::StoreOp::create(b, width == 1 ? loaded[0] : joined(loaded), global.address(group.start),
                                inTensor, k.policyOf(slice));
          continue;
        }
        Coordinates at = group.start;
        for (Value piece : loaded) {
          simt::StoreOp::create(b, piece, addresses.at(at), inTile, Value());
          at[size_t(axis)] += sharedWidth;
        }
      }
    }
  }

  Value joined(ArrayRef<Value> pieces) {
    return isa<VectorType>(pieces[0].getType()) ? k.b.join(pieces) : k.b.pack(pieces);
  }

  /// One global vector, cut to the width of shared accesses.
  SmallVector<Value> cut(Value loaded, int64_t width, int64_t sharedWidth) {
    if (sharedWidth == width)
      return {loaded};
    SmallVector<Value> pieces;
    for (int64_t first = 0; first < width; first += sharedWidth)
      pieces.push_back(sharedWidth == 1 ? k.b.extract(loaded, first) : k.b.piece(loaded, first, sharedWidth));
    return pieces;
  }

  SmallVector<Value> fromShared(SharedAddresses &addresses, ArrayRef<int64_t> start, int64_t width,
                                int64_t sharedWidth, Value predicate) {
    Emitter &b = k.b;
    Type type = sharedWidth == 1 ? tile.element : Type(b.vectorOf(sharedWidth, tile.element));
    Coordinates at(start.begin(), start.end());
    SmallVector<Value> pieces;
    for (int64_t first = 0; first < width; first += sharedWidth) {
      pieces.push_back(simt::LoadOp::create(b, type, addresses.at(at), predicate, Value()));
      at[size_t(axis)] += sharedWidth;
    }
    return pieces;
  }

  KernelLowering &k;
  const Slice &slice;
  const SharedTile &tile;
  bool byCpAsync;
  int axis = 0;
};

void copyShared(KernelLowering &k, const SharedTile &source, const SharedTile &destination) {
  if (fitsTransposingMoves(k, source, destination))
    return copyTransposed(k, source, destination);
  Emitter &b = k.b;
  int axis = destination.contiguousAxis();
  int64_t widest = std::max<int64_t>(1, k.target.maxVectorBytes / source.elementBytes());
  FragmentLayout layout = copyLayout(k, source.shape, source.elementBytes(), axis, widest);
  int64_t width = sharedVectorWidth(k, destination, layout, source.shape);
  width = source.contiguousAxis() == axis
              ? std::min(width, sharedVectorWidth(k, source, layout, source.shape))
              : 1;
  SharedAddresses from(b, source, layout, k.team), to(b, destination, layout, k.team);
  InsidePredicates inside(b, layout, source.shape, threadCoordinates(b, layout, k.team));
  Value owner = isOwner(b, layout, k.team);
  Type type = width == 1 ? source.element : Type(b.vectorOf(width, source.element));
  std::vector<RegisterGroup> groups = groupRegisters(layout, axis, width).groups;
  size_t together = vectorsInFlight(k.target, width * source.elementBytes());
  for (size_t first = 0; first < groups.size(); first += together) {
    ArrayRef<RegisterGroup> chunk = ArrayRef(groups).slice(first, std::min(together, groups.size() - first));
    SmallVector<Value> loaded;
    for (const RegisterGroup &group : chunk)
      loaded.push_back(simt::LoadOp::create(b, type, from.at(group.start),
                                            b.both(owner, inside.at(group.start)), Value()));
    for (auto [group, value] : llvm::zip(chunk, loaded))
      simt::StoreOp::create(b, value, to.at(group.start), b.both(owner, inside.at(group.start)), Value());
  }
}
} // namespace

static LogicalResult lowerOp(KernelLowering &k, tile::CopyOp op) {
  if (op.getAtom() == tile::CopyAtom::tma)
    return copyByTma(k, op);
  bool fromGlobal = isa<tile::SliceType>(op.getSource().getType());
  bool toGlobal = isa<tile::SliceType>(op.getDestination().getType());
  if (fromGlobal || toGlobal) {
    const Slice &slice = k.slice(fromGlobal ? op.getSource() : op.getDestination());
    const SharedTile &tile = k.shared(fromGlobal ? op.getDestination() : op.getSource());
    // Where the tile's layout does not keep the units together that cp.async copies, threads load and store.
    return SliceCopy(k, slice, tile, tile::isByCpAsync(op, k.target)).run(op, fromGlobal);
  }
  const SharedTile &source = k.shared(op.getSource()), &destination = k.shared(op.getDestination());
  if (source.shape != destination.shape)
    return op.emitOpError() << "expected two shared tiles of one shape, extents of 1 included, but got "
                            << printShape(source.shape) << " and " << printShape(destination.shape);
  copyShared(k, source, destination);
  return success();
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

namespace {
LogicalResult loadPacked(KernelLowering &k, tile::LoadOp op) {
  Value source = op.getSource();
  std::optional<PackedFragment> fragment =
      PackedFragment::create(k, op, op.getValue().getType(), source.getType());
  if (!fragment)
    return failure();
  const FragmentLayout &layout = fragment->layoutOfBytes();
  const Shape &shape = fragment->shapeOfBytes();
  Value bytes;
  if (isa<tile::SliceType>(source.getType())) {
    bytes = loadGlobal(k, k.slice(source), layout, shape);
  } else {
    const SharedTile &tile = k.shared(source);
    std::optional<FragmentLayout> onTile = layoutOnTile(op, layout, shape, tile.shape);
    if (!onTile)
      return failure();
    bytes = loadShared(k, tile, *onTile, tile.shape);
  }
  k.set(op.getValue(), fragment->unpack(k.b, bytes));
  return success();
}

LogicalResult storePacked(KernelLowering &k, tile::StoreOp op) {
  Value destination = op.getDestination();
  std::optional<PackedFragment> fragment =
      PackedFragment::create(k, op, op.getValue().getType(), destination.getType());
  if (!fragment)
    return failure();
  const FragmentLayout &layout = fragment->layoutOfBytes();
  const Shape &shape = fragment->shapeOfBytes();
  Value bytes = fragment->pack(k.b, k.value(op.getValue()));
  if (isa<tile::SliceType>(destination.getType())) {
    storeGlobal(k, k.slice(destination), layout, shape, bytes);
    return success();
  }
  const SharedTile &tile = k.shared(destination);
  std::optional<FragmentLayout> onTile = layoutOnTile(op, layout, shape, tile.shape);
  if (!onTile)
    return failure();
  storeShared(k, tile, *onTile, tile.shape, bytes);
  return success();
}
} // namespace

namespace {
/// Says so where a fragment and a tensor in the order of accumulators do not meet in whole vectors.
void remarkOnOrder(KernelLowering &k, Operation *op, Value made, RankedTensorType type, GlobalUse use) {
  if (!made.getDefiningOp<tile::SliceOp>())
    return;
  const Slice &slice = k.slice(made);
  if (slice.tensor->argument.getOrder() != program::TensorOrder::accumulator)
    return;
  GlobalAccess access(k, slice, k.layoutOf(type), type.getShape(), use);
  bool mayBeVector =
      use != GlobalUse::combine || (type.getElementType().isF32() && k.target.maxAddedFloats > 1);
  if (access.vectorWidth() == adjacentInOrder || !mayBeVector)
    return;
  emitRemark(op, tile::RemarkId::scatteredElements)
      << tile::callOf(op->getName().getStringRef()) << " takes "
      << (access.vectorWidth() == 1 ? "single elements" : "pairs of elements") << " of '"
      << slice.tensor->argument.getName() << "', which is in the order of accumulators, not four at once: "
      << (access.beginsWithPiece()
              ? "the fragment is not spread over threads as an accumulator is"
              : "the slice is not known to begin at a multiple of 16 rows and 8 columns");
}
} // namespace

static LogicalResult lowerOp(KernelLowering &k, tile::LoadOp op) {
  RankedTensorType type = op.getValue().getType();
  if (isPacked(type.getElementType()))
    return loadPacked(k, op);
  if (op.getKind())
    return loadOfAllRanks(k, op);
  if (isa<tile::SliceType>(op.getSource().getType())) {
    remarkOnOrder(k, op, op.getSource(), type, GlobalUse::load);
    k.set(op.getValue(), loadSlice(k, op.getSource(), /*indices=*/{}, k.layoutOf(type), type.getShape()));
    return success();
  }
  if (isa<tile::TensorMemoryType>(op.getSource().getType())) {
    Value loaded = loadTensorMemory(k, op);
    k.set(op.getValue(), loaded);
    return success(bool(loaded));
  }
  const SharedTile &tile = k.shared(op.getSource());
  std::optional<FragmentLayout> layout = layoutOnTile(op, k.layoutOf(type), type.getShape(), tile.shape);
  if (!layout)
    return failure();
  k.set(op.getValue(), loadShared(k, tile, *layout, tile.shape));
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::StoreOp op) {
  RankedTensorType type = op.getValue().getType();
  if (op.getStaging())
    return storeThroughPanels(k, op);
  if (isOfAllRanks(op.getDestination()))
    return storeToAllRanks(k, op);
  if (isPacked(type.getElementType()))
    return storePacked(k, op);
  if (isa<tile::SliceType>(op.getDestination().getType())) {
    remarkOnOrder(k, op, op.getDestination(), type, GlobalUse::store);
    storeSlice(k, op.getDestination(), /*indices=*/{}, k.layoutOf(type), type.getShape(),
               k.value(op.getValue()));
    return success();
  }
  if (isa<tile::TensorMemoryType>(op.getDestination().getType()))
    return storeTensorMemory(k, op);
  const SharedTile &tile = k.shared(op.getDestination());
  std::optional<FragmentLayout> layout = layoutOnTile(op, k.layoutOf(type), type.getShape(), tile.shape);
  if (!layout)
    return failure();
  storeShared(k, tile, *layout, tile.shape, k.value(op.getValue()));
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::AtomicOp op) {
  Value value = k.value(op.getValue());
  auto combine = [&] {
    if (auto type = dyn_cast<RankedTensorType>(op.getValue().getType()))
      combineSlice(k, op.getKind(), op.getDestination(), /*indices=*/{}, k.layoutOf(type), type.getShape(),
                   value);
    else
      combineSlice(k, op.getKind(), op.getDestination(), /*indices=*/{},
                   FragmentLayout::replicated({}, k.team.warps), {}, k.b.splat(value, 1));
  };
  if (isOfAllRanks(op.getDestination())) {
    betweenAliasFences(k, combine);
    return success();
  }
  if (auto type = dyn_cast<RankedTensorType>(op.getValue().getType()))
    remarkOnOrder(k, op, op.getDestination(), type, GlobalUse::combine);
  combine();
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::GatherOp op) {
  RankedTensorType type = op.getValue().getType();
  k.set(op.getValue(),
        loadSlice(k, op.getSource(), k.valuesOf(op.getIndices()), k.layoutOf(type), type.getShape()));
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::ScatterOp op) {
  RankedTensorType type = op.getValue().getType();
  Value value = k.value(op.getValue());
  SmallVector<Value> indices = k.valuesOf(op.getIndices());
  const FragmentLayout &layout = k.layoutOf(type);
  if (op.getKind())
    combineSlice(k, *op.getKind(), op.getDestination(), indices, layout, type.getShape(), value);
  else
    storeSlice(k, op.getDestination(), indices, layout, type.getShape(), value);
  return success();
}

void lowering::addCopyLowerings(LoweringTable &table) {
  table.add<tile::AllocSharedOp>(lowerOp);
  table.add<tile::SlotOp>(lowerOp);
  table.add<tile::TransposeOp>(lowerOp);
  table.add<tile::RowsOp>(lowerOp);
  table.add<tile::MemberOp>(lowerOp);
  table.add<tile::SliceOp>(lowerOp);
  table.add<tile::SliceSharedOp>(lowerOp);
  table.add<tile::CopyOp>(lowerOp);
  table.add<tile::LoadOp>(lowerOp);
  table.add<tile::StoreOp>(lowerOp);
  table.add<tile::AtomicOp>(lowerOp);
  table.add<tile::GatherOp>(lowerOp);
  table.add<tile::ScatterOp>(lowerOp);
}
