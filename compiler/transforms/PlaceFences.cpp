// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards conflicting accesses of a shared buffer, or of a tensor, by the threads of one role have a
/// `tile.sync` between them, and a `tile.proxy_fence` stands between ordinary accesses and those of the
/// asynchronous proxy that conflict with them; whoever stores fragments through the TMA waits for it. One
/// walk in program order with the accesses since the last sync; loops are walked twice, so that the back edge
/// is seen.

#include "compiler/analysis/TensorAccesses.h"
#include "compiler/transforms/Passes.h"
#include "dialects/layout/StockLayouts.h"
#include "dialects/tile/Counts.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tlc::tile {
#define GEN_PASS_DEF_PLACEFENCES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Which threads access which part: each warpgroup its own consecutive rows, so many, or one of these.
constexpr int64_t anyThreads = 0, oneThread = -1;

/// A buffer, or one slot of it: what a cursor stands at.
struct Place {
  Value memory;
  Value cursor;
  int64_t owner = anyThreads;
};

/// Where a tile lies; nothing if it does not come from a buffer in sight.
std::optional<Place> placeOf(Value memory) {
  Value cursor;
  while (Operation *op = memory.getDefiningOp()) {
    if (isa<AllocationOpInterface>(op))
      return Place{memory, cursor};
    auto view = dyn_cast<ViewOpInterface>(op);
    if (!view)
      break;
    if (Value at = view.getSlotCursor())
      cursor = at;
    memory = op->getOperand(0);
  }
  return std::nullopt;
}

/// Buffers with the cursors of the slots that are meant (null for a whole buffer).
class Places {
public:
  void add(const Place &place) {
    auto [entry, isNew] = buffers.try_emplace(place.memory);
    entry->second.cursors.insert(place.cursor);
    entry->second.owner = isNew || entry->second.owner == place.owner ? place.owner : 0;
  }
  void add(const Places &other) {
    for (const auto &[buffer, parts] : other.buffers) {
      auto [entry, isNew] = buffers.try_emplace(buffer, parts);
      entry->second.cursors.insert_range(parts.cursors);
      entry->second.owner = isNew || entry->second.owner == parts.owner ? parts.owner : 0;
    }
  }
  void clear() { buffers.clear(); }
  void removeAt(Value cursor) {
    for (auto &[buffer, parts] : buffers)
      parts.cursors.remove(cursor);
    buffers.remove_if([](auto &entry) { return entry.second.cursors.empty(); });
  }
  /// Different cursors may stand at one slot, so buffers decide.
  bool overlaps(const Places &other) const {
    return llvm::any_of(buffers, [&](auto &entry) { return other.buffers.contains(entry.first); });
  }
  /// Whether a thread may meet what another one, of another warpgroup if they have rows of their own, does
  /// there.
  bool overlapsOtherOwners(const Places &other) const {
    return llvm::any_of(buffers, [&](auto &entry) {
      auto found = other.buffers.find(entry.first);
      return found != other.buffers.end() &&
             (entry.second.owner == anyThreads || entry.second.owner != found->second.owner);
    });
  }
  /// Whether two writes may meet.
  bool overwrites(const Places &other) const {
    return llvm::any_of(buffers, [&](auto &entry) {
      auto found = other.buffers.find(entry.first);
      return found != other.buffers.end() &&
             !(entry.second.owner == oneThread && found->second.owner == oneThread);
    });
  }

private:
  struct Parts {
    llvm::SetVector<Value> cursors;
    int64_t owner = anyThreads;
  };
  llvm::MapVector<Value, Parts> buffers;
};

