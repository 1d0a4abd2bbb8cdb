// SPDX-License-Identifier: Apache-2.0
/// \file
/// Counts of ranks and of blocks.
#include "kernels/ranks/RankArrival.h"

#include <fmt/format.h>

namespace tlc::kernels {

using namespace dsl;

RankArrival::RankArrival(Scope &k, std::string_view name)
    : k(k), rank(k.rank()), ranks(k.ranks()),
      arrived(k.symmetric(name, i32, {1}, {.use = TensorUse::workspace, .initial = Initial::zero})),
      blocks(k.workspace(fmt::format("{}_blocks", name), i32, {1}, {Initial::zero})) {}

void RankArrival::tellFirst() const {
  k.when(take(blocks, {0}) == 0, [&] { tell(); });
}

void RankArrival::tellLast() const {
  k.when(take(blocks, {0}) == k.blocks() - 1, [&] { tell(); });
}

void RankArrival::tell() const {
  k.loop(ranks, [&](Index other) { announce(arrived.of(other), {0}); });
}

void RankArrival::wait() const { waitFor(arrived.of(rank), {0}, ranks); }

} // namespace tlc::kernels
