// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws expressions of a shape and an element type. Exact ones stay within what their types hold; where one
/// would not, its operand is taken instead.
#include "test/differential/Generator.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tlc;
using namespace tlc::differential;

Drawn Generator::number(ElementType element, double most) {
  auto value = double(draw.between(isUnsigned(element) ? 0 : -int64_t(most), int64_t(most)));
  if (!isInteger(element) && draw.chance(25))
    value /= 2;
  return {{.kind = Expression::Kind::number, .type = element, .number = value}, domainOf(value)};
}

double Generator::drawInfinity() {
  if (draw.wants(Feature::notANumber)) {
    draw.note(Feature::notANumber);
    return std::numeric_limits<double>::quiet_NaN();
  }
  draw.note(Feature::infinity);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return draw.chance(75) ? -infinity : infinity;
}

Drawn Generator::infinite(ElementType element) {
  return {{.kind = Expression::Kind::number, .type = element, .number = drawInfinity()}, {.finite = false}};
}

Drawn Generator::variableValue(int id) {
  const Holds &holds = variableHolds[size_t(id)];
  Expression expression = {
      .kind = Expression::Kind::variable, .type = tree.variables[size_t(id)].element, .id = id};
  return {std::move(expression), env.loops > holds.loops ? holds.limit : holds.current};
}

Drawn Generator::clamped(Drawn value, double magnitude) {
  if (value.domain.finite && value.domain.magnitude <= magnitude)
    return value;
  bool isFragment = value.expression.kind != Expression::Kind::number &&
                    value.expression.kind != Expression::Kind::scalar &&
                    value.expression.kind != Expression::Kind::position;
  if (!isFragment) {
    value.expression = {.kind = Expression::Kind::number, .type = value.expression.type, .number = 1};
    value.domain = domainOf(1);
    return value;
  }
  auto constant = [&](double number) {
    return Expression{.kind = Expression::Kind::number, .type = value.expression.type, .number = number};
  };
  ElementType type = value.expression.type;
  value.expression = applied(Function::min, type, {std::move(value.expression), constant(magnitude)});
  if (!isUnsigned(type))
    value.expression = applied(Function::max, type, {std::move(value.expression), constant(-magnitude)});
  value.domain.magnitude = magnitude;
  value.domain.finite = true;
  return value;
}

std::optional<Drawn> Generator::converted(Drawn value, ElementType element) {
  ElementType from = value.expression.type;
  if (from == element)
    return value;
  dsl::Conversion how;
  if (isFloat(from) && draw.wants(Feature::directedRounding))
    how.rounding =
        draw.oneOf({dsl::Rounding::nearest, dsl::Rounding::zero, dsl::Rounding::down, dsl::Rounding::up});
  if (isInteger(element)) {
    if (!value.domain.exact)
      return std::nullopt; // which whole number it is, rounding would decide
    value.domain.exponent = std::max(value.domain.exponent, 0);
    value.domain.magnitude = std::ceil(value.domain.magnitude);
    // Of i64 doubles do not hold the largest numbers.
    how.saturate = bitsOf(element) <= 32 && draw.wants(Feature::saturation);
    how.saturate |= isUnsigned(element) && isFloat(from); // of a negative number
  } else if (value.domain.finite) {
    how.saturate = draw.wants(Feature::saturation);
  }
  Domain goal = value.domain;
  goal.magnitude = 0;
  goal.finite = true;
  if (!fits(element, goal))
    return std::nullopt;
  double most = value.domain.exact ? largest(element, value.domain.exponent) : 200;
  bool isWrapped = isUnsigned(element) && isInteger(from);
  if (isWrapped || (!fits(element, value.domain) && how.saturate && isInteger(element))) {
    value.domain = wholeRange(element);
  } else if (!fits(element, value.domain)) {
    if (!isComputed(from))
      return std::nullopt;
    double limit = std::exp2(std::floor(std::log2(most)));
    if (!fits(from, domainOf(limit)) || limit < 1)
      return std::nullopt;
    value = clamped(std::move(value), draw.chance(50) ? limit : std::max(1.0, limit / 4));
  }
  draw.note(Feature::conversion);
  if (how.rounding)
    draw.note(Feature::directedRounding);
  if (how.saturate)
    draw.note(Feature::saturation);
  value.expression = {.kind = Expression::Kind::convert,
                      .type = element,
                      .conversion = how,
                      .operands = {std::move(value.expression)}};
  return value;
}

