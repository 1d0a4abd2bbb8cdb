// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers of clusters, shadows page by page, and what acquires of a place get from releases there.
#include "runtime/emulator/check/GlobalShadow.h"

#include <algorithm>

namespace tlc::emulator {

uint32_t GlobalShadow::add(CheckedLaunch launch) {
  const std::lock_guard lock(mutex);
  launch.first = nextCluster;
  nextCluster += launch.clusters;
  launches.push_back(std::move(launch));
  return launches.back().first;
}

CheckedLaunch GlobalShadow::launchOf(uint32_t cluster) const {
  const std::lock_guard lock(mutex);
  return *std::prev(std::ranges::upper_bound(launches, cluster, {}, &CheckedLaunch::first));
}

uint32_t GlobalShadow::next() const {
  const std::lock_guard lock(mutex);
  return nextCluster;
}

void GlobalShadow::access(uint64_t address, uint64_t bytes, uint32_t granule, Record access,
                          uint32_t laneBytes, Point point, std::vector<Conflict> &conflicts) {
  const uint8_t firstLane = access.lane;
  for (uint64_t at = address, end = address + bytes; at < end;) {
    const uint64_t page = at / pageBytes, next = std::min(end, (page + 1) * pageBytes);
    if (laneBytes != 0 && firstLane < severalLanes)
      access.lane = point.lane = uint8_t(firstLane + (at - address) / laneBytes);
    const size_t known = conflicts.size();
    Shard &shard = shardOf(page);
    const std::lock_guard lock(shard.mutex);
    auto found = shard.pages.find(page);
    if (found == shard.pages.end()) {
      if (shard.pages.size() >= pagesPerShard)
        shard.pages.erase(shard.pages.begin());
      found = shard.pages.emplace(page, Shadow(pageBytes, granule, Unwritten::allowed)).first;
    }
    found->second.refine(granule);
    found->second.access(uint32_t(at % pageBytes), uint32_t(at % pageBytes + (next - at)), access, laneBytes,
                         point, conflicts);
    for (size_t i = known; i < conflicts.size(); ++i)
      conflicts[i].address += page * pageBytes;
    at = next;
  }
}

void GlobalShadow::forget(uint64_t address, uint64_t bytes) {
  const uint64_t end = address + bytes;
  for (uint64_t at = address; at < end;) {
    const uint64_t page = at / pageBytes, next = std::min(end, (page + 1) * pageBytes);
    Shard &shard = shardOf(page);
    const std::lock_guard lock(shard.mutex);
    if (next - at == pageBytes)
      shard.pages.erase(page);
    else if (const auto found = shard.pages.find(page); found != shard.pages.end())
      found->second.forget(uint32_t(at % pageBytes), uint32_t(at % pageBytes + (next - at)));
    shard.flags.erase(shard.flags.lower_bound(at), shard.flags.lower_bound(next));
    at = next;
  }
}

void GlobalShadow::release(uint64_t address, const Released &part) {
  Shard &shard = shardOf(address / pageBytes);
  const std::lock_guard lock(shard.mutex);
  for (Released &other : shard.flags[address])
    if (other.device == part.device && other.reach == part.reach)
      return joinForeign(other.known, part.known);
  shard.flags[address].push_back(part);
}

std::vector<GlobalShadow::Released> GlobalShadow::acquire(uint64_t address) {
  Shard &shard = shardOf(address / pageBytes);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.flags.find(address);
  return found == shard.flags.end() ? std::vector<Released>() : found->second;
}

} // namespace tlc::emulator