/// Rows of a warpgroup if a fragment lies in registers as wgmma's accumulators do, with each warpgroup's
/// rows its own; else 0.
int64_t rowsOfWarpgroup(Operation *op, Value fragment) {
  auto type = cast<RankedTensorType>(fragment.getType());
  auto layout = dyn_cast_if_present<LayoutAttr>(type.getEncoding());
  int64_t warpgroups = executingWarps(op) / warpsPerWarpgroup;
  if (!layout || type.getRank() != 2 || warpgroups == 0 ||
      type.getDimSize(0) % (wgmmaRows * warpgroups) != 0 || type.getDimSize(1) % wgmmaColumnStep != 0 ||
      layout.getLayout() != wgmmaAccumulator(type.getDimSize(0), type.getDimSize(1), {warpgroups, 1}))
    return 0;
  return type.getDimSize(0) / warpgroups;
}

/// A tile in shared or tensor memory that an operation accesses.
struct Access {
  Value tile;
  int64_t owner = anyThreads;
};

/// What an operation accesses: the tiles that it reads and writes, and tensors.
struct Accesses {
  SmallVector<Access> reads, writes;
  SmallVector<TensorAccess, 2> tensors;
  bool asynchronous = false; ///< of shared tiles, by the asynchronous proxy

  bool empty() const { return reads.empty() && writes.empty() && tensors.empty(); }
};

int64_t ownerOf(Operation *op, const MemoryAccess &access) {
  auto shared = dyn_cast<SharedType>(access.memory.getType());
  if (shared && shared.getTransposed())
    return anyThreads;
  if (access.agent == Agent::oneThread)
    return oneThread;
  return access.fragment ? rowsOfWarpgroup(op, access.fragment) : anyThreads;
}

/// Not among them are memory that is one operation's own, and what a ring orders.
Accesses accessesOf(Operation *op) {
  Accesses accesses;
  accesses.tensors = tensorAccessesOf(op);
  if (completionOf(op) == Completion::ring)
    return accesses;
  for (const MemoryAccess &access : memoryAccessesOf(op)) {
    if (!access.isShared() && !access.isTensorMemory())
      continue;
    accesses.asynchronous |= access.isShared() && access.isAsynchronous();
    (access.kind == AccessKind::read ? accesses.reads : accesses.writes)
        .push_back({access.memory, ownerOf(op, access)});
  }
  return accesses;
}

/// Whether it is known that the operation accesses none: it has no effects, or says so. Of variables nothing
/// is known: they are to be values.
bool accessesNothing(Operation *op) {
  return isMemoryEffectFree(op) || (isa<AccessOpInterface>(op) && !isa<TracedOpInterface>(op));
}

/// Places by what is done there.
struct PlacesByAccess {
  Places reads, writes;

  void add(const PlacesByAccess &other) {
    reads.add(other.reads);
    writes.add(other.writes);
  }
  /// A product's end is its whole warpgroup's, so nobody else reads rows that are its own.
  bool conflictsWith(const PlacesByAccess &earlier) const {
    return reads.overlaps(earlier.writes) || writes.overlapsOtherOwners(earlier.reads) ||
           writes.overwrites(earlier.writes);
  }
};

/// Whether the asynchronous proxy must be told of ordinary accesses before it does what comes later: of
/// writes before it reads or writes there, and of reads before it writes, because a thread's loads may still
/// be under way when a barrier lets a copy begin.
bool needsProxyFence(const PlacesByAccess &ordinary, const PlacesByAccess &asynchronous) {
  return asynchronous.reads.overlaps(ordinary.writes) || asynchronous.writes.overlaps(ordinary.writes) ||
         asynchronous.writes.overlaps(ordinary.reads);
}

using Relation = bool (*)(const TensorAccess &earlier, const TensorAccess &later);

/// Whether any pair of the accesses is so related.
bool anyOf(const TensorAccesses &earlier, ArrayRef<TensorAccess> later, Relation related) {
  return llvm::any_of(earlier.all(), [&](const TensorAccess &from) {
    return llvm::any_of(later, [&](const TensorAccess &to) { return related(from, to); });
  });
}

/// The same of tensors.
bool needsProxyFence(const TensorAccess &earlier, const TensorAccess &later) {
  return later.asynchronous && mayConflict(earlier, later);
}

