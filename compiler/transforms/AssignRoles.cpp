// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards a kernel with pipelined loops has a plan of its roles, by the first of the strategies that can
/// share it out; each operation that one role executes says which, and each edge between roles is a channel.

#include "compiler/analysis/ElementOrders.h"
#include "compiler/analysis/PanelStores.h"
#include "compiler/analysis/Positions.h"
#include "compiler/analysis/Requirements.h"
#include "compiler/analysis/RolePlan.h"
#include "compiler/analysis/TensorMemory.h"
#include "compiler/analysis/TileFills.h"
#include "compiler/strategies/FitSlots.h"
#include "compiler/strategies/Strategy.h"
#include "compiler/transforms/HandOver.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/SplitDecisions.h"
#include "compiler/transforms/WrittenRoles.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/target/BlockBudget.h"
#include "runtime/target/Hardware.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

namespace tlc::tile {
#define GEN_PASS_DEF_ASSIGNROLES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

void setName(Operation *op, StringRef attribute, StringRef name) {
  op->setDiscardableAttr(attribute, StringAttr::get(op->getContext(), name));
}

/// Shares a kernel out as its author and a strategy say.
class Cut {
public:
  Cut(Candidate candidate, const Strategy &strategy, CopyGroups &ahead, const WrittenRoles &written)
      : kernel(candidate.kernel), candidate(candidate), ahead(ahead), written(written),
        kinds(strategy.rolesOf(candidate, ahead)), rest(kindOf(nullptr).name) {}

  /// Says who executes each operation. What keeps the roles from that, if anything does.
  std::optional<Obstacle> assign() {
    llvm::StringSet<> executors;
    executors.insert(rest);
    kernel.walk([&](Operation *op) {
      if (belongsToOneRole(op)) {
        setPlannedRole(op, executorOf(op));
        executors.insert(plannedRoleOf(op));
      }
    });
    planRoles(executors);
    std::optional<Obstacle> obstacle = findTooManyWarps();
    if (!obstacle)
      obstacle = shareOutPositions();
    if (!obstacle)
      obstacle = findShared();
    if (!obstacle)
      obstacle = findDecisionObstacle(kernel, rest);
    return obstacle;
  }

  /// Makes each edge between roles a channel.
  LogicalResult cut() {
    splitDecisions(kernel, rest);
    SmallVector<StoreOp> handed = handOverFragments(kernel, rest);
    if (roles.size() == 1) // copies run ahead of what reads them by the slots beyond the first
      llvm::erase_if(ahead.groups, [](const auto &group) { return group->slots < 2; });
    if (failed(fitSlots(kernel, ahead, stagingBytes())))
      return failure();
    for (auto &group : ahead.groups)
      if (roles.size() > 1 || group->slots > 1)
        addChannel(*group);
    llvm::append_range(shared, handed);
    for (Operation *fill : shared)
      addChannel(fill);
    if (roles.size() > 1)
      explainOwnLoads();
    kernel->setDiscardableAttr(TileDialect::rolePlanAttrName,
                               RolePlanAttr::get(kernel.getContext(), roles, channels));
    return success();
  }

private:
  /// Null: the kind of what no other one executes.
  const RoleKind &kindOf(Operation *op) const {
    return *llvm::find_if(kinds,
                          [&](const RoleKind &kind) { return !kind.executes || (op && kind.executes(op)); });
  }

  StringRef executorOf(Operation *op) const {
    PlannedRoleAttr role = written.executors.lookup(op);
    return role ? role.getName() : kindOf(op).name;
  }

  /// The strategy's roles that execute something, and the author's before the role of the rest; one of these
  /// may have the name of one of those. Whole warpgroups come first if others would shift them.
  void planRoles(const llvm::StringSet<> &executors) {
    auto isWritten = [&](StringRef name) {
      return llvm::any_of(written.roles, [&](PlannedRoleAttr role) { return role.getName() == name; });
    };
    for (const RoleKind &kind : kinds) {
      if (!kind.executes)
        llvm::append_range(roles, written.roles);
      if (executors.contains(kind.name) && !isWritten(kind.name))
        roles.push_back(PlannedRoleAttr::get(kernel.getContext(), kind.name, kind.warps));
    }
    auto isWhole = [](PlannedRoleAttr role) { return role.getWarps() % warpsPerWarpgroup == 0; };
    int64_t first = 0;
    bool isShifted = false;
    for (PlannedRoleAttr role : roles) {
      isShifted |= isWhole(role) && first % warpsPerWarpgroup != 0;
      first += role.getWarps();
    }
    if (!isShifted)
      return;
    SmallVector<PlannedRoleAttr> inOrder(llvm::make_filter_range(roles, isWhole));
    llvm::append_range(inOrder, llvm::make_filter_range(roles, std::not_fn(isWhole)));
    roles = std::move(inOrder);
  }

