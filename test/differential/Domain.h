// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is known about numbers while a program is drawn: that they are exact, and therefore the same in
/// whatever order and precision they are computed.
#pragma once

#include "runtime/support/ElementType.h"

#include <cstdint>

namespace tlc::differential {

/// Multiples of 2^exponent up to `magnitude`, or, if not exact, any numbers up to there.
struct Domain {
  double magnitude = 0;
  int exponent = 0;
  bool exact = true;
};

/// Either of them.
Domain join(Domain a, Domain b);
Domain sum(Domain a, Domain b);
Domain product(Domain a, Domain b);
/// The sum of `count` of them.
Domain repeated(Domain a, double count);
/// Of one number.
Domain domainOf(double number);

/// Whether all of them are numbers of the type; of an inexact domain, whether they are far from its limits.
bool fits(ElementType type, Domain domain);
/// The largest magnitude that fits with this exponent.
double largest(ElementType type, int exponent);
/// What variables of this type may hold in loops.
Domain defaultDomain(ElementType type);

constexpr bool isInteger(ElementType type) {
  return type == ElementType::i8 || type == ElementType::i32 || type == ElementType::i64;
}

} // namespace tlc::differential
