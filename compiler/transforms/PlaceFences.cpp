// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards conflicting accesses of a shared buffer by the threads of one role have a
/// `tile.sync` between them, and ordinary writes a `tile.proxy_fence` before the
/// asynchronous unit uses the buffer. One walk in program order with the accesses since
/// the last sync; loops are walked twice, so that the back edge is seen.

#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tlc::tile {
#define GEN_PASS_DEF_PLACEFENCES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// A buffer, or one slot of it: what a cursor stands at.
struct Place {
  AllocSharedOp buffer;
  Value cursor;
};

/// Where a tile lies; nothing if it does not come from a buffer in sight.
std::optional<Place> placeOf(Value memory) {
  Value cursor;
  while (Operation *op = memory.getDefiningOp()) {
    if (auto buffer = dyn_cast<AllocSharedOp>(op))
      return Place{buffer, cursor};
    if (auto slot = dyn_cast<SlotOp>(op))
      cursor = slot.getCursor();
    else if (!isa<TransposeOp>(op))
      break;
    memory = op->getOperand(0);
  }
  return std::nullopt;
}

/// Buffers with the cursors of the slots that are meant (null for a whole buffer).
class Places {
public:
  bool empty() const { return cursors.empty(); }
  bool contains(Operation *buffer) const { return cursors.contains(buffer); }
  void add(const Place &place) { cursors[place.buffer].insert(place.cursor); }
  void add(const Places &other) {
    for (const auto &[buffer, of] : other.cursors)
      cursors[buffer].insert_range(of);
  }
  void clear() { cursors.clear(); }
  void removeAt(Value cursor) {
    for (auto &[buffer, of] : cursors)
      of.remove(cursor);
    cursors.remove_if([](auto &entry) { return entry.second.empty(); });
  }
  /// Different cursors may stand at one slot, so buffers decide.
  bool overlaps(const Places &other) const {
    return llvm::any_of(cursors, [&](auto &entry) { return other.contains(entry.first); });
  }

private:
  llvm::MapVector<Operation *, llvm::SetVector<Value>> cursors;
};

/// The shared tiles that an operation reads and writes.
struct Accesses {
  SmallVector<Value> reads, writes;
  bool asynchronous = false; ///< by the asynchronous proxy
};

/// Scratch memory is not among them: it is one operation's own.
Accesses accessesOf(Operation *op) {
  Accesses accesses;
  auto add = [](SmallVector<Value> &tiles, Value memory) {
    if (memory && isa<SharedType>(memory.getType()))
      tiles.push_back(memory);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<CopyOp>([&](CopyOp copy) {
        add(accesses.reads, copy.getSource());
        add(accesses.writes, copy.getDestination());
        accesses.asynchronous = copy.getAtom() == CopyAtom::tma;
      })
      .Case<LoadOp>([&](LoadOp load) { add(accesses.reads, load.getSource()); })
      .Case<StoreOp>([&](StoreOp store) { add(accesses.writes, store.getDestination()); })
      .Case<GemmOp, GemmAsyncOp>([&](auto gemm) {
        add(accesses.reads, gemm.getA());
        add(accesses.reads, gemm.getB());
        accesses.asynchronous = gemm.getAtom() == MatrixAtom::wgmma;
      });
  return accesses;
}

/// What happened since the last sync, and which ordinary writes the asynchronous proxy has not been told of.
struct State {
  Places reads, writes, unfenced;

  void merge(const State &other) {
    reads.add(other.reads);
    writes.add(other.writes);
    unfenced.add(other.unfenced);
  }
};

/// Whether all threads of the role meet in the operation: data goes through scratch memory between two syncs.
bool meets(Operation *op) {
  if (auto convert = dyn_cast<ConvertLayoutOp>(op))
    return bool(convert.getScratch());
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return bool(reduce.getScratch());
  return isa<SyncOp>(op);
}

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
        for (Value memory : llvm::concat<Value>(accesses.reads, accesses.writes))
          if (std::optional<Place> place = placeOf(memory))
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
    if (meets(op)) {
      fence(op, state);
      forget(state);
    } else if (isa<PublishOp, ReleaseOp, ArriveOp, NamedBarrierOp>(op)) {
      fence(op, state); // who goes on from here may use the buffers asynchronously
    } else if (isa<AcquireOp, AwaitOp>(op)) {
      takeOver(op->getOperand(0), op->getOperand(1), state);
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
    Places reads, writes;
    auto collected = roles.walk([&](Operation *op) {
      Accesses accesses = accessesOf(op);
      return WalkResult(failure(failed(addPlaces(op, accesses.reads, reads)) ||
                                failed(addPlaces(op, accesses.writes, writes))));
    });
    if (collected.wasInterrupted())
      return failure();
    if (conflicts(reads, writes, state) || state.unfenced.overlaps(usedAsynchronously))
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
  static LogicalResult addPlaces(Operation *op, ArrayRef<Value> tiles, Places &places) {
    for (Value tile : tiles) {
      std::optional<Place> place = placeOf(tile);
      if (!place)
        return op->emitError(
            "expected shared memory that is a buffer, a slot or a view of one because accesses "
            "are ordered by buffer, but got another");
      places.add(*place);
    }
    return success();
  }

  LogicalResult placeAround(Operation *op, State &state) {
    Accesses accesses = accessesOf(op);
    Places reads, writes;
    if (failed(addPlaces(op, accesses.reads, reads)) || failed(addPlaces(op, accesses.writes, writes)))
      return failure();
    bool needsFence =
        accesses.asynchronous && (reads.overlaps(state.unfenced) || writes.overlaps(state.unfenced));
    if (needsFence || conflicts(reads, writes, state))
      meet(op, state);
    state.reads.add(reads);
    state.writes.add(writes);
    if (!accesses.asynchronous)
      state.unfenced.add(writes);
    return success();
  }

  static bool conflicts(const Places &reads, const Places &writes, const State &state) {
    return reads.overlaps(state.writes) || writes.overlaps(state.reads) || writes.overlaps(state.writes);
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

  static void forget(State &state) {
    state.reads.clear();
    state.writes.clear();
  }

  /// A ring hands the slot over only when all its former users are done with it.
  static void takeOver(Value ring, Value cursor, State &state) {
    bool isOwn = llvm::all_of(cursor.getUsers(), [&](Operation *user) {
      return !isa<AcquireOp, AwaitOp, PublishOp, ReleaseOp>(user) || user->getOperand(0) == ring;
    });
    if (!isOwn)
      return; // the slot may be another ring's
    state.reads.removeAt(cursor);
    state.writes.removeAt(cursor);
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
