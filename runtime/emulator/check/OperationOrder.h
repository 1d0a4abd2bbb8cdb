// SPDX-License-Identifier: Apache-2.0
/// \file
/// What asynchronous operations know, and who knows that they are complete:
/// copies, in groups or on mbarriers, and wgmma.
#pragma once

#include "runtime/emulator/check/BarrierOrder.h"

#include <map>
#include <optional>

namespace tlc::emulator {

/// What an asynchronous operation knows, and what says that it is complete: a
/// entry that has reached a number.
struct AsyncOrder final : OperationNote {
  /// Of lanes that issue it together and know different things.
  struct Part {
    uint32_t lanes = 0;
    Knowledge known;
    uint32_t copies = 0;
  };
  Knowledge known;         ///< at its issue, without what the issuing lane itself did
  std::vector<Part> parts; ///< instead of `known` and `copies`, unless all lanes know the same
  ClockEntry entry = 0;
  ClockEntry readEntry = 0; ///< the same for what it reads in shared memory, if that is over earlier
  uint32_t number = 0;
  uint8_t lane = severalLanes; ///< that issued it; severalLanes: each lane its part
  uint32_t own = 0;            ///< of the warp's numbers, at the issue
  uint32_t copies = 0;         ///< cp.async that the lane had waited for
  uint32_t repeat = 0;
  bool uniform = false; ///< all lanes of the warp issued the same

  const Knowledge &knownOf(unsigned lane) const;
  uint32_t copiesOf(unsigned lane) const;

private:
  const Part *partOf(unsigned lane) const;
};

/// Commits of copies that some lanes have not waited for. Lanes commit and wait on their own.
class CopyCommits {
public:
  /// Copies up to `number` are committed by the lanes.
  void add(uint32_t number, uint32_t lanes) { commits.push_back({number, lanes}); }
  /// The last copy that is complete once the lane has at most `pending` groups in flight; nothing if none is.
  std::optional<uint32_t> completeAt(unsigned lane, uint64_t pending) const;
  /// Those of the lanes that have the same commits as the first of them.
  uint32_t likeFirst(uint32_t lanes) const;
  /// The lanes have waited for copies up to `number`.
  void drop(uint32_t number, uint32_t lanes);

private:
  struct Commit {
    uint32_t number = 0;
    uint32_t lanes = 0;
  };
  std::vector<Commit> commits;
};

class OperationOrder {
public:
  OperationOrder(Cluster &cluster, ThreadClocks &clocks, BarrierOrder &barriers);

  std::shared_ptr<AsyncOrder> issueCopy(const Warp &warp, const Instruction &instruction, AsyncEngine engine,
                                        uint32_t lanes, bool uniform);
  std::shared_ptr<AsyncOrder> issue(const Warp &warp, const Instruction &instruction, unsigned lane,
                                    bool uniform);
  void commitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes);
  void waitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes, uint64_t pending, CopyWait until);
  void completesOn(const SharedPlace &place);
  std::shared_ptr<AsyncOrder> copiesUntilNow(const Warp &warp);
  void arriveAfter(const AsyncOrder &copies, const SharedPlace &place);
  void issueWgmma(const Warp &warp, const Instruction &instruction, uint32_t number,
                  std::shared_ptr<OperationNote> &note);
  void waitWgmma(const Warp &warp, uint64_t completed);

  /// Accesses are this operation's; null: the threads'.
  AsyncOrder *running = nullptr;
  /// Of a warp's cp.async; null if it has none.
  const CopyCommits *copyCommits(const Warp &warp) const;

private:
  /// Operations that complete in groups.
  struct Stream {
    ClockEntry entry = 0;
    ClockEntry readEntry = 0; ///< of bulk copies
    uint32_t issued = 0;
    CopyCommits commits;
  };
  using Streams = std::map<std::pair<AsyncEngine, unsigned>, Stream>; ///< by lane; cp.async of all lanes: 0

  ClockEntry warpgroupOf(const Warp &warp) const;

  ThreadClocks &clocks;
  BarrierOrder &barriers;
  std::vector<Streams> streams;                    ///< by warp
  std::vector<std::vector<ClockEntry>> warpgroups; ///< by block, and first warp / warpsPerWarpgroup
};

} // namespace tlc::emulator
