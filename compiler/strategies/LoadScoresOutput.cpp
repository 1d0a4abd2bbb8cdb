// SPDX-License-Identifier: Apache-2.0
/// \file
/// One role loads ahead of two that compute: of products that stand in a row, as in attention, one has the
/// scores and what follows from them, the other one adds their products up.
#include "compiler/analysis/ProductRegisters.h"
#include "compiler/analysis/RolePlan.h"
#include "compiler/strategies/LoadRole.h"
#include "dialects/program/Program.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

/// Whether the value follows from a product that the operation's block has, too.
bool followsProduct(Value value, Operation *op, llvm::SmallPtrSetImpl<void *> &seen) {
  Operation *definition = value.getDefiningOp();
  if (!definition || !isa<RankedTensorType>(value.getType()) ||
      !op->getBlock()->findAncestorOpInBlock(*definition) || !seen.insert(value.getAsOpaquePointer()).second)
    return false;
  auto follows = [&](Value operand) { return followsProduct(operand, op, seen); };
  if (auto branch = dyn_cast<scf::IfOp>(definition)) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    return follows(branch.thenYield().getOperand(number)) || follows(branch.elseYield().getOperand(number));
  }
  return isa<GemmOp>(definition) || llvm::any_of(definition->getOperands(), follows);
}

/// The products whose left factor is computed from other products.
SmallVector<GemmOp> secondProducts(KernelOp kernel) {
  SmallVector<GemmOp> second;
  kernel.walk([&](GemmOp product) {
    llvm::SmallPtrSet<void *, 16> seen;
    if (followsProduct(product.getA(), product, seen))
      second.push_back(product);
  });
  return second;
}

/// The operations that need the sums of the given products, and what they alone repeat along rows.
class Output {
public:
  Output(KernelOp kernel, ArrayRef<GemmOp> products) {
    for (GemmOp product : products) {
      ops.insert(product);
      values.insert(product.getResult());
    }
    for (bool grows = true; grows;) {
      grows = false;
      kernel.walk([&](Operation *op) { grows |= add(op); });
    }
  }
  bool contains(Operation *op) const { return ops.contains(op); }

private:
  bool add(Operation *op) {
    auto has = [&](Value value) { return values.contains(value); };
    bool grows = false;
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [i, value] : llvm::enumerate(loop.getYieldedValues()))
        if (has(value))
          for (Value same : {Value(loop.getResult(i)), Value(loop.getRegionIterArg(i))})
            grows |= values.insert(same).second;
      return grows;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (OpResult result : branch.getResults())
        if (has(branch.thenYield().getOperand(result.getResultNumber())) ||
            has(branch.elseYield().getOperand(result.getResultNumber())))
          grows |= values.insert(result).second;
      return grows;
    }
    if (!belongsToOneRole(op) || ops.contains(op))
      return false;
    bool repeats = isa<BroadcastOp>(op) && !op->use_empty() &&
                   llvm::all_of(op->getUsers(), [&](Operation *user) { return ops.contains(user); });
    if (!repeats && llvm::none_of(op->getOperands(), has))
      return false;
    ops.insert(op);
    values.insert(op->result_begin(), op->result_end());
    return true;
  }

  llvm::DenseSet<Operation *> ops;
  llvm::DenseSet<Value> values;
};

std::optional<Obstacle> findObstacle(Candidate candidate) {
  if (std::optional<Obstacle> obstacle = findLoadRoleObstacle(candidate))
    return obstacle;
  KernelOp kernel = candidate.kernel;
  SmallVector<GemmOp> second = secondProducts(kernel);
  if (second.empty())
    return Obstacle{kernel, "no product takes what is computed from another one"};
  int64_t warps = 2 * int64_t(kernel.getWarps()) + warpsPerLoadRole + candidate.writtenWarps;
  if (warps > program::maxWarps(candidate.target, kernel.getResidents()))
    return Obstacle{kernel,
                    llvm::formatv("{0} warps leave no room for as many that add up, and a role of {1} "
                                  "that loads",
                                  kernel.getWarps(), warpsPerLoadRole)};
  std::optional<Obstacle> obstacle;
  kernel.walk([&](GemmOp product) {
    if (product.getAtom() != MatrixAtom::wgmma || obstacle)
      return;
    std::string problem = registerProblem(product, policyOf(product.getPolicy()), int64_t(kernel.getWarps()),
                                          {warps, int64_t(kernel.getResidents())}, candidate.target);
    if (!problem.empty())
      obstacle = {product, "beside other roles " + problem};
  });
  return obstacle;
}

SmallVector<RoleKind> rolesOf(Candidate candidate, const CopyGroups &ahead) {
  auto output = std::make_shared<Output>(candidate.kernel, secondProducts(candidate.kernel));
  auto warps = int64_t(candidate.kernel.getWarps());
  return {loadRole(ahead, warpsPerLoadRole),
          {"output", warps, [output](Operation *op) { return output->contains(op); }},
          {"scores", warps, nullptr}};
}

} // namespace

const Strategy tile::loadScoresOutput = {"load-scores-output",  /*hasSeveralRoles=*/true,
                                         /*needsLoads=*/true,   findObstacle,
                                         /*runsAhead=*/nullptr, rolesOf,
                                         explainLeftLoads};
