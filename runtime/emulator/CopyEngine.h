// SPDX-License-Identifier: Apache-2.0
/// \file
/// Transfers of a program on an emulated device. A kernel copies, so that the checkers see what it accesses;
/// where launches run beside a transfer, each round counts as another device, as rounds are in no order.
#pragma once

#include "runtime/device/LaunchPlan.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/emulator/check/DeviceOrder.h"
#include "runtime/emulator/exec/launch/Grid.h"
#include "runtime/emulator/report/Finding.h"

#include <deque>

namespace tlc::emulator {

/// The kernel of a transfer, which findings call by its name.
std::shared_ptr<const Program> loadCopies(std::string_view transfer);

/// What a launch of a program gives its copies.
struct CopyEngineSetup {
  const LaunchPlan &plan;
  std::span<const std::shared_ptr<const Program>> programs; ///< one per transfer
  const Machine &machine;
  const MemoryMap &memory;
  std::span<const NamedTensor> tensors;
  RaceCheck raceCheck = RaceCheck::on;
  TransferTime time = TransferTime::early;
  const std::function<void(const Findings &)> &onFindings;
};

class CopyEngine {
public:
  /// `order` is that of the program's launches.
  CopyEngine(const CopyEngineSetup &setup, LaunchOrder &order) : given(setup), order(order) {}

  /// Before launch number `launch`, or the end: completes what it comes after, and begins the transfers that
  /// come before it.
  Result<void> reach(size_t launch);
  /// Runs a launch, with what is late beside it.
  Result<LaunchStatistics> beside(const std::function<Result<LaunchStatistics>()> &launch);

private:
  struct Round {
    size_t transfer = 0;
    const PlannedRound *planned = nullptr;
    std::optional<LaunchOrder> beside = {}; ///< of a round that launches run beside
    int device = 0;                         ///< as which it counts then
  };
  Result<void> begin(size_t number);
  /// Afterwards all transfers are complete.
  Result<void> join();
  Result<void> run(Round round);
  Result<void> copy(const Program &program, const PlannedCopy &copy, Machine &machine) const;
  Result<void> launch(const Program &program, std::span<const uint64_t> parameters, uint64_t units,
                      Machine &machine) const;

  CopyEngineSetup given;
  LaunchOrder &order;
  std::shared_ptr<const Foreign> ended = {}; ///< rounds under way that are over
  size_t nextTransfer = 0, roundsBeside = 0;
  bool isUnderWay = false;
  size_t until = 0;          ///< the first launch that comes after what is under way
  std::deque<Round> pending; ///< late ones
};

} // namespace tlc::emulator
