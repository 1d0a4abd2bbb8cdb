// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the threads of a cluster know, by vector clocks. Lanes of a warp that
/// know the same form a party. A whole warp is one; it comes apart when some
/// lanes wait or fence without the others, and bar.warp.sync puts it together
/// again. What a party knows of its own warp is what has been synchronised;
/// beyond that a lane knows only what it did itself.
#pragma once

#include "runtime/emulator/check/LaunchRaces.h"
#include "runtime/emulator/check/Shadow.h"

#include <functional>

namespace tlc::emulator {

/// What a column of the cluster's clocks counts.
struct ColumnInfo {
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
struct Party {
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
class Passed {
public:
  Knowledge &from(const Block &block, Scope scope);
  void join(const Passed &other);
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
struct Agent {
  /// How often an instruction has run.
  struct Execution {
    uint32_t step = 0; ///< the warp's, of the last time, plus 1
    uint32_t count = 0;
  };
  const Warp *warp = nullptr;
  uint32_t number = 1; ///< of the warp's column, for its next accesses
  std::vector<Party> parties;
  std::vector<Execution> executions; ///< by pc
  Clock missed;                      ///< what scopes were too narrow for

  /// Counts the execution that is under way.
  uint32_t repeatOf(uint32_t pc);
  const Party &partyOf(unsigned lane) const;
};

class ThreadClocks {
public:
  ThreadClocks(Cluster &cluster, const std::shared_ptr<const Foreign> &known);

  unsigned indexOf(const Warp &warp) const { return warp.block->rank * warpsOfBlock + warp.index; }
  Agent &agentOf(const Warp &warp) { return all[indexOf(warp)]; }
  std::span<const Agent> agents() const { return all; }
  Column addColumn(ColumnInfo info);
  const ColumnInfo &infoOf(Column column) const { return columns[column]; }
  PartColumns &parts() { return partColumns; }
  const PartColumns &parts() const { return partColumns; }
  /// Other clusters take the lanes of a warp as one.
  void raiseWarps(Clock &clock) const;

  // --- what synchronisation is made of ----------------------------------------------
  /// Calls `act` for the parties that make up `lanes`, taking parties apart.
  void forParties(Agent &agent, uint32_t lanes, const std::function<void(Party &)> &act);
  /// What lanes release, or, relaxed, what fences of that reach have; what they do next is not among it.
  void release(Agent &agent, uint32_t lanes, Ordering ordering, Knowledge &into,
               Reach reach = Reach::cluster);
  /// Relaxed: once there is a fence of that reach.
  void acquire(Agent &agent, uint32_t lanes, Ordering ordering, const Knowledge &from,
               Reach reach = Reach::cluster);
  void acquire(Agent &agent, uint32_t lanes, Ordering ordering, const Passed &from, Scope scope);
  /// Makes lanes one party.
  void unite(Agent &agent, uint32_t lanes);
  /// The lanes taken as one.
  Knowledge knownToWarp(const Agent &agent);

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
  void addOwn(const Agent &agent, uint32_t lanes, uint32_t number, Clock &clock);
  /// Adds the lanes' own cp.async up to a number, or those that each of them has waited for.
  void addCopies(const Agent &agent, uint32_t lanes, uint32_t number, Clock &clock);
  void addCopies(const Agent &agent, uint32_t lanes, Clock &clock);
  void raiseLane(LaneColumns &of, const Agent &agent, unsigned lane, ColumnInfo::Kind kind, Column whole,
                 uint32_t number, Clock &clock);

  unsigned warpsOfBlock;
  std::vector<Agent> all; ///< their columns are their indices
  std::vector<ColumnInfo> columns;
  PartColumns partColumns;
  std::vector<std::pair<Column, Column>> lanesWithColumn; ///< the lane's column and its warp's
  std::optional<Column> gridBefore; ///< nothing: this launch begins when the one before it is over
};

} // namespace tlc::emulator
