// SPDX-License-Identifier: Apache-2.0
/// \file
/// Division by the sum of weights, sinks and logarithms.
#include "kernels/attention/logits/FinishedRows.h"

#include <numbers>

namespace tlc::kernels {

using namespace dsl;
using std::numbers::ln2, std::numbers::log2e;

FragmentValue scaledRows(const FragmentValue &o, const FragmentValue &sum, const Operand &factor) {
  return where(sum == 0, 0, o * factor);
}

WeightedRows joined(const WeightedRows &a, const WeightedRows &b) {
  FragmentValue base = finiteOrZero(max(a.base, b.base));
  FragmentValue keepA = exp2(a.base - base), keepB = exp2(b.base - base);
  return {scaledRows(a.o, a.sum, keepA) + scaledRows(b.o, b.sum, keepB), a.sum * keepA + b.sum * keepB, base};
}

FinishedRows finishRows(const WeightedRows &rows, const std::optional<Fragment> &sink, LogBase logBase,
                        const std::function<Operand()> &factor) {
  double ofLog = logBase == LogBase::e ? ln2 : 1;
  // A division for each row, not for each element.
  if (!sink)
    return {scaledRows(rows.o, rows.sum, factor() / rows.sum), (log2(rows.sum) + rows.base) * ofLog};
  FragmentValue score = *sink * log2e, top = max(rows.base, score), from = finiteOrZero(top);
  FragmentValue keep = exp2(rows.base - from), total = rows.sum * keep + exp2(score - from);
  return {scaledRows(rows.o, rows.sum, keep * (factor() / total)), (log2(total) + from) * ofLog};
}

FinishedRows FinishedRows::limited(const Index &first, const Index &end) const {
  auto exists = [&](Index r, Index) { return first + r < end; };
  return {where(exists, o, 0), where(exists, logSum, -inf)};
}

} // namespace tlc::kernels
