// SPDX-License-Identifier: Apache-2.0
/// \file
/// Scores of pairs that are not visible.
#pragma once

#include "kernels/attention/mask/Mask.h"

namespace tlc::kernels {

/// Where a tile of scores begins in a sequence, and what its rows are; its columns are the other axis.
struct ScoreTile {
  dsl::Index firstQuery, firstKey;
  Axis rows = Axis::queries;
};

/// -inf where a query does not see a key, or the key is after the sequence's last one.
dsl::FragmentValue applyMask(dsl::Scope &k, const Mask &mask, const Sequence &sequence, const ScoreTile &at,
                             const dsl::FragmentValue &scores, dsl::Loc loc = dsl::Loc::current());

} // namespace tlc::kernels
