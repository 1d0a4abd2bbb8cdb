// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards conflicting accesses of a shared buffer, or of a tensor, by the threads of one role have a
/// `tile.sync` between them, and a `tile.proxy_fence` stands between ordinary accesses and those of the
/// asynchronous proxy that conflict with them; whoever stores fragments through the TMA waits for it. One
/// walk in program order with the accesses since the last sync; loops are walked again, so that the back edge
/// is seen.

#include "compiler/analysis/BufferAccesses.h"
#include "compiler/analysis/TensorAccesses.h"
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Cluster.h"
#include "dialects/tile/Counts.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/target/Target.h"

#include "llvm/ADT/DenseSet.h"

namespace tlc::tile {
#define GEN_PASS_DEF_PLACEFENCES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Whether it is known that the operation accesses none: it has no effects, or says so. Of variables nothing
/// is known: they are to be values.
bool accessesNothing(Operation *op) {
  return isMemoryEffectFree(op) || (isa<AccessOpInterface>(op) && !isa<TracedOpInterface>(op));
}

using Relation = bool (*)(const TensorAccess &earlier, const TensorAccess &later);

/// Whether any pair of the accesses is so related.
bool anyOf(const TensorAccesses &earlier, ArrayRef<TensorAccess> later, Relation related) {
  return llvm::any_of(earlier.all(), [&](const TensorAccess &from) {
    return llvm::any_of(later, [&](const TensorAccess &to) { return related(from, to); });
  });
}

/// Whether the asynchronous proxy must be told of the earlier access before the later one.
bool needsProxyFence(const TensorAccess &earlier, const TensorAccess &later) {
  return later.asynchronous && mayConflict(earlier, later);
}

/// The same where the later access is another block's, whose boxes are not compared.
bool meetElsewhere(const TensorAccess &earlier, const TensorAccess &later) {
  SliceOp from = earlier.slice, to = later.slice;
  return declarationOf(from.getTensor()) == declarationOf(to.getTensor()) &&
         (earlier.kind != later.kind || earlier.kind == AccessKind::write);
}
bool needsProxyFenceElsewhere(const TensorAccess &earlier, const TensorAccess &later) {
  return later.asynchronous && meetElsewhere(earlier, later);
}

/// Symmetric tensors that other launches of the program access, by number of the argument. On another rank
/// such a launch may go on from what this one announces, and load by the TMA.
llvm::SmallDenseSet<unsigned, 4> symmetricTensorsElsewhere(KernelOp kernel) {
  llvm::SmallDenseSet<unsigned, 4> found;
  const Target *target = program::findTarget(kernel);
  if (!target || !target->tma.available)
    return found;
  for (auto other : kernel->getParentOfType<ModuleOp>().getOps<KernelOp>())
    for (BlockArgument tensor : other.getBody().getArguments())
      for (Operation *user : tensor.getUsers())
        if (auto slice = dyn_cast<SliceOp>(user); slice && slice.isSymmetric() && other != kernel)
          found.insert(tensor.getArgNumber());
  return found;
}

/// A product that may be in flight. Its accesses end with a wait, so that a sync before the wait orders none
/// of them.
struct ProductInFlight {
  BufferAccesses accessed;
  int64_t leastStartedSince = 0, mostStartedSince = 0; ///< over the ways that lead here
};

/// What happened since the last sync, and what a sync does not end.
struct State {
  BufferAccesses accessed;
  llvm::MapVector<Operation *, ProductInFlight> products;
  BufferAccesses unfenced;          ///< ordinary accesses that the asynchronous proxy has not been told of
  BufferAccesses unfencedElsewhere; ///< of those, what was done to tiles of other blocks
  BufferAccesses started;           ///< by copies that these threads have yet to await
  BufferAccesses arrived; ///< by copies of other threads: they have arrived, but the proxy has not been told
  TensorAccesses tensors, unfencedTensors;
  TensorAccesses unawaited; ///< stores through the TMA that may be on their way

