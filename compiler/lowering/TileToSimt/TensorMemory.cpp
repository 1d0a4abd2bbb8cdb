// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensor memory: its columns, moves to and from fragments, products that add there. A tile in tensor memory
/// becomes its address, of which the columns are the lower bits.
#include "compiler/lowering/TileToSimt/TensorMemory.h"

#include "compiler/lowering/TileToSimt/Wgmma.h"
#include "dialects/layout/InstructionLayouts.h"
#include "dialects/layout/LayoutText.h"
#include "dialects/layout/SharedOperands.h"
#include "dialects/layout/StockLayouts.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "runtime/support/Math.h"
#include "runtime/target/BlockBudget.h"
#include "runtime/target/TensorColumns.h"

#include <bit>
#include <limits>
#include <utility>

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

namespace {
/// All threads of the block meet, with what they did and do in tensor memory.
void syncWithTensorMemory(Emitter &b) {
  simt::Tcgen05FenceOp::create(b, /*after=*/false);
  simt::SyncOp::create(b, b.i32(0), IntegerAttr(), UnitAttr());
  simt::Tcgen05FenceOp::create(b, /*after=*/true);
}
} // namespace

static LogicalResult lowerOp(KernelLowering &k, tile::ReserveTensorMemoryOp op) {
  if (!op.getOffset())
    return op.emitOpError() << "expected an offset in shared memory, but got none; run "
                               "'tile-plan-shared-memory' before 'tile-to-simt'";
  Emitter &b = k.b;
  Value word = k.sharedAt(*op.getOffset());
  b.when(b.isEqual(k.warpIndex, 0), [&] { simt::Tcgen05AllocOp::create(b, word, op.getColumns()); });
  syncWithTensorMemory(b);
  k.tensorMemory = simt::LoadOp::create(b, b.getI32Type(), word, Value(), Value());
  k.tensorMemoryColumns = op.getColumns();
  return success();
}

void KernelLowering::freeTensorMemory() {
  if (!tensorMemory)
    return;
  syncWithTensorMemory(b);
  b.when(b.isEqual(warpIndex, 0),
         [&] { simt::Tcgen05DeallocOp::create(b, tensorMemory, tensorMemoryColumns); });
}

static LogicalResult lowerOp(KernelLowering &k, tile::AllocTensorMemoryOp op) {
  if (!op.getOffset() || !k.tensorMemory)
    return op.emitOpError() << "expected columns of tensor memory, but got none; run "
                               "'tile-plan-tensor-memory' before 'tile-to-simt'";
  k.set(op.getBuffer(), k.b.add(k.tensorMemory, int64_t(*op.getOffset())));
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::ColumnsOp op) {
  int64_t bits = op.getFirst() * op.getView().getType().getElementType().getIntOrFloatBitWidth();
  k.set(op.getView(), k.b.add(k.value(op.getSource()), bits / registerBits));
  return success();
}

