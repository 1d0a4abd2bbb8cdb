// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loads and stores by the tensor memory accelerator.
#include "compiler/lowering/TileToSimt/Tma.h"

#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "compiler/lowering/TileToSimt/Wgmma.h"
#include "dialects/layout/LayoutText.h"
#include "dialects/layout/SharedOperands.h"
#include "dialects/layout/StockLayouts.h"
#include "runtime/support/Math.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

namespace {
/// A tile's boxes in terms of the slice: its tensor map and, per tensor axis, the axis of
/// the tile's layout that it runs along, or -1.
struct SliceBoxes {
  TmaBoxes boxes;
  Shape box; ///< per tensor axis
  SmallVector<int> layoutAxes;
};

/// Elements of 16 bytes: along the innermost axis boxes begin at multiples of them (or the
/// instruction is illegal), and what the TMA stores ends at one.
int64_t granuleElements(const GlobalTensor &tensor, const Target &target) {
  return std::max<int64_t>(1, target.tma.innerBoxGranularity * 8 / tensor.element.getIntOrFloatBitWidth());
}

/// Why no tensor map has the slice's limit; empty if one has, or if there is none.
std::string limitProblem(const Slice &slice, const Target &target) {
  if (slice.limitedAxis < 0)
    return "";
  std::string name = slice.tensor->argument.getName().str();
  if (slice.limitedAxis + 1 == int(slice.shape.size()))
    return "expected a limit along another axis of '" + name + "' than the last, whose elements are adjacent";
  if (slice.shape.size() >= target.tma.maxRank)
    return "expected a tensor of at most " + std::to_string(target.tma.maxRank - 1) +
           " axes because a limit takes one more, but '" + name + "' has " +
           std::to_string(slice.shape.size());
  return "";
}

/// Says why the TMA cannot load the slice into a tile of this layout.
std::optional<SliceBoxes> boxesFor(KernelLowering &k, Operation *op, const Slice &slice,
                                   const SharedTile &tile) {
  auto reject = [&](const Twine &why) {
    // Others are chosen where they fit; that a tile is combined is what the program asks for.
    bool isAsked = isa<tile::CopyReduceOp>(op);
    (isAsked ? op->emitError() : op->emitOpError())
        << "expected a copy that the TMA can make because "
        << (isAsked ? "nothing else combines tiles" : "it is asynchronous") << ": " << why;
    return std::nullopt;
  };
  if (!k.target.tma.available)
    return reject(Twine(StringRef(k.target.name.data(), k.target.name.size())) + " has no TMA");
  if (slice.tensor->argument.getAlignment() < int64_t(k.target.tma.globalAlignment))
    return reject("expected '" + slice.tensor->argument.getName() + "' to be aligned to " +
                  Twine(k.target.tma.globalAlignment) + " bytes, but it is known to be to " +
                  Twine(slice.tensor->argument.getAlignment()));
  if (slice.tensor->argument.getOrder() == program::TensorOrder::accumulator)
    return reject("expected a tensor whose rows lie in order, but '" + slice.tensor->argument.getName() +
                  "' is in the order of accumulators; copy a fragment");
  if (slice.shape.size() > k.target.tma.maxRank)
    return reject("expected a tensor of at most " + Twine(k.target.tma.maxRank) + " axes, but '" +
                  slice.tensor->argument.getName() + "' has " + Twine(slice.shape.size()));
  if (std::string problem = limitProblem(slice, k.target); !problem.empty())
    return reject(problem);
  int64_t granule = granuleElements(*slice.tensor, k.target);
  if (slice.originMultiple() % granule != 0)
    return reject("expected the slice of '" + slice.tensor->argument.getName() +
                  "' to begin at a multiple of " + Twine(granule) +
                  " elements along the last axis, but that is not known of its origin");
  // Of some rows the boxes are those of a tile that has no more, but they lie where the rows do.
  Result<SharedLayout> own = tile.layout.withShape(tile.layoutCoordinates(tile.shape));
  if (RowOrder order = tile::rowOrderOf(slice.tensor->argument.getOrder()); own && !order.empty()) {
    if (own->rowOrder() != order)
      return reject("expected a tile whose rows are " +
                    stringifyTensorOrder(slice.tensor->argument.getOrder()) + " as those of '" +
                    slice.tensor->argument.getName() + "' are, but another use of it takes no such order");
    own = own->withOrder({}); // bytes are moved as they lie
  }
  if (!own)
    return reject(own.error().message);
  Result<TmaBoxes> boxes = tmaBoxes(*own);
  if (!boxes)
    return reject(boxes.error().message);
  SliceBoxes result;
  result.boxes = std::move(*boxes);
  for (TmaPiece &piece : result.boxes.pieces)
    piece.byteOffset = tile.layout.linearOffset(piece.origin);
  result.box.assign(slice.shape.size(), 1);
  for (auto [axis, tileAxis] : llvm::enumerate(slice.tileAxes(tile.shape))) {
    result.layoutAxes.push_back(tileAxis < 0 ? -1 : tile.layoutAxis(tileAxis));
    if (tileAxis >= 0)
      result.box[axis] = result.boxes.box[size_t(result.layoutAxes.back())];
  }
  if (result.layoutAxes.back() != result.boxes.contiguousAxis)
    return reject("expected the last axis of '" + slice.tensor->argument.getName() +
                  "' along the tile's contiguous axis, but the tile of " + printSharedLayout(tile.layout) +
                  " has another");
  return result;
}

/// Innermost first: where a box begins in the tensor.
SmallVector<Value> boxCoordinates(KernelLowering &k, const Slice &slice, const SliceBoxes &boxes,
                                  const Coordinates &origin) {
  SmallVector<Value> coordinates;
  for (auto [first, axis] : llvm::reverse(llvm::zip(slice.origin, boxes.layoutAxes)))
    coordinates.push_back(axis < 0 ? first : k.b.add(first, origin[size_t(axis)]));
  return coordinates;
}

/// Where a copy finds its boxes: the tensor map and, of a limited slice, the one for boxes that end
/// less than their own rows after the tensor's begin. See TensorMapRecipe.
class BoxMaps {
public:
  BoxMaps(KernelLowering &k, const Slice &slice, Shape box, Swizzle swizzle)
      : b(k.b), slice(slice), box(std::move(box)), atTensor(k.tensorMap(slice, this->box, swizzle)) {
    if (slice.limitedAxis >= 0)
      before = k.tensorMap(slice, this->box, swizzle, rows());
  }

