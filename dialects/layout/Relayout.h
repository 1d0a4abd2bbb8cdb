// SPDX-License-Identifier: Apache-2.0
/// \file
/// What it takes to bring a tile from one fragment layout into another.
#pragma once

#include "dialects/layout/Layout.h"

namespace tlc {

/// In increasing cost.
enum class RelayoutKind {
  identity,      ///< every location of the target already holds its element
  withinThread,  ///< registers are renamed or selected
  withinWarp,    ///< warp shuffles
  throughShared, ///< a round trip through shared memory
};
const char *toString(RelayoutKind kind);

/// One step for one target register: the lanes in `lanes` (a bit each) take
/// register `sourceRegister` of lane `sourceLane[own lane]`.
struct RelayoutMove {
  int64_t sourceRegister = 0;
  std::array<uint8_t, lanesPerWarp> sourceLane{};
  uint32_t lanes = 0;

  /// Whether every lane of `lanes` reads its own register.
  bool isLocal() const;
  bool operator==(const RelayoutMove &) const = default;
};

/// `moves[r]` fills target register r; the same in all warps. Lanes in no move are
/// padding. Empty when the kind is `throughShared`.
struct RelayoutPlan {
  RelayoutKind kind = RelayoutKind::identity;
  std::vector<std::vector<RelayoutMove>> moves;
};

/// The cheapest plan from `source` to `target`, two layouts of the tile of the same
/// rank and number of warps. Elements outside `shape` do not matter.
RelayoutPlan planRelayout(const FragmentLayout &source, const FragmentLayout &target, const Shape &shape);

/// Whether each warp that holds an element of `target` holds all elements of `source` that belong to it:
/// those at its place, where an axis of extent 1 goes with all places of the other tile's.
bool staysInWarps(const FragmentLayout &source, const Shape &sourceShape, const FragmentLayout &target,
                  const Shape &targetShape);

} // namespace tlc
