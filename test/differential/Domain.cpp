// SPDX-License-Identifier: Apache-2.0
/// \file
/// Magnitudes and exponents of results.
#include "test/differential/Domain.h"

#include <algorithm>
#include <cmath>

namespace tlc::differential {

Domain join(Domain a, Domain b) {
  return {std::max(a.magnitude, b.magnitude), std::min(a.exponent, b.exponent), a.exact && b.exact,
          a.finite && b.finite};
}

Domain sum(Domain a, Domain b) {
  Domain both = join(a, b);
  both.magnitude = a.magnitude + b.magnitude;
  return both;
}

Domain product(Domain a, Domain b) {
  return {a.magnitude * b.magnitude, a.exponent + b.exponent, a.exact && b.exact, a.finite && b.finite};
}

double largestOfTf32(int exponent) {
  constexpr int significandBits = 11;
  return std::ldexp(1.0, significandBits + exponent);
}

Domain factor(ElementType type, Domain domain) {
  domain.exact &= type != ElementType::f32 || domain.magnitude <= largestOfTf32(domain.exponent);
  return domain;
}

Domain repeated(Domain a, double count) { return {a.magnitude * count, a.exponent, a.exact, a.finite}; }

Domain domainOf(double number) {
  if (!std::isfinite(number))
    return {.finite = false};
  Domain domain = {std::abs(number), 0, true};
  while (domain.exponent > -40 &&
         std::ldexp(number, -domain.exponent) != std::floor(std::ldexp(number, -domain.exponent)))
    --domain.exponent;
  return domain;
}

namespace {
struct Format {
  int bits;   ///< of a significand, or of a whole number's magnitude
  int lowest; ///< exponent
  double greatest;
};

/// Of wide types so much that sums and products stay within them, and that doubles hold their integers.
Format formatOf(ElementType type) {
  const ElementFacts &facts = factsOf(type);
  if (isInteger(type)) {
    int bits = std::min(int(facts.bits) - (isUnsigned(type) ? 0 : 1), 52);
    return {bits, 0, std::ldexp(1.0, bits) - (bits < 52 ? 1 : 0)};
  }
  return {facts.format.precision(), std::max(facts.format.leastExponent(), -60),
          std::min(facts.format.largest(), 0x1p60)};
}
} // namespace

double largest(ElementType type, int exponent) {
  Format format = formatOf(type);
  return std::min(format.greatest, std::ldexp(1.0, format.bits + std::min(exponent, 60)));
}

bool fits(ElementType type, Domain domain) {
  Format format = formatOf(type);
  if (!domain.finite && !mayBeInfinite(type))
    return false;
  if (!domain.exact)
    return !isInteger(type) && domain.magnitude <= std::min(format.greatest / 4, 1e4);
  return domain.exponent >= format.lowest && domain.magnitude <= largest(type, domain.exponent);
}

bool isAsTame(Domain domain, Domain limit) {
  return (domain.exact || !limit.exact) && (domain.finite || !limit.finite);
}

Domain wholeRange(ElementType type) { return {formatOf(type).greatest, 0}; }

Domain bitsOf(ElementType type, Domain domain) {
  Domain bits = {std::exp2(std::ceil(std::log2(domain.magnitude + 1))), 0};
  return !isUnsigned(type) && fits(type, bits) ? bits : wholeRange(type);
}

/// Of the widest types so little that sums stay exact.
Domain defaultDomain(ElementType type) {
  switch (type) {
  case ElementType::i8:
    return {100, 0};
  case ElementType::i32:
    return {0x1p20, 0};
  case ElementType::i64:
    return {0x1p30, 0};
  case ElementType::f16:
    return {512, -1};
  case ElementType::bf16:
    return {64, -1};
  case ElementType::f32:
    return {0x1p19, -4};
  case ElementType::f64:
    return {0x1p24, -8};
  default: // what is only converted
    return {std::min(8.0, formatOf(type).greatest), 0};
  }
}

} // namespace tlc::differential
