// SPDX-License-Identifier: Apache-2.0
/// \file
/// How long a warp's access to shared memory takes. Memory has 32 banks of 4 bytes;
/// a warp's access is served in phases of 128 bytes (32 lanes of up to 4 bytes, 16
/// lanes of 8, or 8 lanes of 16), and a phase takes as many wavefronts as the most
/// loaded bank has different words; lanes that want the same word share it.
#pragma once

#include "dialects/layout/SharedLayout.h"

#include <span>

namespace tlc {

struct BankCost {
  int64_t wavefronts = 0; ///< what the access takes
  int64_t ideal = 0;      ///< what as many active phases take without a conflict

  int64_t conflicts() const { return wavefronts - ideal; }
  BankCost &operator+=(const BankCost &other);
  bool operator==(const BankCost &) const = default;
};

/// `addresses[l]` is lane l's byte address, aligned to `width`, or nothing for an
/// inactive lane. `width` is 1, 2, 4, 8 or 16 bytes.
BankCost bankCost(std::span<const std::optional<int64_t>, lanesPerWarp> addresses, int64_t width);

/// All accesses of one warp (warp 0) that moves the fragment to or from the tile with
/// the widest vectors that both allow.
BankCost bankCost(const FragmentLayout &fragment, const SharedLayout &shared);
/// The vector width of that access, in elements.
int64_t sharedVectorElements(const FragmentLayout &fragment, const SharedLayout &shared);

/// The layout for staging a tile between two fragment layouts: of plain, padded and
/// swizzled placements the one with the fewest wavefronts, the smallest first.
SharedLayout stagingLayout(const FragmentLayout &writer, const FragmentLayout &reader, const Shape &shape,
                           int elementBits);

} // namespace tlc
