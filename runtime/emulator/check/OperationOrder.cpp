// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/check/OperationOrder.h"

#include <algorithm>

namespace tlc::emulator {

OperationOrder::OperationOrder(Cluster &cluster, ThreadClocks &clocks, BarrierOrder &barriers)
    : clocks(clocks), barriers(barriers), streams(clocks.warps().size()), warpgroups(cluster.blocks.size()) {
  for (const Block &block : cluster.blocks)
    for (size_t group = 0; group < block.warpgroups.size(); ++group)
      warpgroups[block.rank].push_back(clocks.addEntry(
          {.kind = ClockOwner::Kind::wgmma, .warp = clocks.indexOf(block.warps[warpsPerWarpgroup * group])}));
}

ClockEntry OperationOrder::warpgroupOf(const Warp &warp) const {
  return warpgroups[warp.block->rank][warp.index / warpsPerWarpgroup];
}

std::span<const uint32_t> OperationOrder::copyCommits(const Warp &warp) const {
  const Streams &ofWarp = streams[clocks.indexOf(warp)];
  const auto found = ofWarp.find({AsyncEngine::copy, 0});
  return found == ofWarp.end() ? std::span<const uint32_t>() : found->second.commits;
}

std::shared_ptr<AsyncOrder> OperationOrder::issueCopy(const Warp &warp, const Instruction &instruction,
                                                      AsyncEngine engine, uint32_t lanes, bool uniform) {
  const unsigned lane = unsigned(std::countr_zero(lanes));
  const bool perLane = engine == AsyncEngine::copy;
  const auto [found, isNew] = streams[clocks.indexOf(warp)].try_emplace({engine, perLane ? 0 : lane});
  Stream &stream = found->second;
  if (isNew) {
    const ClockOwner info{.kind = perLane ? ClockOwner::Kind::laneCopies : ClockOwner::Kind::bulkCopies,
                          .warp = clocks.indexOf(warp)};
    stream.entry = clocks.addEntry(info);
    stream.readEntry = perLane ? 0 : clocks.addEntry(info);
    if (perLane)
      clocks.parts().copies[clocks.indexOf(warp)] = stream.entry;
  }
  auto order = issue(warp, instruction, lane, uniform);
  order->entry = stream.entry, order->readEntry = stream.readEntry, order->number = ++stream.issued;
  if (perLane)
    order->lane = severalLanes;
  return order;
}

std::shared_ptr<AsyncOrder> OperationOrder::issue(const Warp &warp, const Instruction &instruction,
                                                  unsigned lane, bool uniform) {
  WarpClock &warpClock = clocks.clockOf(warp);
  const LaneSet &set = warpClock.laneSetOf(lane);
  auto order = std::make_shared<AsyncOrder>();
  order->known = set.known;
  order->lane = uint8_t(lane);
  order->own = warpClock.number++;
  order->copies = set.copies;
  order->repeat = warpClock.repeatOf(uint32_t(&instruction - warp.code));
  order->uniform = uniform;
  return order;
}

void OperationOrder::commitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes) {
  for (auto &[key, stream] : streams[clocks.indexOf(warp)])
    if (key.first == engine && (engine == AsyncEngine::copy || lanes >> key.second & 1))
      stream.commits.push_back(stream.issued);
}

void OperationOrder::waitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes, uint64_t pending,
                                CopyWait until) {
  WarpClock &warpClock = clocks.clockOf(warp);
  for (auto &[key, stream] : streams[clocks.indexOf(warp)]) {
    if (key.first != engine || (engine != AsyncEngine::copy && !(lanes >> key.second & 1)) ||
        stream.commits.size() <= pending)
      continue;
    const uint32_t over = stream.commits[stream.commits.size() - 1 - pending];
    if (until == CopyWait::complete)
      stream.commits.erase(stream.commits.begin(), stream.commits.end() - ptrdiff_t(pending));
    // Each lane waits for its own copies.
    if (engine == AsyncEngine::copy)
      clocks.forLaneSets(warpClock, lanes, [&](LaneSet &set) { set.copies = std::max(set.copies, over); });
    else
      clocks.forLaneSets(warpClock, 1u << key.second, [&, &stream = stream](LaneSet &set) {
        set.known.seen.raise(stream.readEntry, over);
        if (until == CopyWait::complete)
          set.known.seen.raise(stream.entry, over);
      });
  }
}

void OperationOrder::completesOn(const SharedPlace &place) {
  const BarrierOrder::Phases &phases = barriers.phasesOf(*place.block, place.address);
  running->entry = phases.entry;
  running->number = phases.completed + 1;
}

std::shared_ptr<AsyncOrder> OperationOrder::copiesUntilNow(const Warp &warp) {
  auto order = std::make_shared<AsyncOrder>();
  const Streams &ofWarp = streams[clocks.indexOf(warp)];
  if (const auto copies = ofWarp.find({AsyncEngine::copy, 0}); copies != ofWarp.end())
    order->entry = copies->second.entry, order->number = copies->second.issued;
  return order;
}

void OperationOrder::arriveAfter(const AsyncOrder &copies, const SharedPlace &place) {
  if (copies.number != 0)
    barriers.phasesOf(*place.block, place.address)
        .arrived.from(*place.block, Scope::cluster)
        .seen.raise(copies.entry, copies.number);
}

void OperationOrder::issueWgmma(const Warp &warp, const Instruction &instruction, uint32_t number,
                                std::shared_ptr<OperationNote> &note) {
  WarpClock &warpClock = clocks.clockOf(warp);
  Knowledge known;
  const uint32_t own = warpClock.number;
  clocks.release(warpClock, warp.live, Ordering::acquireRelease, known);
  auto order = std::static_pointer_cast<AsyncOrder>(note);
  if (!order) {
    note = order = std::make_shared<AsyncOrder>();
    order->known = std::move(known);
    order->entry = warpgroupOf(warp);
    order->number = number;
    order->repeat = warpClock.repeatOf(uint32_t(&instruction - warp.code));
  } else {
    order->known.meet(known); // what a warp does not know, its part of the product may overtake
  }
  if (warp.index % warpsPerWarpgroup == 0)
    order->own = own;
}

void OperationOrder::waitWgmma(const Warp &warp, uint64_t completed) {
  WarpClock &warpClock = clocks.clockOf(warp);
  const ClockEntry entry = warpgroupOf(warp);
  for (LaneSet &set : warpClock.laneSets)
    set.known.seen.raise(entry, uint32_t(completed));
}

} // namespace tlc::emulator