  /// The map of the box that begins at these coordinates of the tensor, innermost first, which become its
  /// own.
  Value place(SmallVectorImpl<Value> &coordinates) {
    if (slice.limitedAxis < 0)
      return atTensor;
    Value &at = coordinates[coordinates.size() - 1 - size_t(slice.limitedAxis)];
    Value begin = at, end = slice.ends[size_t(slice.limitedAxis)];
    Value inside = b.clamp(b.sub(end, begin), b.i32(rows()));
    Value last = b.add(begin, inside), fromTensor = b.add(last, -rows());
    Value near = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, fromTensor, b.i32(0));
    near = b.both(near, b.isBelow(b.i32(0), inside));
    near = b.both(near, isInsideElsewhere(coordinates));
    at = b.sub(b.i32(rows()), inside);
    coordinates.push_back(b.select(near, last, b.larger(fromTensor, 0)));
    return b.select(near, before, atTensor);
  }

private:
  int64_t rows() const { return box[size_t(slice.limitedAxis)]; }

  /// Whether some of the box is inside the tensor along the other axes; null if that is known.
  Value isInsideElsewhere(ArrayRef<Value> coordinates) {
    Value all;
    for (auto [axis, begin] : llvm::enumerate(llvm::reverse(coordinates))) {
      if (int(axis) == slice.limitedAxis || !slice.isGuarded(int(axis)) || Emitter::known(begin) == 0)
        continue;
      // Unsigned, counted from the first place where a part of the box is inside.
      int64_t reach = box[axis] - 1;
      all = b.both(all, b.isBelow(b.add(begin, reach), b.add(slice.ends[axis], reach)));
    }
    return all;
  }

