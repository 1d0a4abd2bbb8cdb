// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards every buffer in tensor memory has its columns, the kernel reserves them, and all of them fit
/// the target.

#include "compiler/analysis/TensorMemory.h"
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
#include "runtime/target/BlockBudget.h"

namespace tlc::tile {
#define GEN_PASS_DEF_PLANTENSORMEMORY
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

struct PlanTensorMemory : impl::PlanTensorMemoryBase<PlanTensorMemory> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    kernel.walk([](ReserveTensorMemoryOp earlier) { earlier.erase(); }); // an earlier plan is replaced
    SmallVector<AllocTensorMemoryOp> buffers;
    kernel.walk([&](AllocTensorMemoryOp buffer) { buffers.push_back(buffer); });
    if (buffers.empty())
      return;
    const Target *target = program::findTarget(kernel);
    int64_t residents = kernel.getResidents();
    BlockBudget block(target ? *target : Target(), residents);
    const KernelColumns plan(kernel);
    block.addColumns(plan.columns.used());
    const std::vector<TensorPlace> places = plan.columns.places();
    for (AllocTensorMemoryOp buffer : buffers) {
      std::optional<size_t> tile = plan.find(buffer.getBuffer());
      if (!tile) {
        buffer.emitOpError() << "expected a tile '" << *buffer.getOver() << "' because '" << buffer.getName()
                             << "' lies over it, but there is none";
        return signalPassFailure();
      }
      buffer.setOffset(places[*tile].encode());
    }
    if (target && block.columnsReserved() > block.columnLimit()) {
      InFlightDiagnostic diag = kernel.emitError("kernel '")
                                << kernel.getName() << "' needs " << block.columnsReserved()
                                << " columns of tensor memory, of which a power of two is reserved, but "
                                << target->name << " has " << block.columnLimit() << " per block";
      if (residents > 1)
        diag << " if " << residents << " share a multiprocessor";
      for (AllocTensorMemoryOp buffer : buffers) {
        if (buffer.getOver())
          continue;
        TensorMemoryType type = buffer.getBuffer().getType();
        diag.attachNote(buffer.getLoc())
            << "'" << buffer.getName() << "' takes " << type.numSlots() * type.slotColumns() << " columns";
      }
      return signalPassFailure();
    }
    auto builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
    ReserveTensorMemoryOp::create(builder, kernel.getLoc(), "tensor memory", block.columnsReserved(),
                                  IntegerAttr());
  }
};

} // namespace
} // namespace tlc::tile
