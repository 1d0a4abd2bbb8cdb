// SPDX-License-Identifier: Apache-2.0
/// \file
/// A branch becomes one of each role, the first of the role that decides.
#include "compiler/transforms/SplitDecisions.h"

#include "compiler/analysis/CheapFragments.h"
#include "compiler/analysis/FragmentOwners.h"
#include "compiler/analysis/RolePlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

/// The operation by which a warp decides, or null.
AnyInWarpOp decisionOf(Value condition) {
  Operation *op = condition.getDefiningOp();
  if (!op || isa<AnyInWarpOp>(op))
    return dyn_cast_or_null<AnyInWarpOp>(op);
  if (!isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::SelectOp>(op))
    return {};
  for (Value operand : op->getOperands())
    if (AnyInWarpOp any = decisionOf(operand))
      return any;
  return {};
}

class Split {
public:
  Split(scf::IfOp branch, AnyInWarpOp any, FragmentOwners owners)
      : branch(branch), any(any), owners(owners), decider(owners.of(any.getCondition())) {
    for (OpResult result : branch.getResults())
      resultsOf[owners.of(result)].push_back(result.getResultNumber());
  }

  /// What keeps roles from following a decision of another one, or nothing.
  std::optional<Obstacle> findObstacle() {
    if (!isShared())
      return std::nullopt;
    ArrayRef<int64_t> rows = any.getCondition().getType().getShape();
    for (auto &[role, results] : resultsOf)
      for (unsigned number : results)
        if (role != decider && !says(rows, branch.getResult(number).getType()))
          return Obstacle{branch,
                          "the condition of k.whenAny does not say for which elements of what role '" +
                              role.str() + "' computes the warps of role '" + decider.str() +
                              "' take the branch"};
    if (branch.elseBlock() && !branch.elseBlock()->without_terminator().empty())
      return Obstacle{branch, "several roles compute for warps that do not take the branch"};
    for (auto &[role, results] : resultsOf)
      for (Value value : crossingTo(role, results))
        if (StringRef executor = executorOf(value.getDefiningOp()); executor != decider)
          return Obstacle{value.getDefiningOp(), "role '" + role.str() + "' uses what role '" +
                                                     executor.str() + "' computes where role '" +
                                                     decider.str() + "' decides"};
    return std::nullopt;
  }

  void run() {
    if (!isShared())
      return;
    for (auto &[role, results] : resultsOf)
      if (role != decider)
        crossing.insert_range(crossingTo(role, results));
    decide();
    for (auto &[role, results] : resultsOf)
      if (role != decider)
        follow(role, results);
    branch.erase();
  }

private:
  Block &body() { return *branch.thenBlock(); }

  bool isShared() const {
    return !resultsOf.empty() && !(resultsOf.size() == 1 && resultsOf.contains(decider));
  }

  /// Whether one truth value for each of the rows says it for each element.
  static bool says(ArrayRef<int64_t> rows, Type result) {
    auto type = dyn_cast<RankedTensorType>(result);
    return type && type.getRank() == int64_t(rows.size()) &&
           llvm::all_of(llvm::zip_equal(rows, type.getShape()), [](auto extents) {
             return std::get<0>(extents) == std::get<1>(extents) || std::get<0>(extents) == 1;
           });
  }

  /// Who executes the operation of the branch; empty for those that each role repeats.
  StringRef executorOf(Operation *op) const {
    StringRef role = plannedRoleOf(op);
    return role.empty() && op->getNumRegions() > 0 && op->getNumResults() > 0 ? owners.of(op->getResult(0))
                                                                              : role;
  }

