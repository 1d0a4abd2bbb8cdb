// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads a plan and checks it: an operation finds what it uses in its own role, or a channel brings it.
#include "compiler/analysis/RolePlan.h"

#include "compiler/analysis/ComputedValues.h"
#include "compiler/analysis/ElementOrders.h"
#include "compiler/analysis/Positions.h"
#include "dialects/tile/Counts.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

RolePlanAttr tile::rolePlanOf(KernelOp kernel) {
  return kernel->getAttrOfType<RolePlanAttr>(TileDialect::rolePlanAttrName);
}

StringRef tile::plannedRoleOf(Operation *op) {
  auto role = op->getAttrOfType<StringAttr>(TileDialect::roleAttrName);
  return role ? role.getValue() : StringRef();
}

ChannelAttr tile::plannedChannelOf(AllocSharedOp tile) {
  RolePlanAttr plan = rolePlanOf(tile->getParentOfType<KernelOp>());
  auto channelOfFill = [&](Operation *op) {
    auto name = op->getAttrOfType<StringAttr>(TileDialect::channelAttrName);
    return name && plan ? plan.findChannel(name) : ChannelAttr();
  };
  for (Operation *user : tile.getBuffer().getUsers()) {
    if (ChannelAttr channel = channelOfFill(user))
      return channel;
    if (isa<RowsOp>(user))
      for (Operation *fill : user->getUsers())
        if (ChannelAttr channel = rowsFilledBy(fill) ? channelOfFill(fill) : ChannelAttr())
          return channel;
  }
  return {};
}

void tile::setPlannedRole(Operation *op, StringRef role) {
  op->setDiscardableAttr(TileDialect::roleAttrName, StringAttr::get(op->getContext(), role));
}

bool tile::belongsToOneRole(Operation *op) {
  if (isa<KernelOp, scf::ForOp, scf::IfOp>(op) || op->hasTrait<OpTrait::IsTerminator>())
    return false;
  bool isOutside = isa<AllocationOpInterface>(op) || op->hasTrait<OfLaunch>();
  auto isFragment = llvm::IsaPred<RankedTensorType>;
  return (!isMemoryEffectFree(op) && !isOutside) || llvm::any_of(op->getResultTypes(), isFragment) ||
         llvm::any_of(op->getOperandTypes(), isFragment);
}

/// The product that fills tensor memory, or the one in the loop that does; null if there is none or there are
/// several.
static GemmInPlaceOp productOf(Operation *op) {
  GemmInPlaceOp product;
  bool isOne = true;
  op->walk([&](GemmInPlaceOp each) { isOne &= !std::exchange(product, each); });
  return isOne ? product : GemmInPlaceOp();
}

/// The first store of a branch that changes a sum in tensor memory; null if there is none.
static StoreOp storeIn(Operation *op) {
  StoreOp first;
  op->walk([&](StoreOp store) {
    first = store;
    return WalkResult::interrupt();
  });
  return first && isa<TensorMemoryType>(first.getDestination().getType()) ? first : StoreOp();
}

Value tile::tileFilledBy(Operation *op) {
  Value tile;
  if (auto store = dyn_cast<StoreOp>(op))
    tile = store.getDestination();
  else if (auto copy = dyn_cast<CopyOp>(op); copy && isa<SharedType>(copy.getDestination().getType()))
    tile = copy.getDestination();
  else if (auto take = dyn_cast<TakeOp>(op))
    tile = take.getDestination();
  else if (auto next = dyn_cast<NextBlockOp>(op))
    tile = next.getDestination();
  else if (isa<StoreIndexOp>(op))
    tile = cast<StoreIndexOp>(op).getDestination();
  else if (isa<scf::ForOp, GemmInPlaceOp>(op))
    if (GemmInPlaceOp product = productOf(op))
      tile = product.getAcc();
  if (isa<scf::IfOp>(op))
    if (StoreOp store = storeIn(op))
      tile = declarationOf(store.getDestination());
  return tile && tile.getDefiningOp<AllocationOpInterface>() ? tile : Value();
}

StringRef tile::roleThatFills(Operation *op) {
  if (isa<scf::ForOp>(op))
    return plannedRoleOf(productOf(op));
  return plannedRoleOf(isa<scf::IfOp>(op) ? storeIn(op).getOperation() : op);
}

bool tile::isRepeatedPosition(Operation *op) { return plannedRoleOf(op).empty() && sourceOfPosition(op); }

SharedType tile::handedTile(RankedTensorType fragment) {
  return SharedType::get(fragment.getContext(), fragment.getShape(), fragment.getElementType());
}

namespace {

class PlanReader {
public:
  PlanReader(KernelOp kernel, RolePlanAttr plan) : kernel(kernel), plan(plan) {}

