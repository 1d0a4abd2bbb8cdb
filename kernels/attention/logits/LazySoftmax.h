// SPDX-License-Identifier: Apache-2.0
/// \file
/// A softmax that keeps its base: what attention kernels make of scores.
#pragma once

#include "compiler/dsl/dsl.h"

#include <optional>

namespace tlc::kernels {

/// A softmax over columns that come tile by tile: each row's base, and the sum of its weights
/// 2^(score * scale - exponent of the base); `scale` has log2(e) in it. Any base gives the same quotients; it
/// only has to keep weights from overflowing, and not to be so large that they vanish. So it stays as it is
/// while a row's weights of a tile sum up to no more than `limit`, which on nearly all tiles saves the
/// maximum and all that hangs on it.
class LazySoftmax {
public:
  /// `dtype` is what weights are rounded to before they meet V. `scale` may be a fragment of one number.
  LazySoftmax(dsl::Scope &k, ElementType dtype, int64_t rows, dsl::Operand scale)
      : base(k.fragment(dsl::f32, {rows, 1}, -dsl::inf)), sum(k.fragment(dsl::f32, {rows, 1})),
        scale(std::move(scale)), k(k), dtype(dtype) {
    if (dtype == ElementType::e4m3) {
      limit = 448;
      sumOfNewBase = 6;
    }
  }

  /// Before a row's first tile is added, so that it need not be weighed twice.
  void start(const dsl::FragmentValue &scores, dsl::Loc loc = dsl::Loc::current()) {
    base = rebase(scores, loc).base;
  }

  /// Starts with a row's first tile; gives its weights, not rounded yet.
  dsl::FragmentValue first(const dsl::FragmentValue &scores, dsl::Loc loc = dsl::Loc::current()) {
    base = -dsl::inf;
    Rebased tile = rebase(scores, loc);
    base = tile.base;
    sum = tile.sum;
    return tile.weights;
  }

  /// A further tile, weighed with the base as it is.
  struct Step {
    dsl::FragmentValue scores, sum;
    dsl::Fragment weights;
  };
  Step add(const dsl::FragmentValue &scores, dsl::Loc loc = dsl::Loc::current()) {
    dsl::FragmentValue weights = weigh(scores, exponentOf(base), loc);
    return {scores, rowSum(weights, loc), dsl::Fragment(weights.to(dtype, loc), loc)};
  }

  /// Takes the tile into account. Where the base was too small, or there was none (the sum is no number
  /// then), the tile is weighed again, and `results` of earlier tiles are brought to the new base.
  void settle(Step &step, dsl::Fragment &results, dsl::Loc loc = dsl::Loc::current()) {
    dsl::Fragment tileSum(step.sum, loc);
    k.whenAny(
        !(step.sum <= limit),
        [&] {
          Rebased tile = rebase(step.scores, loc);
          dsl::FragmentValue rescale = exp2(exponentOf(base) - exponentOf(finiteOrZero(tile.base, loc)), loc);
          step.weights = tile.weights.to(dtype, loc);
          tileSum = tile.sum;
          results = results * rescale;
          sum = sum * rescale;
          base = tile.base;
        },
        loc);
    sum = sum + tileSum;
  }

  /// What is subtracted from exponents: a base is a score, or, of weights of few exponents, that itself. (As
  /// this it could always be kept. But ptxas then orders the loop of 16-bit weights otherwise, 4 % slower.)
  dsl::FragmentValue exponentOf(const dsl::FragmentValue &someBase) const {
    return sumOfNewBase ? someBase : dsl::FragmentValue(someBase * scale);
  }

  dsl::Fragment base, sum;
  const dsl::Operand scale;

private:
  struct Rebased {
    dsl::FragmentValue base, weights, sum;
  };
  /// The tile with a base that fits it and is at least what it was. Weights of few exponents need a base that
  /// fits their sum, not the largest of them: many alike may be as large as one alone.
  Rebased rebase(const dsl::FragmentValue &scores, dsl::Loc loc) const {
    dsl::FragmentValue largest = rowMax(scores, loc);
    dsl::FragmentValue top = max(base, sumOfNewBase ? largest * scale : largest, loc);
    dsl::FragmentValue from = exponentOf(finiteOrZero(top, loc)), weights = weigh(scores, from, loc);
    dsl::FragmentValue tileSum = rowSum(weights, loc);
    if (!sumOfNewBase)
      return {top, weights, tileSum};
    // By whole exponents: rounding then leaves the largest weight as it is, and those that equal it.
    dsl::FragmentValue excess = floor(log2(max(tileSum, 1, loc), loc), loc) - *sumOfNewBase;
    dsl::FragmentValue next = max(base, top + excess, loc);
    dsl::FragmentValue factor = exp2(from - finiteOrZero(next, loc), loc);
    return {next, weights * factor, tileSum * factor};
  }

  dsl::FragmentValue weigh(const dsl::FragmentValue &scores, const dsl::FragmentValue &from,
                           dsl::Loc loc) const {
    return exp2(scores * scale - from, loc);
  }

  dsl::Scope &k;
  ElementType dtype;
  double limit = 32768;               ///< half of what f16 holds
  std::optional<double> sumOfNewBase; ///< log2 of what weights of a tile then sum up to, or up to twice that
};

} // namespace tlc::kernels