  /// Whether the kernel's number of warps has decided how the operation's threads have its elements.
  static bool isLaidOut(Operation *op) {
    if (isa<ProductOpInterface>(op))
      return !isa<GemmInPlaceOp>(op);
    return llvm::any_of(memoryAccessesOf(op),
                        [](const MemoryAccess &access) { return access.isTensorMemory(); });
  }

  std::optional<Obstacle> findTooManyWarps() {
    int64_t warps = 0;
    for (PlannedRoleAttr role : roles) {
      warps += role.getWarps();
      if (roles.size() > 1 && role.getWarps() > warpsPerWarpgroup && role.getWarps() % warpsPerWarpgroup != 0)
        return Obstacle{kernel,
                        llvm::formatv("role '{0}' would have {1} warps, which are not whole warpgroups",
                                      role.getName(), role.getWarps())};
    }
    const RoleKind &other = kindOf(nullptr);
    for (PlannedRoleAttr role : written.roles)
      if (role.getName() == rest && role.getWarps() != other.warps)
        return Obstacle{kernel,
                        llvm::formatv("role '{0}' has {1} warps, but what it executes is laid out for "
                                      "{2} (k.warps)",
                                      rest, role.getWarps(), other.warps)};
    for (auto [op, role] : written.executors)
      if (role.getWarps() != int64_t(kernel.getWarps()) && isLaidOut(op))
        return Obstacle{
            op, llvm::formatv("role '{0}' has {1} warps, but the {2} is laid out for {3} (k.warps)",
                              role.getName(), role.getWarps(), describeStatement(op), kernel.getWarps())};
    const int64_t most = program::maxWarps(candidate.target, kernel.getResidents());
    if (warps > most)
      return Obstacle{
          kernel, llvm::formatv("its roles would have {0} warps, and a block has at most {1}", warps, most)};
    return std::nullopt;
  }

  /// Lets each role that needs a position read it, from a shared tile that one of them fills.
  std::optional<Obstacle> shareOutPositions() {
    for (auto &[read, needed] : findNeededPositions(kernel)) {
      auto isOther = [op = read](StringRef role) { return role != plannedRoleOf(op); };
      if (llvm::none_of(needed, isOther))
        continue;
      if (!sourceOfPosition(read))
        return Obstacle{read, "role '" + llvm::find_if(needed, isOther)->str() + "' needs what role '" +
                                  plannedRoleOf(read).str() + "' reads of " +
                                  describe(cast<LoadIndexOp>(read).getSource(), "a tensor")};
      if (needed.size() == 1) {
        setPlannedRole(read, needed.front());
        continue;
      }
      read->removeDiscardableAttr(TileDialect::roleAttrName);
      readersOfPosition[read] = needed;
    }
    return std::nullopt;
  }

  /// Who executes it, or the first role that does.
  StringRef roleThatUses(Operation *op) const {
    auto position = readersOfPosition.find(op);
    return position == readersOfPosition.end() ? plannedRoleOf(op) : position->second.front();
  }

  /// Finds the tiles that the program itself hands from role to role: one operation fills such a tile, and
  /// the others use it after that, in the same loop or branch. A loop of products fills one in tensor memory.
  std::optional<Obstacle> findShared() {
    llvm::MapVector<Value, SmallVector<Operation *>> users;
    kernel.walk([&](Operation *op) {
      for (const MemoryAccess &access : memoryAccessesOf(op))
        if (access.isShared() || access.isTensorMemory())
          users[declarationOf(access.memory)].push_back(op);
    });
    for (auto &group : ahead.groups)
      for (const GroupedCopy &copy : group->copies)
        users.erase(copy.buffer);
    for (auto &[buffer, ops] : users) {
      auto isStranger = [&](Operation *op) {
        return plannedRoleOf(op) != plannedRoleOf(ops.front()) || readersOfPosition.contains(op);
      };
      auto *stranger = llvm::find_if(ops, isStranger);
      if (stranger == ops.end())
        continue;
      Operation *fill = findFill(buffer, ops);
      if (!fill)
        return Obstacle{*stranger, describe(buffer, "a tile") + " is used by roles '" +
                                       roleThatUses(ops.front()).str() + "' and '" +
                                       roleThatUses(*stranger).str() +
                                       "', and no single operation fills it before"};
      if (isa<CopyOp>(fill) && llvm::any_of(ops, [&](Operation *op) {
            return op != fill && plannedRoleOf(op) == plannedRoleOf(fill);
          }))
        return Obstacle{fill, describe(buffer, "a tile") +
                                  " is used by the role that copies it and by role '" +
                                  plannedRoleOf(*stranger).str() + "'"};
      shared.push_back(fill);
    }
    return std::nullopt;
  }

