// SPDX-License-Identifier: Apache-2.0
/// \file
/// A tile that the TMA can store whole goes to the role through shared memory; what follows from computed
/// data alone stays with the warps that compute.
#include "compiler/strategies/StoreRole.h"

#include "compiler/analysis/BoxRelation.h"
#include "compiler/analysis/ComputedValues.h"
#include "compiler/analysis/PanelStores.h"
#include "compiler/analysis/Positions.h"
#include "compiler/analysis/Remarks.h"
#include "compiler/analysis/RolePlan.h"
#include "compiler/analysis/TensorAccesses.h"
#include "compiler/analysis/TmaAccess.h"
#include "compiler/strategies/FitSlots.h"
#include "compiler/strategies/LoadRole.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

/// Whether what the warps that compute have alone says where the tile goes, or whether it is stored.
bool followsComputedData(StoreOp store, const ComputedValues &computed) {
  auto isComputed = [&](Value value) { return computed.contains(value); };
  for (Operation *around = store->getParentOp(); !isa<KernelOp>(around); around = around->getParentOp())
    if (llvm::any_of(conditionOf(around), isComputed))
      return true;
  return llvm::any_of(store.getDestination().getDefiningOp()->getOperands(), isComputed);
}

/// Why a role of its own cannot store the tile; empty if it can.
std::string storeRoleProblem(StoreOp store, Candidate candidate, const CopyGroups &ahead,
                             ArrayRef<PanelStore> byTma, ArrayRef<TensorAccess> accesses,
                             const ComputedValues &computed) {
  auto slice = store.getDestination().getDefiningOp<SliceOp>();
  if (needsThreads(candidate, ahead))
    return "threads make some of the loads and need all warps of the role that loads";
  if (!store->getParentOfType<scf::ForOp>())
    return "no loop has a next tile to go on with";
  if (llvm::none_of(byTma, [&](const PanelStore &panels) { return panels.store == store; }))
    return "the TMA does not store it";
  auto isOther = [&](const TensorAccess &access) {
    SliceOp accessed(access.slice);
    return access.op != store && declarationOf(accessed.getTensor()) == declarationOf(slice.getTensor()) &&
           !(isa<StoreOp>(access.op) && areApart(slice, accessed));
  };
  if (llvm::any_of(accesses, isOther))
    return "another operation of the kernel accesses '" + slice.getTensorFacts().getName().str() + "'";
  if (followsComputedData(store, computed))
    return "where it is stored, or whether, depends on computed data";
  return storeProblem(handedTile(store.getValue().getType()), slice, candidate.target);
}

} // namespace

std::optional<RoleKind> tile::storeRole(Candidate candidate, const CopyGroups &ahead, int64_t warps) {
  if (!candidate.storeRole)
    return std::nullopt;
  KernelOp kernel = candidate.kernel;
  SmallVector<PanelStore> byTma = panelStoresIn(kernel, candidate.target, candidate.tma).byTma;
  SmallVector<TensorAccess> accesses = tensorAccessesIn(kernel);
  const auto taken = takenPositions(kernel);
  ComputedValues computed(kernel, [&](Operation *op) { return belongsToOneRole(op) && !taken.contains(op); });
  llvm::SmallPtrSet<Operation *, 4> stores;
  // Beside the stages: each tile that is handed over, and what other stores go through.
  auto fits = [&](StoreOp last) {
    SmallVector<int64_t> tiles = {sizeInBytes(handedTile(last.getValue().getType()))};
    for (Operation *store : stores)
      tiles.push_back(sizeInBytes(handedTile(cast<StoreOp>(store).getValue().getType())));
    int64_t staging = 0;
    for (const PanelStore &panels : byTma)
      if (panels.store != last && !stores.contains(panels.store))
        staging += panels.bytesOf(panels.leastBuffers());
    return fitBeside(kernel, ahead, tiles, staging);
  };
  kernel.walk([&](StoreOp store) {
    if (!store.getDestination().getDefiningOp<SliceOp>() || !plannedRoleOf(store).empty())
      return;
    std::string problem = storeRoleProblem(store, candidate, ahead, byTma, accesses, computed);
    if (problem.empty() && !fits(store))
      problem = "shared memory has no room for it beside all stages";
    if (problem.empty()) {
      stores.insert(store);
      return;
    }
    emitRemark(store, RemarkId::storeWithoutRole)
        << "the warps that compute store this tile themselves: " << problem;
  });
  if (stores.empty())
    return std::nullopt;
  return RoleKind{"store", warps, [stores](Operation *op) { return stores.contains(op); }};
}
