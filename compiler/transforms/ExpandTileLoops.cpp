// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards no `tile.persistent` is left: the kernel has a `tile.grid` and a loop
/// over the tiles of this block. The blocks of a cluster stay together, as they may share copies, so that
/// some may run for tiles that do not exist; their stores are guarded.

#include "compiler/analysis/Divisibility.h"
#include "compiler/analysis/PositionRanges.h"
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Cluster.h"
#include "dialects/tile/Counts.h"
#include "dialects/tile/SharedSlice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "runtime/target/Target.h"

namespace tlc::tile {
#define GEN_PASS_DEF_EXPANDTILELOOPS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Index arithmetic at one place; constants fold later.
class IndexBuilder {
public:
  IndexBuilder(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return arith::SubIOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) { return arith::MulIOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) { return arith::DivUIOp::create(builder, loc, a, b); }
  Value ceilDiv(Value a, Value b) { return arith::CeilDivUIOp::create(builder, loc, a, b); }
  Value rem(Value a, Value b) { return arith::RemUIOp::create(builder, loc, a, b); }
  Value min(Value a, Value b) { return arith::MinUIOp::create(builder, loc, a, b); }
  Value max(Value a, Value b) { return arith::MaxUIOp::create(builder, loc, a, b); }
  Value clampToZero(Value a) { return arith::MaxSIOp::create(builder, loc, a, constant(0)); }

private:
  OpBuilder &builder;
  Location loc;
};

/// The tiles as a box of rows x columns x planes, in units that one cluster takes.
struct TileSpace {
  Value rows, columns;
  Value total;
};

TileSpace tileSpace(PersistentOp op, int64_t cluster, IndexBuilder &index) {
  PositionRanges ranges;
  SmallVector<Value> extents;
  for (Value extent : op.getExtents()) // there are no tiles if one is below 0
    extents.push_back(ranges.of(extent).isNonNegative() ? extent : index.clampToZero(extent));
  if (cluster > 1)
    extents[op.getClusterAxis()] = index.ceilDiv(extents[op.getClusterAxis()], index.constant(cluster));
  TileSpace space;
  space.rows = space.total = extents[0];
  for (Value extent : ArrayRef(extents).drop_front())
    space.total = index.mul(space.total, extent);
  space.columns = extents.size() > 1 ? extents[1] : Value();
  return space;
}

/// Position of tile number `tile`: groups of rows, walked down before the next column.
SmallVector<Value> tilePosition(PersistentOp op, const TileSpace &space, Value tile, IndexBuilder &index) {
  if (!space.columns)
    return {tile};
  Value plane, inPlane = tile;
  if (op.getExtents().size() == 3) {
    Value planeTiles = index.mul(space.rows, space.columns);
    plane = index.div(tile, planeTiles);
    inPlane = index.rem(tile, planeTiles);
  }
  Value group = index.constant(op.getGroup());
  Value groupTiles = index.mul(group, space.columns);
  Value firstRow = index.mul(index.div(inPlane, groupTiles), group);
  Value rowsInGroup = index.min(index.sub(space.rows, firstRow), group);
  Value inGroup = index.rem(inPlane, groupTiles);
  SmallVector<Value> position = {index.add(firstRow, index.rem(inGroup, rowsInGroup)),
                                 index.div(inGroup, rowsInGroup)};
  if (plane)
    position.push_back(plane);
  return position;
}

//===----------------------------------------------------------------------===//
// Tiles that do not exist
//===----------------------------------------------------------------------===//

/// The positive number that `position` is multiplied by; 0 if `origin` is anything else.
int64_t pitchOf(Value origin, Value position) {
  if (origin == position)
    return 1;
  auto product = origin.getDefiningOp<arith::MulIOp>();
  if (!product || (product.getLhs() != position && product.getRhs() != position))
    return 0;
  Value factor = product.getLhs() == position ? product.getRhs() : product.getLhs();
  return std::max<int64_t>(getConstantIntValue(factor).value_or(0), 0);
}

/// Whether `count` tiles of `pitch` elements reach the end of the tensor's axis.
bool reachEnd(Value count, int64_t pitch, SliceOp slice, size_t axis) {
  auto tensor = dyn_cast<BlockArgument>(slice.getTensor());
  if (!tensor) // no dimension is an extent of a member
    return false;
  auto kernel = cast<KernelOp>(tensor.getOwner()->getParentOp());
  int64_t number = cast<program::TensorAttr>(kernel.getArgument(tensor.getArgNumber())).getDims()[axis];
  int64_t extent = cast<GlobalType>(tensor.getType()).getShape()[axis];
  if (number < 0) {
    std::optional<int64_t> known = getConstantIntValue(count);
    return known && *known * pitch >= extent;
  }
  Value dimension = kernel.getBody().getArgument(unsigned(number));
  Operation *quotient = count.getDefiningOp();
  if (!isa_and_present<arith::CeilDivUIOp, arith::CeilDivSIOp>(quotient))
    return count == dimension && pitch >= 1;
  std::optional<int64_t> divisor = getConstantIntValue(quotient->getOperand(1));
  return quotient->getOperand(0) == dimension && divisor && *divisor >= 1 && *divisor <= pitch;
}

/// The memory or variable that an operation writes, or null.
Value destinationOf(Operation *op) {
  if (auto write = dyn_cast<WriteOp>(op))
    return write.getVariable();
  for (const MemoryAccess &access : memoryAccessesOf(op))
    if (access.kind != AccessKind::read && completionOf(op) != Completion::ring)
      return access.memory;
  return {};
}

/// Guards the effects of blocks whose tile does not exist, the last ones of a cluster.
class TileGuard {
public:
  TileGuard(PersistentOp op)
      : op(op), position(op.getBody().getArgument(unsigned(op.getClusterAxis()))),
        extent(op.getExtents()[op.getClusterAxis()]) {}

