// SPDX-License-Identifier: Apache-2.0
/// \file
/// How far a result may be from the reference.
#pragma once

#include "runtime/support/ElementType.h"

namespace tlc::kernels {

/// The error of an element is |actual - expected| / max(|expected|, floor): relative
/// where the value is large, in units of the floor where cancellation made it small.
struct Tolerance {
  double limit = 0; ///< largest allowed error
  double floor = 0;
};

/// Infinite if exactly one of the two is no number, or infinite.
double errorOf(double actual, double expected, const Tolerance &tolerance);

/// Largest relative error of rounding to that type: half of the distance between neighbours of 1.
double roundingError(ElementType element);
/// Smallest number of that type that is held with full precision.
double smallestNormal(ElementType element);

} // namespace tlc::kernels
