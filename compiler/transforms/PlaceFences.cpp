// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards conflicting accesses of a shared buffer by the threads of one role have a
/// `tile.sync` between them, and ordinary writes a `tile.proxy_fence` before the
/// asynchronous unit reads. One walk in program order with the accesses since the last
/// sync; loops are walked twice, so that the back edge is seen.

#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/SetVector.h"

namespace tlc::tile {
#define GEN_PASS_DEF_PLACEFENCES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

using Buffers = llvm::SetVector<Operation *>;

/// The buffer that the role's own threads share without a ring, or null: a ring's slots are ordered by the
/// ring.
Operation *unorderedBuffer(Value memory) {
  while (memory && isa<SharedType>(memory.getType())) {
    Operation *op = memory.getDefiningOp();
    if (isa<AllocSharedOp>(op))
      return op;
    if (isa<SlotOp>(op))
      return nullptr;
    memory = op->getOperand(0); // a view
  }
  return nullptr;
}

struct Accesses {
  Buffers reads, writes;
  bool asynchronous = false; ///< by the asynchronous proxy
};

Accesses accessesOf(Operation *op) {
  Accesses accesses;
  auto add = [](Buffers &buffers, Value memory) {
    if (Operation *buffer = unorderedBuffer(memory))
      buffers.insert(buffer);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<CopyOp>([&](CopyOp copy) {
        add(accesses.reads, copy.getSource());
        add(accesses.writes, copy.getDestination());
      })
      .Case<LoadOp>([&](LoadOp load) { add(accesses.reads, load.getSource()); })
      .Case<StoreOp>([&](StoreOp store) { add(accesses.writes, store.getDestination()); })
      .Case<GemmOp, GemmAsyncOp>([&](auto gemm) {
        add(accesses.reads, gemm.getA());
        add(accesses.reads, gemm.getB());
        accesses.asynchronous = gemm.getAtom() == MatrixAtom::wgmma;
      })
      .Case<ConvertLayoutOp, ReduceOp>([&](auto through) {
        // Written, then read after a sync of its own.
        add(accesses.reads, through.getScratch());
        add(accesses.writes, through.getScratch());
      });
  return accesses;
}

/// What happened since the last sync, and which ordinary writes the asynchronous proxy has not been told of.
struct State {
  Buffers reads, writes, unfenced;

  void merge(const State &other) {
    reads.insert_range(other.reads);
    writes.insert_range(other.writes);
    unfenced.insert_range(other.unfenced);
  }
};

bool overlap(const Buffers &a, const Buffers &b) {
  return llvm::any_of(a, [&](Operation *op) { return b.contains(op); });
}

class FencePlacer {
public:
  void place(Block &block, State &state) {
    for (Operation &op : llvm::make_early_inc_range(block))
      place(&op, state);
  }

private:
  void place(Operation *op, State &state) {
    if (isa<SyncOp>(op)) {
      state.reads.clear();
      state.writes.clear();
      return;
    }
    if (isa<ProxyFenceOp>(op)) {
      state.unfenced.clear();
      return;
    }
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      State inside = state;
      place(*loop.getBody(), inside);
      inside.merge(state); // the back edge, and the way past a loop that does not run
      place(*loop.getBody(), inside);
      state.merge(inside);
      return;
    }
    if (op->getNumRegions()) {
      State before = state;
      for (Region &region : op->getRegions())
        for (Block &block : region) {
          State inside = before;
          place(block, inside);
          state.merge(inside);
        }
      return;
    }
    placeAround(op, accessesOf(op), state);
  }

  void placeAround(Operation *op, const Accesses &accesses, State &state) {
    if (accesses.reads.empty() && accesses.writes.empty())
      return;
    OpBuilder builder(op);
    bool needsFence = accesses.asynchronous && overlap(accesses.reads, state.unfenced);
    if (needsFence) {
      ProxyFenceOp::create(builder, op->getLoc());
      state.unfenced.clear();
    }
    if (needsFence || overlap(accesses.reads, state.writes) || overlap(accesses.writes, state.reads) ||
        overlap(accesses.writes, state.writes)) {
      SyncOp::create(builder, op->getLoc());
      state.reads.clear();
      state.writes.clear();
    }
    state.reads.insert_range(accesses.reads);
    state.writes.insert_range(accesses.writes);
    state.unfenced.insert_range(accesses.writes);
  }
};

struct PlaceFences : impl::PlaceFencesBase<PlaceFences> {
  void runOnOperation() override {
    State state;
    FencePlacer().place(getOperation().getBody().front(), state);
  }
};

} // namespace
} // namespace tlc::tile
