// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards every copy and store has its instruction: the roles are known, and so is what brings a tile to
/// those who read it. Each choice below the target's best leaves a remark with its reason.

#include "compiler/analysis/CopyGroups.h"
#include "compiler/analysis/CpAsyncAccess.h"
#include "compiler/analysis/PanelStores.h"
#include "compiler/analysis/Requirements.h"
#include "compiler/analysis/RolePlan.h"
#include "compiler/analysis/TmaAccess.h"
#include "compiler/transforms/Passes.h"
#include "dialects/layout/SharedOperands.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Names.h"
#include "runtime/target/BlockBudget.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tlc::tile {
#define GEN_PASS_DEF_SELECTCOPIES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

class CopySelector {
public:
  CopySelector(KernelOp kernel, const Target &target, bool useTma)
      : kernel(kernel), target(target), useTma(useTma), plan(rolePlanOf(kernel)) {
    kernel.walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case([&](CopyOp copy) { copies.push_back(copy); })
          .Case([&](CopyReduceOp copy) { reductions.push_back(copy); })
          .Case([&](StoreOp store) { stores.push_back(store); })
          .Case([&](RolesOp op) { roles = op; });
    });
  }

  LogicalResult run() {
    return success(succeeded(checkReductions()) && succeeded(selectCopies()) && succeeded(selectStores()) &&
                   succeeded(checkInterleaved()));
  }