  /// What the role takes of what others compute in the branch.
  llvm::SetVector<Value> crossingTo(StringRef role, ArrayRef<unsigned> results) {
    llvm::SetVector<Value> values;
    auto add = [&](Value value) {
      Operation *op = value.getDefiningOp();
      if (op && op->getBlock() == &body() && isa<RankedTensorType>(value.getType()) &&
          executorOf(op) != role && !isCheapFragment(value))
        values.insert(value);
    };
    for (unsigned number : results)
      add(branch.thenYield().getOperand(number));
    for (Operation &op : body().without_terminator())
      if (executorOf(&op) == role)
        op.walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), add); });
    return values;
  }

  /// Clones the operations of the body that the role executes, and those that every role repeats.
  void cloneBody(StringRef role, ImplicitLocOpBuilder &builder, IRMapping &mapping) {
    for (Operation &op : body().without_terminator()) {
      StringRef executor = executorOf(&op);
      bool isRepeated = executor.empty() || (op.getNumResults() == 1 && isCheapFragment(op.getResult(0)));
      if (executor != role && !isRepeated)
        continue;
      Operation *clone = builder.clone(op, mapping);
      if (executor != role && !executor.empty())
        setPlannedRole(clone, role);
    }
  }

  Value splat(ImplicitLocOpBuilder &builder, RankedTensorType type, TypedAttr number, StringRef role) {
    auto splat = SplatOp::create(builder, type, arith::ConstantOp::create(builder, number));
    setPlannedRole(splat, role);
    return splat;
  }

  /// The branch of the deciding role: its results, whether the element's warp took it, and what crosses.
  void decide() {
    ImplicitLocOpBuilder builder(branch.getLoc(), branch);
    ArrayRef<unsigned> own = resultsOf[decider];
    RankedTensorType truth = any.getCondition().getType();
    SmallVector<Type> types;
    for (unsigned number : own)
      types.push_back(branch.getResult(number).getType());
    types.push_back(truth);
    llvm::append_range(types, TypeRange(crossing.getArrayRef()));
    auto made = scf::IfOp::create(builder, types, branch.getCondition(), /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
    auto yield = [&](bool taken, function_ref<Value(unsigned)> resultOf,
                     function_ref<Value(Value)> crossingOf) {
      SmallVector<Value> values = llvm::map_to_vector(own, resultOf);
      values.push_back(splat(builder, truth, builder.getBoolAttr(taken), decider));
      for (Value value : crossing)
        values.push_back(crossingOf(value));
      scf::YieldOp::create(builder, values);
    };
    builder.setInsertionPointToStart(made.thenBlock());
    IRMapping mapping;
    cloneBody(decider, builder, mapping);
    yield(
        true, [&](unsigned i) { return mapping.lookupOrDefault(branch.thenYield().getOperand(i)); },
        [&](Value value) { return mapping.lookup(value); });
    builder.setInsertionPointToStart(made.elseBlock());
    yield(
        false, [&](unsigned i) { return branch.elseYield().getOperand(i); },
        [&](Value value) {
          auto type = cast<RankedTensorType>(value.getType());
          return splat(builder, type, cast<TypedAttr>(builder.getZeroAttr(type.getElementType())), decider);
        });
    for (auto [i, number] : llvm::enumerate(own))
      branch.getResult(number).replaceAllUsesWith(made.getResult(i));
    taken = made.getResult(own.size());
    for (auto [i, value] : llvm::enumerate(crossing))
      crossed.map(value, made.getResult(own.size() + 1 + i));
  }

  /// The branch of a role that follows.
  void follow(StringRef role, ArrayRef<unsigned> results) {
    ImplicitLocOpBuilder builder(branch.getLoc(), branch);
    auto types =
        llvm::map_to_vector(results, [&](unsigned number) { return branch.getResult(number).getType(); });
    auto condition = AnyInWarpOp::create(builder, taken);
    setPlannedRole(condition, role);
    auto made = scf::IfOp::create(builder, types, condition, /*addThenBlock=*/true, /*addElseBlock=*/true);
    builder.setInsertionPointToStart(made.thenBlock());
    IRMapping mapping = crossed;
    cloneBody(role, builder, mapping);
    SmallVector<Value> whereTaken, elsewhere;
    for (unsigned number : results) {
      elsewhere.push_back(branch.elseYield().getOperand(number));
      Value value = mapping.lookupOrDefault(branch.thenYield().getOperand(number));
      auto type = cast<RankedTensorType>(value.getType());
      Value isTaken = taken;
      if (auto truth = type.clone(builder.getI1Type()); truth != isTaken.getType()) {
        auto wide = BroadcastOp::create(builder, truth, taken);
        setPlannedRole(wide, role);
        isTaken = wide;
      }
      auto select = arith::SelectOp::create(builder, isTaken, value, elsewhere.back());
      setPlannedRole(select, role);
      whereTaken.push_back(select);
    }
    scf::YieldOp::create(builder, whereTaken);
    builder.setInsertionPointToStart(made.elseBlock());
    scf::YieldOp::create(builder, elsewhere);
    for (auto [i, number] : llvm::enumerate(results))
      branch.getResult(number).replaceAllUsesWith(made.getResult(i));
  }

  scf::IfOp branch;
  AnyInWarpOp any;
  FragmentOwners owners;
  StringRef decider;
  llvm::MapVector<StringRef, SmallVector<unsigned>> resultsOf; ///< by role
  llvm::SetVector<Value> crossing; ///< what other roles take of what the deciding one computes in the branch
  IRMapping crossed;
  Value taken;
};

} // namespace

/// Before any is split: each search for owners sees all operations.
static SmallVector<Split> splitsOf(KernelOp kernel, StringRef fallback) {
  SmallVector<Split> splits;
  kernel.walk([&](scf::IfOp branch) {
    if (AnyInWarpOp any = decisionOf(branch.getCondition()))
      splits.emplace_back(branch, any, FragmentOwners(fallback));
  });
  return splits;
}

std::optional<Obstacle> tile::findDecisionObstacle(KernelOp kernel, StringRef fallback) {
  for (Split &split : splitsOf(kernel, fallback))
    if (std::optional<Obstacle> obstacle = split.findObstacle())
      return obstacle;
  return std::nullopt;
}

void tile::splitDecisions(KernelOp kernel, StringRef fallback) {
  for (Split &split : splitsOf(kernel, fallback))
    split.run();
}
