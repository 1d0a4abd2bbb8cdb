// SPDX-License-Identifier: Apache-2.0
/// \file
/// The state of a running grid: clusters of blocks of warps. A cluster runs on
/// one host thread, so nothing in it needs a lock; clusters share only global
/// memory.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/emulator/exec/core/Async.h"
#include "runtime/emulator/exec/core/Barrier.h"
#include "runtime/emulator/exec/core/Memory.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/core/PollingDeadlock.h"
#include "runtime/emulator/exec/core/Program.h"
#include "runtime/emulator/exec/core/Schedule.h"
#include "runtime/emulator/math/TensorMemory.h"
#include "runtime/emulator/report/Finding.h"
#include "runtime/emulator/report/NamedTensor.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tlc::emulator {

inline constexpr unsigned warpSize = lanesPerWarp;
inline constexpr uint32_t allLanes = ~0u;

struct Block;
struct Cluster;
struct Warp;

/// What a launch fixes for all its blocks.
struct Grid {
  const Program *program = nullptr;
  const Kernel *kernel = nullptr;
  const Target *target = nullptr;
  const LaunchNames *names = nullptr;          ///< never null
  std::array<uint32_t, 3> blocks = {1, 1, 1};  ///< nctaid
  std::array<uint32_t, 3> threads = {1, 1, 1}; ///< ntid
  std::array<uint32_t, 3> cluster = {1, 1, 1}; ///< blocks of a cluster
  uint32_t dynamicSharedBytes = 0;
  uint32_t threadRegisters = 0; ///< registers of a thread at launch, where setmaxnreg needs them
  uint64_t workspace = 0;       ///< address of a cooperative launch's workspace; 0: it is none
  std::span<const std::byte> parameters;
  const MemoryMap *memory = nullptr;
  std::span<const NamedTensor> tensors;
  uint64_t maximumSteps = 0;          ///< warp instructions of one warp
  bool ordered = false;               ///< may begin before the launch before it is over
  LaunchObserver *observer = nullptr; ///< null: none
  MakeSchedule makeSchedule;          ///< empty: round robin
  int device = 0;                     ///< its ordinal
  bool isAlone = true;                ///< there is no other device
  Progress *progress = nullptr;
  Print print;
  uint32_t firstCluster = 0, clusters = 0; ///< that run
  StartOrder startOrder;
  std::atomic<uint32_t> started{0};            ///< of them, those included that others have cancelled
  std::atomic<uint32_t> canceled{0};           ///< clusters that never run (clusterlaunchcontrol)
  std::atomic<unsigned> hostThreads{0};        ///< that have clusters
  std::atomic<bool> stop{false};               ///< some cluster failed
  std::atomic<uint64_t> warpInstructions{0};   ///< of turns that are over
  std::atomic<uint64_t> threadInstructions{0}; ///< of clusters that are done
};

/// Why a group of lanes does not run.
struct Wait {
  enum class Kind : uint8_t {
    none,
    yield,        ///< gives way to other lanes and warps once
    lanes,        ///< until the lanes `mask` of the warp are together
    mbarrier,     ///< until one of `barriers` leaves its phase
    barrier,      ///< bar.sync: `id`, until its generation is not `count`
    cluster,      ///< barrier.cluster.wait
    registers,    ///< setmaxnreg.inc: until `count` registers of a thread are free
    asyncGroups,  ///< until at most `count` groups of `engine` are pending
    warpgroup,    ///< until `count` wgmma operations are complete
    tensorMemory, ///< tcgen05.alloc of cta_group `count`: until columns are free, and the pair's other block
                  ///< asks
  };
  Kind kind = Kind::none;
  bool advance = false;  ///< awake: continue after the instruction, else run it again
  bool anywhere = false; ///< of lanes: they may be together at instructions of one kind at several places
  uint8_t id = 0;
  AsyncEngine engine = AsyncEngine::copy;
  uint32_t mask = 0;
  uint64_t count = 0;
  std::vector<MbarrierWait> barriers;
};

/// Lanes of a warp at the same pc.
struct Group {
  uint32_t pc = 0;
  uint32_t mask = 0;
  uint32_t turn = 0;     ///< turns used up while others waited for theirs
  uint32_t ran = 0;      ///< instructions of this turn
  uint64_t ranAt = 0;    ///< steps of the warp when it ran last
  bool timedOut = false; ///< a try_wait gives up once, because nothing else can run
  Wait wait;
};

struct alignas(64) CacheLine {
  std::byte bytes[64];
};