  Emitter &b;
  const Slice &slice;
  Shape box;
  Value atTensor, before;
};

bool isZero(Value fill) {
  return !fill || matchPattern(fill, m_Zero()) || matchPattern(fill, m_PosZeroFloat());
}
} // namespace

namespace {
/// Loads a slice, counting on `barrier`; with `multicast` this block's share of it, for the whole cluster.
LogicalResult emitTmaLoad(KernelLowering &k, tile::CopyAsyncOp op, const Slice &slice, const SharedTile &tile,
                          Value barrier) {
  Emitter &b = k.b;
  bool multicast = op.getMulticast();
  if (!isZero(tile::SliceOp(slice.op).getFill()))
    return op.emitOpError()
           << "expected a fill value of 0 because the TMA fills with nothing else, but the slice has "
              "another; use 'tile.copy' with the atom simt";
  std::optional<SliceBoxes> boxes = boxesFor(k, op, slice, tile);
  if (!boxes)
    return failure();
  Value mask, share, sharePitch;
  int64_t cluster = k.source.getCluster();
  int rowAxis = tile.layout.rowAxis().value_or(-1);
  int64_t rows = 0;
  if (multicast) {
    // Each block loads its share of every box's rows, at the same place for all.
    rows = rowAxis < 0 ? 0 : boxes->boxes.box[size_t(rowAxis)] / cluster;
    if (rows == 0 || boxes->boxes.box[size_t(rowAxis)] % (cluster * swizzleRows) != 0)
      return op.emitOpError() << "expected boxes whose rows are a multiple of " << cluster * swizzleRows
                              << " because the " << cluster << " blocks of the cluster share them, but got "
                              << (rowAxis < 0 ? 1 : boxes->boxes.box[size_t(rowAxis)]);
    mask = b.constant(b.getI16IntegerAttr(int16_t((1 << cluster) - 1)));
    share = b.mul(simt::ClusterRankOp::create(b), rows);
    sharePitch = b.mul(share, tile.layout.rowPitch());
    for (auto [extent, axis] : llvm::zip(boxes->box, boxes->layoutAxes))
      if (axis == rowAxis)
        extent = rows;
  }
  BoxMaps maps(k, slice, boxes->box, boxes->boxes.swizzle);
  for (const TmaPiece &piece : boxes->boxes.pieces) {
    SmallVector<Value> coordinates = boxCoordinates(k, slice, *boxes, piece.origin);
    Value destination = b.offset(tile.base, piece.byteOffset);
    if (multicast) {
      for (auto [coordinate, axis] : llvm::zip(coordinates, llvm::reverse(boxes->layoutAxes)))
        if (axis == rowAxis)
          coordinate = b.add(coordinate, share);
      destination = b.offset(destination, sharePitch);
    }
    Value map = maps.place(coordinates);
    simt::TmaLoadOp::create(b, map, coordinates, destination, barrier, mask);
  }
  return success();
}
} // namespace

static LogicalResult lowerOp(KernelLowering &k, tile::CopyAsyncOp op) {
  Value barrier =
      k.b.offset(k.ring(op.getRing()).base, k.b.mul(k.cursor(op.getCursor()).slot, mbarrierBytes));
  LogicalResult result = success();
  k.byOneThread(
      [&] { result = emitTmaLoad(k, op, k.slice(op.getSource()), k.shared(op.getDestination()), barrier); });
  return result;
}

//===----------------------------------------------------------------------===//
// Stores of tiles
//===----------------------------------------------------------------------===//

