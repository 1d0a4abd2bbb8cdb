// SPDX-License-Identifier: Apache-2.0
/// \file
/// Errors and roundings.
#include "kernels/Tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tlc::kernels {

double errorOf(double actual, double expected, const Tolerance &tolerance) {
  if (std::isnan(actual) && std::isnan(expected))
    return 0;
  if (actual == expected)
    return 0;
  if (!std::isfinite(actual) || !std::isfinite(expected))
    return std::numeric_limits<double>::infinity();
  return std::abs(actual - expected) / std::max(std::abs(expected), tolerance.floor);
}

double roundingError(ElementType element) {
  return isFloat(element) ? std::ldexp(1.0, -factsOf(element).format.precision()) : 0;
}

double smallestNormal(ElementType element) {
  return isFloat(element) ? std::ldexp(1.0, factsOf(element).format.leastExponent()) : 1;
}

} // namespace tlc::kernels
