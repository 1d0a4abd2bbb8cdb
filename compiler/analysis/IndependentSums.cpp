// SPDX-License-Identifier: Apache-2.0
/// \file
/// Joins what operations, loops, branches and memory connect.
#include "compiler/analysis/IndependentSums.h"

#include "compiler/analysis/BoxRelation.h"
#include "compiler/analysis/CheapFragments.h"
#include "compiler/analysis/TensorAccesses.h"
#include "compiler/analysis/TensorMemory.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Reports.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

bool tile::isOrderedByDataAlone(KernelOp kernel) {
  WalkResult walked = kernel.walk([](Operation *op) {
    bool isKnown = isa<KernelOp, LoadOp, StoreOp, CopyOp, GemmOp, GemmInPlaceOp, ReportOp, RequireOp, GridOp,
                       PersistentOp, LoadIndexOp, scf::ForOp, scf::IfOp>(op) ||
                   isa<AllocationOpInterface>(op) || op->hasTrait<OpTrait::IsTerminator>() ||
                   op->hasTrait<OfLaunch>() || isMemoryEffectFree(op);
    return isKnown ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !walked.wasInterrupted();
}

/// Whether an access of one group, or of none, may meet what another one writes.
bool IndependentSums::shareTensors(KernelOp kernel) const {
  SmallVector<TensorAccess> accesses = tensorAccessesIn(kernel);
  for (auto [i, one] : llvm::enumerate(accesses))
    for (TensorAccess &other : MutableArrayRef(accesses).drop_front(i + 1)) {
      bool isRead = one.kind == AccessKind::read && other.kind == AccessKind::read;
      std::optional<int64_t> group = of(one.op), otherGroup = of(other.op);
      bool isOneGroup = group && group == otherGroup;
      bool isOneTensor = declarationOf(one.slice.getTensor()) == declarationOf(other.slice.getTensor());
      if (!isRead && !isOneGroup && isOneTensor && !areApart(one.slice, other.slice))
        return true;
    }
  return false;
}

IndependentSums::IndependentSums(KernelOp kernel) {
  // Roles cannot share a tile that they fill again.
  llvm::SmallDenseSet<Value> copied;
  kernel.walk([&](StoreOp store) { filled.insert(declarationOf(store.getDestination())); });
  kernel.walk([&](CopyOp copy) {
    if (Value memory = declarationOf(copy.getDestination()); !copied.insert(memory).second)
      filled.insert(memory);
  });
  kernel.walk([&](Operation *op) { connect(op); });
  kernel.walk([&](Operation *op) {
    if (!addsInTensorMemory(op))
      return;
    for (Value value : valuesOf(op))
      groups.try_emplace(connected.getLeaderValue(value.getAsOpaquePointer()), int64_t(groups.size()));
  });
  areOrdered = groups.size() > 1 && (!isOrderedByDataAlone(kernel) || shareTensors(kernel));
}

int64_t tile::rolesOfSums(const IndependentSums &sums) { return sums.count() == 2 ? 2 : 1; }

std::optional<int64_t> IndependentSums::of(Operation *op) const {
  for (Value value : valuesOf(op))
    if (auto leader = connected.findLeader(value.getAsOpaquePointer()); leader != connected.member_end())
      if (auto group = groups.find(*leader); group != groups.end())
        return group->second;
  return std::nullopt;
}

void IndependentSums::join(ValueRange values) {
  for (Value value : values)
    connected.unionSets(values.front().getAsOpaquePointer(), value.getAsOpaquePointer());
}

/// The fragments that the operation uses and gives, and the memory that threads fill.
SmallVector<Value> IndependentSums::valuesOf(Operation *op) const {
  SmallVector<Value> values;
  auto add = [&](Value value) {
    if (isa<RankedTensorType>(value.getType()) && !isCheapFragment(value))
      values.push_back(value);
  };
  llvm::for_each(op->getOperands(), add);
  llvm::for_each(op->getResults(), add);
  for (const MemoryAccess &access : memoryAccessesOf(op)) {
    Value memory = access.isShared() || access.isTensorMemory() ? declarationOf(access.memory) : Value();
    if (memory && (access.isTensorMemory() || filled.contains(memory)))
      values.push_back(memory);
  }
  return values;
}

void IndependentSums::connect(Operation *op) {
  auto joinEach = [&](ValueRange results, ValueRange others) {
    for (auto [result, other] : llvm::zip_equal(results, others))
      if (isa<RankedTensorType>(result.getType()) && !isCheapFragment(other))
        join({result, other});
  };
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    joinEach(loop.getResults(), loop.getInitArgs());
    joinEach(loop.getResults(), loop.getRegionIterArgs());
    joinEach(loop.getResults(), loop.getYieldedValues());
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    joinEach(branch.getResults(), branch.thenYield().getOperands());
    if (branch.elseBlock())
      joinEach(branch.getResults(), branch.elseYield().getOperands());
  } else if (auto any = dyn_cast<AnyInWarpOp>(op)) {
    SmallVector<Value> decided = {any.getCondition()};
    for (Operation *by : decisionsBy(any.getResult()))
      for (Value result : by->getResults())
        if (isa<RankedTensorType>(result.getType()))
          decided.push_back(result);
    join(decided);
  } else if (!op->hasTrait<OpTrait::IsTerminator>() && op->getNumRegions() == 0) {
    if (SmallVector<Value> values = valuesOf(op); !values.empty())
      join(values);
  }
}
