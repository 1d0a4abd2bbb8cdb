// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards a kernel with pipelined loops has a plan of its roles, a "load" role that runs ahead and a
/// "math" role, perhaps one that stores tiles, with the channels between them; and each operation that one
/// role executes says which. What the TMA cannot load, the threads of the role do, by cp.async where it can.

#include "compiler/analysis/CpAsyncAccess.h"
#include "compiler/analysis/Remarks.h"
#include "compiler/analysis/RolePlan.h"
#include "compiler/transforms/FitSlots.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/StoreRole.h"
#include "dialects/program/Program.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

namespace tlc::tile {
#define GEN_PASS_DEF_ASSIGNROLES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

constexpr StringRef loadRole = "load", storeRole = "store", mathRole = "math";

/// What the TMA does not load is copied by threads, and is on its way beside them where cp.async can.
void chooseAtoms(const CopyGroup &group, const Target &target) {
  for (GroupedCopy copy : group.copies)
    if (copy.getAtom() != CopyAtom::tma) {
      auto op = cast<CopyOp>(copy.op);
      std::string problem =
          cpAsyncProblem(op.getSource().getDefiningOp<SliceOp>(), copy.buffer.getBuffer().getType(), target);
      op.setAtom(problem.empty() ? CopyAtom::cp_async : CopyAtom::simt);
    }
}

/// The atoms that fill a slot of the group, in the order of their numbers.
SmallVector<CopyAtom> atomsOf(const CopyGroup &group) {
  SmallVector<CopyAtom> atoms;
  for (CopyAtom atom : {CopyAtom::simt, CopyAtom::tma, CopyAtom::cp_async})
    if (group.has(atom))
      atoms.push_back(atom);
  return atoms;
}

std::string nameOf(const CopyGroup &group) {
  std::string name;
  for (GroupedCopy copy : group.copies)
    name += (name.empty() ? "" : ".") + copy.buffer.getName().str();
  return name;
}

void setRole(Operation *op, StringRef role) {
  op->setDiscardableAttr(TileDialect::roleAttrName, StringAttr::get(op->getContext(), role));
}

void setChannel(Operation *op, StringRef channel) {
  op->setDiscardableAttr(TileDialect::channelAttrName, StringAttr::get(op->getContext(), channel));
}

/// The plan's roles. One that stores shares the warpgroup of the one that loads: both are one thread.
SmallVector<PlannedRoleAttr> rolesOf(KernelOp kernel, bool stores) {
  MLIRContext *context = kernel.getContext();
  int64_t warps = stores ? warpsPerLoadRole / 2 : warpsPerLoadRole;
  SmallVector<PlannedRoleAttr> roles = {PlannedRoleAttr::get(context, loadRole, warps)};
  if (stores)
    roles.push_back(PlannedRoleAttr::get(context, storeRole, warpsPerLoadRole - warps));
  roles.push_back(PlannedRoleAttr::get(context, mathRole, int64_t(kernel.getWarps())));
  return roles;
}

/// Writes the plan: copies that arrive together are a channel to those who compute, and a tile that a role of
/// its own stores is a channel from them.
LogicalResult plan(KernelOp kernel, CopyGroups &copies, const Target &target, bool storesApart) {
  for (auto &group : copies.groups)
    chooseAtoms(*group, target);
  SmallVector<HandedTile> stored;
  if (storesApart)
    stored = separateStores(kernel, copies, target);
  if (failed(fitSlots(kernel, copies)))
    return failure();
  MLIRContext *context = kernel.getContext();
  SmallVector<ChannelAttr> channels;
  llvm::StringSet<> names;
  for (auto &group : copies.groups) {
    std::string name = nameOf(*group);
    while (!names.insert(name).second)
      name += "'";
    channels.push_back(ChannelAttr::get(context, name, loadRole, mathRole, group->slots, atomsOf(*group)));
    for (GroupedCopy copy : group->copies) {
      setRole(copy.op, loadRole);
      setChannel(copy.op, name);
      if (copy.multicast)
        copy.op->setDiscardableAttr(TileDialect::multicastAttrName, UnitAttr::get(context));
    }
  }
  for (HandedTile &tile : stored) {
    std::string name = tile.buffer.getName().str();
    while (!names.insert(name).second)
      name += "'";
    channels.push_back(ChannelAttr::get(context, name, mathRole, storeRole, /*slots=*/1, CopyAtom::simt));
    setChannel(tile.fill, name);
    setRole(tile.store, storeRole);
  }
  kernel.walk([](Operation *op) {
    if (belongsToOneRole(op) && plannedRoleOf(op).empty())
      setRole(op, mathRole);
  });
  kernel->setDiscardableAttr(TileDialect::rolePlanAttrName,
                             RolePlanAttr::get(context, rolesOf(kernel, !stored.empty()), channels));
  return success();
}

struct AssignRoles : impl::AssignRolesBase<AssignRoles> {
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
                 : failed(leaveOthers(copies, kernel)) ||
                       failed(plan(kernel, copies, *target, storeRole && kernel.getStoreRole())))
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
          InFlightDiagnostic diag = copy.emitError("threads make this copy, not the TMA: ")
                                    << obstacle.reason;
          diag.attachNote(require.getLoc()) << "required here";
          return diag;
        }
      if (copy.getAtom() == CopyAtom::tma)
        emitRemark(copy, RemarkId::copyWithoutTma)
            << "threads make this copy, not the TMA: " << obstacle.reason;
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
        Value staging = store.getStaging();
        if (staging && store.getAtom() == CopyAtom::tma) {
          store.getStagingMutable().clear();
          staging.getDefiningOp()->erase();
        }
        store.setAtom(CopyAtom::simt);
      }
    });
    if (RequireOp require = findRequirement(kernel, Requirement::tma); require && lost) {
      InFlightDiagnostic diag = lost.emitError("threads make this copy, not the TMA: kernel '")
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
    if (RequireOp require = findRequirement(kernel, Requirement::warpSpecialized)) {
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
