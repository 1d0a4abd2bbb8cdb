// SPDX-License-Identifier: Apache-2.0
/// \file
/// The last launch of programs whose ranks access each other's memory.
#pragma once

#include "compiler/dsl/dsl.h"

namespace tlc::kernels {

/// The body of a launch that ends when all ranks have come to it: what they have done before is complete.
/// `finished` is a count, of nothing else.
inline void meetRanks(dsl::Scope &k, const dsl::Symmetric &finished, const dsl::Index &rank,
                      const dsl::Index &ranks) {
  [[maybe_unused]] auto [block] = k.grid(1);
  k.loop(ranks, [&](dsl::Index other) { announce(finished.of(other), {0}); });
  waitFor(finished.of(rank), {0}, ranks);
}

} // namespace tlc::kernels