  void merge(const State &other) {
    accessed.add(other.accessed);
    for (const auto &[op, theirs] : other.products)
      if (auto [entry, isNew] = products.try_emplace(op, theirs); !isNew) {
        ProductInFlight &ours = entry->second;
        ours.accessed.add(theirs.accessed);
        ours.leastStartedSince = std::min(ours.leastStartedSince, theirs.leastStartedSince);
        ours.mostStartedSince = std::max(ours.mostStartedSince, theirs.mostStartedSince);
      }
    unfenced.add(other.unfenced);
    unfencedElsewhere.add(other.unfencedElsewhere);
    started.add(other.started);
    arrived.add(other.arrived);
    tensors.add(other.tensors);
    unfencedTensors.add(other.unfencedTensors);
    unawaited.add(other.unawaited);
  }
  void startProduct(Operation *op, const BufferAccesses &places) {
    for (auto &[earlier, product] : products) {
      ++product.leastStartedSince;
      ++product.mostStartedSince;
    }
    ProductInFlight &product = products[op];
    product.accessed.add(places);
    product.leastStartedSince = 0;
  }
  void completeProducts(int64_t inFlight) {
    for (auto &[op, product] : products)
      if (product.mostStartedSince >= inFlight)
        accessed.add(product.accessed);
    products.remove_if([&](auto &entry) { return entry.second.leastStartedSince >= inFlight; });
  }
  void nextRound(scf::ForOp loop) {
    for (TensorAccesses *accesses : {&tensors, &unfencedTensors, &unawaited})
      accesses->nextRound(loop);
  }
};

class FencePlacer {
public:
  explicit FencePlacer(KernelOp kernel)
      : places(kernel), allTensors(tensorAccessesIn(kernel)),
        symmetricElsewhere(symmetricTensorsElsewhere(kernel)) {
    llvm::DenseMap<Value, SmallVector<Operation *>> publishersOf; // by cursor
    kernel.walk([&](Operation *op) {
      for (const MemoryAccess &access : memoryAccessesOf(op))
        if (std::optional<BufferPart> part = access.isShared() ? bufferPartOf(access.memory) : std::nullopt) {
          if (llvm::any_of(publishersOf.lookup(part->cursor), [&](Operation *publisher) {
                return publisher->getParentOfType<RoleOp>() == op->getParentOfType<RoleOp>();
              }))
            keptByProducer.insert(part->cursor);
          if (access.isAsynchronous())
            (access.kind == AccessKind::read ? asynchronous.reads : asynchronous.writes)
                .add(places.of(*part));
          else if (completionOf(op) == Completion::copyGroup)
            copied.writes.add(places.of(*part));
        }
      Synchronisation order = synchronisationOf(op);
      if (order.afterCopies)
        filledByCopies.insert(order.ring);
      if (order.event == SlotEvent::published)
        publishersOf[order.cursor].push_back(op);
      if (order.event == SlotEvent::awaited)
        llvm::erase_if(publishersOf[order.cursor], [&](Operation *publisher) {
          return publisher->getParentOfType<RoleOp>() == op->getParentOfType<RoleOp>();
        });
      blocksGoOn |= letsBlocksGoOn(op);
      if (completedBy(op) == Completion::productGroup)
        mostInFlight = std::max(mostInFlight, cast<CompletionOpInterface>(op).getNumInFlight());
    });
  }

  LogicalResult place(KernelOp kernel) {
    State state;
    Block &body = kernel.getBody().front();
    if (failed(place(body, state)))
      return failure();
    OpBuilder atEnd(body.getTerminator());
    awaitAllStores(atEnd, kernel.getLoc(), state);
    return success();
  }

private:
  LogicalResult place(Block &block, State &state) {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(place(&op, state)))
        return failure();
    return success();
  }

