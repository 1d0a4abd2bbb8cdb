// SPDX-License-Identifier: Apache-2.0
/// \file
/// The buffer takes the place of the store's staging buffer, and has room for the whole tile.
#include "compiler/transforms/StoreRole.h"

#include "compiler/analysis/TensorAccesses.h"
#include "compiler/analysis/TmaAccess.h"
#include "compiler/transforms/FitSlots.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

SharedType tileOf(StoreOp store) {
  RankedTensorType fragment = store.getValue().getType();
  return SharedType::get(store.getContext(), fragment.getShape(), fragment.getElementType());
}

/// Whether no other operation of the kernel accesses the tensor.
bool isOnlyAccess(StoreOp store, ArrayRef<TensorAccess> accesses) {
  Value tensor = store.getDestination().getDefiningOp<SliceOp>().getTensor();
  return llvm::none_of(accesses, [&](const TensorAccess &access) {
    return access.op != store && SliceOp(access.slice).getTensor() == tensor;
  });
}

HandedTile separate(StoreOp store) {
  auto slice = store.getDestination().getDefiningOp<SliceOp>();
  auto staging = store.getStaging().getDefiningOp<AllocSharedOp>();
  OpBuilder builder(staging);
  HandedTile tile = {store, {}, {}};
  tile.buffer = AllocSharedOp::create(builder, store.getLoc(), tileOf(store),
                                      (tensorOf(slice).getName() + ".tile").str(), IntegerAttr());
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
  SmallVector<HandedTile> separated;
  auto isByTma = [](const auto &group) {
    return !group->has(CopyAtom::simt) && !group->has(CopyAtom::cp_async);
  };
  if (!llvm::all_of(loads.groups, isByTma))
    return separated;
  SmallVector<TensorAccess> accesses = tensorAccessesIn(kernel);
  SmallVector<StoreOp> candidates;
  kernel.walk([&](StoreOp store) {
    if (store.getAtom() == CopyAtom::tma && store->getParentOfType<scf::ForOp>() &&
        isOnlyAccess(store, accesses) &&
        storeProblem(tileOf(store), store.getDestination().getDefiningOp<SliceOp>(), target).empty())
      candidates.push_back(store);
  });
  for (StoreOp store : candidates)
    if (fitsInstead(kernel, loads, store.getStaging().getDefiningOp<AllocSharedOp>(),
                    sizeInBytes(tileOf(store))))
      separated.push_back(separate(store));
  return separated;
}
