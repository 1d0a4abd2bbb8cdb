// SPDX-License-Identifier: Apache-2.0
/// \file
/// Compares programs in processes of their own, so that a crash or a hang is a result like others.
#pragma once

#include "test/differential/Compare.h"

#include <functional>
#include <optional>

namespace tlc::differential {

struct ProcessOptions {
  int jobs = 1;
  /// Of CPU time, for one program; one that waits for something has ten times as long.
  double hangSeconds = 60;
  double totalSeconds = 1e9; ///< after which no more are begun
  /// Of data in one process, more than any program needs; nothing for no limit, as a GPU's driver reserves
  /// more than it uses.
  std::optional<uint64_t> memoryBytes = uint64_t(6) << 30;
};

/// What a process does for number `number`.
using Work = std::function<Outcome(uint64_t number)>;
/// Takes an outcome, and the seconds it took.
using Report = std::function<void(uint64_t number, const Outcome &outcome, double seconds)>;

/// Does the work for all numbers from `first`, `count` of them, in no particular order. Gives how many were
/// done.
uint64_t runInProcesses(uint64_t first, uint64_t count, const ProcessOptions &options, const Work &work,
                        const Report &report);

} // namespace tlc::differential
