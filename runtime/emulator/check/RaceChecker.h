// SPDX-License-Identifier: Apache-2.0
/// \file
/// The checker of a cluster: what happens before what, by vector clocks, every
/// access against those before it, and the use of barriers and registers.
/// Instructions tell it of each synchronisation; `touch` and the queue of
/// asynchronous operations tell it of each access.
///
/// Lanes of a warp that know the same form a party. A whole warp is one; it
/// comes apart when some lanes wait or fence without the others, and
/// bar.warp.sync puts it together again. An access carries its warp's number at
/// the time and its lane. What a party knows of its own warp is what has been
/// synchronised; beyond that a lane knows only what it did itself.
#pragma once

#include "runtime/emulator/check/LaunchRaces.h"
#include "runtime/emulator/check/Shadow.h"
#include "runtime/emulator/exec/core/Async.h"
#include "runtime/emulator/report/Finding.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace tlc::emulator {

/// What an asynchronous operation knows, and what says that it is complete: a
/// column that has reached a number.
struct AsyncOrder final : OperationNote {
  Knowledge known; ///< at its issue, without what the issuing lane itself did
  Column column = 0;
  Column readColumn = 0; ///< the same for what it reads in shared memory, if that is over earlier
  uint32_t number = 0;
  uint8_t lane = severalLanes; ///< that issued it; severalLanes: each lane its part
  uint32_t own = 0;            ///< of the warp's numbers, at the issue
  uint32_t copies = 0;         ///< cp.async that the lane had waited for
  uint32_t repeat = 0;
  bool uniform = false; ///< all lanes of the warp issued the same
};

class RaceChecker final : public Observer {
public:
  RaceChecker(Cluster &cluster, LaunchRaces &launch);

  void execute(Warp &warp, const Instruction &instruction, uint32_t lanes) override;
  void evaluateGuard(Warp &warp, const Instruction &instruction, uint32_t lanes) override;
  void combineLanes(const Warp &warp, const Instruction &instruction, uint32_t lanes) override;
  void shuffleLanes(const Warp &warp, const Instruction &instruction, uint32_t lanes,
                    std::span<const uint32_t> sources) override;
  void exit(Warp &warp, const Instruction &instruction, uint32_t lanes) override;
  void clusterEnds() override;
  void fence(const Warp &warp, uint32_t lanes, Scope scope) override;
  void proxyFence(const Warp &warp, uint32_t lanes, std::span<const FencedSpace> spaces) override;
  void publishMbarriers(const Warp &warp, uint32_t lanes) override;
  void releaseMaps(const Warp &warp, uint32_t lanes) override;
  void acquireMap(const Warp &warp, uint32_t lanes, uint64_t address) override;
  void waitGrid(const Warp &warp, uint32_t lanes) override;
  void syncLanes(const Warp &warp, uint32_t lanes) override;
  void arriveNamed(const Warp &warp, unsigned id, NamedArrival arrival) override;
  void completeNamed(const Block &block, unsigned id) override;
  void arriveCluster(const Warp &warp, uint32_t lanes, Ordering ordering) override;
  void completeCluster() override;
  void waitCluster(const Warp &warp, uint32_t lanes) override;
  void arriveMbarrier(const Warp &warp, uint32_t lanes, const SharedPlace &place, Ordering ordering,
                      Scope scope) override;
  void completePhase(const Block &block, uint32_t address) override;
  void waitMbarrier(const Warp &warp, uint32_t lanes, const SharedPlace &place, Ordering ordering,
                    Scope scope) override;
  std::shared_ptr<OperationNote> issueCopy(const Warp &warp, const Instruction &instruction,
                                           AsyncEngine engine, uint32_t lanes, bool uniform) override;
  std::shared_ptr<OperationNote> issueOnMbarrier(const Warp &warp, const Instruction &instruction,
                                                 unsigned lane, bool uniform) override;
  void commitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes) override;
  void waitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes, uint64_t pending,
                  CopyWait until) override;
  void completesOn(const SharedPlace &place) override;
  std::shared_ptr<OperationNote> copiesUntilNow(const Warp &warp) override;
  void arriveAfter(const OperationNote &copies, const SharedPlace &place) override;
  void issueWgmma(Warp &warp, const Instruction &instruction, const ProductRegisters &used, uint32_t number,
                  std::shared_ptr<OperationNote> &note) override;
  void fenceWgmma(const Warp &warp) override;
  void waitWgmma(const Warp &warp, uint64_t completed) override;
  void run(OperationNote *operation) override;
  std::shared_ptr<OperationNote> issueOnPipe(Warp &warp, const Instruction &instruction,
                                             std::span<const TensorTouch> touches) override;
  std::shared_ptr<OperationNote> commitPipe(const Warp &warp) override;
  void completePipe(const OperationNote &commit, const SharedPlace &place) override;
  void moveTensor(Warp &warp, const Instruction &instruction, TensorEngine engine,
                  std::span<const TensorTouch> touches) override;
  void waitTensor(const Warp &warp, TensorEngine engine) override;
  void fenceTensorBefore(const Warp &warp) override;
  void fenceTensorAfter(const Warp &warp) override;
  void allocateTensor(const Block &block, uint32_t column, uint32_t count) override;
  void freeTensor(Warp &warp, const Instruction &instruction, uint32_t column, uint32_t count) override;
  void access(Warp &warp, const Instruction &instruction, const Touch &access, Block &block,
              uint32_t address) override;
  void accessLanes(Warp &warp, const Instruction &instruction, uint32_t lanes, const Touch &each,
                   const LaneAddresses64 &addresses, Block &block) override;
  void accessGlobal(Warp &warp, const Instruction &instruction, const Touch &access) override;
  void accessGlobalLanes(Warp &warp, const Instruction &instruction, uint32_t lanes, const Touch &each,
                         const LaneAddresses64 &addresses) override;
  bool takeOverlap() override;
  void reportOverlap(Warp &warp, const Instruction &instruction, unsigned first, unsigned second, Space space,
                     uint64_t address) override;
  void allocated(uint64_t address, uint64_t bytes) override;
  void accessLocal(const Warp &warp, const Instruction &instruction, const Touch &access) override;
  void copyLocal(const Warp &warp, unsigned lane, uint64_t to, uint64_t from, uint64_t bytes) override;
  void fillLocal(const Warp &warp, unsigned lane, uint64_t at, uint64_t bytes) override;

