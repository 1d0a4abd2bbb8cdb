// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws positions, and arithmetic of integers: on their bits, and on those without a sign, which wraps
/// around.
#include "test/differential/Generator.h"

#include <algorithm>
#include <cmath>

using namespace tlc;
using namespace tlc::differential;

std::optional<Drawn> Generator::drawPositions(const Sizes &shape, ElementType element) {
  if (shape.empty())
    return std::nullopt;
  int axis = int(draw.below(shape.size()));
  draw.note(Feature::positions);
  Expression positions = {
      .kind = Expression::Kind::positions, .type = ElementType::i32, .axis = axis, .shape = shape};
  return converted({std::move(positions), {double(tree.valueOf(shape[size_t(axis)])), 0}}, element);
}

/// A number, or a fragment as large.
Drawn Generator::drawIntegerPartner(const Sizes &shape, ElementType element, int depth) {
  if (draw.chance(60))
    if (std::optional<Drawn> full = drawFull(shape, element, depth - 1))
      return *full;
  return number(element, bitsOf(element) == 8 ? 100 : 1000);
}

/// The bits of a float, which is no zero (either of them is meant) and no NaN; or a float from 1 to 2 that an
/// integer's bits choose.
std::optional<Drawn> Generator::drawBits(const Sizes &shape, ElementType element, int depth) {
  if (tlc::bitsOf(element) < 32 || (tlc::isInteger(element) && draw.wants(Feature::otherWidth)))
    return drawOtherWidth(shape, element, depth);
  bool isInteger = tlc::isInteger(element);
  ElementType from = isInteger ? ElementType::f32 : draw.oneOf({ElementType::i32, ElementType::u32});
  std::optional<Drawn> x = drawFull(shape, from, depth - 1);
  if (!x || !x->domain.exact || !x->domain.finite)
    return std::nullopt;
  auto constant = [&](double number) {
    return Expression{.kind = Expression::Kind::number, .type = from, .number = number};
  };
  Expression operand = std::move(x->expression);
  if (isInteger) {
    operand = applied(Function::abs, from, {std::move(operand)});
    operand = applied(Function::max, from, {std::move(operand), constant(0.25)});
  } else {
    operand = applied(Function::bitAnd, from, {std::move(operand), constant(0x700000)});
    operand = applied(Function::bitOr, from, {std::move(operand), constant(0x3f800000)});
  }
  draw.note(Feature::bitcast);
  Expression bits = {.kind = Expression::Kind::bitcast, .type = element, .operands = {std::move(operand)}};
  return Drawn{std::move(bits), isInteger ? wholeRange(element) : Domain{2, -3}};
}

std::optional<Drawn> Generator::drawIntegers(const Sizes &shape, ElementType element, int depth) {
  std::optional<Drawn> x = drawFull(shape, element, depth - 1);
  if (!x)
    return x;
  constexpr Function ofBits[] = {Function::bitAnd,    Function::bitOr,     Function::bitXor,
                                 Function::remainder, Function::shiftLeft, Function::shiftRight,
                                 Function::complement};
  constexpr Function ofNumbers[] = {Function::add,    Function::subtract, Function::multiply,
                                    Function::divide, Function::min,      Function::max};
  bool wraps = isUnsigned(element);
  Function function = wraps && draw.chance(50) ? draw.oneOf(ofNumbers) : draw.oneOf(ofBits);
  if (!wraps || std::ranges::find(ofBits, function) != std::end(ofBits))
    draw.note(Feature::bits);
  auto constant = [&](int64_t number) {
    return Expression{.kind = Expression::Kind::number, .type = element, .number = double(number)};
  };
  // Results of 64 bits that wrap around are more than doubles hold.
  auto orWhole = [&](Domain domain) -> std::optional<Domain> {
    if (fits(element, domain) && !wraps)
      return domain;
    return tlc::bitsOf(element) <= 32 ? std::optional(wholeRange(element)) : std::nullopt;
  };
  auto result = [&](std::optional<Domain> domain, std::vector<Expression> operands) -> std::optional<Drawn> {
    return domain ? Drawn{applied(function, element, std::move(operands)), *domain} : std::move(*x);
  };
  auto bits = int64_t(tlc::bitsOf(element));
  switch (function) {
  case Function::complement:
    return result(orWhole({x->domain.magnitude + 1, 0}), {x->expression});
  case Function::shiftLeft:
  case Function::shiftRight: {
    int64_t by = draw.between(0, bits == 64 ? 4 : bits - 1);
    Expression amount = constant(by);
    bool isLeft = function == Function::shiftLeft;
    double magnitude = isLeft ? std::ldexp(x->domain.magnitude, int(by)) : x->domain.magnitude;
    if (bits <= 32 && draw.chance(30)) { // by as many bits as another fragment says
      if (std::optional<Drawn> other = drawFull(shape, element, depth - 1))
        amount = applied(Function::bitAnd, element, {std::move(other->expression), constant(bits - 1)});
      magnitude = isLeft ? std::ldexp(x->domain.magnitude, int(bits)) : magnitude;
    }
    return result(orWhole({magnitude, 0}), {x->expression, std::move(amount)});
  }
  case Function::divide:
  case Function::remainder: {
    Expression by = constant(draw.between(1, 20) * (wraps || draw.chance(60) ? 1 : -1));
    if (wraps && draw.chance(40)) { // one that is not 0
      Drawn other = drawIntegerPartner(shape, element, depth);
      if (other.expression.kind != Expression::Kind::number)
        by = applied(Function::bitOr, element, {std::move(other.expression), constant(1)});
    }
    return result(orWhole(x->domain), {x->expression, std::move(by)});
  }
  default:
    break;
  }
  Drawn y = drawIntegerPartner(shape, element, depth);
  std::vector<Expression> operands = {x->expression, std::move(y.expression)};
  if (draw.chance(35))
    std::swap(operands[0], operands[1]);
  Domain domain = wraps ? wholeRange(element) : differential::bitsOf(element, join(x->domain, y.domain));
  return Drawn{applied(function, element, std::move(operands)), domain};
}
