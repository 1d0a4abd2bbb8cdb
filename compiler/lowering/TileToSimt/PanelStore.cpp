// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stores of fragments through panels in shared memory, from which the TMA or the threads write rows.
#include "compiler/analysis/PanelStores.h"
#include "compiler/analysis/PositionRanges.h"
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
/// What one warpgroup has of a fragment that goes through panels.
struct Share {
  int64_t rows = panelRows; ///< of a panel
  int64_t blocks = 1;       ///< of `rows` rows each
  int64_t columns = 0;

  /// The layout of a panel with `width` columns.
  FragmentLayout layoutOfPanel(int64_t width) const {
    return rows == tcgen05Rows ? *tensorMemoryFragment(rows, width, registerBits, warpsPerWarpgroup)
                               : wgmmaAccumulator(panelRows, width, {1, 1});
  }
};

/// The share of a fragment in the layout of wgmma's accumulators, or of tensor memory (one row per thread);
/// nothing for other layouts.
std::optional<Share> shareOf(const FragmentLayout &layout, ArrayRef<int64_t> shape, int64_t warps) {
  if (std::optional<WgmmaShare> share = wgmmaShare(layout, shape, warps))
    return Share{panelRows, share->blocks, share->columns};
  if (shape[0] != tcgen05Rows)
    return std::nullopt;
  Result<FragmentLayout> ofTensorMemory = tensorMemoryFragment(shape[0], shape[1], registerBits, warps);
  if (!ofTensorMemory || layout != *ofTensorMemory)
    return std::nullopt;
  return Share{tcgen05Rows, 1, shape[1] / (warps / warpsPerWarpgroup)};
}

/// What is limited is a tensor of its own, whose map begins at the box.
bool mayBeginBelowZero(const Slice &slice, int axis) {
  Value origin = tile::SliceOp(slice.op).getOrigin()[axis];
  return axis != slice.limitedAxis && !tile::PositionRanges().of(origin).isNonNegative();
}

/// Whether the TMA may store to the slice; null if that is known. It clips boxes at the
/// tensor's edge, but along the innermost axis to 16 bytes: after an extent that is no multiple
/// of them it would overwrite memory. A box that begins below 0 is an illegal instruction.
Value isStorable(Emitter &b, const Slice &slice, const Target &target) {
  const GlobalTensor &tensor = *slice.tensor;
  int64_t granule = granuleElements(tensor, target);
  Value all;
  if (tensor.multiples.back() % granule != 0)
    all = b.isEqual(b.bitAnd(tensor.extents.back(), granule - 1), 0);
  if (slice.originMultiple() % granule != 0)
    all = b.both(all, b.isEqual(b.bitAnd(slice.origin.back(), granule - 1), 0));
  for (auto [axis, origin] : llvm::enumerate(slice.origin))
    if (mayBeginBelowZero(slice, int(axis)))
      all = b.both(all, arith::CmpIOp::create(b, arith::CmpIPredicate::sge, origin, b.i32(0)));
  return all;
}

