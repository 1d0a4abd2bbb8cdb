// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/check/OperationOrder.h"

#include "runtime/emulator/exec/core/Program.h"

#include <algorithm>

namespace tlc::emulator {

std::optional<uint32_t> CopyCommits::completeAt(unsigned lane, uint64_t pending) const {
  for (auto commit = commits.rbegin(); commit != commits.rend(); ++commit)
    if (commit->lanes >> lane & 1 && pending-- == 0)
      return commit->number;
  return std::nullopt;
}

uint32_t CopyCommits::likeFirst(uint32_t lanes) const {
  const int first = std::countr_zero(lanes);
  for (const Commit &commit : commits)
    lanes &= commit.lanes >> first & 1 ? commit.lanes : ~commit.lanes;
  return lanes;
}

void CopyCommits::drop(uint32_t number, uint32_t lanes) {
  for (Commit &commit : commits)
    if (commit.number <= number)
      commit.lanes &= ~lanes;
  std::erase_if(commits, [](const Commit &commit) { return commit.lanes == 0; });
}

const AsyncOrder::Part *AsyncOrder::partOf(unsigned lane) const {
  const auto part = std::ranges::find_if(
      parts, [&](const Part &part) { return lane < warpSize && (part.lanes >> lane & 1) != 0; });
  return part == parts.end() ? nullptr : &*part;
}

const Knowledge &AsyncOrder::knownOf(unsigned lane) const {
  const Part *part = partOf(lane);
  return part ? part->known : known;
}

uint32_t AsyncOrder::copiesOf(unsigned lane) const {
  const Part *part = partOf(lane);
  return part ? part->copies : copies;
}

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

const CopyCommits *OperationOrder::copyCommits(const Warp &warp) const {
  const Streams &ofWarp = streams[clocks.indexOf(warp)];
  const auto found = ofWarp.find({AsyncEngine::copy, 0});
  return found == ofWarp.end() ? nullptr : &found->second.commits;
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
  if (perLane) {
    order->lane = severalLanes;
    const std::vector<LaneSet> &sets = clocks.clockOf(warp).laneSets;
    // Lanes that meet at the instruction may be in different rounds of a loop.
    const bool knowTheSame = (sets[0].lanes & lanes) == lanes;
    if (!knowTheSame)
      for (const LaneSet &set : sets)
        if ((set.lanes & lanes) != 0)
          order->parts.push_back({set.lanes & lanes, set.known, set.copies});
  }
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
      stream.commits.add(stream.issued, engine == AsyncEngine::copy ? lanes : 1u << key.second);
}

void OperationOrder::waitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes, uint64_t pending,
                                CopyWait until) {
  WarpClock &warpClock = clocks.clockOf(warp);
  for (auto &[key, stream] : streams[clocks.indexOf(warp)]) {
    if (key.first != engine)
      continue;
    uint32_t waiting = engine == AsyncEngine::copy ? lanes : lanes & 1u << key.second;
    while (waiting != 0) {
      const uint32_t alike = stream.commits.likeFirst(waiting);
      waiting &= ~alike;
      const std::optional<uint32_t> over =
          stream.commits.completeAt(unsigned(std::countr_zero(alike)), pending);
      if (!over)
        continue;
      if (until == CopyWait::complete)
        stream.commits.drop(*over, alike);
      clocks.forLaneSets(warpClock, alike, [&, &stream = stream](LaneSet &set) {
        if (engine == AsyncEngine::copy) { // each lane waits for its own copies
          set.copies = std::max(set.copies, *over);
          return;
        }
        set.known.seen.raise(stream.readEntry, *over);
        if (until == CopyWait::complete)
          set.known.seen.raise(stream.entry, *over);
      });
    }
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
