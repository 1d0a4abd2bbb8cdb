// SPDX-License-Identifier: Apache-2.0
/// \file
/// The most slots that fit, the same for all groups that ask for as many.
#include "compiler/strategies/FitSlots.h"

#include "compiler/analysis/Remarks.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Cluster.h"
#include "mlir/IR/IRMapping.h"
#include "runtime/target/BlockBudget.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

BlockBudget blockOf(KernelOp kernel) {
  return BlockBudget(*program::findTarget(kernel), int64_t(kernel.getResidents()));
}

/// Shared memory of a kernel's buffers.
struct SharedUse {
  BlockBudget block;
  int64_t outside; ///< bytes that are in no ring
};

/// If no ring has more than `most` slots.
SharedUse sharedUse(KernelOp kernel, const CopyGroups &copies, int64_t most, int64_t reserved) {
  BlockBudget block = blockOf(kernel);
  if (reserved > 0)
    block.addBuffer(SharedBytes{reserved});
  llvm::SmallPtrSet<Operation *, 8> ringed;
  for (auto &group : copies.groups)
    for (Value buffer : group->buffers())
      ringed.insert(buffer.getDefiningOp());
  auto bytesOf = [](AllocSharedOp buffer) { return SharedBytes{sizeInBytes(buffer.getBuffer().getType())}; };
  for (AllocSharedOp buffer : kernel.getOps<AllocSharedOp>())
    if (!ringed.contains(buffer))
      block.addBuffer(bytesOf(buffer));
  int64_t outside = block.sharedUsed();
  for (auto &group : copies.groups)
    for (Value buffer : group->buffers())
      block.addBuffer(bytesOf(buffer.getDefiningOp<AllocSharedOp>()), std::min(group->slots, most));
  for (auto &group : copies.groups)
    block.addRing(std::min(group->slots, most));
  if (!buffersOfCluster(kernel).empty())
    block.addBarrier(); // at which a role meets those of other blocks
  return {block, outside};
}

} // namespace

LogicalResult tile::fitSlots(KernelOp kernel, CopyGroups &copies, int64_t reserved) {
  int64_t most = 1;
  for (auto &group : copies.groups)
    most = std::max(most, group->slots);
  // However many were asked for: no more of the smallest buffers fit.
  int64_t limit = blockOf(kernel).sharedLimit();
  most = std::max<int64_t>(std::min(most, limit / swizzleAlignment), 1);
  while (most > 1 && !sharedUse(kernel, copies, most, reserved).block.fits())
    --most;
  if (SharedUse least = sharedUse(kernel, copies, most, reserved); !least.block.fits())
    return kernel.emitError("kernel '")
           << kernel.getName() << "': expected at least one stage to fit into " << limit
           << " bytes of shared memory, but it takes " << least.block.sharedUsed() << " bytes, "
           << least.outside << " of them outside the stages; use smaller tiles";
  for (auto &group : copies.groups)
    if (group->slots > most) {
      emitRemark(group->copies.front().op, RemarkId::fewerStages)
          << most << " stages instead of " << group->slots << ": more do not fit the " << limit
          << " bytes of shared memory";
      group->slots = most;
    }
  return success();
}

bool tile::fitBeside(KernelOp kernel, const CopyGroups &copies, ArrayRef<int64_t> tiles, int64_t reserved) {
  int64_t most = 1;
  for (auto &group : copies.groups)
    most = std::max(most, group->slots);
  BlockBudget block = sharedUse(kernel, copies, most, reserved).block;
  for (int64_t bytes : tiles) {
    block.addBuffer(SharedBytes{bytes});
    block.addRing(1);
  }
  return block.fits();
}

void tile::giveSlots(Value buffer, int64_t slots) {
  auto withSlots = [&](auto type) {
    SmallVector<int64_t> shape = {slots};
    llvm::append_range(shape, type.getShape());
    buffer.setType(decltype(type)::get(buffer.getContext(), shape, type.getElementType()));
  };
  if (auto shared = dyn_cast<SharedType>(buffer.getType()))
    withSlots(shared);
  else
    withSlots(cast<TensorMemoryType>(buffer.getType()));
}

Value tile::rowsOf(Value tile, RowsOp rows, OpBuilder &builder) {
  IRMapping mapping;
  mapping.map(rows.getSource(), tile);
  return builder.clone(*rows, mapping)->getResult(0);
}

Value tile::createSlot(OpBuilder &builder, Location loc, Value buffer, Value cursor) {
  auto shared = dyn_cast<SharedType>(buffer.getType());
  Type slot = shared ? Type(shared.slot()) : cast<TensorMemoryType>(buffer.getType()).slot();
  return SlotOp::create(builder, loc, slot, buffer, cursor);
}