  /// In the body, before its positions are replaced.
  void find() {
    op.getBody().walk([&](Operation *inner) {
      // What the author says is of tiles that exist.
      if (auto slice = dyn_cast<SliceOp>(inner))
        slice.removeUncheckedAttr();
      if (auto slice = dyn_cast<SliceSharedOp>(inner))
        slice.removeUncheckedAttr();
      if (Value destination = destinationOf(inner);
          destination && (accessesOtherBlocks(inner) || !isHarmless(destination)))
        effects.push_back(inner);
    });
  }

  void guard(Value exists) {
    for (Operation *effect : effects) {
      OpBuilder builder(effect);
      TypeRange results = effect->getResultTypes();
      auto branch =
          scf::IfOp::create(builder, effect->getLoc(), results, exists, /*withElseRegion=*/!results.empty());
      if (!results.empty()) {
        effect->replaceAllUsesWith(branch.getResults());
        builder.setInsertionPointToEnd(branch.thenBlock());
        scf::YieldOp::create(builder, effect->getLoc(), effect->getResults());
        builder.setInsertionPointToEnd(branch.elseBlock());
        scf::YieldOp::create(builder, effect->getLoc(), insteadOf(effect));
      }
      effect->moveBefore(branch.thenBlock()->getTerminator());
    }
  }

  bool empty() const { return effects.empty(); }

private:
  /// What goes on in place of the effect's results where the tile does not exist: any values, since nothing
  /// that follows from them is left behind.
  static SmallVector<Value> insteadOf(Operation *effect) {
    return llvm::map_to_vector(effect->getResultTypes(), [&](Type type) -> Value {
      auto alike =
          llvm::find_if(effect->getOperands(), [&](Value operand) { return operand.getType() == type; });
      assert(alike != effect->operand_end() && "an effect returns what an operand was");
      return *alike;
    });
  }

  bool isHarmless(Value destination) {
    // A ring goes on in all blocks of the cluster alike.
    if (auto variable = dyn_cast<VariableType>(destination.getType());
        variable && isa<CursorType>(variable.getValueType()))
      return true;
    if (auto slice = destination.getDefiningOp<SliceOp>())
      return llvm::any_of(llvm::enumerate(slice.getOrigin()), [&](auto origin) {
        int64_t pitch = pitchOf(origin.value(), position);
        return pitch > 0 && reachEnd(extent, pitch, slice, origin.index());
      });
    while (Operation *view = destination.getDefiningOp()) {
      if (!isa<ViewOpInterface>(view))
        break;
      destination = view->getOperand(0);
    }
    return op.getBody().isAncestor(destination.getParentRegion());
  }

  PersistentOp op;
  Value position, extent;
  SmallVector<Operation *> effects;
};

//===----------------------------------------------------------------------===//
// Expansion
//===----------------------------------------------------------------------===//

/// Whether the last cluster may have more blocks than tiles.
bool mayExceed(PersistentOp op, int64_t cluster) {
  return cluster > 1 && knownDivisor(op.getExtents()[op.getClusterAxis()]) % cluster != 0;
}

void expand(PersistentOp op, int64_t cluster) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  IndexBuilder index(builder, loc);

  TileSpace space = tileSpace(op, cluster, index);
  Value clusters = MultiprocessorsOp::create(builder, loc, builder.getIndexType());
  if (auto residents = int64_t(op->getParentOfType<KernelOp>().getResidents()); residents > 1)
    clusters = index.mul(clusters, index.constant(residents));
  if (cluster > 1) // one at least, also where a cluster has more blocks than the device multiprocessors
    clusters = index.max(index.div(clusters, index.constant(cluster)), index.constant(1));
  Value blocks = index.min(space.total, clusters);
  if (cluster > 1)
    blocks = index.mul(blocks, index.constant(cluster));
  auto grid = GridOp::create(builder, loc, TypeRange{builder.getIndexType()}, ValueRange{blocks});