  FailureOr<CopyGroups> read() {
    for (ChannelAttr channel : plan.getChannels()) {
      found.groups.push_back(std::make_unique<CopyGroup>());
      found.groups.back()->channel = channel;
      found.groups.back()->slots = channel.getSlots();
    }
    WalkResult walked = kernel.walk([&](Operation *op) { return WalkResult(readOperation(op)); });
    if (walked.wasInterrupted())
      return failure();
    for (auto &group : found.groups)
      if (failed(findReaders(*group)) || failed(checkAhead(*group)))
        return failure();
    if (failed(checkBuffers()) || failed(checkValues()))
      return failure();
    return std::move(found);
  }

private:
  LogicalResult readOperation(Operation *op) {
    StringRef role = plannedRoleOf(op);
    auto name = op->getAttrOfType<StringAttr>(TileDialect::channelAttrName);
    if (name && failed(readFilling(op, name.getValue())))
      return failure();
    if (role.empty()) {
      if (belongsToOneRole(op) && !isRepeatedPosition(op))
        return op->emitError("expected '")
               << TileDialect::roleAttrName
               << "' because roles repeat only what has no effects and is no fragment";
      return success();
    }
    if (!plan.findRole(role))
      return op->emitError("expected '")
             << TileDialect::roleAttrName << "' to be a role of the kernel's plan, but it has no '" << role
             << "'";
    return success();
  }

  LogicalResult readFilling(Operation *op, StringRef name) {
    auto known = llvm::find_if(found.groups, [&](auto &group) { return group->channel.getName() == name; });
    if (known == found.groups.end())
      return op->emitError("expected '")
             << TileDialect::channelAttrName << "' to be a channel of the kernel's plan, but it has no '"
             << name << "'";
    CopyGroup &group = **known;
    RowsOp rows = rowsFilledBy(op);
    GroupedCopy filling = {op, rows ? rows.getSource() : tileFilledBy(op),
                           op->hasAttr(TileDialect::multicastAttrName)};
    if (!filling.buffer)
      return op->emitError(
          "expected a copy that fills a whole shared tile or rows of one, a store that fills one with a "
          "fragment or a "
          "position, or products or a branch that fill a tile in tensor memory, because its channel hands "
          "that over");
    if (StringRef role = roleThatFills(op); role != group.channel.getFrom())
      return op->emitError("expected role '") << group.channel.getFrom() << "' because channel '" << name
                                              << "' comes from it, but got '" << role << "'";
    if (!group.copies.empty() && group.block != op->getBlock())
      return op->emitError("expected the copies of channel '")
             << name << "' in one loop or branch because they share its slots";
    auto fillsShared = [](Operation *each) {
      auto store = dyn_cast<StoreOp>(each);
      return store && isa<SharedType>(store.getDestination().getType());
    };
    if (!group.copies.empty() && (fillsShared(op) || fillsShared(group.copies.front().op)))
      return op->emitError("expected nothing else to fill channel '")
             << name << "' because a store of a fragment to shared memory fills a slot by itself";
    group.add(filling);
    return success();
  }

  /// The operations of the copies' block that use the tiles, directly, through views or inside of them.
  LogicalResult findReaders(CopyGroup &group) {
    if (group.copies.empty())
      return kernel.emitError("expected copies that fill channel '")
             << group.channel.getName() << "', but there are none";
    for (StringAttr role : group.channel.getTo())
      group.readers.push_back({role});
    LogicalResult found = success();
    for (const GroupedCopy &copy : group.copies)
      forEachUse(copy.buffer, copy.op, [&](Operation *user) {
        if (succeeded(found))
          found = addReaders(group, copy, user);
      });
    if (failed(found))
      return failure();
    for (const SlotReaders &readers : group.readers)
      if (!readers.first)
        return group.copies.front().op->emitError("expected a reader of channel '")
               << group.channel.getName() << "' in role '" << readers.role
               << "' because no role would release its slots";
    return success();
  }

  /// A position each role reads that gets it.
  LogicalResult addReaders(CopyGroup &group, const GroupedCopy &copy, Operation *user) {
    if (!isRepeatedPosition(user))
      return addReader(group, copy, user, plannedRoleOf(user));
    return success(llvm::all_of(group.channel.getTo(), [&](StringAttr role) {
      return succeeded(addReader(group, copy, user, role));
    }));
  }