namespace {
/// One thread starts the move of each box of the tile to the slice by `emit(source, map, coordinates)`, and
/// waits for all: with `untilRead` only until the tile has been read.
LogicalResult moveOut(KernelLowering &k, Operation *op, const SharedTile &tile, const Slice &slice,
                      bool untilRead, function_ref<void(Value, Value, ArrayRef<Value>)> emit) {
  std::optional<SliceBoxes> boxes = boxesFor(k, op, slice, tile);
  if (!boxes)
    return failure();
  if (slice.tensor->multiples.back() % granuleElements(*slice.tensor, k.target) != 0)
    return op->emitError() << "expected the last extent of '" << slice.tensor->argument.getName()
                           << "' to be a multiple of " << granuleElements(*slice.tensor, k.target)
                           << " because the TMA would otherwise write beyond it, but that is not known"
                           << (isa<tile::CopyOp>(op) ? "; use the atom simt" : "");
  BoxMaps maps(k, slice, boxes->box, boxes->boxes.swizzle);
  k.byOneThread([&] {
    for (const TmaPiece &piece : boxes->boxes.pieces) {
      Value source = k.b.offset(tile.base, piece.byteOffset);
      SmallVector<Value> coordinates = boxCoordinates(k, slice, *boxes, piece.origin);
      Value map = maps.place(coordinates);
      emit(source, map, coordinates);
    }
    simt::BulkCommitOp::create(k.b);
    simt::BulkWaitOp::create(k.b, 0, untilRead);
  });
  return k.syncTeam();
}

NVVM::TMAReduxKind reductionOf(tile::CombineKind kind) {
  switch (kind) {
  case tile::CombineKind::add:
    return NVVM::TMAReduxKind::ADD;
  case tile::CombineKind::min:
    return NVVM::TMAReduxKind::MIN;
  case tile::CombineKind::max:
    break;
  }
  return NVVM::TMAReduxKind::MAX;
}
} // namespace

LogicalResult lowering::copyByTma(KernelLowering &k, tile::CopyOp op) {
  if (!isa<tile::SliceType>(op.getDestination().getType()))
    return op.emitOpError()
           << "expected a load by the TMA to be asynchronous, with a ring to wait for, but got a "
              "synchronous one; run 'tile-warp-specialize' before 'tile-to-simt'";
  return moveOut(k, op, k.shared(op.getSource()), k.slice(op.getDestination()), op.getUntilRead(),
                 [&](Value source, Value map, ArrayRef<Value> coordinates) {
                   simt::TmaStoreOp::create(k.b, source, map, coordinates);
                 });
}

static LogicalResult lowerOp(KernelLowering &k, tile::CopyReduceOp op) {
  if (k.slice(op.getDestination()).tensor->argument.getOrder() == program::TensorOrder::accumulator)
    return reducePieces(k, op);
  return moveOut(k, op, k.shared(op.getSource()), k.slice(op.getDestination()), op.getUntilRead(),
                 [&](Value source, Value map, ArrayRef<Value> coordinates) {
                   NVVM::CpAsyncBulkTensorReduceOp::create(k.b, map, source, reductionOf(op.getKind()),
                                                           NVVM::TMAStoreMode::TILE, coordinates,
                                                           /*l2CacheHint=*/Value());
                 });
}

//===----------------------------------------------------------------------===//
// Stores of fragments
//===----------------------------------------------------------------------===//

