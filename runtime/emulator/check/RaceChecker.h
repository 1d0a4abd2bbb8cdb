// SPDX-License-Identifier: Apache-2.0
/// \file
/// The checker of a cluster. It gives what it is told to the parts that keep
/// account of it: what threads know (ThreadClocks) and pass on by barriers,
/// flags and operations, accesses to memory and to tensor memory, and the use of
/// registers.
#pragma once

#include "runtime/emulator/check/AccessCheck.h"
#include "runtime/emulator/check/RegisterCheck.h"
#include "runtime/emulator/check/TensorCheck.h"

namespace tlc::emulator {

class RaceChecker final : public Observer {
public:
  RaceChecker(Cluster &cluster, LaunchRaces &launch);

  void execute(Warp &warp, const Instruction &instruction, uint32_t lanes) override;
  void evaluateGuard(Warp &warp, const Instruction &instruction, uint32_t lanes) override;
  void combineLanes(const Warp &warp, const Members &members) override;
  void shuffleLanes(const Warp &warp, const Members &members, std::span<const uint32_t> sources) override;
  void exit(Warp &warp, const Instruction &instruction, uint32_t lanes) override;
  void clusterEnds() override;
  void fence(const Warp &warp, uint32_t lanes, Scope scope) override;
  void proxyFence(const Warp &warp, uint32_t lanes, std::span<const FencedSpace> spaces) override;
  void publishMbarriers(const Warp &warp, uint32_t lanes) override;
  void releaseMaps(const Warp &warp, uint32_t lanes) override;
  void acquireMap(const Warp &warp, uint32_t lanes, uint64_t address) override;
  void waitGrid(const Warp &warp, uint32_t lanes) override;
  void syncLanes(const Warp &warp, uint32_t lanes) override;
  void arriveNamed(const Warp &warp, unsigned id, NamedArrival arrival) override;
  void completeNamed(const Block &block, unsigned id) override;
  void arriveCluster(const Warp &warp, uint32_t lanes, Ordering ordering) override;
  void completeCluster() override;
  void waitCluster(const Warp &warp, uint32_t lanes) override;
  void arriveMbarrier(const Warp &warp, uint32_t lanes, const SharedPlace &place, Ordering ordering,
                      Scope scope) override;
  void completePhase(const Block &block, uint32_t address) override;
  void waitMbarrier(const Warp &warp, uint32_t lanes, const SharedPlace &place, Ordering ordering,
                    Scope scope) override;
  std::shared_ptr<OperationNote> issueCopy(const Warp &warp, const Instruction &instruction,
                                           AsyncEngine engine, uint32_t lanes, bool uniform) override;
  std::shared_ptr<OperationNote> issueOnMbarrier(const Warp &warp, const Instruction &instruction,
                                                 unsigned lane, bool uniform) override;
  void commitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes) override;
  void waitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes, uint64_t pending,
                  CopyWait until) override;
  void completesOn(const SharedPlace &place) override;
  std::shared_ptr<OperationNote> copiesUntilNow(const Warp &warp) override;
  void arriveAfter(const OperationNote &copies, const SharedPlace &place) override;
  void issueWgmma(Warp &warp, const Instruction &instruction, const ProductRegisters &used, uint32_t number,
                  std::shared_ptr<OperationNote> &note) override;
  void fenceWgmma(const Warp &warp) override;
  void waitWgmma(const Warp &warp, uint64_t completed) override;
  void run(OperationNote *operation) override;
  std::shared_ptr<OperationNote> issueOnPipe(Warp &warp, const Instruction &instruction,
                                             std::span<const TensorTouch> touches) override;
  std::shared_ptr<OperationNote> commitPipe(const Warp &warp) override;
  void completePipe(const OperationNote &commit, const SharedPlace &place) override;
  void moveTensor(Warp &warp, const Instruction &instruction, TensorEngine engine,
                  std::span<const TensorTouch> touches) override;
  void waitTensor(const Warp &warp, TensorEngine engine) override;
  void fenceTensorBefore(const Warp &warp) override;
  void fenceTensorAfter(const Warp &warp) override;
  void allocateTensor(const Block &block, uint32_t column, uint32_t count) override;
  void freeTensor(Warp &warp, const Instruction &instruction, uint32_t column, uint32_t count) override;
  void access(Warp &warp, const Instruction &instruction, const Touch &access, Block &block,
              uint32_t address) override;
  void accessLanes(Warp &warp, const Instruction &instruction, uint32_t lanes, const Touch &each,
                   const LaneAddresses64 &addresses, Block &block) override;
  void accessGlobal(Warp &warp, const Instruction &instruction, const Touch &access) override;
  void accessGlobalLanes(Warp &warp, const Instruction &instruction, uint32_t lanes, const Touch &each,
                         const LaneAddresses64 &addresses) override;
  bool takeOverlap() override;
  void reportOverlap(Warp &warp, const Instruction &instruction, unsigned first, unsigned second, Space space,
                     uint64_t address) override;
  void allocated(uint64_t address, uint64_t bytes) override;
  void accessLocal(const Warp &warp, const Instruction &instruction, const Touch &access) override;
  void copyLocal(const Warp &warp, unsigned lane, uint64_t to, uint64_t from, uint64_t bytes) override;
  void fillLocal(const Warp &warp, unsigned lane, uint64_t at, uint64_t bytes) override;

private:
  Cluster &cluster;
  LaunchRaces &launch;
  ThreadClocks clocks;
  BarrierOrder barriers;
  FlagOrder flags;
  OperationOrder operations;
  RaceReport reports;
  AccessCheck accesses;
  TensorCheck tensorMemory;
  RegisterCheck registers;
};

} // namespace tlc::emulator