std::optional<Drawn> Generator::drawLeaf(const Sizes &shape, ElementType element) {
  std::vector<int> same, other;
  for (int id : env.variables)
    if (equal(tree.variables[size_t(id)].shape, shape))
      (tree.variables[size_t(id)].element == element ? same : other).push_back(id);
  if (!same.empty() && (other.empty() || draw.chance(75)))
    return variableValue(draw.chance(50) ? same.back() : draw.oneOf(same));
  while (!other.empty()) {
    size_t place = draw.below(other.size());
    if (std::optional<Drawn> value = converted(variableValue(other[place]), element))
      return value;
    other.erase(other.begin() + int64_t(place));
  }
  if (!same.empty())
    return variableValue(same.back());
  return draw.chance(60) ? drawReduction(shape, element) : std::nullopt;
}

std::optional<Drawn> Generator::drawFull(const Sizes &shape, ElementType element, int depth) {
  bool isInteger = tlc::isInteger(element);
  if (isUnsigned(element) && hasArithmetic(element) && depth > 0 && draw.wants(Feature::withoutSign))
    if (std::optional<Drawn> drawn = drawIntegers(shape, element, depth)) {
      draw.note(Feature::withoutSign);
      return drawn;
    }
  if (!isComputed(element)) { // not computed with
    std::optional<Drawn> leaf = drawLeaf(shape, draw.chance(70) ? ElementType::f32 : element);
    return leaf ? converted(std::move(*leaf), element) : std::nullopt;
  }
  if (depth <= 0)
    return drawLeaf(shape, element);
  std::optional<Drawn> drawn;
  if (!tree.isExact && !isInteger && draw.wants(Feature::function))
    drawn = drawRounded(shape, element, depth);
  else if (bitsOf(element) <= 32 && (draw.wants(Feature::bitcast) || draw.isForced(Feature::otherWidth)))
    drawn = drawBits(shape, element, depth);
  else if (draw.wants(Feature::reshape))
    drawn = drawReshaped(shape, element, depth);
  else if (isInteger && draw.wants(Feature::bits))
    drawn = drawIntegers(shape, element, depth);
  else if (draw.wants(Feature::where))
    drawn = drawWhere(shape, element, depth);
  else if (draw.wants(Feature::wherePlace))
    drawn = drawWherePlace(shape, element, depth);
  else if (draw.wants(Feature::reduction))
    drawn = drawReduction(shape, element);
  else if (draw.wants(Feature::scan))
    drawn = drawScan(shape, element, depth);
  else if (draw.chance(18))
    drawn = drawOfOne(shape, element, depth);
  else if (draw.chance(10))
    drawn = drawOfThree(shape, element, depth);
  else if (draw.chance(75))
    drawn = drawOfTwo(shape, element, depth);
  return drawn ? drawn : drawLeaf(shape, element);
}

/// What meets a fragment of the shape: a number, or a fragment that is repeated, or one as large.
Drawn Generator::drawPartner(const Sizes &shape, ElementType element, int depth) {
  if (draw.wants(Feature::scalar)) {
    std::vector<int> known;
    for (size_t id = 0; id < tree.scalars.size(); ++id)
      if (tree.scalars[id].element == element)
        known.push_back(int(id));
    if (known.empty() && tree.scalars.size() < 4) {
      known.push_back(int(tree.scalars.size()));
      tree.scalars.push_back({"a" + std::to_string(known.back()), element, double(draw.between(-3, 3))});
    }
    if (!known.empty()) {
      draw.note(Feature::scalar);
      int id = draw.oneOf(known);
      return {{.kind = Expression::Kind::scalar, .type = element, .id = id},
              domainOf(tree.scalars[size_t(id)].value)};
    }
  }
  if (std::optional<IndexNode> at; draw.chance(6) && (at = drawPosition())) {
    if (draw.wants(Feature::negativeQuotient))
      at = drawQuotient(std::move(*at));
    IndexRange range = rangeOf(*at);
    double magnitude = double(std::max(std::abs(range.low), std::abs(range.high)));
    if (fits(element, {magnitude, 0, true})) {
      Expression position = {.kind = Expression::Kind::position, .type = element};
      position.positions.push_back({.a = std::move(*at), .b = {}});
      return {std::move(position), {magnitude, 0, true}};
    }
  }
  if (draw.wants(Feature::positions))
    if (std::optional<Drawn> value = drawPositions(shape, element))
      return *value;
  if (draw.wants(Feature::reduction)) { // along an axis, repeated along it
    Sizes narrow = shape;
    narrow[draw.chance(70) ? shape.size() - 1 : draw.below(shape.size())] = {};
    if (std::optional<Drawn> value = drawReduction(narrow, element))
      return *value;
  }
  if (draw.wants(Feature::broadcast)) {
    std::vector<int> narrow;
    for (int id : env.variables) {
      const VariableInfo &info = tree.variables[size_t(id)];
      bool meets = info.element == element && info.shape.size() == shape.size();
      for (size_t axis = 0; meets && axis < shape.size(); ++axis)
        meets = tree.valueOf(info.shape[axis]) == 1 || equal(info.shape[axis], shape[axis]);
      if (meets)
        narrow.push_back(id);
    }
    if (!narrow.empty()) {
      draw.note(Feature::broadcast);
      return variableValue(draw.oneOf(narrow));
    }
  }
  if (draw.chance(35))
    return number(element, 4);
  if (std::optional<Drawn> full = drawFull(shape, element, depth - 1))
    return *full;
  return number(element, 4);
}

