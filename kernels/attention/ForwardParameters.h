// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the registry's kernels of attention forward have in common: lengths of sequences, tensors and the
/// reference's shape.
#pragma once

#include "kernels/Registry.h"
#include "kernels/attention/Forward.h"

namespace tlc::kernels {

/// Sequences that are packed or padded.
std::vector<Parameter> lengthParameters();

/// What is computed and in which form. The type of Q, K and V is left to the kernel.
ForwardConfig forwardProblemOf(const Parameters &values);
/// How: the choice for the problem, and what is given instead.
ForwardConfig withTiles(ForwardConfig problem, const Parameters &values);

struct ForwardExtents {
  int64_t b, sq, sk, h, hkv; ///< of packed sequences: `sq` and `sk` are the rows of all of them
  std::vector<int64_t> queries = {}, keys = {}; ///< of each sequence, where they differ; else empty

  int64_t queriesOf(size_t sequence) const { return queries.empty() ? sq : queries[sequence]; }
  int64_t keysOf(size_t sequence) const { return keys.empty() ? sk : keys[sequence]; }
  int64_t longestKeys() const;
};
ForwardExtents forwardExtentsOf(const Parameters &values);

/// What is wrong with heads, scale, lengths and mask; empty if nothing is.
std::string forwardConflict(const Parameters &values);

std::vector<TensorSpec> forwardTensors(const ForwardConfig &problem, const ForwardExtents &extents);
AttentionShape shapeOf(const ForwardConfig &problem, const ForwardExtents &extents);

} // namespace tlc::kernels
