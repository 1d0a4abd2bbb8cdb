// SPDX-License-Identifier: Apache-2.0
/// \file
/// Looks at loops, products and copies in this order, so that every message names the same culprit.
#include "compiler/strategies/LoadRole.h"

#include "compiler/analysis/Positions.h"
#include "compiler/analysis/ProductRegisters.h"
#include "compiler/analysis/TmaAccess.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Counts.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

StringRef nameOfInstruction(MatrixAtom atom) {
  switch (atom) {
  case MatrixAtom::wgmma:
    return "wgmma";
  case MatrixAtom::mma_sync:
    return "mma.sync";
  case MatrixAtom::fma:
    return "multiply-add of single elements";
  case MatrixAtom::tcgen05:
    return "tcgen05.mma";
  }
  llvm_unreachable("all instructions are handled");
}

/// How an author gets a role where none is by itself.
std::string wayToAsk(const Target &target) {
  return target.tma.available ? " unless k.loadRole() asks for it" : "";
}

std::string productProblem(GemmOp product, const Target &target) {
  const bool hasTcgen05 = target.tensorMemory.available; // a remark of its own says why the product is none
  const std::string wanted = hasTcgen05 ? "tcgen05.mma" : "wgmma";
  std::string instruction = product.getAtom() ? nameOfInstruction(*product.getAtom()).str() : "no " + wanted;
  std::string why =
      target.wgmma || hasTcgen05 ? "" : " because " + std::string(target.name) + " has no wgmma";
  return "the " + describeStatement(product) + " uses " + instruction + why +
         ", and a role loads ahead only of " + wanted + wayToAsk(target);
}

} // namespace

std::optional<Obstacle> tile::findRegisterObstacle(Candidate candidate, int64_t others, StringRef beside) {
  std::optional<Obstacle> found;
  candidate.kernel.walk([&](GemmOp product) {
    if (found || product.getAtom() != MatrixAtom::wgmma)
      return;
    auto warps = int64_t(candidate.kernel.getWarps());
    std::string problem =
        registerProblem(product, policyOf(product.getPolicy()), warps,
                        {warps + others, int64_t(candidate.kernel.getResidents())}, candidate.target);
    if (!problem.empty())
      found = Obstacle{product, "beside " + beside.str() + " " + problem};
  });
  return found;
}

std::optional<Obstacle> tile::findLoadRoleObstacle(Candidate candidate) {
  KernelOp kernel = candidate.kernel;
  const Target &target = candidate.target;
  scf::ForOp pipelined;
  SmallVector<Operation *> products;
  bool loads = false;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && loop->hasAttr(TileDialect::pipelineAttrName))
      pipelined = pipelined ? pipelined : loop;
    else if (isa<ProductOpInterface>(op))
      products.push_back(op);
    else if (auto copy = dyn_cast<CopyOp>(op))
      loads |= isLoad(copy);
  });
  if (!pipelined && products.empty())
    return Obstacle{kernel,
                    "the kernel has neither a pipelined loop nor a product, and a role loads ahead only of "
                    "products by wgmma in pipelined loops"};
  if (!pipelined)
    return Obstacle{kernel,
                    "no loop of the kernel is pipelined, and a role loads ahead only in pipelined loops"};
  if (products.empty())
    return Obstacle{pipelined, "the kernel has no product, and a role loads ahead only of products by wgmma" +
                                   wayToAsk(target)};
  for (Operation *op : products)
    if (isa<GemmInPlaceOp>(op))
      return Obstacle{op,
                      "the " + describeStatement(op) +
                          " adds in tensor memory, and a role loads ahead only of wgmma; write the roles by "
                          "hand"};
  auto isWgmma = [](Operation *op) { return cast<ProductOpInterface>(op).getAtom() == MatrixAtom::wgmma; };
  if (llvm::none_of(products, isWgmma)) // and so none is asynchronous
    return Obstacle{products.front(), productProblem(cast<GemmOp>(products.front()), target)};
  const int64_t others = warpsPerLoadRole + candidate.writtenWarps;
  if (kernel.getWarps() + others > program::maxWarps(target, kernel.getResidents()))
    return Obstacle{kernel, llvm::formatv("{0} warps leave no room for a role of {1} that loads",
                                          kernel.getWarps() + candidate.writtenWarps, warpsPerLoadRole)};
  if (std::optional<Obstacle> obstacle = findRegisterObstacle(candidate, others, "a role that loads"))
    return obstacle;
  if (!loads)
    return Obstacle{pipelined, "no copy fills a shared tile from a tensor"};
  return std::nullopt;
}

RoleKind tile::loadRole(const CopyGroups &ahead, int64_t warps) {
  llvm::SetVector<Operation *> ops;
  for (auto &group : ahead.groups)
    for (const GroupedCopy &copy : group->copies)
      ops.insert(copy.op);
  for (size_t next = 0; next < ops.size(); ++next)
    for (LoadIndexOp position : positionsNeededBy(ops[next]))
      if (AllocSharedOp tile = sourceOfPosition(position))
        for (Operation *user : tile.getBuffer().getUsers())
          if (isa<LoadIndexOp>(user) || takesNumber(user))
            ops.insert(user);
  return {"load", warps,
          [ops = ops.getArrayRef().vec()](Operation *op) { return llvm::is_contained(ops, op); }};
}

bool tile::needsThreads(Candidate candidate, const CopyGroups &ahead) {
  auto isByThreads = [&](const GroupedCopy &copy) {
    return !candidate.tma || !loadProblem(cast<CopyOp>(copy.op), candidate.target).empty();
  };
  return llvm::any_of(ahead.groups, [&](auto &group) { return llvm::any_of(group->copies, isByThreads); });
}

void tile::explainLeftLoads(Candidate, const CopyGroups &ahead) {
  for (const Obstacle &obstacle : ahead.obstacles)
    obstacle.culprit->setDiscardableAttr(TileDialect::withoutRoleAttrName,
                                         StringAttr::get(obstacle.culprit->getContext(), obstacle.reason));
}
