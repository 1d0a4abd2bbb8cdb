// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a running launch tells of itself: each synchronisation, each access to
/// memory, each use of registers. A launch has one observer or none, chosen when
/// it begins; each of its clusters has one of that observer's making, which is
/// called on the host thread that runs the cluster, before the effect of what it
/// is told of. An observer may record findings; what the program computes does
/// not depend on it.
#pragma once

#include "runtime/emulator/exec/core/Async.h"
#include "runtime/emulator/exec/core/Members.h"
#include "runtime/emulator/exec/core/Memory.h"

#include <functional>
#include <memory>
#include <span>

namespace tlc::emulator {

struct Grid;

/// Whether an arrival or a wait orders memory.
enum class Ordering : uint8_t { acquireRelease, relaxed };
/// Whether an arrival at a named barrier waits for the others.
enum class NamedArrival : uint8_t { waits, leaves };
/// Whether a wait for copies ends when they are complete, or when they have read their sources.
enum class CopyWait : uint8_t { complete, read };

/// What proxy fences are for: the asynchronous proxy's view of shared and of global memory, and that of
/// global memory by other addresses.
enum class FencedSpace : uint8_t { shared, global, aliases };
inline constexpr FencedSpace fencedSpaces[] = {FencedSpace::shared, FencedSpace::global,
                                               FencedSpace::aliases};

/// What accesses tensor memory: a warp's loads and stores, and what its
/// threads issue to a pipe.
enum class TensorEngine : uint8_t { load, store, pipe };
inline constexpr size_t tensorEngines = 3;

/// What a wgmma has in registers.
struct ProductRegisters {
  std::span<const Slot> fragments; ///< of A
  std::span<const Slot> accumulators;
  uint32_t shape = 0; ///< products of one shape may follow each other; from 2 on
  bool accumulates = false;
};

/// All cells of these lanes and columns; lanes in groups of 16.
struct TensorTouch {
  const Block *block = nullptr;
  unsigned lane = 0, lanes = 0;
  uint32_t column = 0, columns = 0;
  AccessKind kind = AccessKind::read;
};

/// Of one cluster. `lanes` are those that do something together.
class Observer {
public:
  virtual ~Observer() = default;

  // --- instructions and registers ---------------------------------------------------
  /// The lanes are about to run the instruction.
  virtual void execute(Warp &warp, const Instruction &instruction, uint32_t lanes) = 0;
  /// Its predicate decides for these lanes whether they run it.
  virtual void evaluateGuard(Warp &warp, const Instruction &instruction, uint32_t lanes) = 0;
  /// The results of all lanes come from all of them.
  virtual void combineLanes(const Warp &warp, const Members &members) = 0;
  /// Each lane's result comes from the lane that `sources` names.
  virtual void shuffleLanes(const Warp &warp, const Members &members, std::span<const uint32_t> sources) = 0;
  virtual void exit(Warp &warp, const Instruction &instruction, uint32_t lanes) = 0;
  /// The blocks of the cluster have ended.
  virtual void clusterEnds() = 0;

  // --- fences -------------------------------------------------------------------------
  virtual void fence(const Warp &warp, uint32_t lanes, Scope scope) = 0;
  virtual void proxyFence(const Warp &warp, uint32_t lanes, std::span<const FencedSpace> spaces) = 0;
  /// fence.mbarrier_init
  virtual void publishMbarriers(const Warp &warp, uint32_t lanes) = 0;
  /// fence.proxy.tensormap, and the same for the map at an address.
  virtual void releaseMaps(const Warp &warp, uint32_t lanes) = 0;
  virtual void acquireMap(const Warp &warp, uint32_t lanes, uint64_t address) = 0;
  /// griddepcontrol.wait
  virtual void waitGrid(const Warp &warp, uint32_t lanes) = 0;

  // --- barriers -------------------------------------------------------------------------
  /// bar.warp.sync
  virtual void syncLanes(const Warp &warp, uint32_t lanes) = 0;
  virtual void arriveNamed(const Warp &warp, unsigned id, NamedArrival arrival) = 0;
  virtual void completeNamed(const Block &block, unsigned id) = 0;
  virtual void arriveCluster(const Warp &warp, uint32_t lanes, Ordering ordering) = 0;
  virtual void completeCluster() = 0;
  virtual void waitCluster(const Warp &warp, uint32_t lanes) = 0;
  virtual void arriveMbarrier(const Warp &warp, uint32_t lanes, const SharedPlace &place, Ordering ordering,
                              Scope scope) = 0;
  virtual void completePhase(const Block &block, uint32_t address) = 0;
  virtual void waitMbarrier(const Warp &warp, uint32_t lanes, const SharedPlace &place, Ordering ordering,
                            Scope scope) = 0;

