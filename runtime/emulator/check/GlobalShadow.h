// SPDX-License-Identifier: Apache-2.0
/// \file
/// What launches that may run at the same time do to global memory, for the
/// checkers of all their clusters, which run on several host threads. Shadows
/// are made page by page where something is accessed, and forgotten when they
/// become too many.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/emulator/check/Shadow.h"
#include "runtime/emulator/exec/core/Program.h"

#include <deque>
#include <mutex>
#include <unordered_map>

namespace tlc::emulator {

/// A launch, as far as findings of others tell of it.
struct CheckedLaunch {
  std::shared_ptr<const void> owner; ///< of what is pointed to below
  const Program *program = nullptr;
  const Kernel *kernel = nullptr;
  const LaunchNames *names = nullptr;
  int device = 0;
  std::array<uint32_t, 3> blocks = {}, cluster = {};
  uint32_t clusters = 0;
  unsigned warpsOfBlock = 0;
  uint32_t first = 0; ///< the number of its first cluster
};

class GlobalShadow {
public:
  /// Gives a launch the numbers of its clusters; the first of them. They grow.
  uint32_t add(CheckedLaunch launch);
  /// Whose cluster it is.
  CheckedLaunch launchOf(uint32_t cluster) const;
  /// All numbers until now are smaller.
  uint32_t next() const;

  /// `granule` as a shadow's.
  void access(uint64_t address, uint64_t bytes, uint32_t granule, Record access, uint32_t laneBytes,
              Point point, std::vector<Conflict> &conflicts);
  /// The memory is new.
  void forget(uint64_t address, uint64_t bytes);

  /// What strong accesses of an address pass on between clusters, by device and reach.
  struct Released {
    int device = 0;
    Reach reach = Reach::cluster;
    std::shared_ptr<const Foreign> known;
  };
  void release(uint64_t address, const Released &part);
  std::vector<Released> acquire(uint64_t address);

private:
  static constexpr uint32_t pageBytes = 4096;
  static constexpr size_t shardCount = 64, pagesPerShard = 256;
  struct Shard {
    std::mutex mutex;
    std::unordered_map<uint64_t, Shadow> pages;
    std::map<uint64_t, std::vector<Released>> flags;
  };
  Shard &shardOf(uint64_t page) { return shards[page * 0x9E3779B97F4A7C15ull >> 58]; }

  std::array<Shard, shardCount> shards;
  mutable std::mutex mutex; ///< of what follows
  std::deque<CheckedLaunch> launches;
  uint32_t nextCluster = 1;
};

} // namespace tlc::emulator