private:
  /// Nothing but the TMA combines tiles with tensors.
  LogicalResult checkReductions() {
    if (target.tma.available || reductions.empty())
      return success();
    return reductions.front().emitError(
               "expected a target with a TMA because nothing else combines a tile with "
               "a tensor, but ")
           << target.name << " has none; add a fragment";
  }

  /// Whether the kernel has roles, or will have them: one thread can wait for the TMA then.
  bool hasRoles() const { return roles || (plan && plan.getRoles().size() > 1); }

  LogicalResult selectCopies() {
    for (CopyOp copy : copies) {
      bool isChosen = isLoad(copy)                                     ? succeeded(selectLoad(copy))
                      : copy.getDestination().getDefiningOp<SliceOp>() ? succeeded(selectCopyOut(copy))
                                                                       : true;
      if (!isChosen)
        return failure();
      if (!copy.getAtom())
        copy.setAtom(CopyAtom::simt);
    }
    return success();
  }

  /// From a tensor to a shared tile: the TMA does it for a role, else cp.async where it may run ahead.
  LogicalResult selectLoad(CopyOp copy) {
    std::string noTma = whyNoTma(copy);
    copy->removeDiscardableAttr(TileDialect::withoutRoleAttrName);
    if (noTma.empty()) {
      copy.setAtom(CopyAtom::tma);
      return success();
    }
    copy->removeDiscardableAttr(TileDialect::multicastAttrName);
    if (plannedChannelOf(copy) && cpAsyncProblem(copy, target).empty())
      copy.setAtom(CopyAtom::cp_async);
    return reportMissed(copy, Requirement::tma, target.tma.available, RemarkId::copyWithoutTma,
                        "threads make this copy, not the TMA: " + noTma);
  }

  /// What is wrong with the copy and what with the kernel, so that both can be fixed at once.
  std::string whyNoTma(CopyOp copy) {
    SmallVector<std::string> problems;
    if (std::string problem = useTma ? loadProblem(copy, target) : "the TMA is switched off";
        !problem.empty())
      problems.push_back(problem);
    else if (std::string other = problemOfOtherRows(copy); !other.empty())
      problems.push_back(other);
    auto withoutRole = copy->getAttrOfType<StringAttr>(TileDialect::withoutRoleAttrName);
    if (withoutRole && (useTma || hasRoles()))
      problems.push_back(withoutRole.str());
    else if (problems.empty() && roles)
      problems.push_back("in a role the TMA makes the copies in a put into a channel, if their bytes do "
                         "not depend on the device");
    else if (problems.empty() && !hasRoles())
      problems.push_back("the kernel has no role that waits for it");
    return llvm::join(problems, "; also, ");
  }

  /// Why the TMA does not make a copy to other rows of the same tile; empty if it makes all of them. Threads
  /// that fill a part of a slot do not wait for the TMA, which fills the rest.
  std::string problemOfOtherRows(CopyOp copy) const {
    if (!rowsFilledBy(copy))
      return "";
    for (CopyOp other : copies)
      if (other != copy && rowsFilledBy(other) && bufferFilledBy(other) == bufferFilledBy(copy))
        if (std::string problem = loadProblem(other, target); !problem.empty())
          return "threads make the " + describeStatement(other) + placeOf(other) +
                 " to other rows of the tile because " + problem;
    return "";
  }

  /// From shared memory to a slice: a role may leave it to the TMA.
  LogicalResult selectCopyOut(CopyOp copy) {
    auto shared = dyn_cast<TypedValue<SharedType>>(copy.getSource());
    auto slice = copy.getDestination().getDefiningOp<SliceOp>();
    if (!shared || !(copy->getParentOfType<RoleOp>() || isHandedOver(shared)))
      return success();
    std::string problem = !useTma                            ? "the TMA is switched off"
                          : shared.getType().getTransposed() ? "the tile is transposed"
                                                             : storeProblem(shared.getType(), slice, target);
    if (problem.empty())
      problem = partProblem(shared);
    if (problem.empty()) {
      copy.setAtom(CopyAtom::tma);
      return success();
    }
    return reportMissed(copy, Requirement::tma, target.tma.available, RemarkId::copyWithoutTma,
                        "copy uses ordinary stores, not the TMA: " + problem);
  }

  /// The channel of the plan that the operation fills, or null.
  ChannelAttr plannedChannelOf(Operation *fill) const {
    auto name = fill->getAttrOfType<StringAttr>(TileDialect::channelAttrName);
    return name && plan ? plan.findChannel(name) : ChannelAttr();
  }
  /// Whether another role hands the tile over to the one that copies it.
  bool isHandedOver(Value tile) const {
    auto buffer = tile.getDefiningOp<AllocSharedOp>();
    return hasRoles() && buffer && tile::plannedChannelOf(buffer);
  }

  LogicalResult selectStores() {
    for (StoreOp store : stores) {
      if (store.getStaging())
        return store.emitOpError("expected no staging buffer because atoms are yet to be chosen");
      store.setAtom(CopyAtom::simt);
    }
    if (!useTma)
      return success();
    auto [byTma, byThreads] = panelStoresIn(kernel, target, hasRoles());
    for (PanelStore &panels : byTma) {
      int64_t room = panels.buffersIn(freeSharedBytes()), least = panels.leastBuffers();
      if (roles && room < least) { // and nothing gives way: stages are the program's
        emitRemark(panels.store, RemarkId::storeWithoutTma)
            << "store uses ordinary stores, not the TMA: the TMA needs " << panels.bytesOf(least)
            << " bytes of shared memory, but the roles' buffers leave "
            << std::max<int64_t>(freeSharedBytes(), 0);
        continue;
      }
      panels.store.setAtom(CopyAtom::tma);
      stage(panels, std::clamp(room, least, panels.count));
    }
    // What the TMA cannot write from there the threads do, in the memory that is left: their rows fill whole
    // sectors.
    for (PanelStore &panels : byThreads)
      if (int64_t room = panels.buffersIn(freeSharedBytes()); room >= 1)
        stage(panels, std::min(room, panels.count));
    return success();
  }

  void stage(PanelStore &panels, int64_t buffers) {
    OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
    SmallVector<int64_t> shape = {panels.warpgroups, buffers};
    llvm::append_range(shape, panels.panel.getShape());
    auto staging = SharedType::get(kernel.getContext(), shape, panels.panel.getElementType());
    auto buffer =
        AllocSharedOp::create(builder, panels.store.getLoc(), staging,
                              (panels.slice.getTensorFacts().getName() + ".staging").str(), IntegerAttr());
    panels.store.getStagingMutable().assign(buffer);
  }

  /// What is no copy by the TMA would take a tensor's elements for being in order.
  LogicalResult checkInterleaved() {
    WalkResult walked = kernel.walk([&](SliceOp slice) {
      if (slice.getTensorOrder() != program::TensorOrder::interleaved)
        return WalkResult::advance();
      for (Operation *user : slice->getUsers()) {
        auto isByTma = [&](const MemoryAccess &access) {
          return access.memory == slice.getSlice() && access.isAsynchronous() && !access.mayBeGeneric;
        };
        if (llvm::any_of(memoryAccessesOf(user), isByTma))
          continue;
        user->emitError() << "expected the TMA to move elements of '" << slice.getTensorFacts().getName()
                          << "' because they are interleaved, but this is another access; copy whole tiles "
                             "of shared memory in roles";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    return failure(walked.wasInterrupted());
  }

  /// Shared memory that the kernel's buffers leave, with all slots of the plan's channels.
  int64_t freeSharedBytes() {
    BlockBudget block(target, int64_t(kernel.getResidents()));
    block.reserveScratch();
    kernel.walk([&](AllocSharedOp buffer) {
      ChannelAttr channel = tile::plannedChannelOf(buffer);
      const int64_t slots = channel ? channel.getSlots() : 1;
      SharedType type = buffer.getBuffer().getType();
      block.addBuffer({sizeInBytes(type), preferredLayout(type).alignment()}, slots);
    });
    return block.sharedFree();
  }

  KernelOp kernel;
  const Target &target;
  bool useTma;
  RolePlanAttr plan;
  RolesOp roles;
  SmallVector<CopyOp> copies;
  SmallVector<CopyReduceOp> reductions;
  SmallVector<StoreOp> stores;
};

struct SelectCopies : impl::SelectCopiesBase<SelectCopies> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    const Target *target = program::findTarget(kernel);
    if (!target) {
      kernel.emitError("the module has no 'program.target'");
      return signalPassFailure();
    }
    if (failed(CopySelector(kernel, *target, tma).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace tlc::tile
