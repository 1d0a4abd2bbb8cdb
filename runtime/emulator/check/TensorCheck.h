// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensor memory. What a warp's next tcgen05 instruction comes after is apart
/// from what the warp knows: only tcgen05.fence brings one to the other. The
/// pipe takes its operations in the order of issue, so there the issue of an
/// earlier one is enough; everybody else must know it complete. Accesses count
/// from their issue on. The lanes of a warp count as one.
#pragma once

#include "runtime/emulator/check/OperationOrder.h"
#include "runtime/emulator/check/RaceReport.h"

namespace tlc::emulator {

class TensorCheck {
public:
  TensorCheck(Cluster &cluster, ThreadClocks &clocks, BarrierOrder &barriers, const RaceReport &reports)
      : cluster(cluster), clocks(clocks), barriers(barriers), reports(reports),
        states(clocks.warps().size()) {}

  std::shared_ptr<AsyncOrder> issueOnPipe(Warp &warp, const Instruction &instruction,
                                          std::span<const TensorTouch> touches);
  std::shared_ptr<AsyncOrder> commitPipe(const Warp &warp);
  void completePipe(const AsyncOrder &commit, const SharedPlace &place);
  void access(Warp &warp, const Instruction &instruction, TensorEngine engine,
              std::span<const TensorTouch> touches);
  void wait(const Warp &warp, TensorEngine engine);
  void fenceBefore(const Warp &warp);
  void fenceAfter(const Warp &warp);
  void allocate(const Block &block, uint32_t column, uint32_t count);
  void free(Warp &warp, const Instruction &instruction, uint32_t column, uint32_t count);

private:
  /// Numbers of a warp's accesses to tensor memory.
  struct TensorStream {
    ClockEntry entry = 0; ///< of those complete; 0: there are none yet
    ClockEntry plain = 0; ///< likewise, or issued to the pipe, as synchronisation without fences passes it on
    ClockEntry issue = 0; ///< of those issued to the pipe
    uint32_t issued = 0;
  };
  /// Of a warp.
  struct State {
    Clock before; ///< what its next access to tensor memory comes after
    std::array<TensorStream, tensorEngines> streams;
  };
  enum class Fences : uint8_t { needed, assumed };

  State &stateOf(const Warp &warp) { return states[clocks.indexOf(warp)]; }
  TensorStream &streamOf(const Warp &warp, TensorEngine engine);
  /// What an access comes after; `assumed`: if all fences were there.
  Clock orderOf(const Warp &warp, TensorEngine engine, Fences fences);
  Shadow &shadowOf(const Block &block);
  void report(Warp &warp, const Instruction &instruction, const Record &now, const Conflict &conflict,
              const Block &block);
  std::string missing(const Record &before, const Record &now) const;
  std::string missingFence(const Record &before, const Record &now) const;

  Cluster &cluster;
  ThreadClocks &clocks;
  BarrierOrder &barriers;
  const RaceReport &reports;
  std::vector<State> states;       ///< by warp
  std::vector<Shadow> shadows;     ///< by block, once there is tensor memory
  std::vector<Conflict> conflicts; ///< of the access under way
};

} // namespace tlc::emulator
