// SPDX-License-Identifier: Apache-2.0
/// \file
/// A search from numbers back to the reads from which they follow.
#include "compiler/analysis/Positions.h"

#include "compiler/analysis/CopyGroups.h"
#include "compiler/analysis/ElementOrders.h"
#include "compiler/analysis/RolePlan.h"
#include "compiler/analysis/TensorAccesses.h"
#include "dialects/tile/Counts.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

class Search {
public:
  void addAll(ValueRange values) {
    for (Value value : values)
      add(value);
  }
  llvm::SetVector<LoadIndexOp> found;

private:
  void add(Value value) {
    if (isa<RankedTensorType>(value.getType()) || !seen.insert(value.getAsOpaquePointer()).second)
      return;
    auto argument = dyn_cast<BlockArgument>(value);
    Operation *op = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      addAll(conditionOf(loop));
      unsigned number = argument ? argument.getArgNumber() : cast<OpResult>(value).getResultNumber() + 1;
      if (number > 0) // the first argument counts
        addAll({loop.getInitArgs()[number - 1], loop.getYieldedValues()[number - 1]});
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      unsigned number = cast<OpResult>(value).getResultNumber();
      addAll({branch.getCondition(), branch.thenYield().getOperand(number),
              branch.elseYield().getOperand(number)});
    } else if (auto read = dyn_cast<LoadIndexOp>(op); read && !isMemoryEffectFree(read)) {
      found.insert(read);
    } else if (!isa<KernelOp>(op) && !belongsToOneRole(op)) {
      addAll(op->getOperands());
    }
  }

  llvm::SmallPtrSet<void *, 16> seen;
};

} // namespace

AllocSharedOp tile::sourceOfPosition(Operation *op) {
  auto read = dyn_cast<LoadIndexOp>(op);
  return read && isa<SharedType>(read.getSource().getType()) ? bufferOf(read.getSource()) : AllocSharedOp();
}

llvm::SetVector<LoadIndexOp> tile::positionsNeededBy(Operation *op) {
  Search search;
  search.addAll(op->getOperands());
  for (Operation *around = op->getParentOp(); !isa<KernelOp>(around); around = around->getParentOp())
    search.addAll(conditionOf(around));
  return search.found;
}

llvm::MapVector<Operation *, llvm::SetVector<StringRef>> tile::findNeededPositions(KernelOp kernel) {
  llvm::MapVector<Operation *, llvm::SetVector<StringRef>> needs;
  SmallVector<std::pair<Operation *, StringRef>> users;
  kernel.walk([&](Operation *op) {
    if (auto read = dyn_cast<LoadIndexOp>(op); read && !isMemoryEffectFree(read))
      needs[read] = {};
    else if (StringRef role = plannedRoleOf(op); !role.empty())
      users.push_back({op, role});
  });
  if (needs.empty())
    return needs;
  for (size_t next = 0; next < users.size(); ++next) {
    auto [op, role] = users[next];
    for (LoadIndexOp read : positionsNeededBy(op))
      if (needs[read].insert(role))
        users.push_back({read, role});
  }
  return needs;
}

llvm::SmallPtrSet<Operation *, 4> tile::takenPositions(KernelOp kernel) {
  llvm::SmallPtrSet<Operation *, 4> positions, counted;
  struct Use {
    bool isTaken = false, isRead = false, isWritten = false;
  };
  llvm::DenseMap<Value, Use> tensors;
  for (const TensorAccess &access : tensorAccessesIn(kernel)) {
    Use &use = tensors[declarationOf(SliceOp(access.slice).getTensor())];
    if (isa<TakeOp>(access.op))
      use.isTaken = true;
    else
      (access.kind == AccessKind::read ? use.isRead : use.isWritten) = true;
  }
  bool isOrdered = llvm::any_of(tensors, [](const auto &tensor) {
    const Use &use = tensor.second;
    return int(use.isTaken) + int(use.isRead) + int(use.isWritten) > 1;
  });
  kernel.walk([&](Operation *op) {
    isOrdered |= isa<AnnounceOp, WaitForOp>(op);
    AllocSharedOp tile = sourceOfPosition(op);
    auto isKnown = [&](Operation *user) { return isa<LoadIndexOp>(user) || takesNumber(user); };
    if (!tile || !llvm::all_of(tile.getBuffer().getUsers(), isKnown))
      return;
    if (llvm::any_of(tile.getBuffer().getUsers(), llvm::IsaPred<TakeOp>))
      counted.insert(op);
    else if (llvm::any_of(tile.getBuffer().getUsers(), llvm::IsaPred<NextBlockOp>))
      positions.insert(op); // in no order
  });
  if (!isOrdered)
    positions.insert(counted.begin(), counted.end());
  return positions;
}