  // --- asynchronous operations ----------------------------------------------------------
  /// A copy that completes in a group of its engine. `uniform`: all lanes of the warp issue the same.
  virtual std::shared_ptr<OperationNote> issueCopy(const Warp &warp, const Instruction &instruction,
                                                   AsyncEngine engine, uint32_t lanes, bool uniform) = 0;
  /// One that completes on an mbarrier (`completesOn`).
  virtual std::shared_ptr<OperationNote> issueOnMbarrier(const Warp &warp, const Instruction &instruction,
                                                         unsigned lane, bool uniform) = 0;
  virtual void commitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes) = 0;
  virtual void waitCopies(const Warp &warp, AsyncEngine engine, uint32_t lanes, uint64_t pending,
                          CopyWait until) = 0;
  /// The running operation completes with the present phase of an mbarrier.
  virtual void completesOn(const SharedPlace &place) = 0;
  /// cp.async of the warp until now, and their arrival at an mbarrier.
  virtual std::shared_ptr<OperationNote> copiesUntilNow(const Warp &warp) = 0;
  virtual void arriveAfter(const OperationNote &copies, const SharedPlace &place) = 0;
  /// Operation `number` of the warpgroup, counted from 1, issued by one of its warps; the first makes the
  /// note.
  virtual void issueWgmma(Warp &warp, const Instruction &instruction, const ProductRegisters &used,
                          uint32_t number, std::shared_ptr<OperationNote> &note) = 0;
  virtual void fenceWgmma(const Warp &warp) = 0;
  virtual void waitWgmma(const Warp &warp, uint64_t completed) = 0;
  /// Accesses are this operation's until the next call; null: the threads' again.
  virtual void run(OperationNote *operation) = 0;

  // --- tensor memory --------------------------------------------------------------------
  virtual std::shared_ptr<OperationNote> issueOnPipe(Warp &warp, const Instruction &instruction,
                                                     std::span<const TensorTouch> touches) = 0;
  /// What the warp has issued until now, and its arrival when that is complete.
  virtual std::shared_ptr<OperationNote> commitPipe(const Warp &warp) = 0;
  virtual void completePipe(const OperationNote &commit, const SharedPlace &place) = 0;
  virtual void moveTensor(Warp &warp, const Instruction &instruction, TensorEngine engine,
                          std::span<const TensorTouch> touches) = 0;
  virtual void waitTensor(const Warp &warp, TensorEngine engine) = 0;
  virtual void fenceTensorBefore(const Warp &warp) = 0;
  virtual void fenceTensorAfter(const Warp &warp) = 0;
  virtual void allocateTensor(const Block &block, uint32_t column, uint32_t count) = 0;
  virtual void freeTensor(Warp &warp, const Instruction &instruction, uint32_t column, uint32_t count) = 0;

  // --- accesses ---------------------------------------------------------------------------
  /// To shared memory of a block.
  virtual void access(Warp &warp, const Instruction &instruction, const Touch &access, Block &block,
                      uint32_t address) = 0;
  /// By lanes at addresses of their own, in shared memory of one block.
  virtual void accessLanes(Warp &warp, const Instruction &instruction, uint32_t lanes, const Touch &each,
                           const LaneAddresses64 &addresses, Block &block) = 0;
  virtual void accessGlobal(Warp &warp, const Instruction &instruction, const Touch &access) = 0;
  virtual void accessGlobalLanes(Warp &warp, const Instruction &instruction, uint32_t lanes,
                                 const Touch &each, const LaneAddresses64 &addresses) = 0;
  /// True once if lanes have written the same place by the instruction that runs; then whether they wrote
  /// different values there is looked at, and told.
  virtual bool takeOverlap() = 0;
  virtual void reportOverlap(Warp &warp, const Instruction &instruction, unsigned first, unsigned second,
                             Space space, uint64_t address) = 0;
  /// Memory of the heap is new to who gets it.
  virtual void allocated(uint64_t address, uint64_t bytes) = 0;
  /// A lane's own memory: by an instruction, from one place to another, by the system.
  virtual void accessLocal(const Warp &warp, const Instruction &instruction, const Touch &access) = 0;
  virtual void copyLocal(const Warp &warp, unsigned lane, uint64_t to, uint64_t from, uint64_t bytes) = 0;
  virtual void fillLocal(const Warp &warp, unsigned lane, uint64_t at, uint64_t bytes) = 0;
};

/// Of a launch.
class LaunchObserver {
public:
  virtual ~LaunchObserver() = default;
  virtual void begin(const Grid &grid) = 0;
  /// A cluster is about to begin; by any of the host threads.
  virtual std::unique_ptr<Observer> observe(Cluster &cluster) = 0;
  /// All clusters are done, or the launch has failed.
  virtual void end() = 0;
};
using MakeLaunchObserver = std::function<std::unique_ptr<LaunchObserver>()>;

} // namespace tlc::emulator
