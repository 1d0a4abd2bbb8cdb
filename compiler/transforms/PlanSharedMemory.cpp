// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards every shared buffer, ring and barrier has a byte offset, and all of them
/// fit the target.

#include "compiler/transforms/Passes.h"
#include "dialects/layout/SharedLayout.h"
#include "dialects/program/Program.h"
#include "runtime/target/BlockBudget.h"

namespace tlc::tile {
#define GEN_PASS_DEF_PLANSHAREDMEMORY
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

struct Placement {
  Operation *op;
  int64_t alignment;
  size_t position = 0; ///< in program order
  int64_t bytes = 0;
};

/// Gives an object its place, and returns its offset.
int64_t place(Operation *op, BlockBudget &block) {
  if (auto ring = dyn_cast<AllocRingOp>(op))
    return block.addRing(ring.getRing().getType().getSlots());
  if (isa<AllocBarrierOp>(op))
    return block.addBarrier();
  auto type = cast<AllocSharedOp>(op).getBuffer().getType();
  SharedLayout layout = type.getLayout().getLayout();
  bool hasSlots = int64_t(type.getShape().size()) > layout.rank();
  // Each slot starts where its swizzle pattern does.
  return block.addBuffer({layout.totalBytes(), layout.alignment()}, hasSlots ? type.getShape().front() : 1);
}

std::string nameOf(Operation *op) { return op->getAttrOfType<StringAttr>("name").str(); }

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
    kernel.walk([&](Operation *op) {
      if (auto buffer = dyn_cast<AllocSharedOp>(op))
        placements.push_back({op, buffer.getBuffer().getType().getLayout().getLayout().alignment()});
      else if (isa<AllocRingOp, AllocBarrierOp>(op))
        placements.push_back({op, mbarrierBytes});
    });
    // Widest alignment first leaves no holes; program order among equals.
    for (auto [i, placement] : llvm::enumerate(placements))
      placement.position = i;
    llvm::sort(placements, [](const Placement &a, const Placement &b) {
      return std::make_pair(-a.alignment, a.position) < std::make_pair(-b.alignment, b.position);
    });
    const Target *target = program::findTarget(kernel);
    int64_t residents = kernel.getResidents();
    BlockBudget block(target ? *target : Target(), residents);
    for (Placement &placement : placements) {
      int64_t offset = place(placement.op, block);
      placement.op->setAttr("offset", IntegerAttr::get(IntegerType::get(kernel.getContext(), 64), offset));
      placement.bytes = block.sharedUsed() - offset;
    }
    if (target && !block.fits()) {
      InFlightDiagnostic diag = kernel.emitError("kernel '")
                                << kernel.getName() << "' needs " << block.sharedUsed()
                                << " bytes of shared memory, but " << target->name << " has "
                                << block.sharedLimit() << " per block";
      if (residents > 1)
        diag << " if " << residents << " share a multiprocessor";
      for (const Placement &placement : placements)
        diag.attachNote(placement.op->getLoc())
            << "'" << nameOf(placement.op) << "' takes " << placement.bytes << " bytes";
      return signalPassFailure();
    }
  }
};

} // namespace
} // namespace tlc::tile
