// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/check/FlagOrder.h"

namespace tlc::emulator {

void FlagOrder::acquire(WarpClock &warpClock, const Touch &access, uint64_t flag) {
  const auto found = flags.find(flag);
  if (found == flags.end())
    return;
  const bool acquires =
      access.ordering == AccessOrdering::acquire || access.ordering == AccessOrdering::acquireRelease;
  clocks.acquire(warpClock, 1u << access.lane, acquires ? Ordering::acquireRelease : Ordering::relaxed,
                 found->second, access.scope);
}

void FlagOrder::release(WarpClock &warpClock, const Touch &access, uint64_t flag) {
  const bool releases =
      access.ordering == AccessOrdering::release || access.ordering == AccessOrdering::acquireRelease;
  if (!releases && warpClock.laneSetOf(access.lane).releasedTo(Reach::cluster).isEmpty())
    return;
  clocks.release(warpClock, 1u << access.lane, releases ? Ordering::acquireRelease : Ordering::relaxed,
                 flags[flag].from(*warpClock.warp->block, access.scope));
}

void FlagOrder::releaseGlobal(WarpClock &warpClock, const Touch &access) {
  if (access.ordering == AccessOrdering::release || access.ordering == AccessOrdering::acquireRelease) {
    Knowledge known;
    clocks.release(warpClock, 1u << access.lane, Ordering::acquireRelease, known);
    publish(access.address, reachOf(access.scope), std::move(known));
    return;
  }
  uint32_t last = 0;
  for (Reach reach : {Reach::system, Reach::device, Reach::cluster}) {
    const Released &released = warpClock.laneSetOf(access.lane).releasedTo(reach);
    // A fence that reaches further is one that does not, too.
    if (released.isEmpty() || (last != 0 && released.own == last))
      continue;
    last = released.own;
    Knowledge known;
    clocks.release(warpClock, 1u << access.lane, Ordering::relaxed, known, reach);
    publish(access.address, std::min(reach, reachOf(access.scope)), std::move(known));
  }
}

void FlagOrder::publish(uint64_t address, Reach reach, Knowledge known) {
  auto all = known.foreign ? std::make_shared<Foreign>(*known.foreign) : std::make_shared<Foreign>();
  ForeignClocks &own = all->clusters[launch.numberOf(cluster)];
  // Other clusters take the lanes of a warp as one.
  Clock &fenced = known.fencedIn(FencedSpace::global), &aliased = known.fencedIn(FencedSpace::aliases);
  for (Clock *clock : {&known.seen, &fenced, &aliased})
    clocks.raiseWarps(*clock);
  own.seen.join(known.seen);
  own.fenced.join(fenced);
  own.aliased.join(aliased);
  launch.shadow().release(address, {cluster.grid->device, reach, all});
}

void FlagOrder::takeReadsOf(WarpClock &warpClock) {
  std::vector<Read> &ofWarp = reads[clocks.indexOf(*warpClock.warp)];
  for (const Read &read : ofWarp) {
    const bool acquires =
        read.ordering == AccessOrdering::acquire || read.ordering == AccessOrdering::acquireRelease;
    const Ordering ordering = acquires ? Ordering::acquireRelease : Ordering::relaxed;
    for (const GlobalShadow::Released &part : launch.shadow().acquire(read.address)) {
      // Inside the cluster a scope is always wide enough.
      if (const auto own = part.known->clusters.find(launch.numberOf(cluster));
          own != part.known->clusters.end()) {
        Knowledge known;
        known.seen = own->second.seen;
        known.fencedIn(FencedSpace::global) = own->second.fenced;
        known.fencedIn(FencedSpace::aliases) = own->second.aliased;
        clocks.acquire(warpClock, 1u << read.lane, ordering, known);
      }
      const Reach needed = part.device == cluster.grid->device ? Reach::device : Reach::system;
      Knowledge known;
      (std::min(part.reach, reachOf(read.scope)) >= needed ? known.foreign : known.narrow) = part.known;
      clocks.acquire(warpClock, 1u << read.lane, ordering, known, needed);
    }
  }
  pendingReads -= ofWarp.size();
  ofWarp.clear();
}

void FlagOrder::read(const WarpClock &warpClock, const Touch &access) {
  ++pendingReads;
  reads[clocks.indexOf(*warpClock.warp)].push_back(
      {access.address, access.lane, access.ordering, access.scope});
}

} // namespace tlc::emulator