/// What a warp reads that other threads may change.
struct Poll {
  const Instruction *instruction = nullptr;
  uint64_t address = 0;  ///< of the first lane
  uint64_t progress = 0; ///< of the cluster, then

  bool operator==(const Poll &) const = default;
};

struct Warp {
  Block *block = nullptr;
  const Instruction *code = nullptr;
  std::byte *registers = nullptr;
  const std::byte *constants = nullptr;
  std::vector<CacheLine> registerFile;
  std::vector<std::byte> local; ///< `localBytes` of lane 0, then of lane 1, ...
  std::vector<std::vector<std::byte>>
      savedRegisters; ///< of each lane: those of functions that are active twice
  unsigned index = 0; ///< in the block
  uint32_t live = 0;  ///< lanes that have not exited
  uint64_t steps = 0;
  const uint64_t *clock = nullptr; ///< what %clock reads, of a timed schedule; null: `steps`
  Poll lastPoll;
  std::vector<Group> groups;
  size_t current = 0; ///< the group that runs
  uint32_t threadRegisters = 0;
  AsyncGroups asyncGroups[asyncEngines];
  ClusterArrivals clusterArrivals;

  Group &group() { return groups[current]; }
  std::byte *at(Slot slot) { return registers + slot.offset; }
  const std::byte *read(Slot slot) const { return (slot.constant ? constants : registers) + slot.offset; }
  uint32_t predicate(Slot slot) const {
    uint32_t bits;
    std::memcpy(&bits, read(slot), sizeof(bits));
    return bits;
  }
  void setPredicate(Slot slot, uint32_t active, uint32_t bits) {
    bits = (predicate(slot) & ~active) | (bits & active);
    std::memcpy(at(slot), &bits, sizeof(bits));
  }
  bool done() const { return groups.empty(); }
};

struct Block {
  Cluster *cluster = nullptr;
  uint32_t rank = 0; ///< in the cluster
  std::array<uint32_t, 3> id = {};
  std::vector<CacheLine> sharedMemory; ///< indexed by shared address, `sharedBase` bytes unused
  uint32_t sharedEnd = 0;              ///< first address beyond
  std::array<NamedBarrier, namedBarriers> barriers;
  MbarrierHistories mbarrierHistories;
  uint32_t freeRegisters = 0; ///< of the block's pool, in registers of one warp's threads
  std::vector<Warp> warps;
  std::vector<Warpgroup> warpgroups;
  std::vector<std::byte> constants; ///< the kernel's with addresses of this block; empty: there is one block
  TensorMemory tensorMemory;
  TensorPipe tensorPipe;
  bool sawNoCluster = false; ///< it knows that a clusterlaunchcontrol.try_cancel has failed

  std::span<std::byte> shared() { return {reinterpret_cast<std::byte *>(sharedMemory.data()), sharedEnd}; }
};

struct Cluster {
  Grid *grid = nullptr;
  uint32_t index = 0; ///< in the grid
  std::vector<Block> blocks;
  AsyncQueue queue;
  ClusterBarrier barrier;
  std::unique_ptr<Schedule> schedule;
  uint64_t progress = 0;                    ///< counts what other warps may be waiting for
  uint64_t progressAtExpiry = ~uint64_t(0); ///< when waits gave up last
  Repetition repetition;
  uint64_t warpInstructions = 0, threadInstructions = 0;
  Findings findings;
  bool faulted = false;               ///< one of the findings ends the run
  bool yields = false;                ///< other clusters have a turn first: it has taken what they may want
  MemoryRange lastRange;              ///< where the last global access was
  std::unique_ptr<Observer> observer; ///< null: none
};

inline uint32_t clusterCount(const Grid &grid) {
  uint64_t count = 1;
  for (unsigned axis = 0; axis < 3; ++axis)
    count *= grid.blocks[axis] / grid.cluster[axis];
  return uint32_t(count);
}

/// The next cluster in the order of their start, which then is the caller's; nothing if all are gone.
std::optional<uint32_t> takeCluster(Grid &grid);

/// Of the block of a rank in a cluster of a grid of so many blocks, with clusters of so many.
std::array<uint32_t, 3> blockId(const std::array<uint32_t, 3> &blocks,
                                const std::array<uint32_t, 3> &blocksOfCluster, uint32_t cluster,
                                uint32_t rank);

inline Grid &gridOf(const Warp &warp) { return *warp.block->cluster->grid; }
inline Cluster &clusterOf(const Warp &warp) { return *warp.block->cluster; }