/// Whether it may store some of the kernel's boxes and not others.
bool isDecidedByBox(const Slice &slice, const Target &target) {
  for (int axis = 0; axis < int(slice.origin.size()); ++axis)
    if (mayBeginBelowZero(slice, axis))
      return true;
  return slice.originMultiple() % granuleElements(*slice.tensor, target) != 0;
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

/// A store of a fragment through panels, as the warpgroup that executes it sees it.
class PanelStore {
public:
  /// Nothing, with an error, if the store cannot go through panels.
  static std::optional<PanelStore> create(KernelLowering &k, tile::StoreOp op);

  /// By the TMA, where it may write; with a buffer for every panel they all go at once, else one by one, each
  /// when its buffer has been read.
  LogicalResult storeByTma();
  /// By the threads: a warp needs nothing but what it has put into shared memory itself.
  void storeByThreads();

private:
  PanelStore(KernelLowering &k, tile::StoreOp op, const Share &share)
      : k(k), b(k.b), op(op), slice(k.slice(op.getDestination())), share(share) {}

  /// Whose span is a row of a panel.
  Swizzle swizzle() const { return columns == panelColumns(16) ? Swizzle::bytes128 : Swizzle::bytes64; }
  /// Where a panel begins in its tensor's tile.
  Value rowOf(Value number) { return b.add(start[0], b.mul(b.divide(number, panels), share.rows)); }
  Value columnOf(Value number) { return b.add(start[1], b.mul(b.remainder(number, panels), columns)); }
  Value bufferOf(Value number) {
    return b.offset(groupBase, b.mul(b.remainder(number, buffers), bufferPitch));
  }

  void fill(int64_t number);
  void send(int64_t number, BoxMaps &maps);
  void write(int64_t first, int64_t end, int64_t linesAtOnce);
  void writePanel(Value number, int64_t linesAtOnce);

  KernelLowering &k;
  Emitter &b;
  tile::StoreOp op;
  const Slice &slice;
  Share share;
  SmallVector<int> axes; ///< of the tile, by the slice's axes; -1 where the slice has one element
  SharedTile panel;
  Value groupBase;
  SmallVector<Value> start; ///< the warpgroup's first row and column
  int64_t buffers = 0, bufferPitch = 0;
  int64_t columns = 0;           ///< of a panel
  int64_t panels = 0, total = 0; ///< of the warpgroup: from left to right, and all
};

std::optional<PanelStore> PanelStore::create(KernelLowering &k, tile::StoreOp op) {
  auto reject = [&](const Twine &why) {
    op.emitOpError() << "expected a store that goes through panels because it has a staging buffer: " << why
                     << "; use the atom simt without one";
    return std::nullopt;
  };
  RankedTensorType type = op.getValue().getType();
  const Slice &slice = k.slice(op.getDestination());
  const SharedTile &staging = k.shared(op.getStaging());
  const FragmentLayout &layout = k.layoutOf(type);
  if (type.getRank() != 2 || type.getElementTypeBitWidth() != 16)
    return reject("expected two axes and elements of 16 bits");
  if (slice.tensor->argument.getOrder() != program::TensorOrder::natural)
    return reject("expected rows of a tensor that are where its strides say");
  if (!k.team.hasWarpgroups())
    return reject("expected whole warpgroups");
  std::optional<Share> share = shareOf(layout, type.getShape(), k.team.warps);
  std::optional<int64_t> columns =
      tile::panelColumnsOf(share && share->rows == tcgen05Rows ? share->columns : type.getDimSize(1));
  if (!share || !columns || share->columns % *columns != 0)
    return reject(
        "expected the layout of a wgmma accumulator, or of tensor memory, with a multiple of 64, or of "
        "32, columns, and each warpgroup's likewise");
  PanelStore store(k, op, *share);
  Emitter &b = k.b;
  store.buffers = staging.shape.size() == 4 ? std::max<int64_t>(1, staging.shape[1]) : 2;
  store.columns = *columns;
  Shape expected = {k.team.warps / warpsPerWarpgroup, store.buffers, share->rows, *columns};
  if (staging.shape != expected || staging.layout.swizzle() != store.swizzle() ||
      staging.layout.contiguousAxis() != staging.layout.rank() - 1)
    return reject(Twine("expected staging of ") + printShape(expected) +
                  " with rows along the last axis and a swizzle of " + toString(store.swizzle()) + " bytes");
  store.axes = slice.tileAxes(type.getShape());
  if (store.axes.back() != 1)
    return reject("expected columns along the tensor's last axis");
  if (std::string problem = limitProblem(slice, k.target);
      op.getAtom() == tile::CopyAtom::tma && !problem.empty())
    return reject(problem);

  store.panel.shape = {share->rows, *columns};
  store.panel.layout = SharedLayout::swizzled(store.panel.shape, 16, 1, store.swizzle());
  store.panel.element = type.getElementType();
  store.bufferPitch = store.panel.layout.totalBytes();
  Value warpgroup = b.divide(k.team.warp, warpsPerWarpgroup);
  store.groupBase = b.offset(staging.base, b.mul(warpgroup, store.buffers * store.bufferPitch));
  Team firstThread = k.team;
  firstThread.lane = b.i32(0);
  firstThread.warp = b.mul(warpgroup, warpsPerWarpgroup);
  store.start = threadCoordinates(b, layout, firstThread);
  store.panels = share->columns / *columns;
  store.total = share->blocks * store.panels;
  return store;
}

/// The warpgroup puts a panel's registers into the panel's buffer.
void PanelStore::fill(int64_t number) {
  FragmentLayout layout = share.layoutOfPanel(columns);
  panel.base = b.offset(groupBase, number % buffers * bufferPitch);
  int64_t firstRegister =
      (number / panels * share.columns + number % panels * columns) * share.rows / threadsPerWarpgroup;
  Value part = b.piece(k.value(op.getValue()), firstRegister, layout.registersPerThread());
  Team team = k.team;
  k.team.warp = b.remainder(team.warp, warpsPerWarpgroup);
  k.team.warps = warpsPerWarpgroup;
  storeShared(k, panel, layout, panel.shape, part);
  k.team = team;
}

void PanelStore::send(int64_t number, BoxMaps &maps) {
  SmallVector<Value> coordinates;
  for (auto [at, axis] : llvm::reverse(llvm::zip(slice.origin, axes)))
    coordinates.push_back(axis < 0 ? at
                                   : b.add(at, axis == 0 ? rowOf(b.i32(number)) : columnOf(b.i32(number))));
  Value map = maps.place(coordinates);
  simt::TmaStoreOp::create(b, b.offset(groupBase, number % buffers * bufferPitch), map, coordinates,
                           k.policyOf(slice));
}

/// A warp writes the rows that it has filled, one after the other, its lanes adjacent elements: this fills
/// whole sectors of memory whatever the row's alignment. Of `linesAtOnce` such lines, one or whole rows, the
/// loads are under way together.
void PanelStore::writePanel(Value number, int64_t linesAtOnce) {
  const int64_t rowsOfWarp = share.rows / warpsPerWarpgroup;
  const GlobalTensor &tensor = *slice.tensor;
  Value thread = k.threadOfGroup();
  Value warp = b.divide(thread, lanesPerWarp), lane = b.remainder(thread, lanesPerWarp);
  Value origin[] = {rowOf(number), columnOf(number)};
  panel.base = bufferOf(number);
  auto columnAxis = size_t(llvm::find(axes, 1) - axes.begin());
  // Of the element in that row and column: its place from the tensor's begin, and whether it exists.
  auto along = [&](bool ofColumns, Value within, Value &inside) {
    Value index = b.i64(0);
    for (auto [axis, tileAxis] : llvm::enumerate(axes)) {
      if ((axis == columnAxis) != ofColumns)
        continue;
      Value at = slice.origin[axis];
      if (tileAxis >= 0)
        at = b.add(at, b.add(origin[tileAxis], within));
      if (slice.isGuarded(int(axis)))
        inside = b.both(inside, b.isBelow(at, slice.ends[axis]));
      index = b.add(index, b.mul(b.extend(at), tensor.strides[axis]));
    }
    return index;
  };
  struct Element {
    Value value, index, inside;
  };
  const int64_t lines = columns / lanesPerWarp; // of a row
  auto step = [&](OpBuilder &, Location, Value first, ValueRange) {
    SmallVector<Element> elements;
    for (int64_t i = 0; i < linesAtOnce; ++i) {
      bool isRow = linesAtOnce % lines == 0;
      Value row = b.add(b.mul(warp, rowsOfWarp), b.add(b.divide(first, lines), i / lines));
      Value line = isRow ? b.i32(i % lines) : b.remainder(first, lines);
      Value within[] = {row, b.add(b.mul(line, lanesPerWarp), lane)};
      Value inside, index = b.add(along(false, within[0], inside), along(true, within[1], inside));
      SharedAddresses addresses(b, panel, FragmentLayout::replicated({1, 1}, 1), Team(), within);
      elements.push_back(
          {simt::LoadOp::create(b, panel.element, addresses.at({0, 0}), Value(), Value()), index, inside});
    }
    for (const Element &element : elements)
      simt::StoreOp::create(b, element.value, b.element(slice.pointer, tensor.element, element.index),
                            element.inside, k.policyOf(slice));
    scf::YieldOp::create(b);
  };
  scf::ForOp::create(b, b.i32(0), b.i32(rowsOfWarp * lines), b.i32(linesAtOnce), ValueRange(), step);
}

/// A loop over the panels keeps the code small.
void PanelStore::write(int64_t first, int64_t end, int64_t linesAtOnce) {
  scf::ForOp::create(b, b.i32(first), b.i32(end), b.i32(1), ValueRange(),
                     [&](OpBuilder &, Location, Value number, ValueRange) {
                       writePanel(number, linesAtOnce);
                       scf::YieldOp::create(b);
                     });
}

LogicalResult PanelStore::storeByTma() {
  // The tile's rows and columns run along the slice's two axes that are not 1.
  Shape box;
  for (int axis : axes)
    box.push_back(axis < 0 ? 1 : axis == 0 ? share.rows : columns);
  BoxMaps maps(k, slice, box, swizzle());
  Value isLeader = b.isEqual(k.threadOfGroup(), 0);
  Value storable = isStorable(b, slice, k.target);
  bool differs = isDecidedByBox(slice, k.target);
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
    auto sendAll = [&] {
      b.when(isLeader, [&] {
        for (int64_t number = first; number < first + batch; ++number)
          send(number, maps);
        simt::BulkCommitOp::create(b);
      });
    };
    auto writeAll = [&] {
      write(first, first + batch, /*linesAtOnce=*/1); // most do not run it
      if (differs && batch < total)                   // `groupsSinceUse` counts it
        b.when(isLeader, [&] { simt::BulkCommitOp::create(b); });
    };
    b.choose(storable, sendAll, writeAll);
  }
  return success();
}

void PanelStore::storeByThreads() {
  int64_t batch = buffers >= total ? total : 1;
  for (int64_t first = 0; first < total; first += batch) {
    simt::WarpSyncOp::create(b);
    for (int64_t number = first; number < first + batch; ++number)
      fill(number);
    simt::WarpSyncOp::create(b);
    write(first, first + batch, /*linesAtOnce=*/8);
  }
}
} // namespace

LogicalResult lowering::storeThroughPanels(KernelLowering &k, tile::StoreOp op) {
  std::optional<PanelStore> store = PanelStore::create(k, op);
  if (!store)
    return failure();
  if (op.getAtom() == tile::CopyAtom::tma)
    return store->storeByTma();
  store->storeByThreads();
  return success();
}
