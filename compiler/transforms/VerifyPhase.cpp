// SPDX-License-Identifier: Apache-2.0
/// \file
/// One table: what each phase promises about its kernels. Changes nothing.

#include "compiler/analysis/CpAsyncAccess.h"
#include "compiler/analysis/ProductsInFlight.h"
#include "compiler/analysis/ReleaseMeetings.h"
#include "compiler/analysis/TensorAccesses.h"
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/target/BlockBudget.h"

namespace tlc::tile {
#define GEN_PASS_DEF_VERIFYPHASE
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// A promise about single operations that holds from phase `from` on.
struct Invariant {
  StringRef from;
  /// The promise, if the operation breaks it, or nothing.
  std::string (*brokenBy)(Operation *op);
};

constexpr StringRef phases[] = {"input",     "promoted", "atoms",   "specialized", "scheduled",
                                "pipelined", "laid-out", "planned", "simt"};

bool lacksLayout(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return !isa_and_nonnull<LayoutAttr>(tensor.getEncoding());
  auto shared = dyn_cast<SharedType>(type);
  return shared && !shared.getLayout();
}

/// A synchronous copy by a copy engine from a tensor.
bool loadsByEngine(Operation *op) {
  return !completionOf(op) && llvm::any_of(memoryAccessesOf(op), [](const MemoryAccess &access) {
    return access.kind == AccessKind::read && access.agent == Agent::copyEngine && !access.isShared();
  });
}

/// Whether the operation waits for stores, on every way through it.
bool awaitsStores(Operation &op) {
  auto branch = dyn_cast<scf::IfOp>(op);
  if (!branch)
    return completedBy(&op) == Completion::storeGroup;
  return !branch.getElseRegion().empty() && llvm::all_of(branch->getRegions(), [](Region &region) {
    return llvm::any_of(region.front(), awaitsStores);
  });
}

/// Whether a wait for stores follows, up to the end of the role or kernel.
bool isAwaited(Operation *store) {
  for (Operation *op = store; !isa<RoleOp, KernelOp>(op); op = op->getParentOp())
    if (llvm::any_of(llvm::make_range(std::next(op->getIterator()), op->getBlock()->end()), awaitsStores))
      return true;
  return false;
}

std::string promise(bool isBroken, StringRef text) { return isBroken ? text.str() : ""; }

const Invariant invariants[] = {
    {"promoted",
     [](Operation *op) {
       auto traced = dyn_cast<TracedOpInterface>(op);
       return traced ? ("no " + traced.getTracedName()).str() : "";
     }},
    {"atoms",
     [](Operation *op) {
       auto choosing = dyn_cast<AtomOpInterface>(op);
       return choosing && !choosing.hasAtom() ? ("an atom on every " + choosing.getAtomUse()).str() : "";
     }},
    {"atoms",
     [](Operation *op) {
       const Target *target = isa<program::UnitOpInterface>(op) ? program::findTarget(op) : nullptr;
       std::optional<Unit> missing = target ? program::missingUnit(op, *target) : std::nullopt;
       return missing ? std::string("a target with ") + tlc::describe(*missing) : "";
     }},
    {"atoms",
     [](Operation *op) {
       auto kernel = dyn_cast<KernelOp>(op);
       return promise(kernel && kernel.getWarps() == 0, "a number of warps");
     }},
    {"specialized",
     [](Operation *op) {
       return promise(op->hasAttr(TileDialect::pipelineAttrName), "no loop left to be pipelined");
     }},
    {"specialized",
     [](Operation *op) {
       return promise(op->hasAttr(TileDialect::rolePlanAttrName) || op->hasAttr(TileDialect::roleAttrName),
                      "no role left to be made");
     }},
    {"specialized",
     [](Operation *op) { return promise(loadsByEngine(op), "no synchronous load through the TMA"); }},
    {"specialized",
     [](Operation *op) {
       auto roles = dyn_cast<RolesOp>(op);
       auto sets = [](RoleOp role) { return role.getRegisters().has_value(); };
       bool isBroken = roles && llvm::any_of(roles.getBody().getOps<RoleOp>(), sets) &&
                       !llvm::all_of(roles.getBody().getOps<RoleOp>(), sets);
       return promise(isBroken, "registers of all roles or of none");
     }},
    {"pipelined",
     [](Operation *op) { return promise(op->hasAttr(TileDialect::stageAttrName), "no scheduled loop"); }},
    {"laid-out",
     [](Operation *op) {
       return promise(llvm::any_of(op->getResultTypes(), lacksLayout),
                      "a layout of every fragment and buffer");
     }},
    {"planned",
     [](Operation *op) {
       auto allocation = dyn_cast<AllocationOpInterface>(op);
       return promise(allocation && !allocation.getOffset(), "an offset of every buffer, ring and barrier");
     }},
    {"planned",
     [](Operation *op) {
       auto allocation = dyn_cast<AllocationOpInterface>(op);
       if (!allocation || allocation.getMemorySpace() != MemorySpace::shared)
         return std::string();
       BlockBudget own{Target()};
       allocation.takePlace(own);
       return promise(int64_t(*allocation.getOffset()) + own.sharedUsed() >
                          op->getParentOfType<KernelOp>().getSharedBytes(),
                      "a kernel with shared memory for every buffer, ring and barrier");
     }},
    {"planned",
     [](Operation *op) {
       auto copy = dyn_cast<CopyOp>(op);
       const Target *target = copy ? program::findTarget(op) : nullptr;
       return promise(target && isByCpAsync(copy, *target) && !cpAsyncProblem(copy, *target).empty(),
                      "an announcement of stores where a buffer's layout keeps cp.async from it");
     }},
    {"planned",
     [](Operation *op) {
       return promise(completionOf(op) == Completion::storeGroup && !isAwaited(op),
                      "a wait for every store through the TMA before its role or kernel ends");
     }},
    {"simt",
     [](Operation *op) {
       return promise(isa_and_nonnull<TileDialect>(op->getDialect()), "no operation of the tile dialect");
     }},
};

struct VerifyPhase : impl::VerifyPhaseBase<VerifyPhase> {
  using Base::Base;

