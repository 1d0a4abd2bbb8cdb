// SPDX-License-Identifier: Apache-2.0
/// \file
/// An observer that looks at nothing; others override what they look at.
#pragma once

#include "runtime/emulator/exec/core/Observer.h"

namespace tlc::emulator {

class QuietObserver : public Observer {
public:
  using Note = std::shared_ptr<OperationNote>;

  void execute(Warp &, const Instruction &, uint32_t) override {}
  void evaluateGuard(Warp &, const Instruction &, uint32_t) override {}
  void combineLanes(const Warp &, const Members &) override {}
  void shuffleLanes(const Warp &, const Members &, std::span<const uint32_t>) override {}
  void exit(Warp &, const Instruction &, uint32_t) override {}
  void clusterEnds() override {}

  void fence(const Warp &, uint32_t, Scope) override {}
  void proxyFence(const Warp &, uint32_t, std::span<const FencedSpace>) override {}
  void publishMbarriers(const Warp &, uint32_t) override {}
  void releaseMaps(const Warp &, uint32_t) override {}
  void acquireMap(const Warp &, uint32_t, uint64_t) override {}
  void waitGrid(const Warp &, uint32_t) override {}

  void syncLanes(const Warp &, uint32_t) override {}
  void arriveNamed(const Warp &, unsigned, NamedArrival) override {}
  void completeNamed(const Block &, unsigned) override {}
  void arriveCluster(const Warp &, uint32_t, Ordering) override {}
  void completeCluster() override {}
  void waitCluster(const Warp &, uint32_t) override {}
  void arriveMbarrier(const Warp &, uint32_t, const SharedPlace &, Ordering, Scope) override {}
  void completePhase(const Block &, uint32_t) override {}
  void waitMbarrier(const Warp &, uint32_t, const SharedPlace &, Ordering, Scope) override {}

  Note issueCopy(const Warp &, const Instruction &, AsyncEngine, uint32_t, bool) override { return make(); }
  Note issueOnMbarrier(const Warp &, const Instruction &, unsigned, bool) override { return make(); }
  void commitCopies(const Warp &, AsyncEngine, uint32_t) override {}
  void waitCopies(const Warp &, AsyncEngine, uint32_t, uint64_t, CopyWait) override {}
  void completesOn(const SharedPlace &) override {}
  Note copiesUntilNow(const Warp &) override { return make(); }
  void arriveAfter(const OperationNote &, const SharedPlace &) override {}
  void issueWgmma(Warp &, const Instruction &, const ProductRegisters &, uint32_t, Note &note) override {
    if (!note)
      note = make();
  }
  void fenceWgmma(const Warp &) override {}
  void waitWgmma(const Warp &, uint64_t) override {}
  void run(OperationNote *) override {}

  Note issueOnPipe(Warp &, const Instruction &, std::span<const TensorTouch>) override { return make(); }
  Note commitPipe(const Warp &) override { return make(); }
  void completePipe(const OperationNote &, const SharedPlace &) override {}
  void moveTensor(Warp &, const Instruction &, TensorEngine, std::span<const TensorTouch>) override {}
  void waitTensor(const Warp &, TensorEngine) override {}
  void fenceTensorBefore(const Warp &) override {}
  void fenceTensorAfter(const Warp &) override {}
  void allocateTensor(const Block &, uint32_t, uint32_t) override {}
  void freeTensor(Warp &, const Instruction &, uint32_t, uint32_t) override {}

  void access(Warp &, const Instruction &, const Touch &, Block &, uint32_t) override {}
  void accessLanes(Warp &, const Instruction &, uint32_t, const Touch &, const LaneAddresses64 &,
                   Block &) override {}
  void accessGlobal(Warp &, const Instruction &, const Touch &) override {}
  void accessGlobalLanes(Warp &, const Instruction &, uint32_t, const Touch &,
                         const LaneAddresses64 &) override {}
  bool takeOverlap() override { return false; }
  void reportOverlap(Warp &, const Instruction &, unsigned, unsigned, Space, uint64_t) override {}
  void allocated(uint64_t, uint64_t) override {}
  void accessLocal(const Warp &, const Instruction &, const Touch &) override {}
  void copyLocal(const Warp &, unsigned, uint64_t, uint64_t, uint64_t) override {}
  void fillLocal(const Warp &, unsigned, uint64_t, uint64_t) override {}

private:
  static Note make() { return std::make_shared<OperationNote>(); }
};

} // namespace tlc::emulator
