// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stores of fragments through panels in shared memory, from which the TMA or the threads write rows.
#include "compiler/lowering/TileToSimt/BoxMaps.h"
#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "compiler/lowering/TileToSimt/Tma.h"
#include "compiler/lowering/TileToSimt/Wgmma.h"
#include "dialects/layout/LayoutText.h"
#include "dialects/layout/StockLayouts.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

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
  return op.emitOpError()
         << "expected a store that goes through panels of 64x64 because it has a staging buffer: " << why
         << "; use the atom simt without one";
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

/// The warpgroup writes a panel that begins at `start` of the slice. A warp writes one row after the other,
/// its lanes adjacent elements, which fills whole sectors of memory whatever the row's alignment. Of
/// `rowsAtOnce` of its rows the loads are under way together.
void storePanelByThreads(KernelLowering &k, const Slice &slice, ArrayRef<int> axes, const SharedTile &panel,
                         ArrayRef<Value> start, int64_t rowsAtOnce) {
  Emitter &b = k.b;
  const GlobalTensor &tensor = *slice.tensor;
  Value thread = k.threadOfGroup();
  Value warp = b.divide(thread, lanesPerWarp), lane = b.remainder(thread, lanesPerWarp);
  auto columnAxis = size_t(llvm::find(axes, 1) - axes.begin());
  // Of the element in that row and column: its place from the tensor's begin, and whether it exists.
  auto along = [&](bool ofColumns, Value within, Value &inside) {
    Value index = b.i64(0);
    for (auto [axis, tileAxis] : llvm::enumerate(axes)) {
      if ((axis == columnAxis) != ofColumns)
        continue;
      Value at = slice.origin[axis];
      if (tileAxis >= 0)
        at = b.add(at, b.add(start[size_t(tileAxis)], within));
      if (slice.isGuarded(int(axis)))
        inside = b.both(inside, b.isBelow(at, slice.ends[axis]));
      index = b.add(index, b.mul(b.extend(at), tensor.strides[axis]));
    }
    return index;
  };
  struct Column {
    Value number, index, inside;
  };
  SmallVector<Column> columns;
  for (int64_t first = 0; first < storedColumns; first += lanesPerWarp) {
    Column column = {b.add(lane, first), {}, {}};
    column.index = along(true, column.number, column.inside);
    columns.push_back(column);
  }
  const int64_t rowsOfStep = rowsAtOnce * warpsPerWarpgroup;
  auto step = [&](OpBuilder &, Location, Value step, ValueRange) {
    struct Element {
      Value value, index, inside;
    };
    SmallVector<Element> elements;
    for (int64_t i = 0; i < rowsAtOnce; ++i) {
      Value row = b.add(b.add(b.mul(step, rowsOfStep), warp), i * warpsPerWarpgroup), inRow;
      Value rowIndex = along(false, row, inRow);
      for (const Column &column : columns) {
        Value within[] = {row, column.number};
        SharedAddresses addresses(b, panel, FragmentLayout::replicated({1, 1}, 1), Team(), within);
        elements.push_back({simt::LoadOp::create(b, panel.element, addresses.at({0, 0}), Value()),
                            b.add(rowIndex, column.index), b.both(inRow, column.inside)});
      }
    }
    for (const Element &element : elements)
      simt::StoreOp::create(b, element.value, b.element(tensor.pointer, tensor.element, element.index),
                            element.inside);
    scf::YieldOp::create(b);
  };
  scf::ForOp::create(b, b.i32(0), b.i32(panelRows / rowsOfStep), b.i32(1), ValueRange(), step);
}
} // namespace

LogicalResult lowering::storeThroughPanels(KernelLowering &k, tile::StoreOp op) {
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
  bool isByTma = op.getAtom() == tile::CopyAtom::tma;
  if (std::string problem = limitProblem(slice, k.target); isByTma && !problem.empty())
    return rejectStore(op, problem);
  std::optional<BoxMaps> maps;
  if (isByTma)
    maps.emplace(k, slice, box, Swizzle::bytes128);
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
  Value storable = isByTma ? isStorable(b, slice, k.target) : Value();
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
    Value map = maps->place(coordinates);
    simt::TmaStoreOp::create(b, b.offset(groupBase, number % buffers * bufferPitch), map, coordinates);
  };
  // With a buffer for every panel they all go at once; else one by one, each when its buffer has been read.
  int64_t batch = buffers >= total ? total : 1;
  for (int64_t first = 0; first < total; first += batch) {
    if (isByTma)
      b.when(isLeader,
             [&] { simt::BulkWaitOp::create(b, groupsSinceUse(first, total, batch, buffers), true); });
    if (failed(k.syncWarpgroup()))
      return failure();
    for (int64_t number = first; number < first + batch; ++number)
      fill(number);
    if (isByTma)
      simt::ProxyFenceOp::create(b, /*global=*/false);
    if (failed(k.syncWarpgroup()))
      return failure();
    auto sendAll = [&] {
      b.when(isLeader, [&] {
        for (int64_t number = first; number < first + batch; ++number)
          send(number);
        simt::BulkCommitOp::create(b);
      });
    };
    auto writeAll = [&] {
      for (int64_t number = first; number < first + batch; ++number) {
        panel.base = b.offset(groupBase, number % buffers * bufferPitch);
        Value at[] = {b.add(start[0], rowOf(number)), b.add(start[1], columnOf(number))};
        // Where the TMA stores most tiles, little code matters more.
        storePanelByThreads(k, slice, axes, panel, at, isByTma ? 1 : 4);
      }
    };
    if (isByTma)
      b.choose(storable, sendAll, writeAll);
    else
      writeAll();
  }
  return success();
}
