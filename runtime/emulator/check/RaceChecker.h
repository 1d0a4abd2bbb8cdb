// SPDX-License-Identifier: Apache-2.0
/// \file
/// The race checker of a cluster: what happens before what, by vector clocks,
/// and every access to shared memory against those before it. Instructions tell
/// it of each synchronisation; `touch` and the queue of asynchronous operations
/// tell it of each access. The lanes of a warp count as one.
#pragma once

#include "runtime/emulator/check/Shadow.h"
#include "runtime/emulator/exec/Async.h"

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

namespace tlc::emulator {

/// Whether an arrival or a wait orders memory.
enum class Ordering : uint8_t { acquireRelease, relaxed };

/// What an asynchronous operation knows, and what says that it is complete: a
/// column that has reached a number.
struct AsyncOrder {
  Knowledge known; ///< at its issue
  Column column = 0;
  uint32_t number = 0;
};

class RaceChecker {
public:
  explicit RaceChecker(Cluster &cluster);

  // --- what threads do ---------------------------------------------------------
  void proxyFence(const Warp &warp);
  /// Of threads: makes relaxed arrivals behind it release, relaxed waits before it acquire.
  void fence(const Warp &warp);

  enum class NamedArrival : uint8_t { waits, leaves };
  void arriveNamed(const Warp &warp, unsigned id, NamedArrival arrival);
  void completeNamed(const Block &block, unsigned id);

  void arriveCluster(const Warp &warp, Ordering ordering);
  void completeCluster();
  void waitCluster(const Warp &warp);

  void arriveMbarrier(const Warp &warp, const SharedPlace &place, Ordering ordering);
  void completePhase(const Block &block, uint32_t address);
  void waitMbarrier(const Warp &warp, const SharedPlace &place, Ordering ordering);

  // --- asynchronous operations ----------------------------------------------------
  /// A copy that completes in a group, or on an mbarrier (`completesOn`).
  std::shared_ptr<AsyncOrder> issueCopy(const Warp &warp, const Instruction &instruction, AsyncEngine engine,
                                        unsigned lane);
  std::shared_ptr<AsyncOrder> issueOnMbarrier(const Warp &warp);
  void commitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes);
  void waitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes, uint64_t pending);
  /// The running operation completes with the present phase of an mbarrier.
  void completesOn(const SharedPlace &place);
  /// All cp.async of the warp until now will have arrived at an mbarrier.
  std::shared_ptr<AsyncOrder> copiesUntilNow(const Warp &warp);
  void arriveAfter(const AsyncOrder &copies, const SharedPlace &place);

  /// Operation `number` of the warpgroup, counted from 1, issued by one of its warps.
  void issueWgmma(const Warp &warp, const Instruction &instruction, std::span<const Slot> registers,
                  uint32_t number, std::shared_ptr<AsyncOrder> &order);
  void waitWgmma(const Warp &warp, uint64_t completed);

  /// Accesses are the operation's until the next call; null: the threads' again.
  void run(AsyncOrder *order) { running = order; }

  // --- accesses -----------------------------------------------------------------------
  void access(Warp &warp, const Instruction &instruction, const Touch &access, Block &block,
              uint32_t address);
  /// Nobody else can wait for the copies of a thread that exits.
  void exit(Warp &warp, const Instruction &instruction, uint32_t lanes);
  /// Registers of products that the warp has not waited for.
  void registers(Warp &warp, const Instruction &instruction);

private:
  struct ColumnInfo {
    enum class Kind : uint8_t { warp, laneCopies, bulkCopies, wgmma, mbarrier };
    Kind kind = Kind::warp;
    unsigned warp = 0;    ///< in the cluster; the first of a warpgroup
    unsigned block = 0;   ///< of an mbarrier
    uint32_t address = 0; ///< likewise
  };
  /// Operations that complete in groups.
  struct Stream {
    Column column = 0;
    uint32_t issued = 0;
    uint32_t pc = 0;               ///< of the last one
    std::vector<uint32_t> commits; ///< `issued` at each commit
  };
  struct Agent {
    const Warp *warp = nullptr;
    Knowledge known;
    Knowledge released;                                         ///< at the last fence
    Knowledge observed;                                         ///< by relaxed waits since the last fence
    std::map<std::pair<AsyncEngine, unsigned>, Stream> streams; ///< by lane
    std::vector<uint32_t> inFlight; ///< by register offset / 4: the wgmma that has it
    uint32_t wgmmaIssued = 0, wgmmaWaited = 0;
    std::unordered_map<uint32_t, uint32_t> wgmmaPcs; ///< by number, of those not waited for
  };
  /// What arrivals give to those who wait.
  struct Phases {
    Column column = 0;
    uint32_t completed = 0;
    Knowledge arrived, done;
  };
  struct NamedPhase {
    Knowledge arrived;
    std::vector<unsigned> waiting;
  };

  unsigned indexOf(const Warp &warp) const;
  Agent &agentOf(const Warp &warp) { return agents[indexOf(warp)]; }
  /// Later accesses of the warp are behind what was released so far.
  void advance(Agent &agent);
  Column addColumn(ColumnInfo info);
  Phases &phasesOf(const Block &block, uint32_t address);
  Stream *stream(Agent &agent, AsyncEngine engine, unsigned lane);

  // Report.cpp
  void report(Warp &warp, const Instruction &instruction, const Record &now, const Conflict &conflict,
              const Block &block);
  void reportExit(Warp &warp, const Instruction &instruction, const Instruction &copy);
  void reportRegister(Warp &warp, const Instruction &instruction, const Instruction &product);
  std::string describe(const Record &record) const;
  std::string placeOf(unsigned block, uint32_t address) const;
  std::string missing(const Record &before, const Record &now) const;

  Cluster &cluster;
  unsigned warpsOfBlock;
  std::vector<Agent> agents; ///< their columns are their indices
  std::vector<ColumnInfo> columns;
  std::vector<Shadow> shadows; ///< by block
  std::vector<NamedPhase> named;
  std::vector<Conflict> conflicts; ///< of the access under way
  Knowledge clusterArrived, clusterDone;
  std::unordered_map<uint64_t, Phases> mbarriers;
  std::unordered_map<uint64_t, Knowledge> flags; ///< of strong accesses, by address
  std::vector<Column> warpgroups;                ///< columns, by first warp / 4 in the block
  AsyncOrder *running = nullptr;
};

} // namespace tlc::emulator
