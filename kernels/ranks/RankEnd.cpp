// SPDX-License-Identifier: Apache-2.0
/// \file
/// A count of ranks that all of them wait for.
#include "kernels/ranks/RankEnd.h"

namespace tlc::kernels {

using namespace dsl;

RankEnd::RankEnd(Scope &k)
    : k(k), rank(k.rank()), ranks(k.ranks()),
      finished(k.symmetric("finished", i32, {1}, {.use = TensorUse::workspace, .initial = Initial::zero})) {}

void RankEnd::meet() const {
  [[maybe_unused]] auto [block] = k.grid(1);
  k.loop(ranks, [&](Index other) { announce(finished.of(other), {0}); });
  waitFor(finished.of(rank), {0}, ranks);
}

} // namespace tlc::kernels
