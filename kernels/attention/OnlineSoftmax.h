// SPDX-License-Identifier: Apache-2.0
/// \file
/// What all attention kernels make of scores.
#pragma once

#include "compiler/dsl/dsl.h"

namespace tlc::kernels {

/// A softmax over columns that come tile by tile: each row's maximum and sum so far,
/// of numbers that are yet to be multiplied by `scale` (which has log2(e) in it).
struct OnlineSoftmax {
  OnlineSoftmax(dsl::Scope &k, int64_t rows, double scale)
      : maximum(k.fragment(dsl::f32, {rows, 1}, -dsl::inf)), sum(k.fragment(dsl::f32, {rows, 1})),
        scale(scale) {}

  struct Step {
    dsl::FragmentValue weights; ///< of this tile's columns
    dsl::FragmentValue rescale; ///< what earlier results are multiplied by
  };
  Step add(const dsl::FragmentValue &scores, dsl::Loc loc = dsl::Loc::current()) {
    dsl::FragmentValue next = max(maximum, rowMax(scores, loc), loc);
    dsl::FragmentValue base = finiteOrZero(next, loc) * scale;
    dsl::FragmentValue rescale = exp2(maximum * scale - base, loc),
                       weights = exp2(scores * scale - base, loc);
    sum = sum * rescale + rowSum(weights, loc);
    maximum = next;
    return {weights, rescale};
  }

  /// For another row.
  void restart() {
    maximum = -dsl::inf;
    sum = 0;
  }

  dsl::Fragment maximum, sum;
  double scale;
};

} // namespace tlc::kernels
