// SPDX-License-Identifier: Apache-2.0
/// \file
/// Roles and what they meet at. What is asynchronous is done when it is issued:
/// that is one of the orders which a correct program allows.
#include "compiler/evaluator/Machine.h"
#include "runtime/target/Hardware.h"

using namespace mlir;

namespace tlc::evaluator {

Ring &BlockState::ringOf(tile::AllocRingOp op) {
  std::unique_ptr<Ring> &ring = rings[op];
  if (!ring) {
    ring = std::make_unique<Ring>();
    ring->producers = op.getProducers();
    ring->consumers = op.getConsumers();
    ring->slots.resize(op.getRing().getType().getSlots());
    ring->declaration = op;
    ring->isMulticast = op.isFilledByMulticast();
  }
  return *ring;
}

namespace {

/// A role smaller than a warpgroup counts as one.
int64_t warpgroupsOf(const Task &task) { return std::max<int64_t>(task.warps / warpsPerWarpgroup, 1); }

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

Step evaluateRoles(Task &task, tile::RolesOp op) {
  BlockState &block = task.block;
  auto [running, isNew] = block.runningRoles.try_emplace(op, 0);
  if (!isNew) {
    if (running->second > 0)
      return Step::waits;
    block.runningRoles.erase(running);
    return Step::done;
  }
  for (tile::RoleOp role : op.getBody().getOps<tile::RoleOp>()) {
    ++running->second;
    block.tasks.push_back({block, role.getName(), static_cast<int64_t>(role.getWarps())});
    block.tasks.back().enter(role, role.getBody());
  }
  return Step::waits;
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

Step evaluateAllocRing(Task &task, tile::AllocRingOp op) {
  task.set(op.getRing(), Datum(&task.block.ringOf(op)));
  return Step::done;
}

Step evaluateCursor(Task &task, tile::CursorOp op) {
  task.set(op.getCursor(), Datum(Cursor{0}));
  return Step::done;
}

Step evaluateAdvance(Task &task, tile::AdvanceOp op) {
  task.set(op.getNext(), Datum(Cursor{std::get<Cursor>(task.get(op.getCursor())).count + 1}));
  return Step::done;
}

Ring &ringIn(const Task &task, Value ring) { return *std::get<Ring *>(task.get(ring)); }
Cursor cursorIn(const Task &task, Value cursor) { return std::get<Cursor>(task.get(cursor)); }

void noteFull(const Ring &ring, Ring::Slot &slot) {
  if (slot.fullArrivals < ring.producers || slot.bytes != 0)
    return;
  slot.fullArrivals -= ring.producers;
  ++slot.timesFull;
}

Step evaluateAcquire(Task &task, tile::AcquireOp op) {
  Ring &ring = ringIn(task, op.getRing());
  Cursor cursor = cursorIn(task, op.getCursor());
  return ring.at(cursor).timesEmpty >= ring.roundOf(cursor) ? Step::done : Step::waits;
}

Step evaluateAwait(Task &task, tile::AwaitOp op) {
  Ring &ring = ringIn(task, op.getRing());
  Cursor cursor = cursorIn(task, op.getCursor());
  return ring.at(cursor).timesFull > ring.roundOf(cursor) ? Step::done : Step::waits;
}

Step evaluateExpect(Task &task, tile::ExpectOp op) {
  Ring &ring = ringIn(task, op.getRing());
  Ring::Slot &slot = ring.at(cursorIn(task, op.getCursor()));
  slot.bytes += static_cast<int64_t>(op.getBytes());
  ++slot.fullArrivals;
  noteFull(ring, slot);
  return Step::done;
}

Step evaluatePublish(Task &task, tile::PublishOp op) {
  Ring &ring = ringIn(task, op.getRing());
  Ring::Slot &slot = ring.at(cursorIn(task, op.getCursor()));
  if (op.getAfterCopies() && task.warps == 0)
    return task.fail(op, "expected k.warps because the threads that arrive are counted");
  slot.fullArrivals += op.getAfterProducts() ? 1
                       : op.getAfterCopies() ? task.warps * lanesPerWarp
                                             : warpgroupsOf(task);
  noteFull(ring, slot);
  return Step::done;
}

Step evaluateRelease(Task &task, tile::ReleaseOp op) {
  Ring &own = ringIn(task, op.getRing());
  Cursor cursor = cursorIn(task, op.getCursor());
  auto release = [&](Ring &ring) {
    Ring::Slot &slot = ring.at(cursor);
    slot.emptyArrivals += op.getAfterProducts() ? 1 : warpgroupsOf(task);
    for (; slot.emptyArrivals >= ring.consumers; slot.emptyArrivals -= ring.consumers)
      ++slot.timesEmpty;
  };
  if (!own.isMulticast) {
    release(own);
    return Step::done;
  }
  for (const std::unique_ptr<BlockState> &block : task.block.cluster)
    release(block->ringOf(own.declaration));
  return Step::done;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

Step evaluateAllocBarrier(Task &task, tile::AllocBarrierOp op) {
  std::unique_ptr<Barrier> &barrier = task.block.barriers[op];
  if (!barrier) {
    barrier = std::make_unique<Barrier>();
    barrier->count = op.getCount();
  }
  task.set(op.getBarrier(), Datum(barrier.get()));
  return Step::done;
}

Step evaluateArrive(Task &task, tile::ArriveOp op) {
  auto *barrier = std::get<Barrier *>(task.get(op.getBarrier()));
  if (op.getAfterProducts()) {
    barrier->arrive(1);
    return Step::done;
  }
  if (task.warps == 0)
    return task.fail(op, "expected k.warps because the threads that arrive are counted");
  barrier->arrive(task.warps * lanesPerWarp);
  return Step::done;
}

Step evaluateWait(Task &task, tile::WaitOp op) {
  auto phase = task.certain(op, op.getPhase(), "the phase to wait for");
  if (!phase)
    return Step::failed;
  return std::get<Barrier *>(task.get(op.getBarrier()))->phases > *phase ? Step::done : Step::waits;
}

Step evaluateNamedBarrier(Task &task, tile::NamedBarrierOp op) {
  if (task.warps == 0)
    return task.fail(op, "expected k.warps because the warps that meet are counted");
  Barrier &barrier = task.block.namedBarriers[static_cast<int64_t>(op.getId())];
  if (!task.awaitedPhase) {
    barrier.count = op.getWarps();
    task.awaitedPhase = barrier.phases;
    barrier.arrive(task.warps);
  }
  if (!op.getArrive() && barrier.phases == *task.awaitedPhase)
    return Step::waits;
  task.awaitedPhase.reset();
  return Step::done;
}

/// All threads of a task go together, and nothing is in flight.
template <class Op> Step evaluateOrder(Task &, Op) { return Step::done; }

} // namespace

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

void countBytes(Ring &ring, Cursor cursor, int64_t bytes) {
  Ring::Slot &slot = ring.at(cursor);
  slot.bytes -= bytes;
  noteFull(ring, slot);
}

void addRoleRules(Rules &rules) {
  rules.add(evaluateRoles);
  rules.add(evaluateAllocRing);
  rules.add(evaluateCursor);
  rules.add(evaluateAdvance);
  rules.add(evaluateAcquire);
  rules.add(evaluateAwait);
  rules.add(evaluateExpect);
  rules.add(evaluatePublish);
  rules.add(evaluateRelease);
  rules.add(evaluateAllocBarrier);
  rules.add(evaluateArrive);
  rules.add(evaluateWait);
  rules.add(evaluateNamedBarrier);
  rules.add(evaluateOrder<tile::SyncOp>);
  rules.add(evaluateOrder<tile::AwaitStoresOp>);
  rules.add(evaluateOrder<tile::CommitCopiesOp>);
  rules.add(evaluateOrder<tile::AwaitCopiesOp>);
  rules.add(evaluateOrder<tile::ProxyFenceOp>);
  rules.add(evaluateOrder<tile::TensorMemoryFenceOp>);
  rules.add(evaluateOrder<tile::ReserveTensorMemoryOp>);
  rules.add(evaluateOrder<tile::RematerialiseOp>);
  rules.add(evaluateOrder<tile::RequireOp>);
  rules.add(evaluateOrder<tile::TakeTurnOp>);
  rules.add(evaluateOrder<tile::PassTurnOp>);
}

} // namespace tlc::evaluator