std::optional<Drawn> Generator::drawOfOne(const Sizes &shape, ElementType element, int depth) {
  std::optional<Drawn> x = drawFull(shape, element, depth - 1);
  if (!x)
    return x;
  Function function = draw.oneOf({Function::negate, Function::abs});
  if (!isInteger(element) && draw.chance(40)) {
    function = draw.oneOf(
        {Function::floor, Function::ceil, Function::round, Function::trunc, Function::finiteOrZero});
    if (!x->domain.exact && function != Function::finiteOrZero)
      return x; // which whole number it is, rounding would decide
    if (function != Function::finiteOrZero) {
      x->domain.magnitude = std::ceil(x->domain.magnitude);
      x->domain.exponent = std::max(x->domain.exponent, 0);
      if (!fits(element, x->domain))
        return std::nullopt;
    }
  }
  x->expression = applied(function, element, {std::move(x->expression)});
  return x;
}

std::optional<Drawn> Generator::drawOfTwo(const Sizes &shape, ElementType element, int depth) {
  std::optional<Drawn> a = drawFull(shape, element, depth - 1);
  if (!a)
    return a;
  Drawn b = drawPartner(shape, element, depth);
  auto function = Function(size_t(Function::add) + draw.weighted({30, 20, 22, 5, 10, 10, 3}));
  if ((element == ElementType::i8 || element == ElementType::i32) && draw.wants(Feature::overflow))
    return wrapped(std::move(*a), std::move(b));
  Domain domain;
  switch (function) {
  case Function::add:
  case Function::subtract:
    domain = sum(a->domain, b.domain);
    break;
  case Function::multiply:
    domain = differential::product(a->domain, b.domain);
    break;
  case Function::min:
  case Function::max:
    domain = join(a->domain, b.domain);
    break;
  default: { // a division by a power of two, or one that truncates
    int by = 1 << draw.below(3);
    b = {{.kind = Expression::Kind::number, .type = element, .number = double(draw.chance(70) ? by : -by)},
         domainOf(by)};
    domain = a->domain;
    if (!isInteger(element))
      domain.exponent -= int(std::log2(by));
    function = Function::divide;
    break;
  }
  }
  if (!fits(element, domain)) {
    // Smaller operands do; else the operand alone has to.
    if (function != Function::multiply && function != Function::add && function != Function::subtract)
      return a;
    double most = std::min(4.0, largest(element, std::min(a->domain.exponent, b.domain.exponent)) / 8);
    if (most < 1)
      return a;
    a = clamped(std::move(*a), most);
    b = clamped(std::move(b), most);
    domain = function == Function::multiply ? differential::product(a->domain, b.domain)
                                            : sum(a->domain, b.domain);
    if (!fits(element, domain))
      return a;
  }
  if (!isInteger(element) && draw.chance(20))
    function = function == Function::max   ? Function::maxOrNaN
               : function == Function::min ? Function::minOrNaN
                                           : function;
  std::vector<Expression> operands = {std::move(a->expression), std::move(b.expression)};
  bool isDivision = function == Function::divide || function == Function::divideOrZero;
  if (!isDivision && draw.chance(35))
    std::swap(operands[0], operands[1]);
  return Drawn{applied(function, element, std::move(operands)), domain};
}

/// A sum or product that may be beyond the type, where integers wrap around. Of i64 doubles do not hold as
/// much.
Drawn Generator::wrapped(Drawn a, Drawn b) {
  ElementType element = a.expression.type;
  draw.note(Feature::overflow);
  Domain whole = wholeRange(element);
  if (draw.chance(70)) {
    auto large = double(draw.between(int64_t(whole.magnitude / 4), int64_t(whole.magnitude)));
    b.expression = {
        .kind = Expression::Kind::number, .type = element, .number = draw.chance(50) ? large : -large};
  }
  Function function = draw.oneOf({Function::add, Function::subtract, Function::multiply});
  return {applied(function, element, {std::move(a.expression), std::move(b.expression)}), whole};
}

/// What is taken where a condition does not hold.
Drawn Generator::drawOther(const Sizes &shape, ElementType element, int depth) {
  bool isInfinite = mayBeInfinite(element) && draw.wants(Feature::infinity);
  return isInfinite ? infinite(element) : drawPartner(shape, element, depth);
}

