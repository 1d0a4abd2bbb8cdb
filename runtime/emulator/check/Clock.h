// SPDX-License-Identifier: Apache-2.0
/// \file
/// Vector clocks. An entry is a thing that makes accesses or completes them: a
/// warp, a lane that acts alone, the copies of a warp, the products of a
/// warpgroup, an mbarrier. What
/// an access is stamped with, its entry and the entry's number at that time,
/// is known to whoever's clock has reached that number there.
#pragma once

#include "runtime/emulator/exec/core/Observer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace tlc::emulator {

using ClockEntry = uint32_t;

/// Entries beyond the end are at 0.
class Clock {
public:
  bool empty() const { return numbers.empty(); }
  uint32_t at(ClockEntry entry) const { return entry < numbers.size() ? numbers[entry] : 0; }
  void raise(ClockEntry entry, uint32_t number) {
    if (entry >= numbers.size())
      numbers.resize(entry + 1);
    numbers[entry] = std::max(numbers[entry], number);
  }
  /// Knows what either knows.
  void join(const Clock &other) {
    if (numbers.size() < other.numbers.size())
      numbers.resize(other.numbers.size());
    for (size_t i = 0; i < other.numbers.size(); ++i)
      numbers[i] = std::max(numbers[i], other.numbers[i]);
  }
  /// Knows what both know.
  void meet(const Clock &other) {
    numbers.resize(std::min(numbers.size(), other.numbers.size()));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = std::min(numbers[i], other.numbers[i]);
  }

private:
  std::vector<uint32_t> numbers;
};

/// What is known of another cluster, in its entries.
struct ForeignClocks {
  Clock seen;
  Clock fenced;  ///< for the asynchronous engines' view of global memory
  Clock aliased; ///< for the view by other addresses
};
/// Shared, as whole blocks know the same, and mostly there is none.
struct Foreign {
  std::map<uint32_t, ForeignClocks> clusters; ///< by their numbers
  std::vector<uint32_t> over;                 ///< by device: of clusters with smaller numbers all is known

  bool isOver(uint32_t cluster, uint16_t device) const {
    return device < over.size() && cluster < over[device];
  }
  void end(size_t device, uint32_t next) {
    over.resize(std::max(over.size(), device + 1));
    over[device] = std::max(over[device], next);
  }
  void join(const Foreign &other) {
    for (const auto &[cluster, clocks] : other.clusters) {
      clusters[cluster].seen.join(clocks.seen);
      clusters[cluster].fenced.join(clocks.fenced);
      clusters[cluster].aliased.join(clocks.aliased);
    }
    for (size_t device = 0; device < other.over.size(); ++device)
      end(device, other.over[device]);
  }
};
inline void joinForeign(std::shared_ptr<const Foreign> &into, const std::shared_ptr<const Foreign> &from) {
  if (!from || from == into)
    return;
  if (!into) {
    into = from;
    return;
  }
  auto both = std::make_shared<Foreign>(*into);
  both->join(*from);
  into = std::move(both);
}

/// Tensor maps that the kernel changes.
struct MapFences {
  Clock released;                    ///< what a release of the tensor map proxy follows
  std::map<uint64_t, Clock> visible; ///< of that, what an acquire of the map's address follows
};

/// What comes before a point of a program.
struct Knowledge {
  Clock seen;                            ///< all of it in the own cluster
  std::array<Clock, 3> fenced;           ///< of that, what a proxy fence of the space follows on the way here
  std::shared_ptr<const MapFences> maps; ///< mostly there are none
  std::shared_ptr<const Foreign> foreign; ///< of other clusters
  std::shared_ptr<const Foreign> narrow;  ///< what would be known of them if scopes were wide enough

  void join(const Knowledge &other) {
    seen.join(other.seen);
    for (FencedSpace space : fencedSpaces)
      fencedIn(space).join(other.fencedIn(space));
    joinMaps(other.maps);
    joinForeign(foreign, other.foreign);
    joinForeign(narrow, other.narrow);
  }
  /// Of the own cluster.
  void meet(const Knowledge &other) {
    seen.meet(other.seen);
    for (FencedSpace space : fencedSpaces)
      fencedIn(space).meet(other.fencedIn(space));
  }
  Clock &fencedIn(FencedSpace space) { return fenced[size_t(space)]; }
  const Clock &fencedIn(FencedSpace space) const { return fenced[size_t(space)]; }
  /// A proxy fence.
  void fence(FencedSpace space) {
    fencedIn(space).join(seen);
    if (!foreign || foreign->clusters.empty() || space == FencedSpace::shared)
      return;
    auto all = std::make_shared<Foreign>(*foreign);
    for (auto &[cluster, clocks] : all->clusters)
      (space == FencedSpace::global ? clocks.fenced : clocks.aliased) = clocks.seen;
    foreign = std::move(all);
  }
  /// Proxy fences of tensor maps.
  void releaseMaps(const Clock &own) {
    auto all = maps ? std::make_shared<MapFences>(*maps) : std::make_shared<MapFences>();
    all->released.join(seen);
    all->released.join(own);
    maps = std::move(all);
  }
  void acquireMap(uint64_t address) {
    if (!maps)
      return;
    auto all = std::make_shared<MapFences>(*maps);
    all->visible[address].join(all->released);
    maps = std::move(all);
  }

private:
  void joinMaps(const std::shared_ptr<const MapFences> &other) {
    if (!other || other == maps)
      return;
    if (!maps) {
      maps = other;
      return;
    }
    auto all = std::make_shared<MapFences>(*maps);
    all->released.join(other->released);
    for (const auto &[address, clock] : other->visible)
      all->visible[address].join(clock);
    maps = std::move(all);
  }
};

} // namespace tlc::emulator
