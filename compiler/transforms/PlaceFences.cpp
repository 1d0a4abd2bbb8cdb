// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards conflicting accesses of a shared buffer, or of a tensor, by the threads of one role have a
/// `tile.sync` between them, and ordinary writes a `tile.proxy_fence` before the
/// asynchronous unit uses the buffer. One walk in program order with the accesses since
/// the last sync; loops are walked twice, so that the back edge is seen.

#include "compiler/analysis/Meetings.h"
#include "compiler/transforms/Passes.h"
#include "dialects/layout/StockLayouts.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tlc::tile {
#define GEN_PASS_DEF_PLACEFENCES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Which threads access which part: each warpgroup its own consecutive rows, so many, or one of these.
constexpr int64_t anyThreads = 0, oneThread = -1;

/// A tensor, a buffer, or one slot of it: what a cursor stands at.
struct Place {
  Value memory;
  Value cursor;
  int64_t owner = anyThreads;
};

/// Where a tile lies; nothing if it does not come from a buffer in sight.
std::optional<Place> placeOf(Value memory) {
  Value cursor;
  while (Operation *op = memory.getDefiningOp()) {
    if (isa<AllocSharedOp>(op))
      return Place{memory, cursor};
    if (auto slice = dyn_cast<SliceOp>(op))
      return Place{slice.getTensor(), cursor};
    if (auto slot = dyn_cast<SlotOp>(op))
      cursor = slot.getCursor();
    else if (!viewedTile(op))
      break;
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
  Places ofBuffers() const {
    Places result = *this;
    result.buffers.remove_if([](auto &entry) { return isa<GlobalType>(entry.first.getType()); });
    return result;
  }
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
  /// Whether two writes may meet. Those to a tensor are the program's business: its tiles do not overlap.
  bool overwrites(const Places &other) const {
    return llvm::any_of(buffers, [&](auto &entry) {
      auto found = other.buffers.find(entry.first);
      return found != other.buffers.end() && !isa<GlobalType>(entry.first.getType()) &&
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
  auto role = op->getParentOfType<RoleOp>();
  int64_t warps = role ? int64_t(role.getWarps()) : int64_t(op->getParentOfType<KernelOp>().getWarps());
  int64_t warpgroups = warps / warpsPerWarpgroup;
  if (!layout || type.getRank() != 2 || warpgroups == 0 || type.getDimSize(0) % (64 * warpgroups) != 0 ||
      type.getDimSize(1) % 8 != 0 ||
      layout.getLayout() != wgmmaAccumulator(type.getDimSize(0), type.getDimSize(1), {warpgroups, 1}))
    return 0;
  return type.getDimSize(0) / warpgroups;
}

/// A shared tile or a slice that an operation accesses.
struct Access {
  Value tile;
  int64_t owner = anyThreads;
};

/// The shared tiles and slices that an operation reads, writes and adds to atomically.
struct Accesses {
  SmallVector<Access> reads, writes, additions;
  bool asynchronous = false; ///< by the asynchronous proxy

  bool empty() const { return reads.empty() && writes.empty() && additions.empty(); }
};

/// Scratch memory is not among them: it is one operation's own.
Accesses accessesOf(Operation *op) {
  Accesses accesses;
  auto add = [](SmallVector<Access> &tiles, Value memory, int64_t owner = anyThreads) {
    if (auto type = dyn_cast<SharedType>(memory.getType()))
      tiles.push_back({memory, type.getTransposed() ? anyThreads : owner});
    else if (isa<SliceType>(memory.getType()))
      tiles.push_back({memory, anyThreads});
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<CopyOp>([&](CopyOp copy) {
        add(accesses.reads, copy.getSource());
        add(accesses.writes, copy.getDestination());
        accesses.asynchronous = copy.getAtom() == CopyAtom::tma;
      })
      .Case<LoadOp, LoadIndexOp>([&](auto load) { add(accesses.reads, load.getSource()); })
      .Case<StoreIndexOp>(
          [&](StoreIndexOp store) { add(accesses.writes, store.getDestination(), oneThread); })
      .Case<StoreOp>([&](StoreOp store) {
        add(accesses.writes, store.getDestination(), rowsOfWarpgroup(store, store.getValue()));
      })
      .Case<AtomicAddOp>([&](AtomicAddOp atomic) { add(accesses.additions, atomic.getDestination()); })
      .Case<GemmOp, GemmAsyncOp>([&](auto gemm) {
        accesses.asynchronous = gemm.getAtom() == MatrixAtom::wgmma;
        add(accesses.reads, gemm.getA(), accesses.asynchronous ? rowsOfWarpgroup(gemm, gemm.getAcc()) : 0);
        add(accesses.reads, gemm.getB());
      });
  return accesses;
}

/// Whether the operation accesses none, though it has effects: it makes memory or waits, or rings order what
/// it does.
bool accessesNothing(Operation *op) {
  return isMemoryEffectFree(op) ||
         isa<AllocBarrierOp, AllocRingOp, AllocSharedOp, CopyAsyncOp, GemmWaitOp, GridOp, RequireOp, WaitOp>(
             op);
}

/// Places by what is done there.
struct PlacesByAccess {
  Places reads, writes, additions;

  void add(const PlacesByAccess &other) {
    reads.add(other.reads);
    writes.add(other.writes);
    additions.add(other.additions);
  }
  /// Additions are ordered among themselves. A product's end is its whole warpgroup's, so nobody else reads
  /// rows that are its own.
  bool conflictsWith(const PlacesByAccess &earlier) const {
    return reads.overlaps(earlier.writes) || reads.overlaps(earlier.additions) ||
           writes.overlapsOtherOwners(earlier.reads) || writes.overwrites(earlier.writes) ||
           writes.overlaps(earlier.additions) || additions.overlaps(earlier.reads) ||
           additions.overlaps(earlier.writes);
  }
};

/// What happened since the last sync, and which ordinary writes the asynchronous proxy has not been told of.
struct State {
  PlacesByAccess accessed;
  Places unfenced;

  void merge(const State &other) {
    accessed.add(other.accessed);
    unfenced.add(other.unfenced);
  }
};

class FencePlacer {
public:
  explicit FencePlacer(KernelOp kernel) {
    kernel.walk([&](Operation *op) {
      if (auto copy = dyn_cast<CopyAsyncOp>(op)) {
        if (std::optional<Place> place = placeOf(copy.getDestination()))
          usedAsynchronously.add(*place);
        return;
      }
      Accesses accesses = accessesOf(op);
      if (accesses.asynchronous)
        for (const Access &access : llvm::concat<Access>(accesses.reads, accesses.writes))
          if (std::optional<Place> place = placeOf(access.tile);
              place && isa<SharedType>(place->memory.getType()))
            usedAsynchronously.add(*place);
    });
  }

  LogicalResult place(Block &block, State &state) {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(place(&op, state)))
        return failure();
    return success();
  }

private:
  LogicalResult place(Operation *op, State &state) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return placeInLoop(loop, state);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return placeInBranch(branch, state);
    if (auto roles = dyn_cast<RolesOp>(op))
      return placeInRoles(roles, state);
    if (meetsFirst(op)) {
      fence(op, state);
      forget(state);
    } else if (isa<PublishOp, ReleaseOp, ExpectOp, ArriveOp, NamedBarrierOp>(op)) {
      fence(op, state); // who goes on from here may use the buffers asynchronously
      if (isa<PublishOp, ReleaseOp, ExpectOp>(op))
        passOn(op->getOperand(0), op->getOperand(1), state);
    } else if (isa<AcquireOp, AwaitOp>(op)) {
      passOn(op->getOperand(0), op->getOperand(1), state);
    } else if (isa<TakeTurnOp, PassTurnOp>(op)) {
      // They order when products are issued, and nothing else.
    } else if (isa<ProxyFenceOp>(op)) {
      state.unfenced.clear();
    } else {
      return placeAround(op, state);
    }
    return success();
  }

  LogicalResult placeInLoop(scf::ForOp loop, State &state) {
    State inside = state;
    if (failed(place(*loop.getBody(), inside)))
      return failure();
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
    if (inside.conflictsWith(state.accessed) || state.unfenced.overlaps(usedAsynchronously))
      meet(roles, state);
    State after = state;
    for (RoleOp role : roles.getBody().getOps<RoleOp>()) {
      State own = state;
      if (failed(place(role.getBody().front(), own)))
        return failure();
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
                   failed(addPlaces(op, accesses.writes, places.writes)) ||
                   failed(addPlaces(op, accesses.additions, places.additions)));
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
    bool needsFence = accesses.asynchronous &&
                      (places.reads.overlaps(state.unfenced) || places.writes.overlaps(state.unfenced));
    if (needsFence || places.conflictsWith(state.accessed))
      meet(op, state);
    state.accessed.add(places);
    if (!accesses.asynchronous)
      state.unfenced.add(places.writes.ofBuffers()); // of tensors that are copied too, the author sees to it
    return success();
  }

  /// Makes all threads see, and be done with, what was accessed so far.
  void meet(Operation *before, State &state) {
    fence(before, state);
    OpBuilder builder(before);
    SyncOp::create(builder, before->getLoc());
    forget(state);
  }

  /// Tells the asynchronous proxy of this thread's writes, if it ever uses the buffers.
  void fence(Operation *before, State &state) {
    if (state.unfenced.overlaps(usedAsynchronously)) {
      OpBuilder builder(before);
      ProxyFenceOp::create(builder, before->getLoc());
    }
    state.unfenced.clear();
  }

  static void forget(State &state) { state.accessed = {}; }

  /// A ring hands a slot over only when all its former users are done with it; whoever gives it away comes
  /// back to it by way of the ring.
  static void passOn(Value ring, Value cursor, State &state) {
    bool isOwn = llvm::all_of(cursor.getUsers(), [&](Operation *user) {
      return !isa<AcquireOp, AwaitOp, PublishOp, ReleaseOp>(user) || user->getOperand(0) == ring;
    });
    if (!isOwn)
      return; // the slot may be another ring's
    state.accessed.reads.removeAt(cursor);
    state.accessed.writes.removeAt(cursor);
  }

  Places usedAsynchronously;
};

struct PlaceFences : impl::PlaceFencesBase<PlaceFences> {
  void runOnOperation() override {
    State state;
    if (failed(FencePlacer(getOperation()).place(getOperation().getBody().front(), state)))
      signalPassFailure();
  }
};

} // namespace
} // namespace tlc::tile
