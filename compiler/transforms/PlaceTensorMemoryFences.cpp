// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards a `tile.tensor_memory_fence` stands between accesses to tensor memory and what then hands on to
/// other threads, and one with `after` between what a thread has waited for and its next access. One walk in
/// program order; loops are walked twice, so that the back edge is seen.

#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tlc::tile {
#define GEN_PASS_DEF_PLACETENSORMEMORYFENCES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// What may be the case on some way to an operation.
struct State {
  bool hasAccessed = false; ///< since the last fence, so that others must be told
  bool hasWaited = false;   ///< since the last fence, so that accesses must be told

  void merge(State other) {
    hasAccessed |= other.hasAccessed;
    hasWaited |= other.hasWaited;
  }
};

void createFence(Operation *before, bool after) {
  OpBuilder builder(before);
  TensorMemoryFenceOp::create(builder, before->getLoc(), after);
}

class FencePlacer {
public:
  void place(Block &block, State &state) {
    for (Operation &op : llvm::make_early_inc_range(block))
      place(&op, state);
  }

private:
  void place(Operation *op, State &state) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      State inside = state;
      for (int round = 0; round < 2; ++round) {
        place(*loop.getBody(), inside);
        inside.merge(state); // the back edge, and the way past a loop that does not run
      }
      state = inside;
      return;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      State after = branch.getElseRegion().empty() ? state : State();
      for (Region &region : branch->getRegions())
        for (Block &block : region) {
          State inside = state;
          place(block, inside);
          after.merge(inside);
        }
      state = after;
      return;
    }
    if (auto roles = dyn_cast<RolesOp>(op))
      return placeInRoles(roles, state);
    if (auto fence = dyn_cast<TensorMemoryFenceOp>(op)) {
      (fence.getAfter() ? state.hasWaited : state.hasAccessed) = false;
      return;
    }
    placeAround(op, state);
  }

  /// All warps meet once more after the roles, if anything follows, as after the kernel.
  void placeInRoles(RolesOp roles, State &state) {
    for (RoleOp role : roles.getBody().getOps<RoleOp>()) {
      State own = state;
      place(role.getBody().front(), own);
      if (own.hasAccessed && !isa<ReturnOp>(roles->getNextNode())) {
        auto builder = OpBuilder::atBlockEnd(&role.getBody().front());
        TensorMemoryFenceOp::create(builder, role.getLoc(), /*after=*/false);
      }
    }
    state = {.hasAccessed = false, .hasWaited = true};
  }

  static void placeAround(Operation *op, State &state) {
    Synchronisation order = synchronisationOf(op);
    bool meets = order.meetsFirst || order.meetsWithin;
    // An arrival after products is such a fence itself.
    if (state.hasAccessed && (order.handsOn || meets)) {
      if (!order.afterProducts)
        createFence(op, /*after=*/false);
      state.hasAccessed = false;
    }
    state.hasWaited |= order.waits || meets;
    auto isTensorMemory = [](const MemoryAccess &access) { return access.isTensorMemory(); };
    if (llvm::none_of(memoryAccessesOf(op), isTensorMemory))
      return;
    if (state.hasWaited)
      createFence(op, /*after=*/true);
    state = {.hasAccessed = true, .hasWaited = false};
  }
};

struct PlaceTensorMemoryFences : impl::PlaceTensorMemoryFencesBase<PlaceTensorMemoryFences> {
  void runOnOperation() override {
    State state;
    FencePlacer().place(getOperation().getBody().front(), state);
  }
};

} // namespace
} // namespace tlc::tile
