// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the threads of a cluster know, by vector clocks. Lanes of a warp that
/// know the same form a set. A whole warp is one; it comes apart when some
/// lanes wait or fence without the others, and bar.warp.sync puts it together
/// again. What a set knows of its own warp is what has been synchronised;
/// beyond that a lane knows only what it did itself.
#pragma once

#include "runtime/emulator/check/LaunchRaces.h"
#include "runtime/emulator/check/Shadow.h"

#include <functional>

namespace tlc::emulator {

/// What an entry of the cluster's clocks counts.
struct ClockOwner {
  enum class Kind : uint8_t {
    warp,
    lane,
    laneCopies, ///< cp.async of a warp, or of one lane
    bulkCopies,
    wgmma,
    mbarrier,
    tensorLoads,
    tensorStores,
    tensorPipe,
    grid, ///< the launch before this one
  };
  Kind kind = Kind::warp;
  unsigned warp = 0;    ///< in the cluster; the first of a warpgroup
  unsigned block = 0;   ///< of an mbarrier
  uint32_t address = 0; ///< likewise
};

/// What relaxed writes pass on.
struct Released {
  Knowledge known;       ///< at the last fence, without what its own lanes did
  uint32_t own = 0;      ///< the warp's number at that fence
  uint32_t copies = 0;   ///< cp.async of its lanes that they had waited for
  bool byOthers = false; ///< `known` has something though it has not fenced itself
  bool isEmpty() const { return own == 0 && !byOthers; }
};

template <class T> using ByReach = std::array<T, std::size(reaches)>;

/// Lanes of a warp that know the same.
struct LaneSet {
  uint32_t lanes = 0;
  Knowledge known;
  ByReach<Released> released;  ///< by fences that reach so far
  ByReach<Knowledge> observed; ///< by relaxed waits, until a fence that reaches so far
  uint32_t copies = 0;         ///< cp.async of its lanes that they have waited for
  Released &releasedTo(Reach reach) { return released[size_t(reach)]; }
  const Released &releasedTo(Reach reach) const { return released[size_t(reach)]; }
  Knowledge &observedFrom(Reach reach) { return observed[size_t(reach)]; }
};

/// What threads pass on by an mbarrier or a word, each part to the threads that its scope reaches.
class PassedKnowledge {
public:
  Knowledge &from(const Block &block, Scope scope);
  void join(const PassedKnowledge &other);
  struct Part {
    unsigned block = 0; ///< its rank
    bool wide = true;   ///< for all of the cluster
    Knowledge known;
    /// Threads of a block that take it with a scope.
    bool reaches(unsigned taker, Scope scope) const {
      return block == taker || (wide && scope >= Scope::cluster);
    }
  };
  std::span<const Part> all() const { return parts; }

private:
  std::vector<Part> parts;
};

/// A warp, whose accesses carry its number at the time.
struct WarpClock {
  /// How often an instruction has run.
  struct Execution {
    uint32_t step = 0; ///< the warp's, of the last time, plus 1
    uint32_t count = 0;
  };
  const Warp *warp = nullptr;
  uint32_t number = 1; ///< of the warp's entry, for its next accesses
  std::vector<LaneSet> laneSets;
  std::vector<Execution> executions; ///< by pc
  Clock missed;                      ///< what scopes were too narrow for

  /// Counts the execution that is under way.
  uint32_t repeatOf(uint32_t pc);
  const LaneSet &laneSetOf(unsigned lane) const;
};

class ThreadClocks {
public:
  ThreadClocks(Cluster &cluster, const std::shared_ptr<const Foreign> &known);

  unsigned indexOf(const Warp &warp) const { return warp.block->rank * warpsOfBlock + warp.index; }
  WarpClock &clockOf(const Warp &warp) { return all[indexOf(warp)]; }
  std::span<const WarpClock> warps() const { return all; }
  ClockEntry addEntry(ClockOwner info);
  const ClockOwner &ownerOf(ClockEntry entry) const { return entries[entry]; }
  PartEntries &parts() { return partEntries; }
  const PartEntries &parts() const { return partEntries; }
  /// Other clusters take the lanes of a warp as one.
  void raiseWarps(Clock &clock) const;

  // --- what synchronisation is made of ----------------------------------------------
  /// Calls `act` for the laneSets that make up `lanes`, taking laneSets apart.
  void forLaneSets(WarpClock &warpClock, uint32_t lanes, const std::function<void(LaneSet &)> &act);
  /// What lanes release, or, relaxed, what fences of that reach have; what they do next is not among it.
  void release(WarpClock &warpClock, uint32_t lanes, Ordering ordering, Knowledge &into,
               Reach reach = Reach::cluster);
  /// Relaxed: once there is a fence of that reach.
  void acquire(WarpClock &warpClock, uint32_t lanes, Ordering ordering, const Knowledge &from,
               Reach reach = Reach::cluster);
  void acquire(WarpClock &warpClock, uint32_t lanes, Ordering ordering, const PassedKnowledge &from,
               Scope scope);
  /// Makes lanes one set.
  void unite(WarpClock &warpClock, uint32_t lanes);
  /// The lanes taken as one.
  Knowledge knownToWarp(const WarpClock &warpClock);

  // --- what lanes do together --------------------------------------------------------
  void syncLanes(const Warp &warp, uint32_t lanes);
  void fence(const Warp &warp, uint32_t lanes, Scope scope);
  void proxyFence(const Warp &warp, uint32_t lanes, std::span<const FencedSpace> spaces);
  void publishMbarriers(const Warp &warp, uint32_t lanes);
  void releaseMaps(const Warp &warp, uint32_t lanes);
  void acquireMap(const Warp &warp, uint32_t lanes, uint64_t address);
  void waitGrid(const Warp &warp, uint32_t lanes);
  /// Whether the launch before this one may not be over for who knows this.
  bool isEarly(const Knowledge &known) const { return gridBefore && known.seen.at(*gridBefore) == 0; }

private:
  /// Adds what the lanes themselves have done.
  void addOwn(const WarpClock &warpClock, uint32_t lanes, uint32_t number, Clock &clock);
  /// Adds the lanes' own cp.async up to a number, or those that each of them has waited for.
  void addCopies(const WarpClock &warpClock, uint32_t lanes, uint32_t number, Clock &clock);
  void addCopies(const WarpClock &warpClock, uint32_t lanes, Clock &clock);
  void raiseLane(LaneEntries &of, const WarpClock &warpClock, unsigned lane, ClockOwner::Kind kind,
                 ClockEntry whole, uint32_t number, Clock &clock);

  unsigned warpsOfBlock;
  std::vector<WarpClock> all; ///< their entries are their indices
  std::vector<ClockOwner> entries;
  PartEntries partEntries;
  std::vector<std::pair<ClockEntry, ClockEntry>> lanesWithEntry; ///< the lane's entry and its warp's
  std::optional<ClockEntry> gridBefore; ///< nothing: this launch begins when the one before it is over
};

} // namespace tlc::emulator