  void runOnOperation() override {
    auto reached = llvm::find(phases, StringRef(phase));
    if (reached == std::end(phases)) {
      getOperation().emitError("unknown phase '")
          << phase << "': expected one of " << llvm::join(ArrayRef<StringRef>(phases), ", ");
      return signalPassFailure();
    }
    WalkResult result = getOperation().walk([&](Operation *op) {
      for (const Invariant &invariant : invariants) {
        if (llvm::find(phases, invariant.from) > reached)
          continue;
        if (std::string broken = invariant.brokenBy(op); !broken.empty()) {
          reportBroken(op, broken);
          return WalkResult::interrupt();
        }
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    // Before, products are in flight only where their author says so; afterwards the PTX is checked.
    if (reached >= llvm::find(phases, StringRef("pipelined")) &&
        reached <= llvm::find(phases, StringRef("planned")))
      for (KernelOp kernel : getOperation().getOps<KernelOp>())
        if (failed(verifyProductsInFlight(kernel)))
          return signalPassFailure();
    if (StringRef(phase) == "planned")
      for (KernelOp kernel : getOperation().getOps<KernelOp>())
        if (failed(verifyReleases(kernel)) || failed(verifyStores(kernel)))
          return signalPassFailure();
  }

private:
  void reportBroken(Operation *op, StringRef promised) {
    op->emitError("phase '") << phase << "' promises " << promised << ", but here is '" << op->getName()
                             << "'";
  }

  LogicalResult verifyReleases(KernelOp kernel) {
    for (ReleaseOp release : releasesThatNeedMeetings(kernel))
      if (!release.getAfterMeeting()) {
        reportBroken(release, "that threads meet before one releases what others may still read or wait for");
        return failure();
      }
    return success();
  }

  LogicalResult verifyStores(KernelOp kernel) {
    auto isMet = [&](const TensorAccess &access) { return isMetLater(access, kernel); };
    auto isUntilRead = [](Operation *op) {
      auto copy = dyn_cast<CopyOp>(op);
      auto reduction = dyn_cast<CopyReduceOp>(op);
      return (copy && copy.getUntilRead()) || (reduction && reduction.getUntilRead());
    };
    WalkResult walked = kernel.walk([&](Operation *op) {
      if (!isUntilRead(op) || llvm::none_of(tensorAccessesOf(op), isMet))
        return WalkResult::advance();
      reportBroken(op, "that stores of tiles are complete before the kernel accesses what they write");
      return WalkResult::interrupt();
    });
    return failure(walked.wasInterrupted());
  }
};

} // namespace
} // namespace tlc::tile
