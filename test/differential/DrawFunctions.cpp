// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws functions: those that round, of arguments for which they are well conditioned, and those of three.
#include "test/differential/Generator.h"

#include <cmath>

using namespace tlc;
using namespace tlc::differential;

namespace {

Expression constant(ElementType element, double number) {
  return {.kind = Expression::Kind::number, .type = element, .number = number};
}

Expression aboveOne(Expression of) {
  ElementType element = of.type;
  return applied(Function::add, element,
                 {applied(Function::abs, element, {std::move(of)}), constant(element, 1)});
}

/// The operand's largest magnitude for which the function's result stays small.
std::optional<double> limitOf(Function function) {
  switch (function) {
  case Function::exp:
  case Function::exp2:
  case Function::expm1:
    return 3;
  case Function::exp10:
  case Function::tan:
    return 1;
  default:
    return std::nullopt;
  }
}

/// The largest result, of an operand of this magnitude.
double largestOf(Function function, double magnitude) {
  switch (function) {
  case Function::exp:
  case Function::exp2:
  case Function::expm1:
    return 21;
  case Function::exp10:
    return 10;
  case Function::log:
  case Function::log2:
  case Function::log10:
  case Function::log1p:
    return 1 + std::log2(magnitude + 1);
  case Function::sqrt:
    return std::sqrt(magnitude) + 1;
  case Function::tan:
  case Function::atan:
    return 2;
  default:
    return 1;
  }
}

/// Where a function has no result, the operand is made one for which it has.
Expression operandOf(Function function, Expression x) {
  switch (function) {
  case Function::log:
  case Function::log2:
  case Function::log10:
  case Function::rsqrt:
    return aboveOne(std::move(x));
  case Function::log1p:
  case Function::sqrt: {
    ElementType element = x.type;
    return applied(Function::abs, element, {std::move(x)});
  }
  default:
    return x;
  }
}

/// Whether there is a fast form, of operands of this magnitude; that of the root flushes what is not normal.
bool mayBeFast(Function function, double magnitude) {
  constexpr double largestFastAngle = 300;
  bool isWave = function == Function::sin || function == Function::cos;
  return function == Function::tanh || function == Function::sqrt ||
         (isWave && magnitude <= largestFastAngle);
}

} // namespace

std::optional<Drawn> Generator::drawRounded(const Sizes &shape, ElementType element, int depth) {
  std::optional<Drawn> x = drawFull(shape, element, depth - 1);
  if (!x)
    return x;
  draw.note(Feature::function);
  if (!x->domain.finite)
    x = clamped(std::move(*x), 3);
  bool hasFew = element == ElementType::f64; // no functions but the square root
  if (draw.chance(hasFew ? 50 : 12))
    return drawQuotient(std::move(*x), shape, depth);
  if (!hasFew && draw.chance(10))
    return drawPower(std::move(*x));
  if (!hasFew && draw.chance(8))
    return drawSigned(std::move(*x), shape, depth);
  auto function = hasFew ? Function::sqrt
                         : draw.oneOf({Function::exp, Function::exp2, Function::exp10, Function::expm1,
                                       Function::log, Function::log2, Function::log10, Function::log1p,
                                       Function::sqrt, Function::rsqrt, Function::sin, Function::cos,
                                       Function::tan, Function::atan, Function::tanh, Function::erf});
  if (std::optional<double> limit = limitOf(function))
    x = clamped(std::move(*x), *limit);
  double magnitude = largestOf(function, x->domain.magnitude);
  if (!fits(element, {magnitude, 0, false}))
    return std::nullopt;
  bool isFast = !hasFew && mayBeFast(function, x->domain.magnitude) && draw.chance(40);
  Expression result = applied(function, element, {operandOf(function, std::move(x->expression))});
  result.accuracy = isFast ? dsl::Accuracy::fast : dsl::Accuracy::accurate;
  return Drawn{std::move(result), {magnitude, 0, false}};
}

std::optional<Drawn> Generator::drawQuotient(Drawn x, const Sizes &shape, int depth) {
  ElementType element = x.expression.type;
  Function function = draw.oneOf({Function::divide, Function::divideOrZero});
  Drawn by = drawPartner(shape, element, depth - 1);
  if (by.expression.kind == Expression::Kind::number || by.expression.kind == Expression::Kind::scalar ||
      by.expression.kind == Expression::Kind::position)
    by.expression = constant(element, 3), function = Function::divide;
  else
    by.expression = aboveOne(std::move(by.expression));
  return Drawn{applied(function, element, {std::move(x.expression), std::move(by.expression)}),
               {x.domain.magnitude, 0, false, by.domain.finite}};
}

/// A positive number's power; of other numbers, if they are certain, one with a whole exponent.
std::optional<Drawn> Generator::drawPower(Drawn x) {
  ElementType element = x.expression.type;
  bool isWhole = x.domain.exact && draw.chance(40);
  x = clamped(std::move(x), 3);
  double exponent = isWhole ? double(draw.between(0, 3)) : double(draw.between(-6, 6)) / 2;
  Expression base = isWhole ? std::move(x.expression) : aboveOne(std::move(x.expression));
  if (!fits(element, {64, 0, false}))
    return std::nullopt;
  Expression power = applied(Function::pow, element, {std::move(base), constant(element, exponent)});
  if (!isWhole && draw.chance(40))
    power.accuracy = dsl::Accuracy::fast;
  return Drawn{std::move(power), {64, 0, false}};
}

/// With the sign of a number that is certain and not 0.
std::optional<Drawn> Generator::drawSigned(Drawn x, const Sizes &shape, int depth) {
  ElementType element = x.expression.type;
  Drawn sign = drawPartner(shape, element, depth - 1);
  Domain shifted = sum(sign.domain, domainOf(0.5));
  bool isFragment = sign.expression.kind != Expression::Kind::number &&
                    sign.expression.kind != Expression::Kind::scalar &&
                    sign.expression.kind != Expression::Kind::position;
  if (!isFragment || !sign.domain.exact || !sign.domain.finite || sign.domain.exponent < 0 ||
      !fits(element, shifted))
    return x;
  sign.expression = applied(Function::add, element, {std::move(sign.expression), constant(element, 0.5)});
  x.expression = applied(Function::copySign, element, {std::move(x.expression), std::move(sign.expression)});
  return x;
}

std::optional<Drawn> Generator::drawOfThree(const Sizes &shape, ElementType element, int depth) {
  std::optional<Drawn> a = drawFull(shape, element, depth - 1);
  if (!a)
    return a;
  if (isInteger(element) || draw.chance(40)) {
    auto low = double(draw.between(isUnsigned(element) ? 0 : -8, 2)), high = low + double(draw.between(0, 8));
    Domain limits = join(domainOf(low), domainOf(high));
    a->domain.exponent = std::min(a->domain.exponent, 0);
    a->domain.magnitude = limits.magnitude;
    a->expression = applied(Function::clamp, element,
                            {std::move(a->expression), constant(element, low), constant(element, high)});
    return a; // NaN stays, infinities do not
  }
  Drawn b = drawPartner(shape, element, depth), c = drawPartner(shape, element, depth);
  auto result = [&] { return sum(differential::product(a->domain, b.domain), c.domain); };
  if (!fits(element, result())) {
    a = clamped(std::move(*a), 4);
    b = clamped(std::move(b), 4);
    c = clamped(std::move(c), 4);
    if (!fits(element, result()))
      return a;
  }
  Domain domain = result();
  return Drawn{applied(Function::fma, element,
                       {std::move(a->expression), std::move(b.expression), std::move(c.expression)}),
               domain};
}
