// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which fragments may leave through panels in shared memory, from which the TMA or the threads write rows.
#pragma once

#include "dialects/tile/Tile.h"
#include "runtime/target/Target.h"

namespace tlc::tile {

/// A store that may go through panels.
struct PanelStore {
  StoreOp store;
  SliceOp slice;
  SharedType panel;
  int64_t warpgroups = 0;
  int64_t count = 0; ///< of a warpgroup's panels

  /// Whether its rows are half as long as the widest swizzle.
  bool isNarrow() const;
  int64_t bytesOf(int64_t buffers) const;
  /// Of a store by the TMA: one is filled while another one is stored.
  int64_t leastBuffers() const { return std::min<int64_t>(count, 2); }
  /// Buffers for a panel of each warpgroup that there is room for.
  int64_t buffersIn(int64_t bytes) const { return bytes / bytesOf(1); }
};

/// Columns of a panel of a tile of 16-bit elements: as many as the widest swizzle has, or half of them where
/// the tile ends in the middle; nothing if it has no whole number of either.
std::optional<int64_t> panelColumnsOf(int64_t columns);

/// The stores of a kernel that go through panels, if shared memory has room for these, by what stores from
/// there.
struct PanelStores {
  llvm::SmallVector<PanelStore> byTma, byThreads;
};
/// Products have their instructions. `tma`: whether the TMA may store.
PanelStores panelStoresIn(KernelOp kernel, const Target &target, bool tma);

} // namespace tlc::tile
