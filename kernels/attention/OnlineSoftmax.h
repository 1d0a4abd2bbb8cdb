// SPDX-License-Identifier: Apache-2.0
/// \file
/// What all attention kernels make of scores.
#pragma once

#include "compiler/dsl/dsl.h"

#include <numbers>

namespace tlc::kernels {

/// A softmax over columns that come tile by tile: each row's maximum and sum so far,
/// of numbers that are yet to be multiplied by `scale` (which has log2(e) in it, and is
/// a number or a fragment of extents 1). Weights and sum are 2^headroom times what they
/// stand for, so that weights of few bits lose less.
struct OnlineSoftmax {
  OnlineSoftmax(dsl::Scope &k, int64_t rows, dsl::Operand scale, int headroom = 0)
      : maximum(k.fragment(dsl::f32, {rows, 1}, -dsl::inf)), sum(k.fragment(dsl::f32, {rows, 1})),
        scale(std::move(scale)), headroom(headroom) {}

  struct Step {
    dsl::FragmentValue weights; ///< of this tile's columns
    dsl::FragmentValue rescale; ///< what earlier results are multiplied by
  };
  Step add(const dsl::FragmentValue &scores, dsl::Loc loc = dsl::Loc::current()) {
    dsl::FragmentValue next = max(maximum, rowMax(scores, loc), loc);
    dsl::FragmentValue base = finiteOrZero(next, loc) * scale;
    dsl::FragmentValue rescale = exp2(maximum * scale - base, loc);
    if (headroom != 0)
      base = base - headroom;
    dsl::FragmentValue weights = exp2(scores * scale - base, loc);
    sum = sum * rescale + rowSum(weights, loc);
    maximum = next;
    return {weights, rescale};
  }

  /// The natural logarithm of each row's sum of exponentials.
  static dsl::FragmentValue logSumExp(const dsl::Fragment &sum, const dsl::Fragment &maximum,
                                      const dsl::Operand &scale, int headroom = 0) {
    dsl::FragmentValue log = log2(sum);
    if (headroom != 0)
      log = log - headroom;
    return (log + maximum * scale) * std::numbers::ln2;
  }

  /// For another row.
  void restart() {
    maximum = -dsl::inf;
    sum = 0;
  }

  dsl::Fragment maximum, sum;
  dsl::Operand scale;
  int headroom;
};

} // namespace tlc::kernels
