// SPDX-License-Identifier: Apache-2.0
/// \file
/// Scores of pairs that are not visible.
#pragma once

#include "kernels/attention/mask/Mask.h"

namespace tlc::kernels {

/// A tile of scores, rows are queries and columns keys, that begins at these positions of a sequence: -inf
/// where a row does not see the key, or the key is after the sequence's last one.
dsl::FragmentValue applyMask(dsl::Scope &k, const Mask &mask, const Sequence &sequence,
                             const dsl::Index &firstQuery, const dsl::Index &firstKey,
                             const dsl::FragmentValue &scores, dsl::Loc loc = dsl::Loc::current());

} // namespace tlc::kernels
