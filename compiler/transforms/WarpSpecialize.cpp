// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards a kernel whose copies go through the TMA is two programs: a "load" role
/// that runs ahead through rings, and a "math" role. Both repeat the kernel's control
/// flow; each keeps only what it needs, and counts its own cursors through it.

#include "compiler/analysis/Remarks.h"
#include "compiler/transforms/FitSlots.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/RoleWriter.h"
#include "dialects/program/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/FormatVariadic.h"

namespace tlc::tile {
#define GEN_PASS_DEF_WARPSPECIALIZE
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Gives the buffers of a group their slots, and makes its ring.
AllocRingOp createRing(CopyGroup &group, int64_t consumers, OpBuilder &builder) {
  std::string name;
  for (GroupedCopy copy : group.copies) {
    AllocSharedOp buffer = copy.buffer;
    name += (name.empty() ? "" : ".") + buffer.getName().str();
    giveSlots(buffer, group.slots);
  }
  return AllocRingOp::create(builder, group.copies.front().op.getLoc(),
                             RingType::get(builder.getContext(), group.slots), name, /*producers=*/1,
                             consumers, IntegerAttr());
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

LogicalResult specialize(KernelOp kernel, CopyGroups &copies) {
  if (failed(fitSlots(kernel, copies)))
    return failure();
  int64_t mathWarps = kernel.getWarps(), mathWarpgroups = mathWarps / warpsPerLoadRole;
  ComputedValues computed(kernel);
  SmallVector<Operation *> ops = operationsOfRoles(kernel);
  Block &top = kernel.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&top);
  RolePlan plan{.copies = copies, .computed = computed, .rings{}};
  for (auto &group : copies.groups)
    plan.rings[group.get()] =
        createRing(*group, mathWarpgroups * (group->isMulticast() ? kernel.getCluster() : 1), builder);

  builder.setInsertionPoint(top.getTerminator());
  Block &roles = RolesOp::create(builder, kernel.getLoc(), /*automatic=*/true).getBody().emplaceBlock();
  auto addRole = [&](StringRef name, RoleKind kind, int64_t warps) {
    builder.setInsertionPointToEnd(&roles);
    auto role = RoleOp::create(builder, kernel.getLoc(), name, warps, /*registers=*/IntegerAttr());
    writeRole(kind, plan, ops, OpBuilder::atBlockEnd(&role.getBody().emplaceBlock()));
  };
  addRole("load", RoleKind::load, warpsPerLoadRole);
  addRole("math", RoleKind::math, mathWarps);
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  kernel.setWarps(warpsPerLoadRole + mathWarps);
  return success();
}

struct WarpSpecialize : impl::WarpSpecializeBase<WarpSpecialize> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    const Target *target = program::findTarget(kernel);
    if (!target) {
      kernel.emitError("the module has no 'program.target'");
      return signalPassFailure();
    }
    bool hasRoles = kernel.walk([](RolesOp) { return WalkResult::interrupt(); }).wasInterrupted();
    if (hasRoles) {
      if (failed(dropPipelines({kernel, "it has roles already"}, kernel)))
        signalPassFailure();
      return;
    }
    hoistBuffers(kernel);
    CopyGroups copies = findCopyGroups(kernel, [](CopyOp copy) { return copy.getAtom() == CopyAtom::tma; });
    std::optional<Obstacle> obstacle;
    if (!copies.obstacles.empty())
      obstacle = copies.obstacles.front();
    if (!enable)
      obstacle = {kernel, "warp specialisation is switched off"};
    if (!obstacle && copies.groups.empty())
      obstacle =
          findLoadRoleObstacle(kernel, *target).value_or(Obstacle{kernel, "its copies use ordinary loads"});
    if (!obstacle && (kernel.getWarps() + warpsPerLoadRole) * lanesPerWarp > target->maxThreadsPerBlock)
      obstacle = {kernel, llvm::formatv("{0} warps leave no room for a role of {1} that loads",
                                        kernel.getWarps(), warpsPerLoadRole)};
    if (failed(obstacle ? decline(*obstacle, kernel) : specialize(kernel, copies)))
      signalPassFailure();
  }

  static void hoistBuffers(KernelOp kernel) {
    Block &top = kernel.getBody().front();
    SmallVector<AllocSharedOp> buffers;
    kernel.walk([&](AllocSharedOp buffer) { buffers.push_back(buffer); });
    for (AllocSharedOp buffer : llvm::reverse(buffers))
      buffer->moveBefore(&top, top.begin());
  }

  /// All warps stay one program, whose copies and stores are synchronous.
  static LogicalResult decline(const Obstacle &obstacle, KernelOp kernel) {
    CopyOp lost;
    kernel.walk([&](Operation *op) {
      if (auto copy = dyn_cast<CopyOp>(op)) {
        if (copy.getAtom() == CopyAtom::tma && !lost)
          lost = copy;
        copy.setAtom(CopyAtom::simt);
      } else if (auto store = dyn_cast<StoreOp>(op)) {
        store.setAtom(CopyAtom::simt);
        if (Value staging = store.getStaging()) {
          store.getStagingMutable().clear();
          staging.getDefiningOp()->erase();
        }
      }
    });
    if (RequireOp require = findRequirement(kernel, Requirement::tma); require && lost) {
      InFlightDiagnostic diag = lost.emitError("copy uses ordinary loads, not the TMA: kernel '")
                                << kernel.getName() << "' is not warp-specialised: "
                                << (obstacle.culprit == lost ? obstacle.reason : obstacle.reasonWithPlace());
      diag.attachNote(require.getLoc()) << "required here";
      return diag;
    }
    return report(obstacle, kernel, "is not warp-specialised");
  }

  /// Loops of a kernel with roles stay as they are.
  static LogicalResult dropPipelines(const Obstacle &obstacle, KernelOp kernel) {
    LogicalResult reported = report(obstacle, kernel, "keeps its pipelined loops synchronous");
    kernel.walk([](scf::ForOp loop) { loop->removeDiscardableAttr(TileDialect::pipelineAttrName); });
    return reported;
  }

  /// Says that pipelined loops have no role that loads, if there are any.
  static LogicalResult report(const Obstacle &obstacle, KernelOp kernel, StringRef consequence) {
    bool pipelined = kernel
                         .walk([](scf::ForOp loop) {
                           return loop->hasAttr(TileDialect::pipelineAttrName) ? WalkResult::interrupt()
                                                                               : WalkResult::advance();
                         })
                         .wasInterrupted();
    if (!pipelined)
      return success();
    if (RequireOp require = findRequirement(kernel, Requirement::warp_specialized)) {
      InFlightDiagnostic diag = obstacle.culprit->emitError("kernel '")
                                << kernel.getName() << "' is not warp-specialised: " << obstacle.reason;
      diag.attachNote(require.getLoc()) << "required here";
      return diag;
    }
    if (program::findTarget(kernel)->tma.available)
      emitRemark(obstacle.culprit, RemarkId::notWarpSpecialised)
          << "kernel '" << kernel.getName() << "' " << consequence << ": " << obstacle.reason;
    return success();
  }

  static RequireOp findRequirement(KernelOp kernel, Requirement what) {
    RequireOp found;
    kernel.walk([&](RequireOp require) {
      if (require.getWhat() == what && !found)
        found = require;
    });
    return found;
  }
};

} // namespace
} // namespace tlc::tile
