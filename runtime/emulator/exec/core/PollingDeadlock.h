// SPDX-License-Identifier: Apache-2.0
/// \file
/// Deadlocks of warps that poll. A cluster whose registers and places in the
/// code are what they were before, while nothing was written, does the same for
/// ever unless others write; when that holds for all that run, nothing will
/// ever change, but for the time, if they look at it. Grids that run at the same
/// time, also on different devices, share one `Progress`.
#pragma once

#include <atomic>
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

  // For a thread that has several things to do, but each as late as it may.
  /// There will be such a thread.
  void addLate();
  /// Waits until all that run stand still; then it counts among them until it calls `hasDone`, which tells
  /// whether there is more. False, and it is one no more, when `stopWaiting` was called with `stopped`.
  bool waitUntilStill(const bool &stopped);
  void hasDone(bool isLate);
  void stopWaiting(bool &stopped);

  /// %globaltimer, in nanoseconds. Time passes only while all that run stand still, so that what is waited
  /// for takes none and every run has the same.
  uint64_t time() {
    timeWasRead = true;
    return now;
  }

private:
  /// How long a launch on a device that has none is waited for.
  static constexpr unsigned patienceSeconds = 5;
  static constexpr uint64_t firstStep = 1000, endOfTime = uint64_t(1) << 62;

  /// If any that stand still have read the time, it passes: ever more of it, until something else changes.
  bool passTime();

  mutable std::mutex mutex;
  std::condition_variable wake;
  uint64_t number = 0;
  uint64_t deadAt = ~uint64_t(0); ///< the version at which all stood still
  unsigned launchers, launches = 0, threads = 0, still = 0;
  unsigned late = 0;     ///< threads that have something to do when all stand still
  bool isCalled = false; ///< one of those is to go on
  bool isPatient = true; ///< no launch has been waited for in vain since the last one began or ended
  std::atomic<uint64_t> now{1'000'000'000};
  std::atomic<bool> timeWasRead{false}; ///< since it passed last
  uint64_t passedAt = ~uint64_t(0);     ///< the version that it made when it passed last
  uint64_t step = firstStep;            ///< by which it passes next
};

/// Finds out that a cluster repeats itself.
class Repetition {
public:
  /// After a turn of the cluster, which began at `version`.
  void observe(const Cluster &cluster, uint64_t version);
  /// It does what it did before, and would do so again.
  bool proven(uint64_t version) const { return repeats && version == since; }

private:
  /// Without a change each warp goes on by itself. Its places and registers, some turns ago.
  struct Past {
    bool repeats = false;
    uint64_t steps = 0;
    std::vector<std::byte> state;
  };

  uint64_t progress = ~uint64_t(0), since = ~uint64_t(0);
  unsigned turns = 0; ///< without a change
  bool repeats = false;
  std::vector<Past> warps;
};

} // namespace tlc::emulator
