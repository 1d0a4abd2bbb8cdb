// SPDX-License-Identifier: Apache-2.0
/// \file
/// A mask's rule, applied to each pair of a tile.
#include "kernels/attention/logits/AppliedMask.h"

namespace tlc::kernels {

using namespace dsl;

FragmentValue applyMask(Scope &k, const Mask &mask, const Sequence &sequence, const ScoreTile &at,
                        const FragmentValue &scores, Loc loc) {
  Shape column = {scores.shape()[0], 1}, row = {1, scores.shape()[1]};
  bool isTransposed = at.rows == Axis::keys;
  return where(
      [&](Index r, Index x) {
        ScorePosition query(k, at.firstQuery + (isTransposed ? x : r), at.firstQuery,
                            isTransposed ? row : column);
        ScorePosition key(k, at.firstKey + (isTransposed ? r : x), at.firstKey, isTransposed ? column : row);
        return mask.visible(sequence, query, key) && key < sequence.keys;
      },
      scores, -inf, loc);
}

} // namespace tlc::kernels
