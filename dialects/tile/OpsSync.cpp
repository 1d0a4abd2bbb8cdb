// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rings and cursors, barriers: checks.
#include "dialects/layout/StockLayouts.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/RingArrivals.h"
#include "dialects/tile/Tile.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {
LogicalResult verifyCount(Operation *op, StringRef name, int64_t count) {
  if (count >= 1 && count <= maxMbarrierArrivals)
    return success();
  return op->emitOpError() << "expected the count of '" << name << "' to be from 1 to " << maxMbarrierArrivals
                           << " because an mbarrier counts that far, but got " << count;
}

LogicalResult verifyOffset(Operation *op, StringRef name, std::optional<int64_t> offset) {
  if (!offset || (*offset >= 0 && *offset % mbarrierBytes == 0))
    return success();
  return op->emitOpError() << "expected the offset of '" << name << "' to be a multiple of " << mbarrierBytes
                           << " bytes, at least 0, because mbarriers are aligned to that, but got "
                           << *offset;
}
} // namespace

void AllocRingOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getRing(), getName()); }

int64_t AllocRingOp::getAlignment() { return mbarrierBytes; }
int64_t AllocRingOp::getProducers() { return arrivalsOf(*this, RingSide::producers); }
int64_t AllocRingOp::getConsumers() {
  const int64_t ofBlock = arrivalsOf(*this, RingSide::consumers);
  return isFilledByMulticast() ? ofBlock * int64_t((*this)->getParentOfType<KernelOp>().getCluster())
                               : ofBlock;
}
bool AllocRingOp::isFilledByMulticast() {
  return llvm::any_of(getRing().getUsers(), [](Operation *user) {
    auto copy = dyn_cast<CopyAsyncOp>(user);
    return copy && copy.getMulticast();
  });
}

int64_t AllocRingOp::takePlace(BlockBudget &block) { return block.addRing(getRing().getType().getSlots()); }

LogicalResult AllocRingOp::verify() {
  return verifyOffset(*this, getName(), getOffset()); // alloc_ring_c1
}

void AllocBarrierOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getBarrier(), getName()); }

int64_t AllocBarrierOp::getAlignment() { return mbarrierBytes; }
int64_t AllocBarrierOp::takePlace(BlockBudget &block) { return block.addBarrier(); }

LogicalResult AllocBarrierOp::verify() {
  return failure(failed(verifyCount(*this, getName(), getCount())) ||  // alloc_barrier_c1
                 failed(verifyOffset(*this, getName(), getOffset()))); // alloc_barrier_c2
}

LogicalResult ExpectOp::verify() {
  int64_t bytes = getBytes();
  if (bytes >= 0 && bytes <= maxMbarrierTransactionBytes) // expect_c1
    return success();
  InFlightDiagnostic diagnostic = emitOpError() << "expected from 0 to " << maxMbarrierTransactionBytes
                                                << " bytes per slot of " << describe(getRing(), "the ring")
                                                << " because an mbarrier counts that far, but got " << bytes;
  noteDeclaration(diagnostic, getRing());
  return diagnostic;
}

namespace {
/// publish_c3, release_c2, arrive_c1, named_barrier_c2
LogicalResult verifyCounted(Operation *op) {
  if (executingWarps(op) > 0)
    return success();
  return op->emitOpError("expected k.warps before it, or a role around it, because the warps that arrive are "
                         "counted");
}
} // namespace

LogicalResult PublishOp::verify() {         // publish_c1
  if (getWithStores() && !getAfterCopies()) // publish_c2
    return emitOpError("expected 'after_copies' because other arrivals tell of stores anyway, but got only "
                       "'with_stores'");
  if (getAfterProducts() && getAfterCopies())
    return emitOpError("expected one of 'after_products' and 'after_copies' because a tensor core does not "
                       "arrive for the copies of threads, but got both");
  return getAfterProducts() ? success() : verifyCounted(*this);
}

LogicalResult ReleaseOp::verify() { // release_c1
  if (getAfterProducts() && getAfterMeeting())
    return emitOpError("expected one of 'after_products' and 'after_meeting' because no thread arrives where "
                       "a tensor core does, but got both");
  return getAfterProducts() ? success() : verifyCounted(*this);
}

LogicalResult ArriveOp::verify() { return getAfterProducts() ? success() : verifyCounted(*this); }

static LogicalResult verifyTurn(Operation *op) {
  auto role = op->getParentOfType<RoleOp>();
  if (!role)
    return op->emitOpError("expected to be in a role, whose warpgroups take turns");
  if (int64_t warps = role.getWarps(); warps % warpsPerWarpgroup != 0)
    return op->emitOpError("expected a role of whole warpgroups, of ")
           << warpsPerWarpgroup << " warps each, but role '" << role.getName() << "' has " << warps
           << " warps";
  return success();
}

