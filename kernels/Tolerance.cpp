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
  switch (element) {
  case ElementType::bf16:
    return std::ldexp(1.0, -8);
  case ElementType::f16:
    return std::ldexp(1.0, -11);
  case ElementType::f32:
    return std::ldexp(1.0, -24);
  case ElementType::f64:
    return std::ldexp(1.0, -53);
  case ElementType::e4m3:
    return std::ldexp(1.0, -4);
  case ElementType::i8:
  case ElementType::i32:
  case ElementType::i64:
    return 0;
  }
  return 0;
}

double smallestNormal(ElementType element) {
  switch (element) {
  case ElementType::f16:
    return std::ldexp(1.0, -14);
  case ElementType::bf16:
  case ElementType::f32:
    return std::ldexp(1.0, -126);
  case ElementType::f64:
    return std::ldexp(1.0, -1022);
  case ElementType::e4m3:
    return std::ldexp(1.0, -6);
  case ElementType::i8:
  case ElementType::i32:
  case ElementType::i64:
    return 1;
  }
  return 0;
}

} // namespace tlc::kernels
