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

/// `loop` needs the fewest bytes; `split` fills multiprocessors that it leaves idle. Counted in steps of a
/// tile of queries, of which the last block has most.
static KeySum fastestKeySum(const BackwardConfig &c, const BackwardExtents &e, const Target &target) {
  // What a block does before and after its steps, and what its part of the sum takes later.
  constexpr int64_t stepsAround = 4;
  int64_t group = e.heads / std::max<int64_t>(e.kvHeads, 1);
  int64_t tiles = ceilDiv(e.keys, c.bk) * e.kvHeads * e.sequences, steps = ceilDiv(e.queries, c.bq);
  auto rounds = [&](int64_t blocks) { return ceilDiv(blocks, int64_t(target.multiprocessors)); };
  return rounds(tiles * group) * (steps + stepsAround) < rounds(tiles) * group * steps ? KeySum::split
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