  Value first = grid.getResult(0);
  Value step = BlocksOp::create(builder, loc, builder.getIndexType());
  Value rank;
  if (cluster > 1) {
    Value size = index.constant(cluster);
    first = index.div(first, size);
    step = index.div(step, size);
    rank = BlockRankOp::create(builder, loc, builder.getIndexType());
  }
  auto loop = scf::ForOp::create(builder, loc, first, space.total, step);

  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> position = tilePosition(op, space, loop.getInductionVar(), index);
  if (cluster > 1) {
    Value &shared = position[op.getClusterAxis()];
    shared = index.add(index.mul(shared, index.constant(cluster)), rank);
  }
  TileGuard guard(op);
  if (mayExceed(op, cluster))
    guard.find();
  if (!guard.empty())
    guard.guard(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, position[op.getClusterAxis()],
                                      op.getExtents()[op.getClusterAxis()]));
  Block &body = op.getBody().front();
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), position))
    argument.replaceAllUsesWith(value);
  loop.getBody()->getOperations().splice(Block::iterator(loop.getBody()->getTerminator()),
                                         body.getOperations());
  op.erase();
}

/// Launches one block for each tile. A block that has finished its tile cancels one that has not started, and
/// computes that block's tile. The loop has the form of `k.loopWhile` with `take`, which later passes know.
void expandDynamic(PersistentOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  IndexBuilder index(builder, loc);
  TileSpace space = tileSpace(op, /*cluster=*/1, index);
  Value own =
      GridOp::create(builder, loc, TypeRange{builder.getIndexType()}, ValueRange{space.total}).getResult(0);
  auto type = SharedType::get(builder.getContext(), {1}, builder.getI32Type());
  Value tile = AllocSharedOp::create(builder, loc, type, builder.getStringAttr("next_tile"), IntegerAttr());
  Value response = AllocResponseOp::create(builder, loc, ResponseType::get(builder.getContext()),
                                           builder.getStringAttr("next_tile.response"), IntegerAttr());
  Value zero = index.constant(0), one = index.constant(1);
  Value yes = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  // The last number is that of no tile.
  auto loop = scf::ForOp::create(builder, loc, zero, index.add(space.total, one), one, yes);

  builder.setInsertionPointToStart(loop.getBody());
  auto goesOn = scf::IfOp::create(builder, loc, TypeRange{yes.getType()}, loop.getRegionIterArg(0),
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  scf::YieldOp::create(builder, loc, goesOn.getResults());
  builder.setInsertionPointToStart(goesOn.elseBlock());
  Value no = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false));
  scf::YieldOp::create(builder, loc, no);
  builder.setInsertionPointToStart(goesOn.thenBlock());
  NextBlockOp::create(builder, loc, own, loop.getInductionVar(), response, tile, zero);
  Value number = LoadIndexOp::create(builder, loc, tile, zero);
  Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, number, zero);
  auto branch = scf::IfOp::create(builder, loc, exists, /*withElseRegion=*/false);
  scf::YieldOp::create(builder, loc, exists);

  builder.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> position = tilePosition(op, space, number, index);
  Block &body = op.getBody().front();
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), position))
    argument.replaceAllUsesWith(value);
  branch.thenBlock()->getOperations().splice(Block::iterator(branch.thenBlock()->getTerminator()),
                                             body.getOperations());
  op.erase();
}

LogicalResult checkDynamic(PersistentOp op, KernelOp kernel) {
  const Target *target = program::findTarget(kernel);
  if (target && !target->launchControl)
    return op.emitError()
           << "expected static tile scheduling because " << target->name
           << " has no cluster launch control, which begins with sm_100, but got "
           << "TileScheduling::dynamic; use TileScheduling::fixed, or take numbers of tiles from a "
           << "count (take)";
  if (int64_t cluster = kernel.getCluster(); cluster > 1)
    return op.emitError()
           << "expected static tile scheduling with clusters because a canceled block's tile is one "
           << "block's work, but got TileScheduling::dynamic and a cluster of " << cluster
           << " blocks; use TileScheduling::fixed, or k.cluster(1)";
  return success();
}

struct ExpandTileLoops : impl::ExpandTileLoopsBase<ExpandTileLoops> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    // There is at most one, at the top level: the verifier of `tile.persistent` sees to it.
    auto loops = kernel.getBody().getOps<PersistentOp>();
    if (loops.empty())
      return;
    PersistentOp op = *loops.begin();
    if (!op.getDynamic())
      return expand(op, kernel.getCluster());
    if (failed(checkDynamic(op, kernel)))
      return signalPassFailure();
    expandDynamic(op);
  }
};

} // namespace
} // namespace tlc::tile
