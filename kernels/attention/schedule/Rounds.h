// SPDX-License-Identifier: Apache-2.0
/// \file
/// Dealing tiles to blocks.
#pragma once

#include "compiler/dsl/dsl.h"

namespace tlc::kernels {

/// Tiles dealt to so many places in rounds, every other round backwards: where the longest come first, who
/// got the longest of one round gets the shortest of the next.
struct Rounds {
  dsl::Index places;

  dsl::Index opposite(const dsl::Index &place) const { return places - 1 - place; }
  /// Number n of the tiles that come to a place.
  dsl::Index tileAt(const dsl::Index &n, const dsl::Index &place) const {
    return n * places + inRound(n, place);
  }
  /// How many come to it.
  dsl::Index countOf(const dsl::Index &tiles, const dsl::Index &place) const {
    dsl::Index whole = tiles / places;
    return whole + where(inRound(whole, place) < tiles % places, dsl::Index(1), dsl::Index(0));
  }

private:
  dsl::Index inRound(const dsl::Index &round, const dsl::Index &place) const {
    return where(round % 2 == 0, place, opposite(place));
  }
};

} // namespace tlc::kernels
