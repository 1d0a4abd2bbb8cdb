// SPDX-License-Identifier: Apache-2.0
#include "compiler/analysis/PanelStores.h"

#include "compiler/analysis/CopyGroups.h"
#include "compiler/analysis/TmaAccess.h"
#include "dialects/tile/Shapes.h"
#include "runtime/target/Hardware.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {
/// Fragments of 16 bits are stored.
constexpr int storedBits = 16;

/// The warpgroups that execute an operation; none if its warps are no whole ones.
int64_t warpgroupsAt(Operation *op) {
  auto role = op->getParentOfType<RoleOp>();
  if (!role) {
    auto warps = int64_t(op->getParentOfType<KernelOp>().getWarps());
    return warps % warpsPerWarpgroup == 0 ? warps / warpsPerWarpgroup : 0;
  }
  int64_t first = 0, warps = int64_t(role.getWarps());
  for (auto before : role->getParentOfType<RolesOp>().getOps<RoleOp>()) {
    if (before == role)
      break;
    first += int64_t(before.getWarps());
  }
  return first % warpsPerWarpgroup == 0 && warps % warpsPerWarpgroup == 0 ? warps / warpsPerWarpgroup : 0;
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

std::optional<PanelStore> tile::panelStoreOf(StoreOp store) {
  auto slice = store.getDestination().getDefiningOp<SliceOp>();
  auto value = cast<RankedTensorType>(store.getValue().getType());
  int64_t warpgroups = warpgroupsAt(store);
  if (!slice || slice.getOfAll() || warpgroups == 0 ||
      slice.getTensorOrder() != program::TensorOrder::natural || value.getRank() != 2 ||
      value.getElementType().getIntOrFloatBitWidth() != storedBits ||
      value.getDimSize(0) % (panelRows * warpgroups) != 0 || !hasRowsAlongLastAxis(slice, value.getShape()))
    return std::nullopt;
  std::optional<int64_t> columns = panelColumnsOf(value.getDimSize(1));
  if (!columns)
    return std::nullopt;
  auto panel = SharedType::get(store.getContext(), {panelRows, *columns}, value.getElementType());
  return PanelStore{store, slice, panel, warpgroups,
                    value.getNumElements() / (warpgroups * panelRows * *columns)};
}