/// A finding that ends the run.
Step fault(Warp &warp, const Instruction &instruction, const std::string &what);
/// Records a finding, of which kind, missing, memory and before are set: gives
/// it its site and a message that says `what`.
void record(Warp &warp, const Instruction &instruction, const std::string &what, Finding finding);
FindingSite siteOf(const Warp &warp, const Instruction &instruction);
/// The same of any launch, but for the block and the device.
FindingSite siteOf(const Program &program, const LaunchNames &names, unsigned warp,
                   const Instruction &instruction);

enum class MbarrierState : uint8_t { any, initialised };
/// The mbarrier at an address; null after a fault when there is none, or
/// none in that state (BarrierOps.cpp).
SharedPlace findMbarrier(Warp &warp, const Instruction &instruction, Space space, unsigned lane,
                         uint64_t address, MbarrierState state);

/// Whether a warp at a tcgen05.alloc gets its columns (Tcgen05Memory.cpp).
bool mayAllocate(Warp &warp, uint64_t ctaGroup);
/// A block whose last warp has exited must hold no tensor memory; `moved`, or a fault.
Step checkTensorFreed(Warp &warp, const Instruction &instruction);

// --- groups (Warp.cpp) -----------------------------------------------------------
/// `taken` lanes of the current group go to `pc`, the others to the next instruction.
Step branch(Warp &warp, uint32_t taken, uint32_t pc);
/// Each active lane goes to its own pc.
Step jumpLanes(Warp &warp, uint32_t active, const uint32_t *pcs);
Step exitLanes(Warp &warp, uint32_t lanes);
/// True when the live lanes of `needed` are all in `active`; otherwise the
/// caller returns `Step::wait`, the group waits for them at this instruction.
bool gather(Warp &warp, uint32_t active, uint32_t needed);
/// The active lanes in groups of one member mask each.
struct MemberGroups {
  struct Waiting {
    uint32_t lanes = 0, mask = 0;
  };
  std::array<uint32_t, warpSize> together; ///< groups all of whose live members are there
  std::array<Waiting, warpSize> waiting;   ///< the others
  unsigned togetherCount = 0, waitingCount = 0;
};
/// False after a fault: a lane is not in its own mask.
bool groupByMask(Warp &warp, uint32_t active, const Instruction &instruction, Slot mask,
                 MemberGroups &groups);
/// Adds the lanes that wait with the same mask at instructions of the kind elsewhere in the program. True if
/// all live members are there then; those that waited go on once they have their results.
bool joinElsewhere(Warp &warp, uint32_t mask, Members &members);
/// Leaves those that wait at the instruction, each group by itself; the others go on.
Step awaitMembers(Warp &warp, uint32_t active, const MemberGroups &groups);
/// Runs `run(members)` for each group that is together; what all `.sync` instructions with a mask do.
/// Members are together at one instruction, or at several of one name: lanes of one mask that have parted
/// meet, as on hardware, and those at instructions of other names wait for ever.
template <class F>
Step runTogether(Warp &warp, uint32_t active, const Instruction &instruction, Slot mask, F run) {
  MemberGroups groups;
  if (!groupByMask(warp, active, instruction, mask, groups))
    return Step::fault;
  for (unsigned i = 0; i < groups.togetherCount; ++i)
    run(Members(groups.together[i], instruction));
  if (groups.waitingCount == 0)
    return Step::next;
  unsigned left = 0;
  for (unsigned i = 0; i < groups.waitingCount; ++i) {
    Members members(groups.waiting[i].lanes, instruction);
    if (joinElsewhere(warp, groups.waiting[i].mask, members))
      run(members);
    else
      groups.waiting[left++] = groups.waiting[i];
  }
  groups.waitingCount = left;
  return left == 0 ? Step::next : awaitMembers(warp, active, groups);
}
/// Suspends the current group.
Step suspend(Warp &warp, Wait wait);
/// The group goes on after the instruction once others have had a turn.
Step giveWay(Warp &warp);
/// The group has read what others may change, and changed nothing. It gives way if it did the same before, as
/// its cluster has changed nothing since.
Step poll(Warp &warp, const Instruction &instruction, uint64_t address);

enum class RunState : uint8_t { idle, ran, fault };
/// Runs the warp until all its groups wait, at most so many instructions.
RunState runWarp(Warp &warp, unsigned instructions);
/// Reports the warp of the cluster that has run longest, because all warps of the launch have run more than
/// `limit` instructions together.
void faultLongLaunch(Cluster &cluster, uint64_t limit);
/// True when a waiting group may run.
bool isReady(Warp &warp, const Group &group);
/// What a turn of the warp would run first; null when all its groups wait.
const Instruction *nextInstruction(Warp &warp);

} // namespace tlc::emulator