  LogicalResult place(Operation *op, State &state) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return placeInLoop(loop, state);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return placeInBranch(branch, state);
    if (auto roles = dyn_cast<RolesOp>(op))
      return placeInRoles(roles, state);
    Synchronisation order = synchronisationOf(op);
    if (order.meetsFirst) {
      fence(op, /*fencesTensors=*/false, state);
      forget(state);
    }
    if (order.handsOn)
      handOn(op, state); // who goes on from here may use what this role wrote or read
    if (order.ring)
      passOn(op, order, state);
    if (completedBy(op) == Completion::storeGroup)
      state.unawaited.clear();
    if (completedBy(op) == Completion::copyGroup) { // though later ones may go on
      state.accessed.add(state.started);
      state.unfenced.add(state.started);
    }
    if (completedBy(op) == Completion::productGroup)
      state.completeProducts(cast<CompletionOpInterface>(op).getNumInFlight());
    // Threads that copy do not wait for it, and so cannot tell the asynchronous proxy themselves.
    if (order.event == SlotEvent::awaited && filledByCopies.contains(order.ring))
      state.arrived.add(copied);
    if (order.fencesShared)
      state.unfenced = state.arrived = {};
    if (order.fencesTensors) {
      state.unfencedTensors.clear();
      state.unfencedElsewhere = {};
    }
    return placeAround(op, state);
  }

  LogicalResult placeInLoop(scf::ForOp loop, State &state) {
    BufferAccesses repeated;
    bool meets = false; // in some round
    auto collected = loop.walk([&](Operation *op) {
      meets |= synchronisationOf(op).meetsFirst;
      return WalkResult(addBufferAccesses(op, places, repeated));
    });
    if (collected.wasInterrupted())
      return failure();
    // Where rounds need not wait for each other, one meeting before the loop serves all of them.
    if (!meets && !repeated.conflictsWith(repeated) && repeated.conflictsWith(state.accessed))
      meet(loop, /*fencesTensors=*/false, state);
    State inside = state;
    if (failed(place(*loop.getBody(), inside)))
      return failure();
    // A product ends at most so many iterations after the one that started it, and the next meets its end.
    for (int64_t round = 0; round <= mostInFlight; ++round) {
      inside.nextRound(loop);
      inside.merge(state); // the back edge, and the way past a loop that does not run
      if (failed(place(*loop.getBody(), inside)))
        return failure();
    }
    state.merge(inside);
    return success();
  }

  LogicalResult placeInBranch(scf::IfOp branch, State &state) {
    State after = branch.getElseRegion().empty() ? state : State();
    for (Region &region : branch->getRegions())
      for (Block &block : region) {
        State inside = state;
        if (failed(place(block, inside)))
          return failure();
        after.merge(inside);
      }
    state = std::move(after);
    return success();
  }

  /// In a role only its own threads meet: what all threads did before must be over.
  LogicalResult placeInRoles(RolesOp roles, State &state) {
    BufferAccesses inside;
    auto collected =
        roles.walk([&](Operation *op) { return WalkResult(addBufferAccesses(op, places, inside)); });
    if (collected.wasInterrupted())
      return failure();
    SmallVector<TensorAccess> tensors = tensorAccessesIn(roles);
    bool fencesTensors = anyOf(state.unfencedTensors, tensors, needsProxyFence);
    if (awaitStores(roles, tensors, state) || fencesTensors || inside.conflictsWith(state.accessed) ||
        anyOf(state.tensors, tensors, needsBarrier) || needsProxyFence(state.unfenced, asynchronous))
      meet(roles, fencesTensors, state);
    OpBuilder before(roles);
    awaitAllStores(before, roles.getLoc(), state); // other threads may not wait for them
    State after = state;
    for (RoleOp role : roles.getBody().getOps<RoleOp>()) {
      State own = state;
      if (failed(place(role.getBody().front(), own)))
        return failure();
      auto atEnd = OpBuilder::atBlockEnd(&role.getBody().front());
      awaitAllStores(atEnd, role.getLoc(), own);
      after.merge(own);
    }
    state = std::move(after);
    return success();
  }

  LogicalResult placeAround(Operation *op, State &state) {
    BufferAccesses accesses;
    if (failed(addBufferAccesses(op, places, accesses)))
      return failure();
    SmallVector<TensorAccess, 2> tensors = tensorAccessesOf(op);
    if (accesses.empty() && tensors.empty())
      return accessesNothing(op)
                 ? success()
                 : op->emitError("expected an operation whose accesses are known because barriers "
                                 "are placed by them, but got '")
                       << op->getName() << "'";
    bool isAsynchronous = accessesAsynchronously(op);
    bool fencesTensors = anyOf(state.unfencedTensors, tensors, needsProxyFence);
    bool fences = isAsynchronous && needsProxyFence(state.unfenced, accesses);
    if (awaitStores(op, tensors, state) || fencesTensors || fences ||
        accesses.conflictsWith(state.accessed) || anyOf(state.tensors, tensors, needsBarrier))
      meet(op, fencesTensors, state);
    if (isAsynchronous && needsProxyFence(state.arrived, accesses)) {
      OpBuilder builder(op);
      ProxyFenceOp::create(builder, op->getLoc(), /*tensors=*/false);
      state.arrived = {};
    }
    if (completionOf(op) == Completion::copyGroup) {
      state.started.add(accesses);
    } else {
      state.accessed.add(accesses);
      if (completionOf(op) == Completion::productGroup)
        state.startProduct(op, accesses);
      else if (isAsynchronousProduct(op) && !completionOf(op))
        state.completeProducts(/*inFlight=*/0);
      if (!isAsynchronous)
        state.unfenced.add(accesses);
      if (accessesOtherBlocks(op))
        state.unfencedElsewhere.add(accesses);
    }
    for (const TensorAccess &access : tensors)
      addAccess(access, state);
    return success();
  }

  static void addAccess(const TensorAccess &access, State &state) {
    state.tensors.add(access);
    if (access.kind != AccessKind::read && completionOf(access.op) == Completion::storeGroup)
      state.unawaited.add(access);
    // Where the TMA cannot store a fragment, its threads do.
    if (access.mayBeGeneric || !access.asynchronous)
      state.unfencedTensors.add(access);
  }

  /// Ends stores through the TMA that may meet one of the accesses; whether there are any.
  static bool awaitStores(Operation *before, ArrayRef<TensorAccess> accesses, State &state,
                          Relation meet = mayConflict) {
    if (!anyOf(state.unawaited, accesses, meet))
      return false;
    OpBuilder builder(before);
    awaitAllStores(builder, before->getLoc(), state);
    return true;
  }

  static void awaitAllStores(OpBuilder &builder, Location loc, State &state) {
    if (state.unawaited.all().empty())
      return;
    AwaitStoresOp::create(builder, loc);
    state.unawaited.clear();
  }

  /// Makes all threads see, and be done with, what was accessed so far.
  void meet(Operation *before, bool fencesTensors, State &state) {
    fence(before, fencesTensors, state);
    OpBuilder builder(before);
    SyncOp::create(builder, before->getLoc());
    forget(state);
  }

  /// Before another role may go on: ends stores, and tells the asynchronous proxy of accesses, that it may
  /// meet. Where a role lets other blocks go on, they may meet all that was done to a tensor, wherever its
  /// boxes lie.
  void handOn(Operation *before, State &state) {
    if (blocksGoOn) {
      awaitStores(before, allTensors, state, meetElsewhere);
      bool fencesTensors = anyOf(state.unfencedTensors, allTensors, needsProxyFenceElsewhere) ||
                           llvm::any_of(state.unfencedTensors.all(), [&](const TensorAccess &access) {
                             Value tensor = declarationOf(SliceOp(access.slice).getTensor());
                             return symmetricElsewhere.contains(cast<BlockArgument>(tensor).getArgNumber());
                           });
      return fence(before, fencesTensors, state);
    }
    SmallVector<TensorAccess> others = llvm::filter_to_vector(allTensors, [&](const TensorAccess &access) {
      return access.op->getParentOfType<RoleOp>() != before->getParentOfType<RoleOp>();
    });
    awaitStores(before, others, state);
    fence(before, anyOf(state.unfencedTensors, others, needsProxyFence), state);
  }

  /// Tells the asynchronous proxy of this thread's accesses, if it ever meets them: with tensors of all
  /// memory, that of other blocks included.
  void fence(Operation *before, bool fencesTensors, State &state) {
    fencesTensors |= needsProxyFence(state.unfencedElsewhere, asynchronous);
    if (fencesTensors || needsProxyFence(state.unfenced, asynchronous)) {
      OpBuilder builder(before);
      ProxyFenceOp::create(builder, before->getLoc(), fencesTensors);
      state.arrived = {};
    }
    state.unfenced = state.unfencedElsewhere = {};
    if (fencesTensors)
      state.unfencedTensors.clear();
  }

  static void forget(State &state) {
    state.accessed = {};
    state.tensors.clear();
  }

  /// A ring hands a slot over only when all its former users are done with it; whoever gives it away comes
  /// back to it by way of the ring. The ring does not order the threads of a producer that
  /// accesses a slot after it has published it; the threads of one warpgroup synchronize at the publication.
  void passOn(Operation *op, const Synchronisation &order, State &state) const {
    bool isOwn = llvm::all_of(order.cursor.getUsers(), [&](Operation *user) {
      Value other = synchronisationOf(user).ring;
      return !other || other == order.ring;
    });
    bool isOrdered = !keptByProducer.contains(order.cursor) ||
                     (order.event == SlotEvent::published && !order.afterCopies && !order.afterProducts &&
                      executingWarps(op) <= warpsPerWarpgroup);
    if (isOwn && isOrdered) // else the slot may be another ring's
      state.accessed.removeAt(order.cursor);
  }

  const BufferPlaces places;
  BufferAccesses asynchronous;                  ///< what its proxy does anywhere in the kernel
  BufferAccesses copied;                        ///< what cp.async does
  llvm::SmallDenseSet<Value, 4> filledByCopies; ///< rings that threads publish after such copies
  llvm::SmallDenseSet<Value, 4>
      keptByProducer; ///< cursors of slots that a role has published, and accesses without a wait
  SmallVector<TensorAccess> allTensors;
  llvm::SmallDenseSet<unsigned, 4> symmetricElsewhere; ///< numbers of arguments
  bool blocksGoOn = false;                             ///< some role lets other blocks go on
  int64_t mostInFlight = 0;                            ///< products after a wait
};

struct PlaceFences : impl::PlaceFencesBase<PlaceFences> {
  void runOnOperation() override {
    if (failed(FencePlacer(getOperation()).place(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace tlc::tile
