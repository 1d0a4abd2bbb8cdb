// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs one kernel over a grid. The direct way in, without an artifact: load a
/// program, say which memory it may touch, launch.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/emulator/exec/core/Memory.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/core/PollingDeadlock.h"
#include "runtime/emulator/exec/core/Program.h"
#include "runtime/emulator/exec/core/Schedule.h"
#include "runtime/emulator/report/Finding.h"
#include "runtime/emulator/report/NamedTensor.h"
#include "runtime/target/Target.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace tlc::emulator {

struct LaunchConfiguration {
  std::string entry = {};
  std::array<uint32_t, 3> grid = {1, 1, 1};    ///< blocks
  std::array<uint32_t, 3> block = {1, 1, 1};   ///< threads
  std::array<uint32_t, 3> cluster = {1, 1, 1}; ///< blocks; {1, 1, 1} takes the entry's .reqnctapercluster
  uint32_t dynamicSharedBytes = 0;
  std::span<const std::byte> parameters = {}; ///< the entry's parameter space
  bool ordered = false;                       ///< `Launch::ordered`: it waits for the launch before it
  bool cooperative = false;                   ///< all blocks run at the same time and may wait for each other
  std::span<const NamedTensor> tensors = {};  ///< for reports
  const LaunchNames *names = nullptr;         ///< for reports; null where nobody knows any
  std::optional<uint32_t> onlyBlock = {};     ///< runs its cluster alone; counted in x, then y, then z
};

/// How far a launch is.
struct LaunchProgress {
  uint64_t blocksDone = 0, blocks = 0, warpInstructions = 0;
  double seconds = 0;
};
using OnProgress = std::function<void(const LaunchProgress &)>;

/// The machine to pretend to be.
struct Machine {
  const Target *target = nullptr;
  int multiprocessors = 132; ///< bounds how many blocks run at the same time
  unsigned hostThreads = 1;
  uint64_t maximumSteps = uint64_t(1) << 32;  ///< instructions of one warp
  MakeLaunchObserver makeObserver;            ///< of each launch; empty: none
  Findings *findings = nullptr;               ///< if set, findings are added here, too
  FindingLevel failsBy = FindingLevel::error; ///< the least level of a finding that makes a launch fail
  MakeSchedule makeSchedule;                  ///< of each cluster; empty: round robin
  /// Another order of all that happens, the same for the same seed, on one host thread.
  std::optional<uint64_t> scheduleSeed = {};
  int device = 0;               ///< its ordinal
  size_t devices = 1;           ///< that are emulated together
  Progress *progress = nullptr; ///< of all that runs at the same time; null: of this launch alone
  OnProgress onProgress = {};   ///< every few seconds of a long launch, by any of the host threads
  Print print; ///< what vprintf says; empty: to stderr. By any of the host threads, one at a time
};

/// What a launch came to.
struct LaunchStatistics {
  uint64_t warpInstructions = 0;   ///< instructions that some lane of a warp executed
  uint64_t threadInstructions = 0; ///< the same, counted for each lane
};

/// An error unless a device of the target runs the module's code.
Result<void> checkTarget(const Program &program, const Target &target);

/// Runs to completion, or until nothing sensible can follow. A wrong
/// configuration is an invalidArgument; what the kernel does wrong is an
/// execution error that tells the first findings.
Result<LaunchStatistics> runGrid(const Program &program, const LaunchConfiguration &launch,
                                 const MemoryMap &memory, const Machine &machine);

} // namespace tlc::emulator
