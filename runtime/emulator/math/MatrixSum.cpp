// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/math/MatrixSum.h"

namespace tlc::emulator {

float sumOfProducts(const float *a, unsigned strideA, const float *b, unsigned strideB, unsigned depth,
                    float accumulator, SumRules rules) {
  const auto product = [&](unsigned k) { return double(a[k * strideA]) * b[k * strideB]; }; // exact
  int most = sumExponent(accumulator, -126);
  bool special = !std::isfinite(accumulator);
  for (unsigned k = 0; k < depth; ++k) {
    most = std::max(most, sumExponent(a[k * strideA], rules.leastExponentA) +
                              sumExponent(b[k * strideB], rules.leastExponentB));
    special |= !std::isfinite(product(k));
  }
  if (special) { // an infinity, or NaN; no finite term matters
    double sum = std::isfinite(accumulator) ? 0 : accumulator;
    for (unsigned k = 0; k < depth; ++k)
      sum += std::isfinite(product(k)) ? 0 : product(k);
    return float(sum);
  }
  if (most < zeroExponent / 2)
    return 0;
  const auto cut = [&](double term) { return std::trunc(std::ldexp(term, rules.fraction - most)); };
  double sum = cut(accumulator);
  for (unsigned k = 0; k < depth; ++k)
    sum += cut(product(k)); // exact: below 2^53
  if (sum == 0)
    return 0;
  const int kept = std::max(std::ilogb(sum) - rules.resultFraction, -149 - (most - rules.fraction));
  const double scaled = std::ldexp(sum, -kept);
  double bits = std::trunc(scaled);
  if (rules.marksCut && bits != scaled && std::fmod(bits, 2) == 0)
    bits += std::copysign(1, sum);
  const double result = std::ldexp(bits, kept + most - rules.fraction);
  return result == 0 ? 0 : float(result); // a zero is positive
}

} // namespace tlc::emulator
