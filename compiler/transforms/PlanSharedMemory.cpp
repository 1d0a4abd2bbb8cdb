// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards every shared buffer, ring and barrier has a byte offset, the kernel says how
/// many bytes they take, and all of them fit the target. Scratch memory of one role shares its bytes, and so
/// do tiles that are never alive together: always where that costs a block one barrier, and, if the tiles do
/// not fit otherwise, also where it costs one barrier in each iteration of a loop. With dynamic tile
/// scheduling a block takes enough bytes that at most `residents` blocks run on an SM.

#include "compiler/analysis/TileLifetimes.h"
#include "compiler/transforms/Passes.h"
#include "dialects/layout/SharedLayout.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Counts.h"
#include "runtime/support/Math.h"
#include "runtime/target/BlockBudget.h"

#include "llvm/ADT/MapVector.h"

namespace tlc::tile {
#define GEN_PASS_DEF_PLANSHAREDMEMORY
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Objects that share their bytes, a largest one first.
struct Placement {
  SmallVector<AllocationOpInterface, 1> ops;
  size_t position = 0; ///< of the first, in program order
  int64_t bytes = 0, alignment = 1;

  void add(AllocationOpInterface op) {
    BlockBudget own{Target()};
    op.takePlace(own);
    ops.insert(own.sharedUsed() >= bytes ? ops.begin() : ops.end(), op);
    bytes = std::max(bytes, own.sharedUsed());
    alignment = std::max(alignment, op.getAlignment());
  }
};

/// An operation whose scratch memory the object is, or null.
ScratchOpInterface userOfScratch(AllocationOpInterface op) {
  for (Operation *user : op->getUsers())
    if (auto scratch = dyn_cast<ScratchOpInterface>(user);
        scratch && scratch.getScratch() == op->getResult(0))
      return scratch;
  return {};
}

/// Lets tiles lie where others were that `lifetimes` finds apart as wanted, the largest first.
SmallVector<Placement> shared(SmallVector<Placement> placements, const TileLifetimes &lifetimes,
                              llvm::function_ref<bool(Apart)> isWanted) {
  llvm::sort(placements, [](const Placement &a, const Placement &b) {
    return std::make_pair(-a.bytes, a.position) < std::make_pair(-b.bytes, b.position);
  });
  SmallVector<Placement> found;
  for (Placement &placement : placements) {
    auto tile = dyn_cast<AllocSharedOp>(placement.ops.front().getOperation());
    auto *place = llvm::find_if(found, [&](const Placement &other) {
      return tile && placement.ops.size() == 1 && llvm::all_of(other.ops, [&](AllocationOpInterface op) {
               auto before = dyn_cast<AllocSharedOp>(op.getOperation());
               return before && isWanted(lifetimes.relationOf(before, tile));
             });
    });
    if (place == found.end()) {
      found.push_back(std::move(placement));
    } else {
      place->add(placement.ops.front());
      place->position = std::min(place->position, placement.position);
    }
  }
  return found;
}

/// Every object by itself, but for scratch memory: before an operation uses it, all threads of its role meet,
/// and so are done with what they used before.
SmallVector<Placement> placementsIn(KernelOp kernel) {
  SmallVector<Placement> placements;
  llvm::SmallMapVector<Operation *, Placement, 2> scratch; // by role, null for the block
  size_t position = 0;
  kernel.walk([&](AllocationOpInterface op) {
    if (op.getMemorySpace() != MemorySpace::shared)
      return;
    ScratchOpInterface user = userOfScratch(op);
    Placement &placement = user ? scratch[user->getParentOfType<RoleOp>()] : placements.emplace_back();
    if (placement.ops.empty())
      placement.position = position;
    placement.add(op);
    ++position;
  });
  for (auto &[role, placement] : scratch)
    placements.push_back(std::move(placement));
  return placements;
}

BlockBudget place(SmallVector<Placement> &placements, BlockBudget block) {
  // Widest alignment first leaves no holes; program order among equals.
  llvm::sort(placements, [](const Placement &a, const Placement &b) {
    return std::make_pair(-a.alignment, a.position) < std::make_pair(-b.alignment, b.position);
  });
  for (Placement &placement : placements) {
    const int64_t offset = block.addBuffer({placement.bytes, placement.alignment});
    for (AllocationOpInterface op : placement.ops)
      op.setPlace(offset);
  }
  return block;
}

/// Why a buffer takes as much, where the author could choose otherwise.
std::string reasonOf(const Placement &placement) {
  AllocationOpInterface op = placement.ops.front();
  if (ScratchOpInterface user = userOfScratch(op)) {
    size_t more = placement.ops.size() - 1;
    std::string others = more == 0   ? ""
                         : more == 1 ? " and of another operation"
                                     : (" and of " + Twine(more) + " other operations").str();
    return (", through which warps exchange elements of " + user.getScratchWords().noun + others +
            ": smaller fragments or fewer warps take less")
        .str();
  }
  auto buffer = dyn_cast<AllocSharedOp>(op.getOperation());
  if (!buffer)
    return "";
  const SharedLayout &layout = buffer.getBuffer().getType().getLayout().getLayout();
  if (layout.swizzle() == Swizzle::none || layout.rows() % swizzleRows == 0)
    return "";
  return (", as its " + Twine(layout.rows()) + " rows take the room of " +
          Twine(alignTo(layout.rows(), swizzleRows)) + ": a swizzle repeats after " + Twine(swizzleRows) +
          " rows")
      .str();
}

bool isTile(const Placement &placement) {
  AllocationOpInterface op = placement.ops.front();
  return isa<AllocSharedOp>(op.getOperation()) && !userOfScratch(op);
}

/// The least bytes of a block such that at most `residents` blocks run on an SM.
int64_t bytesOfResident(const Target &target, int64_t residents) {
  return int64_t(target.sharedBytesPerMultiprocessor) / (residents + 1) -
         int64_t(target.sharedReservedPerBlock) + 1;
}

/// Whether the launch has a block for each tile, and not just as many as are to run together: others would
/// start, and wait for columns of tensor memory until the end of those that have them.
bool startsBlockForEachTile(KernelOp kernel) {
  return kernel.walk([](NextBlockOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

struct PlanSharedMemory : impl::PlanSharedMemoryBase<PlanSharedMemory> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto checked = kernel.walk([](AllocSharedOp buffer) {
      if (buffer.getBuffer().getType().getLayout())
        return WalkResult::advance();
      buffer.emitError("expected a layout of '")
          << buffer.getName() << "'; run 'tile-infer-layouts' before 'tile-plan-shared-memory'";
      return WalkResult::interrupt();
    });
    if (checked.wasInterrupted())
      return signalPassFailure();
    SmallVector<Placement> placements = placementsIn(kernel);
    const Target *target = program::findTarget(kernel);
    int64_t residents = kernel.getResidents();
    const BlockBudget empty(target ? *target : Target(), residents);
    const TileLifetimes lifetimes(kernel);
    const SmallVector<Placement> apart = placements;
    placements = shared(apart, lifetimes, [](Apart relation) { return relation == Apart::once; });
    BlockBudget block = place(placements, empty);
    if (always || (target && !block.fits())) {
      placements = shared(apart, lifetimes, [](Apart relation) { return relation != Apart::never; });
      block = place(placements, empty);
    }
    if (target && !block.fits()) {
      InFlightDiagnostic diag = kernel.emitError("kernel '")
                                << kernel.getName() << "' needs " << block.sharedUsed()
                                << " bytes of shared memory, but " << target->name << " has "
                                << block.sharedLimit() << " per block";
      if (residents > 1)
        diag << " if " << residents << " share a multiprocessor";
      for (Placement &placement : placements)
        diag.attachNote(placement.ops.front()->getLoc())
            << "'" << placement.ops.front().getName() << "' takes " << placement.bytes << " bytes"
            << reasonOf(placement);
      if (llvm::count_if(placements, isTile) > 1)
        diag.attachNote(kernel.getLoc())
            << "tiles share bytes if the uses of one end before those of the other begin; these are alive "
               "together, or cp.async, several roles or other blocks use them";
      return signalPassFailure();
    }
    const bool isLimited = target && startsBlockForEachTile(kernel);
    kernel.setSharedBytes(std::max(block.sharedUsed(), isLimited ? bytesOfResident(*target, residents) : 0));
  }
};

} // namespace
} // namespace tlc::tile