Value lowering::slotInTensorMemory(KernelLowering &k, tile::SlotOp op) {
  auto tile = cast<tile::TensorMemoryType>(op.getTile().getType());
  return k.b.add(k.value(op.getBuffer()), k.b.mul(k.cursor(op.getCursor()).slot, tile.slotColumns()));
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

namespace {
/// A fragment's part of one warp, in the lanes that it reaches: `count` repetitions of what an instruction
/// moves at least.
struct WarpColumns {
  Value address;
  TensorMemoryShape shape;
  int64_t count;
  int64_t mostAtOnce; ///< of them by an instruction

  int64_t rowBits() const { // of the instruction's name
    const bool isRowPerLane = shape == TensorMemoryShape::lanes32x32b;
    return isRowPerLane ? registerBits : tensorMemoryStep(shape).columns * registerBits;
  }
  /// Calls `move(columns, registers, count)` for as few pieces as instructions can move: the columns and
  /// registers before a piece, and its registers.
  void forEachMove(function_ref<void(int64_t, int64_t, int64_t)> move) const {
    const TensorMemoryStep step = tensorMemoryStep(shape);
    for (int64_t first = 0; first < count;) {
      int64_t piece = std::min(int64_t(1) << log2Floor(count - first), mostAtOnce);
      move(first * step.columns, first * step.registers, piece * step.registers);
      first += piece;
    }
  }
};

std::optional<WarpColumns> columnsOfWarp(KernelLowering &k, Operation *op, Value tile,
                                         RankedTensorType fragment) {
  Emitter &b = k.b;
  int64_t bits = fragment.getElementTypeBitWidth();
  Result<FragmentLayout> layout =
      tensorMemoryFragment(fragment.getShape().front(), fragment.getShape().back(), bits, k.team.warps);
  if (!layout || !k.team.hasWarpgroups()) {
    op->emitOpError() << "expected whole warpgroups that begin at a multiple of " << warpsPerWarpgroup
                      << " warps because each warp of one reaches a quarter of the lanes, but " << k.team.name
                      << " has " << k.team.warps << " warps from warp " << k.team.firstWarp;
    return std::nullopt;
  }
  if (k.layoutOf(fragment) != *layout) {
    op->emitOpError() << "expected the fragment in the layout " << printLayout(*layout)
                      << " because it is one of tensor memory, but got " << printLayout(k.layoutOf(fragment));
    return std::nullopt;
  }
  const TensorMemoryShape shape = tensorMemoryShapeOf(fragment.getShape().front(), int(bits));
  const int64_t warpgroups = k.team.warps / warpsPerWarpgroup;
  const int64_t columns = fragment.getShape().back() * bits / registerBits / warpgroups;
  Value warp = b.remainder(k.team.warp, warpsPerWarpgroup);
  Value address = b.add(k.value(tile), b.mul(warp, lanesPerWarp << tensorMemoryColumnBits));
  if (warpgroups > 1)
    address = b.add(address, b.mul(b.divide(k.team.warp, warpsPerWarpgroup), columns));
  BlockBudget block(k.target, int64_t(k.source.getResidents()));
  return WarpColumns{address, shape, columns / tensorMemoryStep(shape).columns,
                     maxRepeat(shape, block.registersAtLaunch(int64_t(k.source.getWarps())))};
}
} // namespace

Value lowering::loadTensorMemory(KernelLowering &k, tile::LoadOp op) {
  Emitter &b = k.b;
  RankedTensorType type = op.getValue().getType();
  std::optional<WarpColumns> columns = columnsOfWarp(k, op, op.getSource(), type);
  if (!columns)
    return {};
  SmallVector<Value> words;
  columns->forEachMove([&](int64_t first, int64_t, int64_t count) {
    Value loaded = simt::Tcgen05LoadOp::create(b, b.vectorOf(count, b.getI32Type()),
                                               b.add(columns->address, first), columns->rowBits());
    words.push_back(simt::Tcgen05WaitLoadOp::create(b, loaded.getType(), loaded));
  });
  return b.recast(b.join(words), k.registersOf(type).getElementType());
}

namespace {
/// The columns of all slots of the tile that the view is of.
std::pair<int64_t, int64_t> columnsOfTile(Value view) {
  auto tile = tile::declarationOf(view).getDefiningOp<tile::AllocTensorMemoryOp>();
  if (!tile || !tile.getOffset())
    return {0, std::numeric_limits<int64_t>::max()};
  const tile::TensorMemoryType type = tile.getBuffer().getType();
  const int64_t first = TensorPlace::decode(int64_t(*tile.getOffset())).column;
  return {first, first + type.numSlots() * type.slotColumns()};
}

/// Whether two views surely have no column in common.
bool areApart(Value a, Value b) {
  auto apart = [](std::pair<int64_t, int64_t> x, std::pair<int64_t, int64_t> y) {
    return x.second <= y.first || y.second <= x.first;
  };
  auto x = a.getDefiningOp<tile::ColumnsOp>(), y = b.getDefiningOp<tile::ColumnsOp>();
  if (!x || !y || x.getSource() != y.getSource())
    return apart(columnsOfTile(a), columnsOfTile(b));
  auto elementsOf = [](tile::ColumnsOp view) {
    const int64_t first = view.getFirst();
    return std::pair(first, first + view.getView().getType().getShape().back());
  };
  return apart(elementsOf(x), elementsOf(y));
}

/// Which stores leave their wait to a later one: before anything that depends on them the threads only
/// compute, and access other columns.
class LaterWaits {
public:
  bool isAwaitedLater(tile::StoreOp store) {
    auto found = known.find(store);
    if (found != known.end())
      return found->second;
    const bool isLater = find(store);
    known[store] = isLater;
    return isLater;
  }

private:
  bool find(tile::StoreOp store) {
    for (Operation *op = store; op; op = isa<scf::IfOp>(op->getParentOp()) ? op->getParentOp() : nullptr)
      for (Operation *next = op->getNextNode(); next; next = next->getNextNode()) {
        auto fence = dyn_cast<tile::TensorMemoryFenceOp>(next);
        if (isMemoryEffectFree(next) || (fence && fence.getAfter())) // which orders what comes after it
          continue;
        auto load = dyn_cast<tile::LoadOp>(next);
        auto later = dyn_cast<tile::StoreOp>(next);
        if ((!load && !later) ||
            !areApart(load ? load.getSource() : later.getDestination(), store.getDestination()))
          return false;
        if (later && !isAwaitedLater(later))
          return true;
      }
    return false;
  }

  DenseMap<Operation *, bool> known;
};
} // namespace

LogicalResult lowering::storeTensorMemory(KernelLowering &k, tile::StoreOp op) {
  Emitter &b = k.b;
  std::optional<WarpColumns> columns = columnsOfWarp(k, op, op.getDestination(), op.getValue().getType());
  if (!columns)
    return failure();
  Value words = b.recast(k.value(op.getValue()), b.getI32Type());
  columns->forEachMove([&](int64_t first, int64_t registers, int64_t count) {
    simt::Tcgen05StoreOp::create(b, b.piece(words, registers, count), b.add(columns->address, first),
                                 columns->rowBits());
  });
  if (!LaterWaits().isAwaitedLater(op))
    simt::Tcgen05WaitStoreOp::create(b);
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
/// A factor in shared memory: its descriptor, which steps along the reduced axis move.
struct SharedFactor {
  WgmmaOperand operand; // the two instructions read the same layouts
  Value descriptor;

  static std::optional<SharedFactor> create(KernelLowering &k, Operation *op, Value factor, StringRef name,
                                            int kAxis) {
    const SharedTile &tile = k.shared(factor);
    Result<WgmmaOperand> operand = wgmmaOperand(tile.layout, tile.layoutAxis(kAxis), tcgen05Reader);
    if (!operand) {
      op->emitOpError() << "expected " << tile::describe(factor, name)
                        << " in a layout that tcgen05.mma reads, as wgmma does: " << operand.error().message;
      return std::nullopt;
    }
    Value descriptor =
        simt::Tcgen05DescriptorOp::create(k.b, tile.base, operand->leadingByteOffset,
                                          operand->strideByteOffset, program::swizzleOf(operand->swizzle));
    return SharedFactor{std::move(*operand), descriptor};
  }

  Value at(Emitter &b, int64_t mn, int64_t step) const {
    return b.add(descriptor, operand.startOffset(mn, step) / matrixRowBytes);
  }
  bool isTransposed() const { return operand.majorness == Majorness::mn; }
};
} // namespace

static LogicalResult lowerOp(KernelLowering &k, tile::GemmInPlaceOp op) {
  Emitter &b = k.b;
  std::optional<SharedFactor> right = SharedFactor::create(k, op, op.getB(), "the right factor", /*kAxis=*/0);
  std::optional<SharedFactor> left;
  bool leftIsShared = isa<tile::SharedType>(op.getA().getType());
  if (right && leftIsShared)
    left = SharedFactor::create(k, op, op.getA(), "the left factor", /*kAxis=*/1);
  if (!right || (leftIsShared && !left))
    return failure();
  if (std::string why = orderMismatch(left ? &left->operand.layout : nullptr, right->operand.layout);
      !why.empty())
    return op.emitOpError(why);
  ArrayRef<int64_t> shape = op.getAcc().getType().getShape();
  int64_t steps = tile::extentsOf(op.getB().getType()).front() / right->operand.kPerInstruction;
  // In tensor memory, too, a step takes as many bytes of each row.
  constexpr int64_t columnsPerStep = matrixDepthBytes / registerBytes;
  Value acc = k.value(op.getAcc()), accumulate = k.value(op.getAccumulate());
  const int64_t unit = right->isTransposed() ? right->operand.layout.panelExtent() : tcgen05ColumnStep;
  const int64_t sumBits = op.getAcc().getType().getElementType().getIntOrFloatBitWidth();
  k.byOneThread([&] {
    for (ColumnPart part : partsOfColumns(shape[1], maxTcgen05Columns, unit)) {
      Value sums = b.add(acc, part.first * sumBits / registerBits);
      for (int64_t step = 0; step < steps; ++step)
        simt::Tcgen05MmaOp::create(
            b, sums, left ? left->at(b, 0, step) : b.add(k.value(op.getA()), step * columnsPerStep),
            right->at(b, part.first, step), step == 0 ? accumulate : b.i1(true), shape[0], part.columns,
            tile::elementTypeOf(op.getA().getType()), op.getB().getType().getElementType(),
            left && left->isTransposed(), right->isTransposed());
    }
  });
  return success();
}

void lowering::arriveAfterProducts(KernelLowering &k, Value barrier) {
  k.byOneThread([&] { simt::Tcgen05CommitOp::create(k.b, barrier); });
}

static LogicalResult lowerOp(KernelLowering &k, tile::TensorMemoryFenceOp op) {
  simt::Tcgen05FenceOp::create(k.b, op.getAfter());
  return success();
}

void lowering::addTensorMemoryLowerings(LoweringTable &table) {
  table.add<tile::ReserveTensorMemoryOp>(lowerOp);
  table.add<tile::AllocTensorMemoryOp>(lowerOp);
  table.add<tile::ColumnsOp>(lowerOp);
  table.add<tile::GemmInPlaceOp>(lowerOp);
  table.add<tile::TensorMemoryFenceOp>(lowerOp);
}