/// The same where the later access is another block's, whose boxes are not compared.
bool meetElsewhere(const TensorAccess &earlier, const TensorAccess &later) {
  SliceOp from = earlier.slice, to = later.slice;
  return from.getTensor() == to.getTensor() &&
         (earlier.kind != later.kind || earlier.kind == AccessKind::write);
}
bool needsProxyFenceElsewhere(const TensorAccess &earlier, const TensorAccess &later) {
  return later.asynchronous && meetElsewhere(earlier, later);
}

/// What happened since the last sync, and what a sync does not end.
struct State {
  PlacesByAccess accessed;
  PlacesByAccess unfenced; ///< ordinary accesses that the asynchronous proxy has not been told of
  PlacesByAccess started;  ///< by copies that these threads have yet to await
  PlacesByAccess arrived;  ///< by copies of other threads: they have arrived, but the proxy has not been told
  TensorAccesses tensors, unfencedTensors;
  TensorAccesses unawaited; ///< stores through the TMA that may be on their way

  void merge(const State &other) {
    accessed.add(other.accessed);
    unfenced.add(other.unfenced);
    started.add(other.started);
    arrived.add(other.arrived);
    tensors.add(other.tensors);
    unfencedTensors.add(other.unfencedTensors);
    unawaited.add(other.unawaited);
  }
  void nextRound(scf::ForOp loop) {
    for (TensorAccesses *accesses : {&tensors, &unfencedTensors, &unawaited})
      accesses->nextRound(loop);
  }
};

