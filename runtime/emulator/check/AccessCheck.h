// SPDX-License-Identifier: Apache-2.0
/// \file
/// Accesses to shared and global memory, each against those before it.
#pragma once

#include "runtime/emulator/check/FlagOrder.h"
#include "runtime/emulator/check/RaceReport.h"

namespace tlc::emulator {

class AccessCheck {
public:
  AccessCheck(Cluster &cluster, LaunchRaces &launch, ThreadClocks &clocks, FlagOrder &flags,
              const OperationOrder &operations, const RaceReport &reports);

  /// To shared memory of a block.
  void access(Warp &warp, const Instruction &instruction, const Touch &access, Block &block,
              uint32_t address);
  /// Of global memory.
  void accessGlobal(Warp &warp, const Instruction &instruction, Touch access);
  /// Calls `act` for each run of lanes that continue each other and know the same.
  void forRuns(const Warp &warp, uint32_t lanes, const Touch &each, const LaneAddresses64 &addresses,
               const std::function<void(const Touch &)> &act);
  /// True once if lanes have written the same place since the last call.
  bool takeOverlap() { return std::exchange(overlap, false); }

  /// With the last threads of a block its shared memory ends: nobody may use it any more.
  void exit(Warp &warp, const Instruction &instruction, uint32_t lanes);
  /// What the blocks' threads knew when they exited, of other clusters; null: nothing.
  std::shared_ptr<const Foreign> knownAtExit() const;

private:
  /// Of a block.
  struct Ending {
    Knowledge known; ///< to its threads that have exited
    Record exit;     ///< of the last ones; number 0: some are left
  };
  Record recordOf(WarpClock &warpClock, const Instruction &instruction, const Touch &access) const;
  Point pointOf(const WarpClock &warpClock, const Record &record, const Touch &access) const;
  /// A read of global memory that nothing has written.
  void checkWritten(Warp &warp, const Instruction &instruction, Record record, const Touch &access);

  Cluster &cluster;
  LaunchRaces &launch;
  ThreadClocks &clocks;
  FlagOrder &flags;
  const OperationOrder &operations;
  const RaceReport &reports;
  std::vector<Shadow> shadows;     ///< by block
  std::vector<Ending> endings;     ///< likewise
  std::vector<Conflict> conflicts; ///< of the access under way
  bool overlap = false;
};

} // namespace tlc::emulator