  /// The roles that use a tile which another one fills by `fill`.
  SmallVector<StringAttr> readersOf(ArrayRef<GroupedCopy> fills) {
    llvm::StringSet<> readers;
    for (const GroupedCopy &fill : fills)
      forEachUse(fill.buffer, fill.op, [&](Operation *user) {
        if (auto position = readersOfPosition.find(user); position != readersOfPosition.end()) {
          for (StringRef role : position->second)
            if (role != roleThatFills(fill.op))
              readers.insert(role);
        } else if (roles.size() == 1 || plannedRoleOf(user) != roleThatFills(fill.op)) {
          readers.insert(plannedRoleOf(user));
        }
      });
    SmallVector<StringAttr> inOrder;
    for (PlannedRoleAttr role : roles)
      if (readers.contains(role.getName()))
        inOrder.push_back(StringAttr::get(kernel.getContext(), role.getName()));
    return inOrder;
  }

  /// Records on loads that fill no channel why no role waits for them.
  void explainOwnLoads() {
    kernel.walk([&](CopyOp copy) {
      if (isLoad(copy) && !copy->hasAttr(TileDialect::channelAttrName) &&
          !copy->hasAttr(TileDialect::withoutRoleAttrName))
        setName(copy, TileDialect::withoutRoleAttrName,
                "role '" + plannedRoleOf(copy).str() + "' uses its tile itself");
    });
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
    std::string name;
    for (Value buffer : group.buffers())
      name += (name.empty() ? "" : ".") + nameOf(buffer).str();
    name = add(name, group.copies, group.slots);
    for (const GroupedCopy &copy : group.copies) {
      setName(copy.op, TileDialect::channelAttrName, name);
      if (copy.multicast)
        copy.op->setDiscardableAttr(TileDialect::multicastAttrName, UnitAttr::get(copy.op->getContext()));
    }
  }

  /// Hands over the tile that the operation fills.
  void addChannel(Operation *fill) {
    Value tile = tileFilledBy(fill);
    if (StringAttr withSum = channelOfSum(fill)) {
      fill->setDiscardableAttr(TileDialect::channelAttrName, withSum);
      return;
    }
    int64_t slots = isa<GemmInPlaceOp, scf::ForOp>(fill) ? slotsOfSum(tile) : 1;
    setName(fill, TileDialect::channelAttrName, add(nameOf(tile), GroupedCopy{fill, tile}, slots));
  }

  /// The channel of a sum that the role of the fill changes for the product that reads what is filled: the
  /// left factor is handed over with it. Null if there is none.
  StringAttr channelOfSum(Operation *fill) {
    auto store = dyn_cast<StoreOp>(fill);
    if (!store || !isa<TensorMemoryType>(store.getDestination().getType()))
      return {};
    auto isChangedFor = [&](Operation *product, Operation *update) {
      return isa<scf::IfOp>(update) && update->getNumResults() == 0 &&
             update->getBlock() == fill->getBlock() && update->isBeforeInBlock(fill) &&
             roleThatFills(update) == roleThatFills(fill) &&
             tileFilledBy(update) == declarationOf(cast<GemmInPlaceOp>(product).getAcc());
    };
    for (Operation *user : store.getDestination().getUsers()) {
      if (!isa<GemmInPlaceOp>(user) || user->getBlock() != fill->getBlock())
        continue;
      auto *update = llvm::find_if(shared, [&](Operation *each) { return isChangedFor(user, each); });
      if (update != shared.end())
        return (*update)->getAttrOfType<StringAttr>(TileDialect::channelAttrName);
    }
    return {};
  }

