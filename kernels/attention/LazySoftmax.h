// SPDX-License-Identifier: Apache-2.0
/// \file
/// A softmax that keeps its base: what attention kernels on 16-bit elements make of scores.
#pragma once

#include "compiler/dsl/dsl.h"

namespace tlc::kernels {

/// A softmax over columns that come tile by tile: each row's base, a maximum of what came before, and the sum
/// of its weights exp(score - base), of scores that are yet to be multiplied by `scale` (which has log2(e) in
/// it). Any base gives the same quotients; it only has to keep weights from overflowing, and not to exceed
/// the maximum, or all of them could vanish. So it stays as it is while the weights of a tile stay below
/// `limit`, which on nearly all tiles saves the maximum and all that hangs on it.
class LazySoftmax {
public:
  /// `dtype` is what weights are rounded to before they meet V.
  LazySoftmax(dsl::Scope &k, ElementType dtype, int64_t rows, double scale)
      : base(k.fragment(dsl::f32, {rows, 1}, -dsl::inf)), sum(k.fragment(dsl::f32, {rows, 1})), scale(scale),
        k(k), dtype(dtype) {}

  /// Starts with a row's first tile; gives its weights, not rounded yet.
  dsl::FragmentValue first(const dsl::FragmentValue &scores, dsl::Loc loc = dsl::Loc::current()) {
    base = rowMax(scores, loc);
    dsl::FragmentValue weights = weigh(scores, finiteOrZero(base, loc) * scale, loc);
    sum = rowSum(weights, loc);
    return weights;
  }

  /// A further tile, weighed with the base as it is.
  struct Step {
    dsl::FragmentValue scores, sum;
    dsl::Fragment weights;
  };
  Step add(const dsl::FragmentValue &scores, dsl::Loc loc = dsl::Loc::current()) {
    dsl::FragmentValue weights = weigh(scores, base * scale, loc);
    return {scores, rowSum(weights, loc), dsl::Fragment(weights.to(dtype, loc), loc)};
  }

  /// Takes the tile into account. Where the base was too small, or there was none (the sum is no number
  /// then), the tile is weighed again, and `results` of earlier tiles are brought to the new base.
  void settle(Step &step, dsl::Fragment &results, dsl::Loc loc = dsl::Loc::current()) {
    dsl::Fragment tileSum(step.sum, loc);
    k.whenAny(
        !(step.sum <= limit),
        [&] {
          dsl::FragmentValue next = max(base, rowMax(step.scores, loc), loc);
          dsl::FragmentValue scaled = finiteOrZero(next, loc) * scale;
          dsl::FragmentValue rescale = exp2(base * scale - scaled, loc);
          dsl::FragmentValue weights = weigh(step.scores, scaled, loc);
          step.weights = weights.to(dtype, loc);
          tileSum = rowSum(weights, loc);
          results = results * rescale;
          sum = sum * rescale;
          base = next;
        },
        loc);
    sum = sum + tileSum;
  }

  dsl::Fragment base, sum;
  const double scale;

private:
  static constexpr double limit = 32768; ///< half of what f16 holds

  dsl::FragmentValue weigh(const dsl::FragmentValue &scores, const dsl::FragmentValue &scaledBase,
                           dsl::Loc loc) const {
    return exp2(scores * scale - scaledBase, loc);
  }

  dsl::Scope &k;
  ElementType dtype;
};

} // namespace tlc::kernels
