// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shared tiles of other blocks of the cluster, and how the blocks meet.
#include "dialects/simt/Cluster.h"

#include "compiler/analysis/Divisibility.h"
#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "compiler/lowering/TileToSimt/Waits.h"
#include "dialects/tile/Cluster.h"
#include "dialects/tile/Names.h"
#include "runtime/target/Hardware.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {

/// The tile, or rows of it, where that block has it; nothing, with a diagnostic, where its first row may be
/// any.
template <typename Op>
std::optional<SharedTile> tileOfBlock(KernelLowering &k, Op op, Value tile, ArrayRef<int64_t> extents) {
  SharedTile there = k.shared(tile);
  there.base = simt::AddressInBlockOp::create(k.b, there.base, k.value(op.getBlock()));
  Value first = op.getFirst();
  if (!first)
    return there;
  if (int64_t divisor = tile::knownDivisor(first); divisor % swizzleRows != 0) {
    InFlightDiagnostic diagnostic =
        op.emitOpError() << "expected a first row of " << tile::describe(tile, "the tile")
                         << " that is known to be a multiple of " << swizzleRows
                         << ", after which swizzles repeat, but got a position that is only known to be a "
                         << "multiple of " << divisor << "; multiply a position by the number of rows";
    tile::noteDeclaration(diagnostic, tile);
    return std::nullopt;
  }
  there.base = k.b.offset(there.base, k.b.mul(k.b.divide(k.value(first), swizzleRows),
                                              there.layout.linearOffset(Coordinates{swizzleRows, 0})));
  there.shape.assign(extents.begin(), extents.end());
  return there;
}

} // namespace

static LogicalResult lowerOp(KernelLowering &k, tile::LoadFromBlockOp op) {
  RankedTensorType type = op.getValue().getType();
  std::optional<SharedTile> there = tileOfBlock(k, op, op.getSource(), type.getShape());
  std::optional<FragmentLayout> layout =
      there ? layoutOnTile(op, k.layoutOf(type), type.getShape(), there->shape) : std::nullopt;
  if (!layout)
    return failure();
  k.set(op.getValue(), loadShared(k, *there, *layout, there->shape));
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::StoreToBlockOp op) {
  RankedTensorType type = op.getValue().getType();
  std::optional<SharedTile> there = tileOfBlock(k, op, op.getDestination(), type.getShape());
  std::optional<FragmentLayout> layout =
      there ? layoutOnTile(op, k.layoutOf(type), type.getShape(), there->shape) : std::nullopt;
  if (!layout)
    return failure();
  storeShared(k, *there, *layout, there->shape, k.value(op.getValue()));
  return success();
}

/// Of a role: each thread takes the state of its own block's barrier first, so that no other block can be a
/// phase ahead there; then a thread for each other block says there that all have come.
static LogicalResult lowerOp(KernelLowering &k, tile::ClusterSyncOp op) {
  if (!op.getBarrier()) {
    simt::ClusterSyncOp::create(k.b, /*relaxed=*/false);
    return success();
  }
  Value barrier = k.value(op.getBarrier());
  Value state = simt::BarrierStateOp::create(k.b, barrier);
  if (failed(k.syncTeam()))
    return failure();
  Value own = simt::ClusterRankOp::create(k.b);
  Value isOther = arith::CmpIOp::create(k.b, arith::CmpIPredicate::ne, k.team.thread, own);
  k.b.when(k.b.both(k.b.isBelow(k.team.thread, k.b.i32(k.source.getCluster())), isOther),
           [&] { simt::ClusterArriveOp::create(k.b, barrier, k.team.thread); });
  waitAtBarrier(k, op, barrier, state,
                "the other blocks of the cluster at " +
                    nameInReport("barrier", tile::nameOf(op.getBarrier())),
                ValueRange());
  return success();
}

void lowering::addClusterLowerings(LoweringTable &table) {
  table.add<tile::LoadFromBlockOp>(lowerOp);
  table.add<tile::StoreToBlockOp>(lowerOp);
  table.add<tile::ClusterSyncOp>(lowerOp);
}
