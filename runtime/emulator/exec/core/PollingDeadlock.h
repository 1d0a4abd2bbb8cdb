// SPDX-License-Identifier: Apache-2.0
/// \file
/// Deadlocks of warps that poll. A cluster whose registers and places in the
/// code are what they were before, while nothing was written, does the same for
/// ever unless others write; when that holds for all that run, nothing will
/// ever change. Grids that run at the same time, also on different devices,
/// share one `Progress`.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace tlc::emulator {

struct Cluster;

/// What the host threads that run clusters know of each other.
class Progress {
public:
  /// `launchers`: how many devices may have a launch under way at a time.
  explicit Progress(unsigned launchers = 1) : launchers(launchers) {}

  /// Counts what may let others go on.
  uint64_t version() const;
  void changed();

  /// A launch begins, on so many host threads; one of them has no clusters left, and so many remain: without
  /// any the launch ends.
  void beginLaunch(unsigned hostThreads);
  void leave(unsigned remaining);

  /// Called by a host thread whose clusters all repeat themselves since
  /// `version`; waits for a change. True when there will never be one.
  bool isDeadlocked(uint64_t version);

private:
  /// How long a launch on a device that has none is waited for.
  static constexpr unsigned patienceSeconds = 5;

  mutable std::mutex mutex;
  std::condition_variable wake;
  uint64_t number = 0;
  uint64_t deadAt = ~uint64_t(0); ///< the version at which all stood still
  unsigned launchers, launches = 0, threads = 0, still = 0;
};

/// Finds out that a cluster repeats itself.
class Repetition {
public:
  /// After a turn of the cluster, which began at `version`.
  void observe(const Cluster &cluster, uint64_t version);
  /// It does what it did before, and would do so again.
  bool proven(uint64_t version) const { return repeats && version == since; }

private:
  uint64_t progress = ~uint64_t(0), since = ~uint64_t(0);
  unsigned turns = 0; ///< without a change
  bool repeats = false;
  std::vector<std::byte> state; ///< of all warps, some turns ago
  std::vector<uint64_t> steps;  ///< of each warp, then
};

} // namespace tlc::emulator
