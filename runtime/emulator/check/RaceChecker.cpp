// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/check/RaceChecker.h"

namespace tlc::emulator {

RaceChecker::RaceChecker(Cluster &cluster, LaunchRaces &launch)
    : cluster(cluster), launch(launch), clocks(cluster, launch.known()),
      barriers(clocks, cluster.blocks.size()), flags(cluster, launch, clocks),
      operations(cluster, clocks, barriers), reports(cluster, launch, clocks, operations),
      accesses(cluster, launch, clocks, flags, operations, reports),
      tensorMemory(cluster, clocks, barriers, reports), registers(cluster) {}

void RaceChecker::execute(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  accesses.takeOverlap();
  flags.takeReads(warp);
  registers.execute(warp, instruction, lanes);
}

void RaceChecker::evaluateGuard(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  registers.evaluateGuard(warp, instruction, lanes);
}

void RaceChecker::combineLanes(const Warp &warp, const Members &members) {
  registers.combineLanes(warp, members);
}

void RaceChecker::shuffleLanes(const Warp &warp, const Members &members, std::span<const uint32_t> sources) {
  registers.shuffleLanes(warp, members, sources);
}

void RaceChecker::exit(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  accesses.exit(warp, instruction, lanes);
}

void RaceChecker::clusterEnds() {
  if (cluster.grid->isAlone)
    return;
  if (const auto known = accesses.knownAtExit())
    launch.learn(*known);
}

void RaceChecker::fence(const Warp &warp, uint32_t lanes, Scope scope) { clocks.fence(warp, lanes, scope); }

void RaceChecker::proxyFence(const Warp &warp, uint32_t lanes, std::span<const FencedSpace> spaces) {
  clocks.proxyFence(warp, lanes, spaces);
}

void RaceChecker::publishMbarriers(const Warp &warp, uint32_t lanes) { clocks.publishMbarriers(warp, lanes); }

void RaceChecker::releaseMaps(const Warp &warp, uint32_t lanes) { clocks.releaseMaps(warp, lanes); }

void RaceChecker::acquireMap(const Warp &warp, uint32_t lanes, uint64_t address) {
  const MemoryRange *range = cluster.grid->memory->find(address);
  clocks.acquireMap(warp, lanes, address + (range ? range->toMemory : 0));
}

void RaceChecker::waitGrid(const Warp &warp, uint32_t lanes) { clocks.waitGrid(warp, lanes); }

void RaceChecker::syncLanes(const Warp &warp, uint32_t lanes) { clocks.syncLanes(warp, lanes); }

void RaceChecker::arriveNamed(const Warp &warp, unsigned id, NamedArrival arrival) {
  barriers.arriveNamed(warp, id, arrival);
}

void RaceChecker::completeNamed(const Block &block, unsigned id) { barriers.completeNamed(block, id); }

void RaceChecker::arriveCluster(const Warp &warp, uint32_t lanes, Ordering ordering) {
  barriers.arriveCluster(warp, lanes, ordering);
}

void RaceChecker::completeCluster() { barriers.completeCluster(); }

void RaceChecker::waitCluster(const Warp &warp, uint32_t lanes) { barriers.waitCluster(warp, lanes); }

void RaceChecker::arriveMbarrier(const Warp &warp, uint32_t lanes, const SharedPlace &place,
                                 Ordering ordering, Scope scope) {
  barriers.arriveMbarrier(warp, lanes, place, ordering, scope);
}

void RaceChecker::completePhase(const Block &block, uint32_t address) {
  barriers.completePhase(block, address);
}

void RaceChecker::waitMbarrier(const Warp &warp, uint32_t lanes, const SharedPlace &place, Ordering ordering,
                               Scope scope) {
  barriers.waitMbarrier(warp, lanes, place, ordering, scope);
}

std::shared_ptr<OperationNote> RaceChecker::issueCopy(const Warp &warp, const Instruction &instruction,
                                                      AsyncEngine engine, uint32_t lanes, bool uniform) {
  return operations.issueCopy(warp, instruction, engine, lanes, uniform);
}

std::shared_ptr<OperationNote> RaceChecker::issueOnMbarrier(const Warp &warp, const Instruction &instruction,
                                                            unsigned lane, bool uniform) {
  return operations.issue(warp, instruction, lane, uniform);
}

void RaceChecker::commitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes) {
  operations.commitCopies(warp, engine, lanes);
}

void RaceChecker::waitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes, uint64_t pending,
                             CopyWait until) {
  operations.waitCopies(warp, engine, lanes, pending, until);
}

void RaceChecker::completesOn(const SharedPlace &place) { operations.completesOn(place); }

std::shared_ptr<OperationNote> RaceChecker::copiesUntilNow(const Warp &warp) {
  return operations.copiesUntilNow(warp);
}

