// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is known about numbers while a program is drawn: that they are exact, and therefore the same in
/// whatever order and precision they are computed.
#pragma once

#include "runtime/support/ElementType.h"

#include <cstdint>

namespace tlc::differential {

/// Multiples of 2^exponent up to `magnitude`, or, if not exact, any numbers up to there; if not finite,
/// infinities and NaN as well.
struct Domain {
  double magnitude = 0;
  int exponent = 0;
  bool exact = true, finite = true;
};

/// Either of them.
Domain join(Domain a, Domain b);
Domain sum(Domain a, Domain b);
Domain product(Domain a, Domain b);
/// Of a product's factor: what is left of f32 when it is read as tf32 is known if that is all.
Domain factor(ElementType type, Domain domain);
/// The largest magnitude of f32 with this exponent that tf32 has, too.
double largestOfTf32(int exponent);
/// The sum of `count` of them.
Domain repeated(Domain a, double count);
/// Of one number.
Domain domainOf(double number);

/// Whether all of them are numbers of the type; of an inexact domain, whether they are far from its limits.
bool fits(ElementType type, Domain domain);
/// The largest magnitude that fits with this exponent.
double largest(ElementType type, int exponent);
/// Whether `domain` is within `limit`, as far as rounding and infinities go.
bool isAsTame(Domain domain, Domain limit);
/// What integers of this type may be once they have wrapped around.
Domain wholeRange(ElementType type);
/// What the bits of such integers may make.
Domain bitsOf(ElementType type, Domain domain);
/// What variables of this type may hold in loops.
Domain defaultDomain(ElementType type);

/// Whether variables of this type may hold infinities and NaN.
constexpr bool mayBeInfinite(ElementType type) { return isFloat(type) && isComputed(type); }

} // namespace tlc::differential