LogicalResult TakeTurnOp::verify() { return verifyTurn(*this); } // take_turn_c1

LogicalResult PassTurnOp::verify() { return verifyTurn(*this); } // pass_turn_c1

LogicalResult NamedBarrierOp::verify() { // named_barrier_c1
  const Target *target = program::findTarget(*this);
  int64_t last = (target ? target->namedBarriers : Target().namedBarriers) - 1;
  int64_t id = getId(), warps = getWarps();
  if (id < 1 || id > last)
    return emitOpError() << "expected a barrier number from 1 to " << last
                         << " because 0 is the whole block's, but got " << id;
  if (warps < 1)
    return emitOpError() << "expected at least 1 warp, but got " << warps;
  return verifyCounted(*this);
}

//===----------------------------------------------------------------------===//
// What they order
//===----------------------------------------------------------------------===//

/// Whether the role is at most one warpgroup: where there are more, each arrives by itself.
static bool arrivesOnce(Operation *op) {
  auto role = op->getParentOfType<RoleOp>();
  return !role || role.getWarps() <= warpsPerWarpgroup;
}

/// The same of the ring's declaration.
static bool isMulticast(Value ring) {
  auto declaration = ring.getDefiningOp<AllocRingOp>();
  return declaration && declaration.isFilledByMulticast();
}

static std::optional<Unit> unitOfArrival(bool afterProducts) {
  return afterProducts ? std::optional(Unit::tcgen05) : std::nullopt;
}

Synchronisation AcquireOp::getSynchronisation() {
  return {.waits = true, .event = SlotEvent::acquired, .ring = getRing(), .cursor = getCursor()};
}
bool AcquireOp::suitsOneThread() { return true; }

Synchronisation ExpectOp::getSynchronisation() {
  return {.handsOn = true, .event = SlotEvent::announced, .ring = getRing(), .cursor = getCursor()};
}
bool ExpectOp::suitsOneThread() { return true; }

Synchronisation PublishOp::getSynchronisation() {
  return {.handsOn = true,
          .afterProducts = getAfterProducts(),
          .afterCopies = getAfterCopies(),
          .event = SlotEvent::published,
          .ring = getRing(),
          .cursor = getCursor()};
}
bool PublishOp::suitsOneThread() { return getAfterProducts() || (!getAfterCopies() && arrivesOnce(*this)); }
std::optional<Unit> PublishOp::getNeededUnit() {
  return getAfterCopies() ? Unit::cpAsync : unitOfArrival(getAfterProducts());
}

Synchronisation AwaitOp::getSynchronisation() {
  return {.waits = true, .event = SlotEvent::awaited, .ring = getRing(), .cursor = getCursor()};
}
bool AwaitOp::suitsOneThread() { return true; }

Synchronisation ReleaseOp::getSynchronisation() {
  return {.handsOn = true,
          .afterProducts = getAfterProducts(),
          .event = SlotEvent::released,
          .ring = getRing(),
          .cursor = getCursor()};
}
bool ReleaseOp::suitsOneThread() {
  return getAfterProducts() ||
         (arrivesOnce(*this) && !isMulticast(getRing())); // else a thread for each block
}
std::optional<Unit> ReleaseOp::getNeededUnit() { return unitOfArrival(getAfterProducts()); }

Synchronisation ArriveOp::getSynchronisation() {
  return {.handsOn = true, .afterProducts = getAfterProducts()};
}
bool ArriveOp::suitsOneThread() { return getAfterProducts(); } // else all threads are counted
std::optional<Unit> ArriveOp::getNeededUnit() { return unitOfArrival(getAfterProducts()); }

Synchronisation WaitOp::getSynchronisation() { return {.waits = true}; }
bool WaitOp::suitsOneThread() { return true; }

Synchronisation NamedBarrierOp::getSynchronisation() { return {.handsOn = true, .waits = !getArrive()}; }

/// They order when products are issued, and nothing else.
Synchronisation TakeTurnOp::getSynchronisation() { return {}; }
Synchronisation PassTurnOp::getSynchronisation() { return {}; }

Synchronisation SyncOp::getSynchronisation() { return {.meetsFirst = true}; }
bool SyncOp::suitsOneThread() { return true; } // what one thread does is in order

Completion AwaitStoresOp::getCompleted() { return Completion::storeGroup; }

LogicalResult AwaitCopiesOp::verify() { // await_copies_c1
  if (int64_t(getPending()) >= 0)
    return success();
  return emitOpError() << "expected at least 0 groups that may be in flight, but got "
                       << int64_t(getPending());
}

Completion AwaitCopiesOp::getCompleted() { return Completion::copyGroup; }
int64_t AwaitCopiesOp::getNumInFlight() { return int64_t(getPending()); }

Synchronisation ProxyFenceOp::getSynchronisation() {
  return {.fencesShared = true, .fencesTensors = getTensors()};
}
