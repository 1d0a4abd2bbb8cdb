// SPDX-License-Identifier: Apache-2.0
/// \file
/// A mask's rule, applied to each pair of a tile.
#include "kernels/attention/logits/AppliedMask.h"

namespace tlc::kernels {

using namespace dsl;

FragmentValue applyMask(Scope &k, const Mask &mask, const Sequence &sequence, const Index &firstQuery,
                        const Index &firstKey, const FragmentValue &scores, Loc loc) {
  Shape tile = scores.shape();
  return where(
      [&](Index r, Index x) {
        ScorePosition query(k, firstQuery + r, firstQuery, {tile[0], 1});
        ScorePosition key(k, firstKey + x, firstKey, {1, tile[1]});
        return mask.visible(sequence, query, key) && key < sequence.keys;
      },
      scores, -inf, loc);
}

} // namespace tlc::kernels
