// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards every shared buffer, ring and barrier has a byte offset, the kernel says how
/// many bytes they take, and all of them fit the target.

#include "compiler/transforms/Passes.h"
#include "dialects/layout/SharedLayout.h"
#include "dialects/program/Program.h"
#include "runtime/support/Math.h"
#include "runtime/target/BlockBudget.h"

namespace tlc::tile {
#define GEN_PASS_DEF_PLANSHAREDMEMORY
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

struct Placement {
  AllocationOpInterface op;
  size_t position = 0; ///< in program order
  int64_t bytes = 0;
};

/// Why a buffer takes more than its elements, where the author could choose otherwise.
std::string roundingOf(AllocationOpInterface op) {
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

struct PlanSharedMemory : impl::PlanSharedMemoryBase<PlanSharedMemory> {
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
    SmallVector<Placement> placements;
    kernel.walk([&](AllocationOpInterface op) {
      if (op.getMemorySpace() == MemorySpace::shared)
        placements.push_back({op, placements.size()});
    });
    // Widest alignment first leaves no holes; program order among equals.
    llvm::sort(placements, [](Placement a, Placement b) {
      return std::make_pair(-a.op.getAlignment(), a.position) <
             std::make_pair(-b.op.getAlignment(), b.position);
    });
    const Target *target = program::findTarget(kernel);
    int64_t residents = kernel.getResidents();
    BlockBudget block(target ? *target : Target(), residents);
    for (Placement &placement : placements) {
      int64_t offset = placement.op.takePlace(block);
      placement.op.setPlace(offset);
      placement.bytes = block.sharedUsed() - offset;
    }
    if (target && !block.fits()) {
      InFlightDiagnostic diag = kernel.emitError("kernel '")
                                << kernel.getName() << "' needs " << block.sharedUsed()
                                << " bytes of shared memory, but " << target->name << " has "
                                << block.sharedLimit() << " per block";
      if (residents > 1)
        diag << " if " << residents << " share a multiprocessor";
      for (Placement &placement : placements)
        diag.attachNote(placement.op->getLoc()) << "'" << placement.op.getName() << "' takes "
                                                << placement.bytes << " bytes" << roundingOf(placement.op);
      return signalPassFailure();
    }
    kernel.setSharedBytes(block.sharedUsed());
  }
};

} // namespace
} // namespace tlc::tile