  /// Two where tensor memory has room: one is read while the next one is added up.
  int64_t slotsOfSum(Value sum) {
    if (!columns)
      columns.emplace(kernel);
    // What lies over it would be in one slot alone.
    bool isCovered = false;
    kernel.walk([&](AllocTensorMemoryOp each) {
      isCovered |= each.getBuffer() != sum && sharesColumns(each.getBuffer(), sum);
    });
    if (isCovered)
      return 1;
    const int64_t slot = cast<TensorMemoryType>(sum.getType()).slotColumns();
    const size_t tile = *columns->find(sum);
    columns->columns.resize(tile, 2 * slot);
    if (columns->columns.used() <=
        BlockBudget(candidate.target, int64_t(kernel.getResidents())).columnLimit())
      return 2;
    columns->columns.resize(tile, slot);
    return 1;
  }

  /// A channel from the role that fills tiles. Returns its name: no two have the same.
  std::string add(StringRef wanted, ArrayRef<GroupedCopy> fills, int64_t slots) {
    std::string name = wanted.str();
    while (!names.insert(name).second)
      name += "'";
    channels.push_back(ChannelAttr::get(kernel.getContext(), name, roleThatFills(fills.front().op),
                                        readersOf(fills), slots));
    return name;
  }

  KernelOp kernel;
  const Candidate candidate;
  CopyGroups &ahead;
  const WrittenRoles &written;
  const SmallVector<RoleKind> kinds;
  const StringRef rest; ///< the role of what no other one executes
  SmallVector<PlannedRoleAttr> roles;
  llvm::DenseMap<Operation *, llvm::SetVector<StringRef>> readersOfPosition; ///< of those that several need
  SmallVector<Operation *> shared; ///< fills of tiles that the program shares between roles
  SmallVector<ChannelAttr> channels;
  llvm::StringSet<> names;
  std::optional<KernelColumns> columns; ///< with the slots so far
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
    FailureOr<WrittenRoles> written = takeWrittenRoles(kernel);
    FailureOr<SmallVector<const Strategy *>> toTry = findStrategies(kernel);
    if (failed(written) || failed(toTry))
      return failure();
    hoistBuffers(kernel);
    const bool isWritten = !written->roles.empty();
    auto *oneRole = llvm::find_if(*toTry, [](const Strategy *each) { return !each->hasSeveralRoles; });
    if (isWritten && oneRole != toTry->begin())
      toTry->insert(oneRole, &asWritten);
    Obstacle toRoles = {kernel, "warp specialisation is switched off"};
    const std::optional<Obstacle> order = findOrderObstacle(kernel, *written);
    for (const Strategy *strategy : *toTry) {
      if (toTry->size() > 1 && strategy->isAskedFor && !strategy->isAskedFor(kernel))
        continue;
      if (order && strategy->hasSeveralRoles) {
        toRoles = *order;
        continue;
      }
      const bool hasAuthors = isWritten && strategy->hasSeveralRoles;
      const WrittenRoles roles = hasAuthors ? *written : WrittenRoles();
      const Candidate candidate = {kernel, *target, tma, storeRole && kernel.getStoreRole(), roles.warps()};
      for (auto [op, role] : roles.executors)
        setPlannedRole(op, role.getName());
      std::optional<Obstacle> obstacle = strategy->findObstacle(candidate);
      CopyGroups ahead;
      if (!obstacle)
        ahead = findCopyGroups(kernel, positionsFor(*strategy, kernel), [&](CopyOp copy) {
          return isLoad(copy) && !isForOneRole(copy, roles) &&
                 (!strategy->runsAhead || strategy->runsAhead(copy, candidate));
        });
      if (!obstacle && strategy->hasSeveralRoles && strategy->needsLoads && ahead.groups.empty())
        obstacle = ahead.obstacles.empty() ? Obstacle{kernel, "its author's roles load for themselves"}
                                           : ahead.obstacles.front();
      std::optional<Cut> cut;
      if (!obstacle && (!ahead.groups.empty() || !strategy->needsLoads))
        obstacle = cut.emplace(candidate, *strategy, ahead, roles).assign();
      if (obstacle) {
        kernel.walk([](Operation *op) { op->removeDiscardableAttr(TileDialect::roleAttrName); });
        if (strategy->hasSeveralRoles)
          toRoles = *obstacle;
        continue;
      }
      if (strategy == &asWritten)
        emitRemark(toRoles.culprit, RemarkId::notWarpSpecialised)
            << "kernel '" << kernel.getName() << "' has no roles but its author's: " << toRoles.reason;
      else if (!strategy->hasSeveralRoles && failed(report(toRoles, kernel, isWritten)))
        return failure();
      strategy->explainOthers(candidate, ahead);
      return cut ? cut->cut() : success();
    }
    return report(toRoles, kernel, isWritten);
  }