private:
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
  /// Operations that complete in groups.
  struct Stream {
    Column column = 0;
    Column readColumn = 0; ///< of bulk copies
    uint32_t issued = 0;
    std::vector<uint32_t> commits; ///< `issued` at each commit that nobody has waited for
  };
  /// Numbers of a warp's accesses to tensor memory.
  struct TensorStream {
    Column column = 0; ///< of those complete; 0: there are none yet
    Column plain = 0;  ///< likewise, or issued to the pipe, as synchronisation without fences passes it on
    Column issue = 0;  ///< of those issued to the pipe
    uint32_t issued = 0;
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
  /// A strong read of global memory. What it saw is known once it is done.
  struct FlagRead {
    uint64_t address = 0;
    unsigned lane = 0;
    AccessOrdering ordering = AccessOrdering::relaxed;
    Scope scope = Scope::gpu;
  };
  /// How often an instruction has run.
  struct Execution {
    uint32_t step = 0; ///< the warp's, of the last time, plus 1
    uint32_t count = 0;
  };
  /// The last use of a register, and what has it in flight.
  struct RegisterUse {
    uint32_t pc = 0;
    uint32_t fences = 0;     ///< wgmma.fence until then, plus 1; 0: none
    uint32_t shape = 0;      ///< of the product that used it; 0: the thread did itself
    uint32_t product = 0;    ///< wgmma that has it
    uint32_t tensorLoad = 0; ///< tcgen05.ld that has it
  };
  struct Agent {
    const Warp *warp = nullptr;
    uint32_t number = 1; ///< of the warp's column, for its next accesses
    std::vector<Party> parties;
    std::map<std::pair<AsyncEngine, unsigned>, Stream> streams; ///< by lane; cp.async of all lanes: 0
    std::vector<Execution> executions;                          ///< by pc
    std::vector<FlagRead> flagReads;                            ///< of the instruction that ran last
    std::vector<uint32_t> written;                              ///< by register: lanes in which something has
    /// Bits that are written of registers that are so in part, by register and lane; others: none.
    std::unordered_map<size_t, std::array<uint64_t, 32>> writtenBits;
    std::vector<uint8_t> writtenLocal; ///< bits of each byte of lane 0, then of lane 1, ...
    std::vector<RegisterUse> uses;     ///< by register; empty: no product has any
    uint32_t wgmmaWaited = 0;
    uint32_t tensorLoads = 0, tensorLoadsWaited = 0;
    uint32_t fences = 0; ///< wgmma.fence until now
    Clock missed;        ///< what scopes were too narrow for
    Clock tensor;        ///< what its next access to tensor memory is behind
    std::array<TensorStream, tensorEngines> tensorStreams;
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
  /// What arrivals give to those who wait.
  struct Phases {
    Column column = 0;
    uint32_t completed = 0;
    Passed arrived, done;
  };
  /// Of a block.
  struct Ending {
    Knowledge known; ///< to its threads that have exited
    Record exit;     ///< of the last ones; number 0: some are left
  };
  struct NamedPhase {
    Knowledge arrived;
    ByReach<Knowledge> released; ///< of that, what fences follow
    std::vector<unsigned> waiting;
  };

  unsigned indexOf(const Warp &warp) const;
  Agent &agentOf(const Warp &warp) { return agents[indexOf(warp)]; }
  Column addColumn(ColumnInfo info);
  Phases &phasesOf(const Block &block, uint32_t address);
  Stream *stream(Agent &agent, AsyncEngine engine, unsigned lane);
  /// The cluster's number among those of all launches that may run now.
  uint32_t number() const;
  uint32_t repeatOf(Agent &agent, uint32_t pc);
  std::shared_ptr<AsyncOrder> issue(const Warp &warp, const Instruction &instruction, unsigned lane,
                                    bool uniform);

  /// Calls `act` for the parties that make up `lanes`, taking parties apart.
  void forParties(Agent &agent, uint32_t lanes, const std::function<void(Party &)> &act);
  const Party &partyOf(const Agent &agent, unsigned lane) const;
  /// Adds what the lanes themselves have done.
  void addOwn(const Agent &agent, uint32_t lanes, uint32_t number, Clock &clock);
  /// Adds the lanes' own cp.async up to a number, or those that each of them has waited for.
  void addCopies(const Agent &agent, uint32_t lanes, uint32_t number, Clock &clock);
  void addCopies(const Agent &agent, uint32_t lanes, Clock &clock);
  void raiseLane(LaneColumns &of, const Agent &agent, unsigned lane, ColumnInfo::Kind kind, Column whole,
                 uint32_t number, Clock &clock);
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
  Record recordOf(Agent &agent, const Instruction &instruction, const Touch &access);
  Point pointOf(Agent &agent, const Record &record, const Touch &access);
  /// Calls `act` for each run of lanes that continue each other and know the same.
  void forRuns(const Agent &agent, uint32_t lanes, const Touch &each, const LaneAddresses64 &addresses,
               const std::function<void(const Touch &)> &act);
  /// A read of global memory that nothing has written.
  void checkWritten(Warp &warp, const Instruction &instruction, Record record, const Touch &access);
  void releaseGlobalFlag(Agent &agent, const Touch &access);
  void publishFlag(uint64_t address, Reach reach, Knowledge known);
  void takeFlagReads(Agent &agent);
  void acquireFlag(Agent &agent, const Touch &access, uint64_t flag);
  void releaseFlag(Agent &agent, const Touch &access, uint64_t flag);

  // Registers.cpp
  static size_t indexOf(const Slot &slot) { return slot.offset / registerGranule; }
  void follow(Warp &warp, const Instruction &instruction, Agent &agent, uint32_t lanes);
  uint32_t writtenIn(const Agent &agent, const Slot &slot) const {
    return slot.constant ? ~0u : agent.written[indexOf(slot)];
  }
  static void setWritten(Agent &agent, const Slot &slot, uint32_t lanes, uint32_t written);
  static uint64_t writtenBits(const Agent &agent, const Slot &slot, unsigned lane);
  static void setWrittenBits(Agent &agent, const Slot &slot, unsigned lane, uint64_t bits);
  /// Which bits of the results, which are of the slots that are written in order, depend on none of the bits
  /// that nothing has written; by result and lane.
  using ResultBits = std::vector<std::array<uint64_t, 32>>;
  ResultBits independentBits(Warp &warp, const Instruction &instruction, const Agent &agent, uint32_t lanes);
  void checkUse(Warp &warp, const Instruction &instruction, Agent &agent);
  void takeRegisters(Warp &warp, const Instruction &instruction, const ProductRegisters &used,
                     uint32_t number);
  void reportRegister(Warp &warp, const Instruction &instruction, const Instruction *before,
                      const std::string &what, const std::string &missing);
  void reportUnwritten(Warp &warp, const Instruction &instruction, uint32_t offset, uint32_t lanes);

  // TensorRace.cpp
  enum class TensorFences : uint8_t { needed, assumed };
  TensorStream &tensorStream(Agent &agent, TensorEngine engine);
  /// What an access is behind; `assumed`: if all fences were there.
  Clock tensorClock(const Agent &agent, TensorEngine engine, TensorFences fences);
  void accessTensor(Warp &warp, const Instruction &instruction, TensorEngine engine,
                    std::span<const TensorTouch> touches);
  Shadow &tensorShadow(const Block &block);
  void reportTensor(Warp &warp, const Instruction &instruction, TensorEngine engine, const Record &now,
                    const Conflict &conflict, const Block &block);
  std::string missingForTensor(const Agent &agent, TensorEngine engine, const Record &before,
                               const Record &now);

  // Report.cpp
  void report(Warp &warp, const Instruction &instruction, const Record &now, const Conflict &conflict,
              const std::string &place);
  std::string placeOfGlobal(uint64_t address) const;
  const Instruction &instructionOf(const Record &record) const;
  bool isOfLaunch(const Record &record) const;
  FindingSite siteOfRecord(const Record &record) const;
  std::string describe(const Record &record) const;
  std::string placeOf(unsigned block, uint32_t address) const;
  std::string nameOfWarp(unsigned index) const;
  /// Whether the lane of a cp.async waits for it, further up in the program than the other access, or has
  /// waited before.
  bool isAwaited(const Record &copy, const Record &access) const;
  bool hasWaited(const Record &copy, const Record &now) const;
  std::string missingWait(const Record &record) const;
  std::string missingBarrier(unsigned waiting, unsigned other) const;
  /// For an access that should come behind an operation that was issued before, or behind any access.
  std::string missingBehind(const Record &operation, const Record &access) const;
  std::string missingOrder(const Record &first, const Record &second) const;
  std::string missing(const Record &before, const Record &now) const;
  std::string missingBetweenClusters(const Record &before, const Record &now) const;
  std::string missingFence(const Record &before, const Record &now) const;

  Cluster &cluster;
  LaunchRaces &launch;
  unsigned warpsOfBlock;
  std::vector<Agent> agents; ///< their columns are their indices
  PartColumns parts;
  std::vector<std::pair<Column, Column>> lanesWithColumn; ///< the lane's column and its warp's
  std::vector<ColumnInfo> columns;
  std::vector<Shadow> shadows;       ///< by block
  std::vector<Ending> endings;       ///< likewise
  std::vector<Shadow> tensorShadows; ///< likewise, once there is tensor memory
  std::vector<NamedPhase> named;
  std::vector<Conflict> conflicts; ///< of the access under way
  bool overlap = false;
  Knowledge clusterArrived, clusterDone;
  std::unordered_map<uint64_t, Phases> mbarriers;
  std::unordered_map<uint64_t, Passed> flags; ///< of strong accesses, by address
  std::vector<Column> warpgroups;             ///< columns, by first warp / 4 in the block
  AsyncOrder *running = nullptr;
  std::optional<Column> gridBefore; ///< nothing: this launch begins when the one before it is over
};

} // namespace tlc::emulator