std::optional<Drawn> Generator::drawWhere(const Sizes &shape, ElementType element, int depth) {
  ElementType compared = draw.chance(60) ? element : drawFloat();
  std::optional<Drawn> a = drawFull(shape, compared, 1), x = drawFull(shape, element, depth - 1);
  if (!a || !x || !a->domain.exact)
    return x;
  Drawn b = draw.chance(60) ? number(compared, 3) : drawPartner(shape, compared, 1);
  Drawn y = drawOther(shape, element, depth - 1);
  Domain domain = join(x->domain, y.domain);
  if (!b.domain.exact || !fits(element, domain))
    return x;
  draw.note(Feature::where);
  Expression where = {.kind = Expression::Kind::where, .type = element};
  where.comparison = Comparison(draw.below(6));
  where.operands = {std::move(a->expression), std::move(b.expression), std::move(x->expression),
                    std::move(y.expression)};
  if (draw.chance(40))
    std::swap(where.operands[2], where.operands[3]);
  if (draw.wants(Feature::anyOrAll)) {
    draw.note(Feature::anyOrAll);
    where.kind = Expression::Kind::whereAny;
    where.axis = int(draw.below(shape.size()));
    where.reduction = draw.chance(50) ? dsl::Reduction::max : dsl::Reduction::min;
  }
  return Drawn{std::move(where), domain};
}

std::optional<Drawn> Generator::drawWherePlace(const Sizes &shape, ElementType element, int depth) {
  std::optional<Drawn> x = drawFull(shape, element, depth - 1);
  if (!x)
    return x;
  Drawn y = drawOther(shape, element, depth - 1);
  Domain domain = join(x->domain, y.domain);
  if (!fits(element, domain))
    return x;
  Expression where = {.kind = Expression::Kind::wherePlace, .type = element, .axis = int(shape.size())};
  size_t tests = draw.chance(75) ? 1 : 2;
  for (size_t number = 0; number < tests; ++number) {
    int axis = int(draw.below(shape.size()));
    PositionTest test;
    test.comparison = Comparison(draw.weighted({25, 20, 25, 20, 8, 8}));
    test.a = IndexNode::of(IndexKind::coordinate, axis);
    int64_t extent = tree.valueOf(shape[size_t(axis)]);
    if (!env.axes.empty() && draw.chance(50)) {
      IndexNode begin = drawOrigin(extent, {});
      test.a = IndexNode::apply(IndexKind::add, std::move(begin), std::move(test.a));
    }
    if (draw.wants(Feature::negativeQuotient))
      test.a = drawQuotient(std::move(test.a));
    else if (draw.chance(20))
      test.a =
          IndexNode::apply(IndexKind::remainder, std::move(test.a), IndexNode::constant(draw.between(2, 5)));
    test.b = IndexNode::constant(draw.between(0, std::max<int64_t>(1, extent)));
    if (shape.size() > 1 && draw.chance(45)) {
      test.b = IndexNode::of(IndexKind::coordinate, (axis + 1) % int(shape.size()));
    } else if (!tree.dimensions.empty() && draw.chance(25)) {
      test.b = IndexNode::of(IndexKind::dimension, int(draw.below(tree.dimensions.size())));
    } else if (draw.chance(25)) {
      for (int id : env.variables) {
        const VariableInfo &info = tree.variables[size_t(id)];
        bool meets = info.element == ElementType::i32 && info.shape.size() == shape.size();
        for (size_t i = 0; meets && i < shape.size(); ++i)
          meets = tree.valueOf(info.shape[i]) == 1 || equal(info.shape[i], shape[i]);
        if (meets)
          test.b = IndexNode::of(IndexKind::elements, id);
      }
    }
    where.positions.push_back(std::move(test));
  }
  draw.note(Feature::wherePlace);
  where.operands = {std::move(x->expression), std::move(y.expression)};
  return Drawn{std::move(where), domain};
}

std::optional<Drawn> Generator::drawWithin(const Sizes &shape, ElementType element, Domain domain) {
  std::optional<Drawn> value = drawFull(shape, element, int(draw.between(0, 3)));
  if (!value)
    return value;
  if ((domain.exact && !value->domain.exact) ||
      (value->domain.exact && value->domain.exponent < domain.exponent))
    return std::nullopt;
  if (value->domain.magnitude > domain.magnitude || (domain.finite && !value->domain.finite)) {
    if (!isComputed(element) || domain.magnitude < 1)
      return std::nullopt;
    double limit = std::exp2(std::floor(std::log2(domain.magnitude)));
    value = clamped(std::move(*value), limit);
  }
  return value;
}
