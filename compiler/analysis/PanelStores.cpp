// SPDX-License-Identifier: Apache-2.0
#include "compiler/analysis/PanelStores.h"

#include "compiler/analysis/CopyGroups.h"
#include "compiler/analysis/RolePlan.h"
#include "compiler/analysis/TmaAccess.h"
#include "dialects/tile/Shapes.h"
#include "runtime/target/Hardware.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {
/// Fragments of 16 bits are stored.
constexpr int storedBits = 16;

/// The number of warpgroups in `warps` from warp `first` on; 0 if a warpgroup is not whole.
int64_t warpgroupsOf(int64_t first, int64_t warps) {
  return first % warpsPerWarpgroup == 0 && warps % warpsPerWarpgroup == 0 ? warps / warpsPerWarpgroup : 0;
}

/// The warpgroups that execute an operation, or are planned to.
int64_t warpgroupsAt(Operation *op) {
  auto kernel = op->getParentOfType<KernelOp>();
  auto role = op->getParentOfType<RoleOp>();
  int64_t first = 0;
  if (role) {
    for (auto before : role->getParentOfType<RolesOp>().getOps<RoleOp>()) {
      if (before == role)
        break;
      first += int64_t(before.getWarps());
    }
    return warpgroupsOf(first, int64_t(role.getWarps()));
  }
  if (RolePlanAttr plan = rolePlanOf(kernel))
    for (PlannedRoleAttr planned : plan.getRoles()) {
      if (planned.getName() == plannedRoleOf(op))
        return warpgroupsOf(first, planned.getWarps());
      first += planned.getWarps();
    }
  return warpgroupsOf(0, int64_t(kernel.getWarps()));
}
} // namespace

bool PanelStore::isNarrow() const { return panel.getShape().back() < panelColumns(storedBits); }
int64_t PanelStore::bytesOf(int64_t buffers) const { return buffers * warpgroups * sizeInBytes(panel); }

std::optional<int64_t> tile::panelColumnsOf(int64_t columns) {
  for (int64_t width : {panelColumns(storedBits), panelColumns(storedBits) / 2})
    if (columns % width == 0)
      return width;
  return std::nullopt;
}

/// The store as one of panels with `rows` rows of 16-bit elements, by whole warpgroups, to rows of a tensor
/// in its natural order; nothing if it cannot be one.
static std::optional<PanelStore> panelStoreOf(StoreOp store, int64_t rows) {
  auto slice = store.getDestination().getDefiningOp<SliceOp>();
  auto value = cast<RankedTensorType>(store.getValue().getType());
  int64_t warpgroups = warpgroupsAt(store);
  if (!slice || slice.getOfAll() || warpgroups == 0 ||
      slice.getTensorOrder() != program::TensorOrder::natural || value.getRank() != 2 ||
      value.getElementType().getIntOrFloatBitWidth() != storedBits ||
      !hasRowsAlongLastAxis(slice, value.getShape()))
    return std::nullopt;
  // Warpgroups divide the columns of what comes from tensor memory, and the rows of other sums.
  const bool dividesColumns = rows == tcgen05Rows;
  if (value.getDimSize(0) % (dividesColumns ? rows : rows * warpgroups) != 0 ||
      (dividesColumns && value.getDimSize(1) % warpgroups != 0))
    return std::nullopt;
  std::optional<int64_t> columns = panelColumnsOf(value.getDimSize(1) / (dividesColumns ? warpgroups : 1));
  if (!columns)
    return std::nullopt;
  auto panel = SharedType::get(store.getContext(), {rows, *columns}, value.getElementType());
  return PanelStore{store, slice, panel, warpgroups, value.getNumElements() / (warpgroups * rows * *columns)};
}

namespace {

/// Whether what is stored has the shape of the sums of a product by wgmma of the same warps, and so most
/// likely their layout.
bool isAccumulator(StoreOp store, ProductOpInterface product) {
  return product.getAtom() == MatrixAtom::wgmma &&
         product->getParentOfType<RoleOp>() == store->getParentOfType<RoleOp>() &&
         store.getValue().getType().getShape() ==
             cast<RankedTensorType>(product.getAcc().getType()).getShape();
}

/// Whether it has the shape of what the same warps load from tensor memory.
bool isLoadedSum(StoreOp store, LoadOp load) {
  return load->getParentOfType<RoleOp>() == store->getParentOfType<RoleOp>() &&
         load.getValue().getType().getShape() == store.getValue().getType().getShape();
}

} // namespace

PanelStores tile::panelStoresIn(KernelOp kernel, const Target &target, bool tma) {
  SmallVector<ProductOpInterface> products;
  kernel.walk([&](ProductOpInterface product) { products.push_back(product); });
  SmallVector<LoadOp> sums; // from tensor memory
  kernel.walk([&](LoadOp load) {
    if (isa<TensorMemoryType>(load.getSource().getType()))
      sums.push_back(load);
  });
  PanelStores found;
  kernel.walk([&](StoreOp store) {
    const bool isSum = llvm::any_of(sums, [&](LoadOp load) { return isLoadedSum(store, load); });
    std::optional<PanelStore> panels = panelStoreOf(store, isSum ? tcgen05Rows : panelRows);
    if (!panels)
      return;
    auto isOf = [&](ProductOpInterface product) { return isAccumulator(store, product); };
    auto isOfRows = [&](ProductOpInterface product) { // each warpgroup has whole rows
      return isOf(product) && product.getPolicy() == WarpPolicy::fullRow;
    };
    // Another layout would be converted: that takes longer than narrower panels save.
    if (panels->isNarrow() && !isSum && !llvm::any_of(products, isOfRows))
      return;
    if (tma && tmaProblem(panels->slice, panels->panel, target).empty())
      found.byTma.push_back(*panels);
    else if (isSum || llvm::any_of(products, isOf))
      found.byThreads.push_back(*panels);
  });
  return found;
}
