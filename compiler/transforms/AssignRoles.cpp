// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards a kernel with pipelined loops has a plan of its roles, by the first of the strategies that can
/// share it out; each operation that one role executes says which, and each edge between roles is a channel.

#include "compiler/analysis/PanelStores.h"
#include "compiler/analysis/Requirements.h"
#include "compiler/analysis/RolePlan.h"
#include "compiler/strategies/FitSlots.h"
#include "compiler/strategies/Strategy.h"
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/StringSet.h"

namespace tlc::tile {
#define GEN_PASS_DEF_ASSIGNROLES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

void setName(Operation *op, StringRef attribute, StringRef name) {
  op->setDiscardableAttr(attribute, StringAttr::get(op->getContext(), name));
}

/// Shares a kernel out as a strategy says.
class Cut {
public:
  Cut(Candidate candidate, const Strategy &strategy, CopyGroups &ahead)
      : kernel(candidate.kernel), candidate(candidate), ahead(ahead),
        roles(strategy.rolesOf(candidate, ahead)) {}

  LogicalResult run() {
    kernel.walk([&](Operation *op) {
      if (belongsToOneRole(op))
        setName(op, TileDialect::roleAttrName, executorOf(op).name);
    });
    handOverStored();
    if (roles.size() == 1) // copies run ahead of what reads them by the slots beyond the first
      llvm::erase_if(ahead.groups, [](const auto &group) { return group->slots < 2; });
    if (failed(fitSlots(kernel, ahead, stagingBytes())))
      return failure();
    for (auto &group : ahead.groups)
      if (roles.size() > 1 || group->slots > 1)
        addChannel(*group);
    for (StoreOp store : handed) {
      auto buffer = store.getDestination().getDefiningOp<AllocSharedOp>();
      add(buffer.getName(), store, plannedRoleOf(readerOf(buffer, store)), /*slots=*/1);
    }
    MLIRContext *context = kernel.getContext();
    auto planned = llvm::map_to_vector(
        roles, [&](const RoleKind &role) { return PlannedRoleAttr::get(context, role.name, role.warps); });
    kernel->setDiscardableAttr(TileDialect::rolePlanAttrName, RolePlanAttr::get(context, planned, channels));
    return success();
  }

private:
  const RoleKind &executorOf(Operation *op) const {
    return *llvm::find_if(roles, [&](const RoleKind &role) { return !role.executes || role.executes(op); });
  }

  /// The role that computes a value.
  StringRef sourceOf(Value value) const {
    Operation *definition = value.getDefiningOp();
    return executorOf(definition ? definition : value.getParentBlock()->getParentOp()).name;
  }

  /// A fragment that one role computes and another stores goes through a shared tile, from where the TMA
  /// stores it.
  void handOverStored() {
    SmallVector<StoreOp> stores;
    kernel.walk([&](StoreOp store) {
      if (plannedRoleOf(store) != sourceOf(store.getValue()))
        stores.push_back(store);
    });
    for (StoreOp store : stores) {
      auto slice = store.getDestination().getDefiningOp<SliceOp>();
      OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
      auto buffer = AllocSharedOp::create(builder, store.getLoc(), handedTile(store.getValue().getType()),
                                          (slice.getTensorFacts().getName() + ".tile").str(), IntegerAttr());
      builder.setInsertionPointAfter(store);
      auto copy = CopyOp::create(builder, store.getLoc(), buffer, slice, /*atom=*/CopyAtomAttr());
      setName(copy, TileDialect::roleAttrName, plannedRoleOf(store));
      setName(store, TileDialect::roleAttrName, sourceOf(store.getValue()));
      store.getDestinationMutable().assign(buffer.getBuffer());
      handed.push_back(store);
    }
  }

  /// An operation that reads what `fill` fills, not a view of it. There is one.
  static Operation *readerOf(Value tile, Operation *fill) {
    Operation *reader = nullptr;
    for (Operation *user : tile.getUsers())
      if (user != fill && !reader)
        reader = viewedTile(user) ? readerOf(user->getResult(0), fill) : user;
    return reader;
  }

  /// What stores through panels take at least: slots give way to it.
  int64_t stagingBytes() {
    int64_t bytes = 0;
    for (const PanelStore &panels :
         panelStoresIn(kernel, candidate.target, candidate.tma && roles.size() > 1).byTma)
      bytes += panels.bytesOf(panels.leastBuffers());
    return bytes;
  }

