// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rings and cursors, barriers, fences.
///
/// A ring is its mbarriers: `full` of all slots, then `empty` of all slots.
#include "compiler/lowering/TileToSimt/TensorMemory.h"
#include "compiler/lowering/TileToSimt/Waits.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/RingArrivals.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {
/// The tile-to-shared-memory plan's offset; a diagnostic where there is none.
template <typename Op> std::optional<int64_t> plannedOffset(Op op) {
  if (op.getOffset())
    return int64_t(*op.getOffset());
  op.emitOpError()
      << "expected an offset in shared memory, but got none; run 'tile-plan-shared-memory' before "
         "'tile-to-simt'";
  return std::nullopt;
}

Value fullBarrier(KernelLowering &k, Value ring, Value cursor) {
  return k.b.offset(k.ring(ring).base, k.b.mul(k.cursor(cursor).slot, mbarrierBytes));
}

Value emptyBarrier(KernelLowering &k, Value ring, Value cursor) {
  return k.b.offset(fullBarrier(k, ring, cursor), k.ring(ring).slots * mbarrierBytes);
}

/// Waits until a slot's barrier has completed the phase of a parity.
void waitForSlot(KernelLowering &k, Operation *op, Value ring, Value cursor, Value barrier, Value parity,
                 StringRef state) {
  std::string channel = nameInReport("channel", tile::nameOf(ring));
  waitAtBarrier(k, op, barrier, parity,
                Twine("slot {} of ") + channel + " to be " + state + " (phase parity {})",
                {k.cursor(cursor).slot, parity});
}

/// One thread of each warpgroup (of the team, if it is smaller) arrives.
LogicalResult arriveOncePerGroup(KernelLowering &k, Operation *op, Value barrier) {
  if (k.team.warps > warpsPerWarpgroup && !k.team.hasWarpgroups())
    return op->emitOpError() << "expected whole warpgroups, or at most " << warpsPerWarpgroup
                             << " warps, because one thread of each arrives, but " << k.team.name
                             << " has warps " << k.team.firstWarp << " to "
                             << k.team.firstWarp + k.team.warps - 1;
  auto arrive = [&] { simt::BarrierArriveOp::create(k.b, barrier, Value()); };
  if (k.team.threads == Team::Threads::one)
    arrive();
  else
    k.b.when(k.b.isEqual(k.threadOfGroup(), 0), arrive);
  return success();
}
} // namespace

static LogicalResult lowerOp(KernelLowering &k, tile::AllocRingOp op) {
  std::optional<int64_t> offset = plannedOffset(op);
  if (!offset || failed(tile::verifyArrivals(op)))
    return failure();
  const int64_t producers = op.getProducers(), consumers = op.getConsumers();
  Ring ring;
  ring.base = k.sharedAt(*offset);
  ring.slots = op.getRing().getType().getSlots();
  ring.multicast = op.isFilledByMulticast();
  for (int64_t slot = 0; slot < ring.slots; ++slot) {
    k.initBarrier(*offset + slot * mbarrierBytes, producers);
    k.initBarrier(*offset + (ring.slots + slot) * mbarrierBytes, consumers);
  }
  k.set(op.getRing(), ring);
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::CursorOp op) {
  k.set(op.getCursor(), Cursor{k.b.i32(0), k.b.i32(0)});
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::AdvanceOp op) {
  Cursor at = k.cursor(op.getCursor());
  int64_t slots = op.getCursor().getType().getSlots();
  if (slots == 1) {
    k.set(op.getNext(), Cursor{at.slot, k.b.bitXor(at.phase, k.b.i32(1))});
    return success();
  }
  Value next = k.b.add(at.slot, 1);
  Value wraps = k.b.isEqual(next, slots);
  Value flip = arith::ExtUIOp::create(k.b, k.b.getI32Type(), wraps);
  k.set(op.getNext(), Cursor{k.b.select(wraps, k.b.i32(0), next), k.b.bitXor(at.phase, flip)});
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::AcquireOp op) {
  // A new barrier counts as having completed the phase before its first.
  Value parity = k.b.bitXor(k.cursor(op.getCursor()).phase, k.b.i32(1));
  waitForSlot(k, op, op.getRing(), op.getCursor(), emptyBarrier(k, op.getRing(), op.getCursor()), parity,
              "empty");
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::ExpectOp op) {
  // One thread makes the slot full. Warps that have yet to see that it was empty would find its barrier two
  // phases further.
  if (k.team.threads == Team::Threads::all && failed(k.syncTeam()))
    return failure();
  k.byOneThread([&] {
    simt::BarrierExpectOp::create(k.b, fullBarrier(k, op.getRing(), op.getCursor()), op.getBytes());
  });
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::PublishOp op) {
  if (op.getAfterProducts()) {
    // As of what one thread expects: the tensor core does not wait for the other warps.
    if (k.team.threads == Team::Threads::all && failed(k.syncTeam()))
      return failure();
    arriveAfterProducts(k, fullBarrier(k, op.getRing(), op.getCursor()));
    return success();
  }
  if (op.getAfterCopies()) {
    Value barrier = fullBarrier(k, op.getRing(), op.getCursor());
    if (!op.getWithStores()) {
      simt::BarrierArriveAfterCopiesOp::create(k.b, barrier);
      return success();
    }
    simt::CommitCopiesOp::create(k.b);
    simt::AwaitCopiesOp::create(k.b, 0);
    simt::BarrierArriveOp::create(k.b, barrier, Value());
    return success();
  }
  if (k.team.threads == Team::Threads::all && failed(k.syncWarpgroup()))
    return failure();
  return arriveOncePerGroup(k, op, fullBarrier(k, op.getRing(), op.getCursor()));
}