namespace {
/// Whether the TMA may store to the slice; null if that is known. It clips boxes at the
/// tensor's edge, but along the innermost axis to 16 bytes: after an extent that is no multiple
/// of them it would overwrite memory.
Value isStorable(Emitter &b, const Slice &slice, const Target &target) {
  const GlobalTensor &tensor = *slice.tensor;
  int64_t granule = granuleElements(tensor, target);
  Value all;
  if (tensor.multiples.back() % granule != 0)
    all = b.isEqual(b.bitAnd(tensor.extents.back(), granule - 1), 0);
  if (slice.originMultiple() % granule != 0)
    all = b.both(all, b.isEqual(b.bitAnd(slice.origin.back(), granule - 1), 0));
  return all;
}

/// Fragments of 16 bits are stored.
constexpr int64_t storedColumns = panelColumns(16);

LogicalResult rejectStore(tile::StoreOp op, const Twine &why) {
  return op.emitOpError() << "expected a store that goes through panels of 64x64 because the atom is tma: "
                          << why << "; use the atom simt";
}

/// Bulk groups committed since the buffer of panel `number` was last sent, by this store or the one before.
int64_t groupsSinceUse(int64_t number, int64_t total, int64_t batch, int64_t buffers) {
  if (batch == total)
    return 0; // the whole store before was one group
  if (number >= buffers)
    return buffers - 1;
  int64_t last = (total - 1 - number) / buffers * buffers + number; // panel of the store before
  return total - 1 - last + number;
}

/// The warpgroup writes a panel that begins at `start` of the slice, an element per thread and step.
void storePanelByThreads(KernelLowering &k, const Slice &slice, ArrayRef<int> axes, const SharedTile &panel,
                         ArrayRef<Value> start) {
  Emitter &b = k.b;
  const GlobalTensor &tensor = *slice.tensor;
  constexpr int64_t threads = threadsPerWarpgroup;
  Value thread = k.threadOfGroup();
  scf::ForOp::create(
      b, b.i32(0), b.i32(panelRows * storedColumns / threads), b.i32(1), ValueRange(),
      [&](OpBuilder &, Location, Value step, ValueRange) {
        Value number = b.add(b.mul(step, threads), thread);
        Value within[] = {b.divide(number, storedColumns), b.remainder(number, storedColumns)};
        SharedAddresses addresses(b, panel, FragmentLayout::replicated({1, 1}, 1), Team(), within);
        Value value = simt::LoadOp::create(b, panel.element, addresses.at({0, 0}), Value());
        Value inside, index = b.i64(0);
        for (auto [axis, tileAxis] : llvm::enumerate(axes)) {
          Value at = slice.origin[axis];
          if (tileAxis >= 0)
            at = b.add(at, b.add(start[size_t(tileAxis)], within[tileAxis]));
          if (slice.isGuarded(int(axis)))
            inside = b.both(inside, b.isBelow(at, slice.ends[axis]));
          index = b.add(index, b.mul(b.extend(at), tensor.strides[axis]));
        }
        simt::StoreOp::create(b, value, b.element(tensor.pointer, tensor.element, index), inside);
        scf::YieldOp::create(b);
      });
}
} // namespace

