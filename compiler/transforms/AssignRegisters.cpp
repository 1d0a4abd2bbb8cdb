// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards every role has its number of registers, or none has one: what roles that
/// only issue copies do not need goes to the roles that compute.

#include "compiler/analysis/ProductRegisters.h"
#include "compiler/analysis/Remarks.h"
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
#include "runtime/target/BlockBudget.h"

namespace tlc::tile {
#define GEN_PASS_DEF_ASSIGNREGISTERS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Whole warpgroups and their roles: registers are set for all threads of a warpgroup together.
struct Warpgroups {
  SmallVector<RoleOp> roles;
  int64_t warps = 0;
  bool computes = false;
  int64_t toCopy = 0;               ///< registers that it takes to copy tiles
  std::optional<int64_t> registers; ///< that the author gives

  bool areWhole() const { return warps % warpsPerWarpgroup == 0; }
};

/// Whether threads of the role hold tiles in registers. Others issue copies and hand positions on.
bool computes(RoleOp role) {
  auto isFragment = llvm::IsaPred<RankedTensorType>;
  return role
      .walk([&](Operation *op) {
        bool holdsTile =
            llvm::any_of(op->getResultTypes(), isFragment) || llvm::any_of(op->getOperandTypes(), isFragment);
        return holdsTile ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Registers of a thread that starts its part of a copy, for where it comes from and goes to; and of one that
/// makes it, for vectors on their way besides.
constexpr int64_t registersToStart = 40, registersToCopy = 72;

/// Registers that the copies take which the role's threads make themselves.
int64_t registersForCopies(RoleOp role) {
  int64_t most = 0;
  role.walk([&](CopyOp copy) {
    if (copy.getAtom() != CopyAtom::tma)
      most = std::max(most, copy.getAtom() == CopyAtom::cp_async ? registersToStart : registersToCopy);
  });
  return most;
}

SmallVector<Warpgroups> warpgroupsOf(RolesOp roles) {
  SmallVector<Warpgroups> all;
  for (RoleOp role : roles.getBody().getOps<RoleOp>()) {
    if (all.empty() || all.back().areWhole())
      all.emplace_back();
    Warpgroups &last = all.back();
    last.roles.push_back(role);
    last.warps += int64_t(role.getWarps());
    last.computes |= computes(role);
    last.toCopy = std::max(last.toCopy, registersForCopies(role));
    if (role.getRegisters())
      last.registers = int64_t(*role.getRegisters());
  }
  return all;
}

/// Registers that a role gets which issues copies.
int64_t registersToIssue(int64_t computingWarps, RolesOp roles) {
  // 40 leaves the loop its positions in registers; with three warpgroups that compute, or accumulators of
  // several products at a time, these need them more.
  int64_t products = 0, inTensorMemory = 0;
  roles.walk([&](ProductOpInterface product) {
    ++products;
    inTensorMemory += isa<GemmInPlaceOp>(product);
  });
  // Descriptors and positions of a loop of products; with 72, ptxas spills 8 bytes in a GEMM of 128 x 256.
  constexpr int64_t toMultiply = 80;
  if (inTensorMemory > 0)
    return toMultiply;
  return computingWarps > 2 * warpsPerWarpgroup ? 32 : products > 1 ? 24 : 40;
}

/// The first wgmma product of the role that lacks registers, and the reason; null and empty if there is none.
std::pair<Operation *, std::string> findProblem(RoleOp role, BlockSize block, const Target &target) {
  std::pair<Operation *, std::string> found;
  role.walk([&](ProductOpInterface product) {
    if (product.getAtom() != MatrixAtom::wgmma)
      return WalkResult::advance();
    found = {product, registerProblem(product, policyOf(product.getPolicy()), int64_t(role.getWarps()), block,
                                      target, RoleRegistersPhase::assigned)};
    return found.second.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return found;
}

/// Whether products take more registers than their roles have.
bool lackRegisters(RolesOp roles, BlockSize block, const Target &target) {
  return llvm::any_of(roles.getBody().getOps<RoleOp>(),
                      [&](RoleOp role) { return !findProblem(role, block, target).second.empty(); });
}

LogicalResult checkProducts(RolesOp roles, BlockSize block, const Target &target, bool someAreGiven) {
  for (RoleOp role : roles.getBody().getOps<RoleOp>()) {
    auto [product, problem] = findProblem(role, block, target);
    if (problem.empty())
      continue;
    if (someAreGiven)
      return product->emitError("expected registers for this product because other roles set theirs, but ")
             << problem;
    // ptxas compiles most such programs, and serialises the products.
    emitRemark(product, RemarkId::sequentialProducts)
        << "product may be serialised or refused by ptxas: " << problem;
  }
  return success();
}

/// Registers of warpgroups that leave them out.
struct Shares {
  int64_t toIssue = 0, toCompute = 0;
};

/// The best ones first; none where there is nothing to move.
SmallVector<Shares, 2> sharesOf(ArrayRef<Warpgroups> groups, RolesOp roles, BlockSize block,
                                const Target &target) {
  BlockBudget budget(target, block.residents);
  SmallVector<RoleRegisters> given;
  int64_t warps = 0, computing = 0, issuingLeftOut = 0, computingLeftOut = 0;
  int64_t toCopy = 0;
  for (const Warpgroups &group : groups) {
    warps += group.warps;
    computing += group.computes ? group.warps : 0;
    toCopy = std::max(toCopy, group.computes ? 0 : group.toCopy);
    if (group.registers)
      given.push_back({group.warps, *group.registers});
    else
      (group.computes ? computingLeftOut : issuingLeftOut) += group.warps;
  }
  if (!target.setmaxnreg.available || !groups.back().areWhole())
    return {};
  int64_t atLaunch = budget.registersAtLaunch(warps), least = target.setmaxnreg.min;
  int64_t wanted = std::min(std::max(registersToIssue(computing, roles), toCopy), atLaunch);
  // Nobody gives any up, or all threads have at the launch what they can use.
  bool isMoved = issuingLeftOut > 0 && wanted < atLaunch &&
                 (computing >= 2 * warpsPerWarpgroup || lackRegisters(roles, block, target));
  if (given.empty() && !isMoved)
    return {};
  if (computingLeftOut == 0)
    return {{std::min(wanted, budget.registersBeside(given, warps).value_or(wanted)), 0}};
  SmallVector<Shares, 2> all; // empty if the block has no registers to move
  for (int64_t toIssue : {wanted, least}) {
    SmallVector<RoleRegisters> set = given;
    set.push_back({issuingLeftOut, toIssue});
    if (std::optional<int64_t> toCompute = budget.registersBeside(set, warps))
      all.push_back({toIssue, *toCompute});
  }
  return all;
}

LogicalResult assign(KernelOp kernel, RolesOp roles, const Target &target) {
  SmallVector<Warpgroups> groups = warpgroupsOf(roles);
  BlockSize block = {int64_t(kernel.getWarps()), int64_t(kernel.getResidents())};
  Builder builder(kernel.getContext());
  for (const Shares &shares : sharesOf(groups, roles, block, target)) {
    for (Warpgroups &group : groups) {
      int64_t chosen = group.computes ? shares.toCompute : shares.toIssue;
      for (RoleOp role : group.roles)
        role.setRegistersAttr(builder.getI64IntegerAttr(group.registers.value_or(chosen)));
    }
    if (!lackRegisters(roles, block, target))
      break;
  }
  bool someAreGiven =
      llvm::any_of(groups, [](const Warpgroups &group) { return group.registers.has_value(); });
  return checkProducts(roles, block, target, someAreGiven);
}

struct AssignRegisters : impl::AssignRegistersBase<AssignRegisters> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    const Target *target = program::findTarget(kernel);
    if (!target)
      return;
    WalkResult walked = kernel.walk([&](RolesOp roles) {
      return failed(assign(kernel, roles, *target)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (walked.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace tlc::tile
