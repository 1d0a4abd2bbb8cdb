// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards a kernel with pipelined loops is two programs: a "load" role that runs ahead through rings, and
/// a "math" role. Both repeat the kernel's control flow; each keeps only what it needs, and counts its own
/// cursors through it. What the TMA cannot load, the threads of the role do, by cp.async where it can.

#include "compiler/analysis/CpAsyncAccess.h"
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

/// Arrivals that make a slot of the group full: one for what the TMA brings, one of each thread that copies
/// by cp.async, and one for what the role's threads have stored.
int64_t producersOf(const CopyGroup &group) {
  return (group.has(CopyAtom::tma) ? 1 : 0) +
         (group.has(CopyAtom::cp_async) ? warpsPerLoadRole * lanesPerWarp : 0) +
         (group.has(CopyAtom::simt) ? 1 : 0);
}

/// Gives the buffers of a group their slots, and makes its ring.
AllocRingOp createRing(CopyGroup &group, int64_t consumers, OpBuilder &builder) {
  std::string name;
  for (GroupedCopy copy : group.copies) {
    AllocSharedOp buffer = copy.buffer;
    name += (name.empty() ? "" : ".") + buffer.getName().str();
    giveSlots(buffer, group.slots);
  }
  return AllocRingOp::create(builder, group.copies.front().op.getLoc(),
                             RingType::get(builder.getContext(), group.slots), name, producersOf(group),
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

/// What the TMA does not load is copied by threads, and is on its way beside them where cp.async can.
void chooseAtoms(const CopyGroup &group, const Target &target) {
  for (GroupedCopy copy : group.copies)
    if (copy.op.getAtom() != CopyAtom::tma) {
      std::string problem = cpAsyncProblem(copy.op.getSource().getDefiningOp<SliceOp>(),
                                           copy.buffer.getBuffer().getType(), target);
      copy.op.setAtom(problem.empty() ? CopyAtom::cp_async : CopyAtom::simt);
    }
}

LogicalResult specialize(KernelOp kernel, CopyGroups &copies, const Target &target) {
  for (auto &group : copies.groups)
    chooseAtoms(*group, target);
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
    CopyGroups copies = findCopyGroups(kernel, isLoad);
    std::optional<Obstacle> obstacle = findObstacle(kernel, copies, *target);
    if (obstacle ? failed(decline(*obstacle, kernel))
                 : failed(leaveOthers(copies, kernel)) || failed(specialize(kernel, copies, *target)))
      signalPassFailure();
  }

  /// What keeps the kernel one program, or nothing.
  std::optional<Obstacle> findObstacle(KernelOp kernel, const CopyGroups &copies, const Target &target) {
    if (!enable)
      return Obstacle{kernel, "warp specialisation is switched off"};
    auto isByTma = [](CopyOp copy) {
      return copy.getAtom() == CopyAtom::tma ? WalkResult::interrupt() : WalkResult::advance();
    };
    if (!kernel.walk(isByTma).wasInterrupted()) // else the atoms have been chosen for roles
      if (std::optional<Obstacle> obstacle = findLoadRoleObstacle(kernel, target))
        return obstacle;
    if (copies.groups.empty())
      return copies.obstacles.front();
    if ((kernel.getWarps() + warpsPerLoadRole) * lanesPerWarp > target.maxThreadsPerBlock)
      return Obstacle{kernel, llvm::formatv("{0} warps leave no room for a role of {1} that loads",
                                            kernel.getWarps(), warpsPerLoadRole)};
    return std::nullopt;
  }

  /// Copies that cannot run ahead stay with those who compute.
  static LogicalResult leaveOthers(const CopyGroups &copies, KernelOp kernel) {
    for (const Obstacle &obstacle : copies.obstacles) {
      auto copy = cast<CopyOp>(obstacle.culprit);
      if (copy.getAtom() == CopyAtom::tma)
        if (RequireOp require = findRequirement(kernel, Requirement::tma)) {
          InFlightDiagnostic diag = copy.emitError("copy uses ordinary loads, not the TMA: ")
                                    << obstacle.reason;
          diag.attachNote(require.getLoc()) << "required here";
          return diag;
        }
      if (copy.getAtom() == CopyAtom::tma)
        emitRemark(copy, RemarkId::copyWithoutTma)
            << "copy uses ordinary loads, not the TMA: " << obstacle.reason;
      else if (copy->getParentOp()->hasAttr(TileDialect::pipelineAttrName))
        emitRemark(copy, RemarkId::copyNotAhead)
            << "copy does not run ahead of its loop: " << obstacle.reason;
      copy.setAtom(CopyAtom::simt);
    }
    return success();
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
