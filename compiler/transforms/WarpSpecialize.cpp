// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards a kernel with a role plan is its roles. All repeat the kernel's control flow; each keeps only
/// what it needs. They hand over tiles through channels, as roles that an author writes do.

#include "compiler/analysis/RolePlan.h"
#include "compiler/strategies/FitSlots.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/RoleWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tlc::tile {
#define GEN_PASS_DEF_WARPSPECIALIZE
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Gives the buffers of a channel their slots.
ChannelOp createChannel(const CopyGroup &group, OpBuilder &builder) {
  ChannelAttr attr = group.channel;
  for (Value buffer : group.buffers())
    giveSlots(buffer, attr.getSlots());
  return ChannelOp::create(builder, group.copies.front().op->getLoc(),
                           ChannelType::get(builder.getContext(), attr.getSlots()), attr.getName(),
                           /*of=*/Value(), /*multicast=*/false);
}

/// What becomes the roles' program. Outside stay buffers, and scalars computed from arguments alone. Views
/// follow their buffers, which get slots.
SmallVector<Operation *> operationsOfRoles(KernelOp kernel) {
  llvm::SmallPtrSet<Operation *, 16> moved;
  SmallVector<Operation *> ops;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    bool scalar = op.getNumRegions() == 0 && isMemoryEffectFree(&op) && !viewedTile(&op) &&
                  llvm::none_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>) &&
                  llvm::none_of(op.getOperands(), [&](Value v) { return moved.contains(v.getDefiningOp()); });
    if (scalar || isa<AllocationOpInterface>(op) || op.hasTrait<OfLaunch>())
      continue;
    moved.insert(&op);
    ops.push_back(&op);
  }
  return ops;
}

void specialize(KernelOp kernel, RolePlanAttr plan, const CopyGroups &groups) {
  SmallVector<Operation *> ops = operationsOfRoles(kernel);
  Block &top = kernel.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&top);
  Channels channels;
  for (auto &group : groups.groups)
    channels[group.get()] = createChannel(*group, builder);

  builder.setInsertionPoint(top.getTerminator());
  Block &roles = RolesOp::create(builder, kernel.getLoc(), /*automatic=*/true).getBody().emplaceBlock();
  int64_t warps = 0;
  for (PlannedRoleAttr planned : plan.getRoles()) {
    builder.setInsertionPointToEnd(&roles);
    auto role = RoleOp::create(builder, kernel.getLoc(), planned.getName(), planned.getWarps(),
                               /*registers=*/IntegerAttr());
    writeRole(planned.getName(), groups, channels, ops,
              OpBuilder::atBlockEnd(&role.getBody().emplaceBlock()));
    warps += planned.getWarps();
  }
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  kernel.setWarps(warps);
}

struct WarpSpecialize : impl::WarpSpecializeBase<WarpSpecialize> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    RolePlanAttr plan = rolePlanOf(kernel);
    if (!plan || plan.getRoles().size() == 1)
      return;
    FailureOr<CopyGroups> groups = readRolePlan(kernel);
    if (failed(groups))
      return signalPassFailure();
    specialize(kernel, plan, *groups);
    kernel->removeDiscardableAttr(TileDialect::rolePlanAttrName);
  }
};

} // namespace
} // namespace tlc::tile
