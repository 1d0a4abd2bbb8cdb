// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a launch does to global memory, for the checkers of all its clusters,
/// which run on several host threads. Shadows are made page by page where
/// something is accessed, and forgotten when they become too many.
#pragma once

#include "runtime/emulator/check/Shadow.h"

#include <mutex>
#include <unordered_map>

namespace tlc::emulator {

class GlobalShadow {
public:
  explicit GlobalShadow(uint32_t granule) : granule(granule) {}
  void access(uint64_t address, uint64_t bytes, Record access, uint32_t laneBytes, Point point,
              std::vector<Conflict> &conflicts);

  /// What strong accesses of an address pass on between clusters.
  struct Flag {
    std::shared_ptr<const Foreign> wide;   ///< to all of the device
    std::shared_ptr<const Foreign> narrow; ///< written with a scope that ends before
  };
  void release(uint64_t address, Scope scope, const std::shared_ptr<const Foreign> &known);
  Flag acquire(uint64_t address);

private:
  static constexpr uint32_t pageBytes = 4096;
  static constexpr size_t shardCount = 64, pagesPerShard = 256;
  struct Shard {
    std::mutex mutex;
    std::unordered_map<uint64_t, Shadow> pages;
    std::unordered_map<uint64_t, Flag> flags;
  };
  Shard &shardOf(uint64_t page) { return shards[page * 0x9E3779B97F4A7C15ull >> 58]; }

  const uint32_t granule;
  std::array<Shard, shardCount> shards;
};

} // namespace tlc::emulator
