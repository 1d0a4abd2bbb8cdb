// SPDX-License-Identifier: Apache-2.0
/// \file
/// A walk in the order of execution; loops until nothing changes.
#include "compiler/analysis/ReleaseMeetings.h"

#include "dialects/tile/Counts.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tlc::tile {

using namespace mlir;

namespace {

/// What threads may have done with slots of a ring since they last met.
struct Since {
  bool hasRead = false;
  bool hasWaited = false;
  /// Products that every way has started since the wait, at least.
  int64_t started = 0;

  bool operator==(const Since &other) const = default;
  void merge(const Since &other) {
    started = !hasWaited ? other.started : !other.hasWaited ? started : std::min(started, other.started);
    hasRead |= other.hasRead;
    hasWaited |= other.hasWaited;
  }
};

/// More than waits leave in flight.
constexpr int64_t mostStarted = 64;

using State = llvm::MapVector<Value, Since>; ///< by ring

class Walk {
public:
  Walk(KernelOp kernel, llvm::SetVector<ReleaseOp> &needed) : buffers(kernel), needed(needed) {
    kernel.walk([&](AllocRingOp ring) { atEntry[ring.getRing()] = Since(); });
    kernel.walk([&](Operation *op) { blocksGoOn |= letsBlocksGoOn(op); });
  }

  void run(KernelOp kernel) {
    State state = atEntry;
    run(kernel.getBody().front(), state);
  }

private:
  void run(Block &block, State &state) {
    for (Operation &op : block)
      run(&op, state);
  }

  void run(Operation *op, State &state) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return runLoop(loop, state);
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      State after = branch.getElseRegion().empty() ? state : State();
      for (Region &region : branch->getRegions())
        for (Block &block : region) {
          State inside = state;
          run(block, inside);
          merge(after, inside);
        }
      state = std::move(after);
      return;
    }
    if (auto roles = dyn_cast<RolesOp>(op)) {
      for (RoleOp role : roles.getBody().getOps<RoleOp>()) {
        if (role.getOneThread()) // what one thread does is in order
          continue;
        State own = state;
        run(role.getBody().front(), own);
      }
      return;
    }
    step(op, state);
  }

  void runLoop(scf::ForOp loop, State &state) {
    for (bool changes = true; changes;) {
      State inside = state;
      run(*loop.getBody(), inside);
      changes = merge(state, inside);
    }
  }

  /// Whether that changed anything.
  static bool merge(State &into, const State &from) {
    bool changed = false;
    for (const auto &[ring, theirs] : from) {
      auto [entry, isNew] = into.insert({ring, theirs});
      Since before = entry->second;
      entry->second.merge(theirs);
      changed |= isNew || !(entry->second == before);
    }
    return changed;
  }

  void step(Operation *op, State &state) {
    if (auto release = dyn_cast<ReleaseOp>(op)) {
      const Since &since = state[release.getRing()];
      if (!since.hasRead && !since.hasWaited)
        return;
      needed.insert(release);
      return forget(state);
    }
    auto publish = dyn_cast<PublishOp>(op);
    // After products nobody meets, and after copies each thread arrives by itself.
    bool publishes = publish && !publish.getAfterProducts() && !publish.getAfterCopies();
    if (publishes || synchronisationOf(op).meetsFirst)
      forget(state);
    if (auto await = dyn_cast<AwaitOp>(op))
      state[await.getRing()] = {.hasRead = state[await.getRing()].hasRead, .hasWaited = true};
    if (isAsynchronousProduct(op))
      startProduct(op, state);
    else if (completedBy(op) == Completion::productGroup)
      complete(cast<CompletionOpInterface>(op).getNumInFlight(), state);
    for (const MemoryAccess &access : memoryAccessesOf(op)) {
      bool isOfBlock = access.isShared() || access.isTensorMemory();
      if (access.proxy != Proxy::generic || (isOfBlock ? access.kind == AccessKind::write : !blocksGoOn))
        continue;
      for (auto &[ring, since] : state)
        since.hasRead |= !isOfBlock || buffers.mayGuard(ring, access.memory);
    }
  }

  static void forget(State &state) {
    for (auto &[ring, since] : state)
      since = Since();
  }

  /// A slot that a product reads is not released before the product is complete: where the ring surely hands
  /// the slot over, the check of products in flight says so.
  void startProduct(Operation *op, State &state) const {
    SmallVector<MemoryAccess, 3> accesses = memoryAccessesOf(op);
    if (llvm::any_of(accesses, [](const MemoryAccess &access) { return access.agent == Agent::oneThread; }))
      return; // it says nothing of the other warps
    for (auto &[ring, since] : state) {
      bool reads = llvm::any_of(accesses, [&, ring = ring](const MemoryAccess &access) {
        return access.kind == AccessKind::read && access.isShared() && buffers.guards(ring, access.memory);
      });
      if (reads)
        since = {.hasRead = since.hasRead};
      else if (since.hasWaited)
        since.started = std::min(since.started + 1, mostStarted);
    }
    if (!completionOf(op))
      complete(0, state);
  }

  static void complete(int64_t inFlight, State &state) {
    for (auto &[ring, since] : state)
      if (since.hasWaited && since.started > inFlight)
        since = {.hasRead = since.hasRead};
  }

  RingBuffers buffers;
  bool blocksGoOn = false; ///< and with them what this one has done to tensors
  llvm::SetVector<ReleaseOp> &needed;
  State atEntry;
};

} // namespace

SmallVector<ReleaseOp> releasesThatNeedMeetings(KernelOp kernel) {
  llvm::SetVector<ReleaseOp> needed;
  Walk(kernel, needed).run(kernel);
  return SmallVector<ReleaseOp>(needed.begin(), needed.end());
}

} // namespace tlc::tile
