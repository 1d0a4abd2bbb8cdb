// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who executes: one thread of a team, all of it when it meets, its warpgroups in turns.
#include "compiler/lowering/TileToSimt/Lowering.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

std::optional<int64_t> KernelLowering::takeBarriers(int64_t count) {
  int64_t limit = target.namedBarriers;
  uint32_t wanted = (uint32_t(1) << count) - 1;
  for (int64_t first = 1; first + count <= limit; ++first)
    if (!(usedBarriers & wanted << first)) {
      usedBarriers |= wanted << first;
      return first;
    }
  emitError(b.getLoc()) << "expected at most " << limit << " barriers per block because " << target.name
                        << " has no more, but " << team.name << " needs " << count
                        << " beside those in use; use fewer warpgroups or named barriers";
  return std::nullopt;
}

LogicalResult KernelLowering::syncTeam() {
  if (team.threads == Team::Threads::one) // what one thread does is in order
    return success();
  if (team.isBlock) {
    simt::SyncOp::create(b, b.i32(0), IntegerAttr(), UnitAttr());
    return success();
  }
  int64_t &id = teamBarriers[{team.firstWarp, team.warps}];
  if (id == 0) {
    std::optional<int64_t> taken = takeBarriers(1);
    if (!taken)
      return failure();
    id = *taken;
  }
  simt::SyncOp::create(b, b.i32(id), b.getI64IntegerAttr(team.warps * lanesPerWarp), UnitAttr());
  return success();
}

LogicalResult KernelLowering::syncWarpgroup() {
  if (team.warps <= warpsPerWarpgroup)
    return syncTeam();
  int64_t &first = warpgroupBarriers[team.firstWarp];
  if (first == 0) {
    std::optional<int64_t> taken = takeBarriers(team.warps / warpsPerWarpgroup);
    if (!taken)
      return failure();
    first = *taken;
  }
  Value id = b.add(b.divide(team.warp, warpsPerWarpgroup), first);
  simt::SyncOp::create(b, id, b.getI64IntegerAttr(threadsPerWarpgroup), UnitAttr());
  return success();
}

LogicalResult KernelLowering::beginTurns() {
  int64_t warpgroups = team.warps / warpsPerWarpgroup;
  std::optional<int64_t> taken = takeBarriers(warpgroups);
  if (!taken)
    return failure();
  turnBarriers = *taken;
  b.when(b.isEqual(b.divide(team.warp, warpsPerWarpgroup), warpgroups - 1), [&] {
    simt::SyncOp::create(b, b.i32(turnBarriers), b.getI64IntegerAttr(2 * threadsPerWarpgroup),
                         b.getUnitAttr());
  });
  return success();
}

void KernelLowering::takeTurn() {
  Value id = b.add(b.divide(team.warp, warpsPerWarpgroup), turnBarriers);
  simt::SyncOp::create(b, id, b.getI64IntegerAttr(2 * threadsPerWarpgroup), UnitAttr());
}

void KernelLowering::passTurn() {
  Value next = b.add(b.divide(team.warp, warpsPerWarpgroup), 1);
  Value id = b.add(b.select(b.isEqual(next, team.warps / warpsPerWarpgroup), b.i32(0), next), turnBarriers);
  simt::SyncOp::create(b, id, b.getI64IntegerAttr(2 * threadsPerWarpgroup), b.getUnitAttr());
}

Value KernelLowering::threadOfGroup() {
  return team.hasWarpgroups() && team.warps > warpsPerWarpgroup
             ? b.bitAnd(team.thread, threadsPerWarpgroup - 1)
             : team.thread;
}

void KernelLowering::byOneThread(function_ref<void()> body) {
  if (team.threads == Team::Threads::one)
    return body();
  if (!target.tma.available) // an election is what the units have that one thread drives
    return b.when(b.isEqual(team.thread, 0), body);
  b.when(b.isEqual(team.warp, 0), [&] { b.when(simt::ElectOp::create(b).getElected(), body); });
}

void KernelLowering::awaitStores() {
  b.when(b.isEqual(threadOfGroup(), 0), [&] { simt::BulkWaitOp::create(b, 0, false); });
}