  LogicalResult addReader(CopyGroup &group, const GroupedCopy &copy, Operation *user, StringRef role) {
    Operation *reader = group.block->findAncestorOpInBlock(*user);
    if (!reader && group.isSumInPlace() && plannedRoleOf(user) == group.channel.getFrom())
      if (Operation *loop = group.block->getParentOp(),
          *later = loop->getBlock()->findAncestorOpInBlock(*user);
          later && loop->isBeforeInBlock(later)) {
        if (!group.reclaimedBy || later->isBeforeInBlock(group.reclaimedBy))
          group.reclaimedBy = later;
        return success();
      }
    if (!reader)
      return user->emitError("expected the uses of a channel's tiles in the loop or branch of its copies "
                             "because there its slots are released");
    if (role == group.channel.getFrom() && !group.channel.leadsTo(role)) {
      if (isa<StoreOp, TakeOp, NextBlockOp, StoreIndexOp>(copy.op) && !reader->isBeforeInBlock(copy.op))
        return success(); // what its own threads wrote
      return user->emitError("expected role '")
             << role << "' to use what it puts into channel '" << group.channel.getName()
             << "' only after it has stored it with its own threads";
    }
    auto *readers = llvm::find_if(group.readers, [&](const SlotReaders &each) { return each.role == role; });
    if (readers == group.readers.end()) {
      InFlightDiagnostic diagnostic = user->emitError("expected role ");
      llvm::interleave(
          group.channel.getTo(), diagnostic,
          [&](StringAttr each) { diagnostic << "'" << each.getValue() << "'"; }, " or ");
      return diagnostic << " because channel '" << group.channel.getName()
                        << "' hands it what it uses, but got '" << role << "'";
    }
    if (!readers->first || reader->isBeforeInBlock(readers->first))
      readers->first = reader;
    readers->byProducts |= isa<GemmInPlaceOp>(user);
    Operation *end = endOfRead(user, group.block);
    if (!end)
      return user->emitError(
          "expected a wait for the product in the loop or branch of the copies that it reads "
          "because there their slots are released");
    if (!readers->last || readers->last->isBeforeInBlock(end))
      readers->last = end;
    return success();
  }

  /// Copies that run ahead within a role do so in a loop, all of them equally far.
  LogicalResult checkAhead(const CopyGroup &group) {
    if (!group.channel.leadsTo(group.channel.getFrom()))
      return success();
    Operation *first = group.copies.front().op, *loop = group.block->getParentOp();
    if (!isa<scf::ForOp>(loop))
      return first->emitError("expected the copies of channel '")
             << group.channel.getName() << "' in a loop because they run ahead of its iterations";
    for (auto &other : found.groups)
      if (other->block == group.block && other->slots != group.slots)
        return first->emitError("expected channels '")
               << group.channel.getName() << "' and '" << other->channel.getName()
               << "' to have the same number of slots because their copies run ahead of one loop, but got "
               << group.slots << " and " << other->slots;
    return success();
  }

  /// What several roles access, a channel hands over.
  LogicalResult checkBuffers() {
    llvm::DenseMap<Operation *, Operation *> users;
    for (auto &group : found.groups)
      for (GroupedCopy copy : group->copies)
        users[copy.buffer.getDefiningOp()] = nullptr;
    WalkResult walked = kernel.walk([&](Operation *op) {
      for (const MemoryAccess &access : memoryAccessesOf(op)) {
        AllocSharedOp buffer = access.isShared() ? bufferOf(access.memory) : AllocSharedOp();
        if (!buffer)
          continue;
        Operation *other = users.try_emplace(buffer, op).first->second;
        if (other && plannedRoleOf(other) != plannedRoleOf(op)) {
          op->emitError("expected role '")
              << plannedRoleOf(other) << "', which uses '" << buffer.getName()
              << "', too, because no channel hands it over, but got '" << plannedRoleOf(op) << "'";
          return WalkResult::interrupt();
        }
      }
      return WalkResult::advance();
    });
    return failure(walked.wasInterrupted());
  }

  /// Values do not go from role to role but in tiles.
  LogicalResult checkValues() {
    for (PlannedRoleAttr role : plan.getRoles()) {
      ComputedValues elsewhere = valuesOfOtherRoles(kernel, role.getName());
      WalkResult walked = kernel.walk([&](Operation *op) {
        if (plannedRoleOf(op) != role.getName())
          return WalkResult::advance();
        auto isElsewhere = [&](Value value) { return elsewhere.contains(value); };
        bool isLost = llvm::any_of(op->getOperands(), isElsewhere);
        for (Operation *around = op->getParentOp(); around != kernel; around = around->getParentOp())
          isLost |= llvm::any_of(conditionOf(around), isElsewhere);
        if (!isLost)
          return WalkResult::advance();
        op->emitError("expected role '")
            << role.getName() << "' to compute what the operation needs, where and when it runs included, "
            << "because values do not go from role to role";
        return WalkResult::interrupt();
      });
      if (walked.wasInterrupted())
        return failure();
    }
    return success();
  }

  KernelOp kernel;
  RolePlanAttr plan;
  CopyGroups found;
};

} // namespace

ComputedValues tile::valuesOfOtherRoles(KernelOp kernel, StringRef role) {
  auto hasTile = [&](AllocSharedOp tile) {
    ChannelAttr channel = plannedChannelOf(tile);
    return channel && (channel.getFrom() == role || channel.leadsTo(role));
  };
  return ComputedValues(kernel, [&](Operation *op) {
    if (isRepeatedPosition(op))
      return !hasTile(sourceOfPosition(op));
    StringRef own = plannedRoleOf(op);
    return !own.empty() && own != role;
  });
}

FailureOr<CopyGroups> tile::readRolePlan(KernelOp kernel) {
  return PlanReader(kernel, rolePlanOf(kernel)).read();
}