class FencePlacer {
public:
  explicit FencePlacer(KernelOp kernel) : allTensors(tensorAccessesIn(kernel)) {
    kernel.walk([&](Operation *op) {
      for (const MemoryAccess &access : memoryAccessesOf(op))
        if (std::optional<Place> place = access.isShared() ? placeOf(access.memory) : std::nullopt) {
          if (access.isAsynchronous())
            (access.kind == AccessKind::read ? asynchronous.reads : asynchronous.writes).add(*place);
          else if (completionOf(op) == Completion::copyGroup)
            copied.writes.add(*place);
        }
      if (Synchronisation order = synchronisationOf(op); order.afterCopies)
        filledByCopies.insert(order.ring);
      blocksGoOn |= letsBlocksGoOn(op);
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
      passOn(order.ring, order.cursor, state);
    if (completedBy(op) == Completion::storeGroup)
      state.unawaited.clear();
    if (completedBy(op) == Completion::copyGroup) { // though later ones may go on
      state.accessed.add(state.started);
      state.unfenced.add(state.started);
    }
    // Threads that copy do not wait for it, and so cannot tell the asynchronous proxy themselves.
    if (order.event == SlotEvent::awaited && filledByCopies.contains(order.ring))
      state.arrived.add(copied);
    if (order.fencesShared)
      state.unfenced = state.arrived = {};
    if (order.fencesTensors)
      state.unfencedTensors.clear();
    return placeAround(op, state);
  }

  LogicalResult placeInLoop(scf::ForOp loop, State &state) {
    State inside = state;
    if (failed(place(*loop.getBody(), inside)))
      return failure();
    inside.nextRound(loop);
    inside.merge(state); // the back edge, and the way past a loop that does not run
    if (failed(place(*loop.getBody(), inside)))
      return failure();
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
    PlacesByAccess inside;
    auto collected =
        roles.walk([&](Operation *op) { return WalkResult(addPlaces(op, accessesOf(op), inside)); });
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

  /// Adds the places of the tiles; fails with a diagnostic of `op` where one is not in sight.
  static LogicalResult addPlaces(Operation *op, ArrayRef<Access> accesses, Places &places) {
    for (const Access &access : accesses) {
      std::optional<Place> place = placeOf(access.tile);
      if (!place)
        return op->emitError(
            "expected shared memory that is a buffer, a slot or a view of one because accesses "
            "are ordered by buffer, but got another");
      place->owner = access.owner;
      places.add(*place);
    }
    return success();
  }

  static LogicalResult addPlaces(Operation *op, const Accesses &accesses, PlacesByAccess &places) {
    return failure(failed(addPlaces(op, accesses.reads, places.reads)) ||
                   failed(addPlaces(op, accesses.writes, places.writes)));
  }

  LogicalResult placeAround(Operation *op, State &state) {
    Accesses accesses = accessesOf(op);
    if (accesses.empty())
      return accessesNothing(op)
                 ? success()
                 : op->emitError("expected an operation whose accesses are known because barriers "
                                 "are placed by them, but got '")
                       << op->getName() << "'";
    PlacesByAccess places;
    if (failed(addPlaces(op, accesses, places)))
      return failure();
    bool fencesTensors = anyOf(state.unfencedTensors, accesses.tensors, needsProxyFence);
    bool fences = accesses.asynchronous && needsProxyFence(state.unfenced, places);
    if (awaitStores(op, accesses.tensors, state) || fencesTensors || fences ||
        places.conflictsWith(state.accessed) || anyOf(state.tensors, accesses.tensors, needsBarrier))
      meet(op, fencesTensors, state);
    if (accesses.asynchronous && needsProxyFence(state.arrived, places)) {
      OpBuilder builder(op);
      ProxyFenceOp::create(builder, op->getLoc(), /*tensors=*/false);
      state.arrived = {};
    }
    if (completionOf(op) == Completion::copyGroup) {
      state.started.add(places);
    } else {
      state.accessed.add(places);
      if (!accesses.asynchronous)
        state.unfenced.add(places);
    }
    for (const TensorAccess &access : accesses.tensors)
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
      return fence(before, anyOf(state.unfencedTensors, allTensors, needsProxyFenceElsewhere), state);
    }
    SmallVector<TensorAccess> others = llvm::filter_to_vector(allTensors, [&](const TensorAccess &access) {
      return access.op->getParentOfType<RoleOp>() != before->getParentOfType<RoleOp>();
    });
    awaitStores(before, others, state);
    fence(before, anyOf(state.unfencedTensors, others, needsProxyFence), state);
  }

  /// Tells the asynchronous proxy of this thread's accesses, if it ever meets them.
  void fence(Operation *before, bool fencesTensors, State &state) {
    if (fencesTensors || needsProxyFence(state.unfenced, asynchronous)) {
      OpBuilder builder(before);
      ProxyFenceOp::create(builder, before->getLoc(), fencesTensors);
      state.arrived = {};
    }
    state.unfenced = {};
    if (fencesTensors)
      state.unfencedTensors.clear();
  }

  static void forget(State &state) {
    state.accessed = {};
    state.tensors.clear();
  }

  /// A ring hands a slot over only when all its former users are done with it; whoever gives it away comes
  /// back to it by way of the ring.
  static void passOn(Value ring, Value cursor, State &state) {
    bool isOwn = llvm::all_of(cursor.getUsers(), [&](Operation *user) {
      Value other = synchronisationOf(user).ring;
      return !other || other == ring;
    });
    if (!isOwn)
      return; // the slot may be another ring's
    state.accessed.reads.removeAt(cursor);
    state.accessed.writes.removeAt(cursor);
  }

  PlacesByAccess asynchronous;                  ///< what its proxy does anywhere in the kernel
  PlacesByAccess copied;                        ///< what cp.async does
  llvm::SmallDenseSet<Value, 4> filledByCopies; ///< rings that threads publish after such copies
  SmallVector<TensorAccess> allTensors;
  bool blocksGoOn = false; ///< some role lets other blocks go on
};

struct PlaceFences : impl::PlaceFencesBase<PlaceFences> {
  void runOnOperation() override {
    if (failed(FencePlacer(getOperation()).place(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace tlc::tile