static LogicalResult lowerOp(KernelLowering &k, tile::AwaitOp op) {
  waitForSlot(k, op, op.getRing(), op.getCursor(), fullBarrier(k, op.getRing(), op.getCursor()),
              k.cursor(op.getCursor()).phase, "full");
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::ReleaseOp op) {
  if (op.getAfterProducts()) {
    if (k.ring(op.getRing()).multicast)
      return op.emitOpError()
             << "expected a channel without multicast because the products of one block arrive at "
                "its own barriers alone, but the blocks of the cluster fill this one together; release it "
                "with "
                "Arrival::now after gemmWait";
    arriveAfterProducts(k, emptyBarrier(k, op.getRing(), op.getCursor()));
    return success();
  }
  if (op.getAfterMeeting() && failed(k.syncWarpgroup()))
    return failure();
  Value barrier = emptyBarrier(k, op.getRing(), op.getCursor());
  if (!k.ring(op.getRing()).multicast)
    return arriveOncePerGroup(k, op, barrier);
  // Every block of the cluster writes to this slot, so each must know: a thread for each.
  Value thread = k.threadOfGroup();
  k.b.when(k.b.isBelow(thread, k.b.i32(k.source.getCluster())),
           [&] { simt::BarrierArriveOp::create(k.b, barrier, thread); });
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::AllocBarrierOp op) {
  std::optional<int64_t> offset = plannedOffset(op);
  if (!offset)
    return failure();
  k.initBarrier(*offset, op.getCount());
  k.set(op.getBarrier(), k.sharedAt(*offset));
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::ArriveOp op) {
  if (op.getAfterProducts()) {
    arriveAfterProducts(k, k.value(op.getBarrier()));
    return success();
  }
  simt::BarrierArriveOp::create(k.b, k.value(op.getBarrier()), Value());
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::WaitOp op) {
  Value phase = k.value(op.getPhase());
  waitAtBarrier(k, op, k.value(op.getBarrier()), k.b.bitAnd(phase, 1),
                nameInReport("barrier", tile::nameOf(op.getBarrier())) + " to complete phase {}", phase);
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::NamedBarrierOp op) {
  simt::SyncOp::create(k.b, k.b.i32(op.getId()), k.b.getI64IntegerAttr(op.getWarps() * lanesPerWarp),
                       op.getArrive() ? k.b.getUnitAttr() : UnitAttr());
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::TakeTurnOp) {
  if (k.team.warps > warpsPerWarpgroup)
    k.takeTurn();
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::PassTurnOp) {
  if (k.team.warps > warpsPerWarpgroup)
    k.passTurn();
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::SyncOp) { return k.syncTeam(); }

static LogicalResult lowerOp(KernelLowering &k, tile::AwaitStoresOp) {
  k.awaitStores();
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::CommitCopiesOp) {
  simt::CommitCopiesOp::create(k.b);
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::AwaitCopiesOp op) {
  simt::AwaitCopiesOp::create(k.b, op.getPending());
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::ProxyFenceOp op) {
  simt::ProxyFenceOp::create(k.b, op.getTensors());
  return success();
}

void lowering::addSyncLowerings(LoweringTable &table) {
  table.add<tile::AllocRingOp>(lowerOp);
  table.add<tile::CursorOp>(lowerOp);
  table.add<tile::AdvanceOp>(lowerOp);
  table.add<tile::AcquireOp>(lowerOp);
  table.add<tile::ExpectOp>(lowerOp);
  table.add<tile::PublishOp>(lowerOp);
  table.add<tile::AwaitOp>(lowerOp);
  table.add<tile::ReleaseOp>(lowerOp);
  table.add<tile::AllocBarrierOp>(lowerOp);
  table.add<tile::ArriveOp>(lowerOp);
  table.add<tile::WaitOp>(lowerOp);
  table.add<tile::NamedBarrierOp>(lowerOp);
  table.add<tile::TakeTurnOp>(lowerOp);
  table.add<tile::PassTurnOp>(lowerOp);
  table.add<tile::SyncOp>(lowerOp);
  table.add<tile::AwaitStoresOp>(lowerOp);
  table.add<tile::CommitCopiesOp>(lowerOp);
  table.add<tile::AwaitCopiesOp>(lowerOp);
  table.add<tile::ProxyFenceOp>(lowerOp);
}