  void addChannel(const CopyGroup &group) {
    GroupedCopy first = group.copies.front();
    StringRef to = plannedRoleOf(readerOf(first.buffer, first.op));
    std::string name;
    for (const GroupedCopy &copy : group.copies)
      name += (name.empty() ? "" : ".") + AllocSharedOp(copy.buffer).getName().str();
    name = add(name, first.op, to, group.slots);
    for (const GroupedCopy &copy : group.copies) {
      setName(copy.op, TileDialect::channelAttrName, name);
      if (copy.multicast)
        copy.op->setDiscardableAttr(TileDialect::multicastAttrName, UnitAttr::get(copy.op->getContext()));
    }
  }

  /// A channel from the role of `fill`. Returns its name: no two have the same.
  std::string add(StringRef wanted, Operation *fill, StringRef to, int64_t slots) {
    std::string name = wanted.str();
    while (!names.insert(name).second)
      name += "'";
    channels.push_back(ChannelAttr::get(kernel.getContext(), name, plannedRoleOf(fill), to, slots));
    setName(fill, TileDialect::channelAttrName, name);
    return name;
  }

  KernelOp kernel;
  const Candidate candidate;
  CopyGroups &ahead;
  const SmallVector<RoleKind> roles;
  SmallVector<StoreOp> handed; ///< to the buffers that hand them over
  SmallVector<ChannelAttr> channels;
  llvm::StringSet<> names;
};

struct AssignRoles : impl::AssignRolesBase<AssignRoles> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(run(getOperation())))
      signalPassFailure();
  }

  LogicalResult run(KernelOp kernel) {
    const Target *target = program::findTarget(kernel);
    if (!target)
      return kernel.emitError("the module has no 'program.target'");
    if (kernel.walk([](RolesOp) { return WalkResult::interrupt(); }).wasInterrupted())
      return dropPipelines(kernel);
    hoistBuffers(kernel);
    const Candidate candidate = {kernel, *target, tma};
    Obstacle toRoles = {kernel, "warp specialisation is switched off"};
    for (const std::string &name : strategies) {
      if (name.empty()) // none is to be tried: an option is a list of one name then
        continue;
      const Strategy *strategy = findStrategy(name);
      if (!strategy)
        return kernel.emitError("expected the name of a strategy, but got '") << name << "'";
      std::optional<Obstacle> obstacle = strategy->findObstacle(candidate);
      CopyGroups ahead;
      if (!obstacle)
        ahead = findCopyGroups(kernel, [&](CopyOp copy) {
          return isLoad(copy) && (!strategy->runsAhead || strategy->runsAhead(copy, candidate));
        });
      if (!obstacle && strategy->hasSeveralRoles && ahead.groups.empty())
        obstacle = ahead.obstacles.front();
      if (obstacle) {
        if (strategy->hasSeveralRoles)
          toRoles = *obstacle;
        continue;
      }
      if (!strategy->hasSeveralRoles && failed(report(toRoles, kernel)))
        return failure();
      strategy->explainOthers(candidate, ahead);
      return ahead.groups.empty() ? success() : Cut(candidate, *strategy, ahead).run();
    }
    return report(toRoles, kernel);
  }

  static void hoistBuffers(KernelOp kernel) {
    Block &top = kernel.getBody().front();
    SmallVector<AllocSharedOp> buffers;
    kernel.walk([&](AllocSharedOp buffer) { buffers.push_back(buffer); });
    for (AllocSharedOp buffer : llvm::reverse(buffers))
      buffer->moveBefore(&top, top.begin());
  }

  static bool isPipelined(Operation *loop) { return loop->hasAttr(TileDialect::pipelineAttrName); }
  static bool hasPipeline(KernelOp kernel) {
    return kernel
        .walk([](scf::ForOp loop) {
          return isPipelined(loop) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// For who chooses the copy's instruction: why no role of its own makes it.
  static void explain(CopyOp copy, StringRef reason) {
    setName(copy, TileDialect::withoutRoleAttrName, reason);
  }

  /// Says that all warps stay one program, if there are pipelined loops.
  static LogicalResult report(const Obstacle &obstacle, KernelOp kernel) {
    kernel.walk([&](CopyOp copy) {
      if (isLoad(copy))
        explain(copy, obstacle.culprit == copy ? obstacle.reason : obstacle.reasonWithPlace());
    });
    return reportPipelines(obstacle, kernel, "is not warp-specialised");
  }

  static LogicalResult reportPipelines(const Obstacle &obstacle, KernelOp kernel, StringRef consequence) {
    if (!hasPipeline(kernel))
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

  /// Loops of a kernel with roles stay as they are.
  static LogicalResult dropPipelines(KernelOp kernel) {
    LogicalResult reported =
        reportPipelines({kernel, "it has roles already"}, kernel, "keeps its pipelined loops synchronous");
    kernel.walk([](scf::ForOp loop) { loop->removeDiscardableAttr(TileDialect::pipelineAttrName); });
    return reported;
  }
};

} // namespace
} // namespace tlc::tile
