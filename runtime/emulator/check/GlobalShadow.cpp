// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/check/GlobalShadow.h"

#include <algorithm>

namespace tlc::emulator {

void GlobalShadow::access(uint64_t address, uint64_t bytes, Record access, uint32_t laneBytes, Point point,
                          std::vector<Conflict> &conflicts) {
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
    found->second.access(uint32_t(at % pageBytes), uint32_t(at % pageBytes + (next - at)), access, laneBytes,
                         point, conflicts);
    for (size_t i = known; i < conflicts.size(); ++i)
      conflicts[i].address += page * pageBytes;
    at = next;
  }
}

void GlobalShadow::release(uint64_t address, Scope scope, const std::shared_ptr<const Foreign> &known) {
  Shard &shard = shardOf(address / pageBytes);
  const std::lock_guard lock(shard.mutex);
  Flag &flag = shard.flags[address];
  joinForeign(scope >= Scope::gpu ? flag.wide : flag.narrow, known);
}

GlobalShadow::Flag GlobalShadow::acquire(uint64_t address) {
  Shard &shard = shardOf(address / pageBytes);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.flags.find(address);
  return found == shard.flags.end() ? Flag() : found->second;
}

} // namespace tlc::emulator
