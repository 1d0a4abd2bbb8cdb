// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loads and stores by the tensor memory accelerator.
#include "compiler/lowering/TileToSimt/Tma.h"

#include "compiler/analysis/TmaAccess.h"
#include "compiler/lowering/TileToSimt/BoxMaps.h"
#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "compiler/lowering/TileToSimt/Wgmma.h"
#include "compiler/lowering/TileToSimt/Windows.h"
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
  if (slice.tensor->argument.getStrided())
    return reject("expected a tensor whose last stride is 1, but that of '" +
                  slice.tensor->argument.getName() + "' may be any; use a fragment");
  if (slice.tensor->argument.getOrder() == program::TensorOrder::accumulator)
    return reject("expected a tensor whose rows lie in order, but '" + slice.tensor->argument.getName() +
                  "' is in the order of accumulators; copy a fragment");
  if (slice.shape.size() > k.target.tma.maxRank)
    return reject("expected a tensor of at most " + Twine(k.target.tma.maxRank) + " axes, but '" +
                  slice.tensor->argument.getName() + "' has " + Twine(slice.shape.size()));
  if (std::string problem = tile::windowProblem(slice.op, k.target); !problem.empty())
    return reject(problem);
  if (std::string problem = limitProblem(slice, k.target); !problem.empty())
    return reject(problem);
  int64_t granule = granuleElements(*slice.tensor, k.target);
  if (slice.originMultiple() % granule != 0)
    return reject("expected the slice of '" + slice.tensor->argument.getName() +
                  "' to begin at a multiple of " + Twine(granule) +
                  " elements along the last axis, but that is not known of its origin");
  const Coordinates extents = tile.layoutCoordinates(tile.shape);
  const int64_t columns = extents[size_t(tile.layout.contiguousAxis())], panel = tile.layout.panelExtent();
  if (tile.layout.swizzle() != Swizzle::none && columns % panel != 0)
    return reject("expected whole panels of " + Twine(panel) + " columns, which the TMA fills, but got " +
                  Twine(columns) + "; copy whole ones: beyond the tensor's columns they get zeros");
  // Of some rows the boxes are those of a tile that has no more, but they lie where the rows do.
  Result<SharedLayout> own = tile.layout.withShape(extents);
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
    SmallVector<Value> offsets;
    if (slice.tensor->source)
      offsets = toIm2col(b, slice, coordinates);
    simt::TmaLoadOp::create(b, map, coordinates, offsets, destination, barrier, mask, k.policyOf(slice));
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
    return NVVM::TMAReduxKind::MAX;
  case tile::CombineKind::bitAnd:
    return NVVM::TMAReduxKind::AND;
  case tile::CombineKind::bitOr:
    return NVVM::TMAReduxKind::OR;
  case tile::CombineKind::bitXor:
    break;
  }
  return NVVM::TMAReduxKind::XOR;
}
} // namespace

LogicalResult lowering::copyByTma(KernelLowering &k, tile::CopyOp op) {
  if (!isa<tile::SliceType>(op.getDestination().getType()))
    return op.emitOpError()
           << "expected a load by the TMA to be asynchronous, with a ring to wait for, but got a "
              "synchronous one; run 'tile-warp-specialize' before 'tile-to-simt'";
  const Slice &slice = k.slice(op.getDestination());
  return moveOut(k, op, k.shared(op.getSource()), slice, op.getUntilRead(),
                 [&](Value source, Value map, ArrayRef<Value> coordinates) {
                   simt::TmaStoreOp::create(k.b, source, map, coordinates, k.policyOf(slice));
                 });
}

static LogicalResult lowerOp(KernelLowering &k, tile::CopyReduceOp op) {
  const Slice &slice = k.slice(op.getDestination());
  if (slice.tensor->argument.getOrder() == program::TensorOrder::accumulator)
    return reducePieces(k, op);
  return moveOut(k, op, k.shared(op.getSource()), slice, op.getUntilRead(),
                 [&](Value source, Value map, ArrayRef<Value> coordinates) {
                   NVVM::CpAsyncBulkTensorReduceOp::create(k.b, map, source, reductionOf(op.getKind()),
                                                           NVVM::TMAStoreMode::TILE, coordinates,
                                                           k.policyOf(slice));
                 });
}

void lowering::addTmaLowerings(LoweringTable &table) {
  table.add<tile::CopyAsyncOp>(lowerOp);
  table.add<tile::CopyReduceOp>(lowerOp);
}
