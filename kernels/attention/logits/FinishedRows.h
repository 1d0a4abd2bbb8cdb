// SPDX-License-Identifier: Apache-2.0
/// \file
/// The end of rows of scores that have met all their keys: O and LSE.
#pragma once

#include "compiler/dsl/dsl.h"
#include "kernels/attention/problem/Options.h"

#include <functional>
#include <optional>

namespace tlc::kernels {

/// What rows come to; rows that saw nothing and have no sink: 0 and -inf.
struct FinishedRows {
  dsl::FragmentValue o, logSum;

  /// 0 and -inf from row `end` of a sequence on; these begin at row `first`.
  FinishedRows limited(const dsl::Index &first, const dsl::Index &end) const;
};

/// Rows before they are divided: `sum` is of weights 2^(score - base), scores with log2(e) in them, and `o`
/// of rows of V with these weights. A base is -inf where nothing was seen.
struct WeightedRows {
  dsl::FragmentValue o, sum, base;
};

/// O times a factor of each row. 0 where the sum of weights is 0: there O is NaN if a row of V is not finite.
dsl::FragmentValue scaledRows(const dsl::FragmentValue &o, const dsl::FragmentValue &sum,
                              const dsl::Operand &factor);

/// Rows that have met the keys of both.
WeightedRows joined(const WeightedRows &a, const WeightedRows &b);

/// `sink` has the further score of each row, if there is one; `factor` multiplies O.
FinishedRows finishRows(
    const WeightedRows &rows, const std::optional<dsl::Fragment> &sink, LogBase logBase,
    const std::function<dsl::Operand()> &factor = [] { return dsl::Operand(1); });

} // namespace tlc::kernels