void RaceChecker::arriveAfter(const OperationNote &copies, const SharedPlace &place) {
  operations.arriveAfter(static_cast<const AsyncOrder &>(copies), place);
}

void RaceChecker::issueWgmma(Warp &warp, const Instruction &instruction, const ProductRegisters &used,
                             uint32_t number, std::shared_ptr<OperationNote> &note) {
  registers.issueWgmma(warp, instruction, used, number);
  operations.issueWgmma(warp, instruction, number, note);
}

void RaceChecker::fenceWgmma(const Warp &warp) { registers.fenceWgmma(warp); }

void RaceChecker::waitWgmma(const Warp &warp, uint64_t completed) {
  operations.waitWgmma(warp, completed);
  registers.waitWgmma(warp, completed);
}

void RaceChecker::run(OperationNote *operation) { operations.running = static_cast<AsyncOrder *>(operation); }

std::shared_ptr<OperationNote> RaceChecker::issueOnPipe(Warp &warp, const Instruction &instruction,
                                                        std::span<const TensorTouch> touches) {
  return tensorMemory.issueOnPipe(warp, instruction, touches);
}

std::shared_ptr<OperationNote> RaceChecker::commitPipe(const Warp &warp) {
  return tensorMemory.commitPipe(warp);
}

void RaceChecker::completePipe(const OperationNote &commit, const SharedPlace &place) {
  tensorMemory.completePipe(static_cast<const AsyncOrder &>(commit), place);
}

void RaceChecker::moveTensor(Warp &warp, const Instruction &instruction, TensorEngine engine,
                             std::span<const TensorTouch> touches) {
  tensorMemory.access(warp, instruction, engine, touches);
  if (engine == TensorEngine::load)
    registers.loadTensor(warp, instruction);
}

void RaceChecker::waitTensor(const Warp &warp, TensorEngine engine) {
  if (engine == TensorEngine::load)
    registers.waitTensorLoads(warp);
  tensorMemory.wait(warp, engine);
}

void RaceChecker::fenceTensorBefore(const Warp &warp) { tensorMemory.fenceBefore(warp); }

void RaceChecker::fenceTensorAfter(const Warp &warp) { tensorMemory.fenceAfter(warp); }

void RaceChecker::allocateTensor(const Block &block, uint32_t column, uint32_t count) {
  tensorMemory.allocate(block, column, count);
}

void RaceChecker::freeTensor(Warp &warp, const Instruction &instruction, uint32_t column, uint32_t count) {
  tensorMemory.free(warp, instruction, column, count);
}

void RaceChecker::access(Warp &warp, const Instruction &instruction, const Touch &access, Block &block,
                         uint32_t address) {
  accesses.access(warp, instruction, access, block, address);
}

void RaceChecker::accessLanes(Warp &warp, const Instruction &instruction, uint32_t lanes, const Touch &each,
                              const LaneAddresses64 &addresses, Block &block) {
  constexpr uint32_t inBlock = (1u << sharedRankShift) - 1;
  accesses.forRuns(warp, lanes, each, addresses, [&](const Touch &run) {
    accesses.access(warp, instruction, run, block, uint32_t(run.address) & inBlock);
  });
}

void RaceChecker::accessGlobal(Warp &warp, const Instruction &instruction, const Touch &access) {
  accesses.accessGlobal(warp, instruction, access);
}

void RaceChecker::accessGlobalLanes(Warp &warp, const Instruction &instruction, uint32_t lanes,
                                    const Touch &each, const LaneAddresses64 &addresses) {
  accesses.forRuns(warp, lanes, each, addresses,
                   [&](const Touch &run) { accesses.accessGlobal(warp, instruction, run); });
}

bool RaceChecker::takeOverlap() { return accesses.takeOverlap(); }

void RaceChecker::reportOverlap(Warp &warp, const Instruction &instruction, unsigned first, unsigned second,
                                Space space, uint64_t address) {
  reports.reportOverlap(warp, instruction, first, second, space, address);
}

void RaceChecker::allocated(uint64_t address, uint64_t bytes) { launch.shadow().forget(address, bytes); }

void RaceChecker::accessLocal(const Warp &warp, const Instruction &instruction, const Touch &access) {
  registers.accessLocal(warp, instruction, access);
}

void RaceChecker::copyLocal(const Warp &warp, unsigned lane, uint64_t to, uint64_t from, uint64_t bytes) {
  registers.copyLocal(warp, lane, to, from, bytes);
}

void RaceChecker::fillLocal(const Warp &warp, unsigned lane, uint64_t at, uint64_t bytes) {
  registers.fillLocal(warp, lane, at, bytes);
}

} // namespace tlc::emulator
