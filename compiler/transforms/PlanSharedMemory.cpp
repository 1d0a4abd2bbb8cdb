// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards every shared buffer, ring and barrier has a byte offset, and all of them
/// fit the target.

#include "compiler/transforms/Passes.h"
#include "dialects/layout/SharedLayout.h"
#include "dialects/program/Program.h"
#include "runtime/support/Math.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

namespace tlc::tile {
#define GEN_PASS_DEF_PLANSHAREDMEMORY
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

struct Placement {
  Operation *op;
  std::string name;
  int64_t bytes, alignment;
  size_t position = 0; ///< in program order
};

Placement placementOf(AllocSharedOp buffer) {
  auto type = cast<SharedType>(buffer.getBuffer().getType());
  SharedLayout layout = type.getLayout().getLayout();
  bool hasSlots = int64_t(type.getShape().size()) > layout.rank();
  int64_t slots = hasSlots ? type.getShape().front() : 1;
  // Each slot starts where its swizzle pattern does.
  int64_t slotBytes = slots > 1 ? alignTo(layout.totalBytes(), layout.alignment()) : layout.totalBytes();
  return {buffer, buffer.getName().str(), slots * slotBytes, std::max<int64_t>(16, layout.alignment())};
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
    kernel.walk([&](Operation *op) {
      if (auto buffer = dyn_cast<AllocSharedOp>(op))
        placements.push_back(placementOf(buffer));
      else if (auto ring = dyn_cast<AllocRingOp>(op))
        placements.push_back({op, ring.getName().str(),
                              2 * mbarrierBytes * cast<RingType>(ring.getRing().getType()).getSlots(),
                              mbarrierBytes});
      else if (auto barrier = dyn_cast<AllocBarrierOp>(op))
        placements.push_back({op, barrier.getName().str(), mbarrierBytes, mbarrierBytes});
    });
    // Widest alignment first leaves no holes; program order among equals.
    for (auto [i, placement] : llvm::enumerate(placements))
      placement.position = i;
    llvm::sort(placements, [](const Placement &a, const Placement &b) {
      return std::make_pair(-a.alignment, a.position) < std::make_pair(-b.alignment, b.position);
    });
    int64_t end = 0;
    for (const Placement &placement : placements) {
      int64_t offset = alignTo(end, placement.alignment);
      placement.op->setAttr("offset", IntegerAttr::get(IntegerType::get(kernel.getContext(), 64), offset));
      end = offset + placement.bytes;
    }
    const Target *target = program::findTarget(kernel);
    int64_t residents = kernel.getResidents();
    if (target && end > int64_t(target->sharedBytesOfBlock(residents))) {
      InFlightDiagnostic diag = kernel.emitError("kernel '")
                                << kernel.getName() << "' needs " << end << " bytes of shared memory, but "
                                << target->name << " has " << target->sharedBytesOfBlock(residents)
                                << " per block";
      if (residents > 1)
        diag << " if " << residents << " share a multiprocessor";
      for (const Placement &placement : placements)
        diag.attachNote(placement.op->getLoc())
            << "'" << placement.name << "' takes " << placement.bytes << " bytes";
      return signalPassFailure();
    }
  }
};

} // namespace
} // namespace tlc::tile
