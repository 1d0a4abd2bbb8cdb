// SPDX-License-Identifier: Apache-2.0
/// \file
/// The choice of how sums over blocks are made.
#include "kernels/attention/backward/Backward.h"
#include "runtime/support/Math.h"

#include <algorithm>

namespace tlc::kernels {

bool isUnordered(QuerySum dq) { return dq == QuerySum::atomic || dq == QuerySum::tma; }
bool isUnordered(KeySum dkv) { return dkv == KeySum::atomic || dkv == KeySum::tma; }

/// Warps that compute wait for their atomics, but not for the TMA.
static QuerySum fastestQuerySum(const BackwardConfig &c) {
  BackwardConfig byTma = c;
  byTma.dq = QuerySum::tma;
  bool isExplicit = c.form == AttentionForm::explicitRoles;
  return isExplicit && conflictOfSums(byTma).empty() ? QuerySum::tma : QuerySum::atomic;
}

/// Steps of the busiest multiprocessor, where tiles of keys take up to `most` each, and `around` further
/// ones.
static double busiest(const BackwardConfig &c, int64_t tiles, int64_t most, int64_t around,
                      const Target &target) {
  const MaskConfig &mask = c.problem.mask;
  int64_t rounds = ceilDiv(tiles, int64_t(target.multiprocessors));
  bool isTriangle = mask.causal != CausalAlignment::none && !mask.windowLeft && !mask.windowRight;
  if (!isTriangle)
    return double(rounds * (most + around));
  // The tiles visit fewer and fewer, and those with many come first: with those of several rounds a
  // multiprocessor has the mean, but with one the most.
  double mean = double(tiles * most) / 2 / target.multiprocessors;
  return std::max(mean, double(most)) + double(rounds * around);
}

/// `loop` needs the fewest bytes; `split` fills multiprocessors that it leaves idle, and divides what the
/// busiest one has.
static KeySum fastestKeySum(const BackwardConfig &c, const BackwardExtents &e, const Target &target) {
  // What a block does before and after a tile's steps, and what its part of the sum takes later.
  constexpr int64_t ofPart = 4;
  int64_t group = e.heads / std::max<int64_t>(e.kvHeads, 1);
  int64_t tiles = ceilDiv(e.keys, c.bk) * e.kvHeads * e.sequences, steps = ceilDiv(e.queries, c.bq);
  return busiest(c, tiles * group, steps, ofPart, target) < busiest(c, tiles, group * steps, 0, target)
             ? KeySum::split
             : KeySum::loop;
}

void chooseSums(BackwardConfig &config, const SumOptions &options, const BackwardExtents &extents,
                const Target &target) {
  config.dkv = options.dkv ? *options.dkv : fastestKeySum(config, extents, target);
  config.dq = options.dq                ? *options.dq
              : options.isDeterministic ? QuerySum::ownLaunch
                                        : fastestQuerySum(config);
}

} // namespace tlc::kernels