  FailureOr<SmallVector<const Strategy *>> findStrategies(KernelOp kernel) {
    SmallVector<const Strategy *> found;
    for (const std::string &name : strategies) {
      if (name.empty()) // none is to be tried: an option is a list of one name then
        continue;
      found.push_back(findStrategy(name));
      if (!found.back())
        return kernel.emitError("expected the name of a strategy, but got '") << name << "'";
    }
    return found;
  }

  /// Whether the author's role that makes the copy uses its tile, too: no channel hands it over.
  static bool isForOneRole(CopyOp copy, const WrittenRoles &written) {
    PlannedRoleAttr role = written.executors.lookup(copy);
    Value tile = bufferFilledBy(copy);
    bool isUsed = false;
    if (role)
      forEachUse(tile ? tile : copy.getDestination(), copy,
                 [&](Operation *user) { isUsed |= written.executors.lookup(user) == role; });
    return isUsed;
  }

  static void hoistBuffers(KernelOp kernel) {
    Block &top = kernel.getBody().front();
    SmallVector<AllocSharedOp> buffers;
    kernel.walk([&](AllocSharedOp buffer) { buffers.push_back(buffer); });
    for (AllocSharedOp buffer : llvm::reverse(buffers))
      buffer->moveBefore(&top, top.begin());
  }

  /// The positions that who copies reads itself. Without roles, copies of a pipelined loop run ahead of what
  /// the threads take in it.
  static llvm::SmallPtrSet<Operation *, 4> positionsFor(const Strategy &strategy, KernelOp kernel) {
    llvm::SmallPtrSet<Operation *, 4> positions = takenPositions(kernel);
    auto isInPipeline = [](Operation *read) {
      for (Operation *around = read->getParentOp(); !isa<KernelOp>(around); around = around->getParentOp())
        if (isPipelined(around))
          return true;
      return false;
    };
    if (!strategy.hasSeveralRoles)
      positions.remove_if(isInPipeline);
    return positions;
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

  /// Says that all warps stay one program, if there are pipelined loops or the author writes or asks for
  /// roles.
  static LogicalResult report(const Obstacle &obstacle, KernelOp kernel, bool isWritten) {
    kernel.walk([&](CopyOp copy) {
      if (isLoad(copy))
        explain(copy, obstacle.culprit == copy ? obstacle.reason : obstacle.reasonWithPlace());
    });
    if (!isWritten && !kernel.getLoadRole() && !hasPipeline(kernel))
      return success();
    return reportLost(obstacle, kernel, isWritten || program::findTarget(kernel)->tma.available,
                      "is not warp-specialised");
  }

  /// Warns of the consequence, or fails where it is not allowed.
  static LogicalResult reportLost(const Obstacle &obstacle, KernelOp kernel, bool isMissed,
                                  StringRef consequence) {
    if (RequireOp require = findRequirement(kernel, Requirement::warpSpecialized)) {
      InFlightDiagnostic diag = obstacle.culprit->emitError("kernel '")
                                << kernel.getName() << "' is not warp-specialised: " << obstacle.reason;
      diag.attachNote(require.getLoc()) << "required here";
      return diag;
    }
    if (isMissed)
      emitRemark(obstacle.culprit, RemarkId::notWarpSpecialised)
          << "kernel '" << kernel.getName() << "' " << consequence << ": " << obstacle.reason;
    return success();
  }

  /// Loops of a kernel with roles stay as they are.
  static LogicalResult dropPipelines(KernelOp kernel) {
    if (!hasPipeline(kernel))
      return success();
    LogicalResult reported =
        reportLost({kernel, "it has roles already"}, kernel, program::findTarget(kernel)->tma.available,
                   "keeps its pipelined loops synchronous");
    kernel.walk([](scf::ForOp loop) { loop->removeDiscardableAttr(TileDialect::pipelineAttrName); });
    return reported;
  }
};

} // namespace
} // namespace tlc::tile
