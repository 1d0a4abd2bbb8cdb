// SPDX-License-Identifier: Apache-2.0
/// \file
/// The buffer takes the place of the store's staging buffer, and has room for the whole tile.
#include "compiler/transforms/StoreRole.h"

#include "compiler/analysis/ComputedValues.h"
#include "compiler/analysis/Remarks.h"
#include "compiler/analysis/RolePlan.h"
#include "compiler/analysis/TensorAccesses.h"
#include "compiler/analysis/TmaAccess.h"
#include "compiler/transforms/FitSlots.h"
#include "dialects/tile/Names.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

SharedType tileOf(StoreOp store) {
  RankedTensorType fragment = store.getValue().getType();
  return SharedType::get(store.getContext(), fragment.getShape(), fragment.getElementType());
}

/// Whether what the warps that compute have alone says where the tile goes, or whether it is stored.
bool followsComputedData(StoreOp store, const ComputedValues &computed) {
  auto isComputed = [&](Value value) { return computed.contains(value); };
  for (Operation *around = store->getParentOp(); !isa<KernelOp>(around); around = around->getParentOp())
    if (llvm::any_of(conditionOf(around), isComputed))
      return true;
  return llvm::any_of(store.getDestination().getDefiningOp()->getOperands(), isComputed);
}

/// Why a role of its own cannot store the tile; empty if it can.
std::string storeRoleProblem(StoreOp store, const CopyGroups &loads, ArrayRef<TensorAccess> accesses,
                             const ComputedValues &computed, const Target &target) {
  auto slice = store.getDestination().getDefiningOp<SliceOp>();
  std::string tensor = "'" + slice.getTensorFacts().getName().str() + "'";
  auto isByThreads = [](const auto &group) {
    return group->has(CopyAtom::simt) || group->has(CopyAtom::cp_async);
  };
  if (llvm::any_of(loads.groups, isByThreads))
    return "threads make some of the loads and need all warps of the role that loads";
  if (!store->getParentOfType<scf::ForOp>())
    return "no loop has a next tile to go on with";
  if (store.getAtom() != CopyAtom::tma)
    return "the TMA does not store it";
  if (llvm::any_of(accesses, [&](const TensorAccess &access) {
        return access.op != store &&
               declarationOf(SliceOp(access.slice).getTensor()) == declarationOf(slice.getTensor());
      }))
    return "another operation of the kernel accesses " + tensor;
  if (followsComputedData(store, computed))
    return "where it is stored, or whether, depends on computed data";
  return storeProblem(tileOf(store), slice, target);
}

HandedTile separate(StoreOp store) {
  auto slice = store.getDestination().getDefiningOp<SliceOp>();
  auto staging = store.getStaging().getDefiningOp<AllocSharedOp>();
  OpBuilder builder(staging);
  HandedTile tile = {store, {}, {}};
  tile.buffer = AllocSharedOp::create(builder, store.getLoc(), tileOf(store),
                                      (slice.getTensorFacts().getName() + ".tile").str(), IntegerAttr());
  store.getStagingMutable().clear();
  staging.erase();
  store.setAtom(CopyAtom::simt);
  store.getDestinationMutable().assign(tile.buffer.getBuffer());
  builder.setInsertionPointAfter(store);
  tile.store = CopyOp::create(builder, store.getLoc(), tile.buffer, slice,
                              CopyAtomAttr::get(store.getContext(), CopyAtom::tma));
  return tile;
}

} // namespace

SmallVector<HandedTile> tile::separateStores(KernelOp kernel, const CopyGroups &loads, const Target &target) {
  SmallVector<TensorAccess> accesses = tensorAccessesIn(kernel);
  SmallVector<StoreOp> stores;
  kernel.walk([&](StoreOp store) {
    if (store.getDestination().getDefiningOp<SliceOp>())
      stores.push_back(store);
  });
  ComputedValues computed(kernel, belongsToOneRole);
  SmallVector<HandedTile> separated;
  for (StoreOp store : stores) {
    std::string problem = storeRoleProblem(store, loads, accesses, computed, target);
    if (problem.empty() && !fitsInstead(kernel, loads, store.getStaging().getDefiningOp<AllocSharedOp>(),
                                        sizeInBytes(tileOf(store))))
      problem = "shared memory has no room for it beside all stages";
    if (problem.empty())
      separated.push_back(separate(store));
    else
      emitRemark(store, RemarkId::storeWithoutRole)
          << "the warps that compute store this tile themselves: " << problem;
  }
  return separated;
}