LogicalResult lowering::storeByTma(KernelLowering &k, tile::StoreOp op) {
  Emitter &b = k.b;
  RankedTensorType type = op.getValue().getType();
  const Slice &slice = k.slice(op.getDestination());
  const SharedTile &staging = k.shared(op.getStaging());
  const FragmentLayout &layout = k.layoutOf(type);
  if (type.getRank() != 2 || type.getElementTypeBitWidth() != 16)
    return rejectStore(op, "expected two axes and elements of 16 bits");
  if (!k.team.hasWarpgroups())
    return rejectStore(op, "expected whole warpgroups");
  std::optional<WgmmaShare> share = wgmmaShare(layout, type.getShape(), k.team.warps);
  if (!share || share->columns % storedColumns != 0)
    return rejectStore(op, "expected the layout of a wgmma accumulator with a multiple of 64 columns per "
                           "warpgroup");
  int64_t buffers = staging.shape.size() == 4 ? std::max<int64_t>(1, staging.shape[1]) : 2;
  Shape expected = {k.team.warps / warpsPerWarpgroup, buffers, panelRows, storedColumns};
  if (staging.shape != expected || staging.layout.swizzle() != Swizzle::bytes128 ||
      staging.layout.contiguousAxis() != staging.layout.rank() - 1)
    return rejectStore(op, Twine("expected staging of ") + printShape(expected) +
                               " with rows along the last axis and a swizzle of 128 bytes");

  // One panel as a tile, and this warpgroup as the team that fills it.
  SharedTile panel;
  panel.shape = {panelRows, storedColumns};
  panel.layout = SharedLayout::swizzled(panel.shape, 16, 1, Swizzle::bytes128);
  panel.element = type.getElementType();
  Value warpgroup = b.divide(k.team.warp, warpsPerWarpgroup);
  int64_t bufferPitch = panel.layout.totalBytes(), groupPitch = buffers * bufferPitch;
  Value groupBase = b.offset(staging.base, b.mul(warpgroup, groupPitch));
  FragmentLayout panelLayout = wgmmaAccumulator(panelRows, storedColumns, {1, 1});

  // The tile's rows and columns run along the slice's two axes that are not 1.
  Shape box(slice.shape.size(), 1);
  SmallVector<int> axes = slice.tileAxes(type.getShape());
  for (auto [extent, axis] : llvm::zip(box, axes))
    extent = axis < 0 ? 1 : axis == 0 ? panelRows : storedColumns;
  if (axes.back() != 1)
    return rejectStore(op, "expected columns along the tensor's last axis");
  if (std::string problem = limitProblem(slice, k.target); !problem.empty())
    return rejectStore(op, problem);
  BoxMaps maps(k, slice, box, Swizzle::bytes128);
  Team team = k.team;
  Team group = team;
  group.warp = b.remainder(team.warp, warpsPerWarpgroup);
  group.warps = warpsPerWarpgroup;
  // The warpgroup's first row and column are those of its first thread.
  Team firstThread = team;
  firstThread.lane = b.i32(0);
  firstThread.warp = b.mul(warpgroup, warpsPerWarpgroup);
  SmallVector<Value> start = threadCoordinates(b, layout, firstThread);

  Value isLeader = b.isEqual(k.threadOfGroup(), 0);
  Value storable = isStorable(b, slice, k.target);
  int64_t panels = share->columns / storedColumns, total = share->blocks * panels;
  auto rowOf = [&](int64_t number) { return number / panels * panelRows; };
  auto columnOf = [&](int64_t number) { return number % panels * storedColumns; };
  auto fill = [&](int64_t number) {
    panel.base = b.offset(groupBase, number % buffers * bufferPitch);
    int64_t firstRegister = (number / panels * share->columns + columnOf(number)) / 2;
    Value part = b.piece(k.value(op.getValue()), firstRegister, panelLayout.registersPerThread());
    k.team = group;
    storeShared(k, panel, panelLayout, panel.shape, part);
    k.team = team;
  };
  auto send = [&](int64_t number) {
    SmallVector<Value> coordinates;
    for (auto [at, axis] : llvm::reverse(llvm::zip(slice.origin, axes)))
      coordinates.push_back(
          axis < 0 ? at
                   : b.add(b.add(at, start[size_t(axis)]), axis == 0 ? rowOf(number) : columnOf(number)));
    Value map = maps.place(coordinates);
    simt::TmaStoreOp::create(b, b.offset(groupBase, number % buffers * bufferPitch), map, coordinates);
  };
  // With a buffer for every panel they all go at once; else one by one, each when its buffer has been read.
  int64_t batch = buffers >= total ? total : 1;
  for (int64_t first = 0; first < total; first += batch) {
    b.when(isLeader,
           [&] { simt::BulkWaitOp::create(b, groupsSinceUse(first, total, batch, buffers), true); });
    if (failed(k.syncWarpgroup()))
      return failure();
    for (int64_t number = first; number < first + batch; ++number)
      fill(number);
    simt::ProxyFenceOp::create(b, /*global=*/false);
    if (failed(k.syncWarpgroup()))
      return failure();
    auto store = [&] {
      b.when(isLeader, [&] {
        for (int64_t number = first; number < first + batch; ++number)
          send(number);
        simt::BulkCommitOp::create(b);
      });
    };
    b.choose(storable, store, [&] {
      for (int64_t number = first; number < first + batch; ++number) {
        panel.base = b.offset(groupBase, number % buffers * bufferPitch);
        Value at[] = {b.add(start[0], rowOf(number)), b.add(start[1], columnOf(number))};
        storePanelByThreads(k, slice, axes, panel, at);
      }
    });
  }
  return success();
}

void lowering::addTmaLowerings(LoweringTable &table) {
  table.add<tile::CopyAsyncOp>(lowerOp);
  table.add<tile::CopyReduceOp>(lowerOp);
}
