// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws other extents, and bits as elements of another width.
#include "test/differential/Generator.h"

#include <algorithm>

using namespace tlc;
using namespace tlc::differential;

Sizes Generator::otherExtents(const Sizes &shape) {
  int64_t rest = tree.elementsOf(shape);
  Sizes extents;
  for (int64_t axes = draw.between(1, 3); axes > 1; --axes) {
    std::vector<int64_t> divisors;
    for (int64_t divisor = 1; divisor <= rest; ++divisor)
      if (rest % divisor == 0)
        divisors.push_back(divisor);
    extents.push_back(newSize(draw.oneOf(divisors)));
    rest /= tree.valueOf(extents.back());
  }
  extents.push_back(newSize(rest));
  return extents;
}

namespace {
Expression scanned(Expression x, size_t axes, dsl::Reduction reduction, Draw &draw) {
  Expression scan = {.kind = Expression::Kind::scan, .type = x.type, .axis = int(draw.below(axes))};
  scan.reduction = reduction;
  scan.operands = {std::move(x)};
  return scan;
}

Expression reshapedTo(Expression x, const Sizes &shape) {
  Expression reshape = {.kind = Expression::Kind::reshape, .type = x.type, .shape = shape};
  reshape.operands = {std::move(x)};
  return reshape;
}

Expression bitsAs(Expression x, ElementType type) {
  return {.kind = Expression::Kind::bitcast, .type = type, .operands = {std::move(x)}};
}
} // namespace

/// Of a variable with other extents, or there and back; what is done between depends on the extents.
std::optional<Drawn> Generator::drawReshaped(const Sizes &shape, ElementType element, int depth) {
  std::vector<int> candidates;
  for (int id : env.variables) {
    const VariableInfo &info = tree.variables[size_t(id)];
    if (info.element == element && tree.elementsOf(info.shape) == tree.elementsOf(shape) &&
        !equal(info.shape, shape))
      candidates.push_back(id);
  }
  if (!candidates.empty() && draw.chance(50)) {
    draw.note(Feature::reshape);
    Drawn x = variableValue(draw.oneOf(candidates));
    return Drawn{reshapedTo(std::move(x.expression), shape), x.domain};
  }
  std::optional<Drawn> x = drawFull(shape, element, depth - 1);
  if (!x)
    return x;
  draw.note(Feature::reshape);
  Sizes between = otherExtents(shape);
  Expression inner = reshapedTo(std::move(x->expression), between);
  if (draw.chance(80))
    inner = scanned(std::move(inner), between.size(), draw.oneOf({dsl::Reduction::max, dsl::Reduction::min}),
                    draw);
  return Drawn{reshapedTo(std::move(inner), shape), x->domain};
}

/// There and back. Of floats a part of the bits stays, with which they are numbers from 1 to 2: which zero or
/// NaN has which bits is nobody's business.
std::optional<Drawn> Generator::drawOtherWidth(const Sizes &shape, ElementType element, int depth) {
  constexpr int64_t mostElements = 16384; // of one warp
  bool isInteger = tlc::isInteger(element);
  std::vector<ElementType> others;
  int64_t bits = tree.valueOf(shape.back()) * int64_t(tlc::bitsOf(element));
  auto isOfWhole = [&](ElementType other) {
    auto width = int64_t(tlc::bitsOf(other));
    return bits % width == 0 &&
           tree.elementsOf(shape) / tree.valueOf(shape.back()) * (bits / width) <= mostElements;
  };
  for (ElementType other :
       {ElementType::u8, ElementType::i8, ElementType::u32, ElementType::i32, ElementType::i64})
    if (tlc::bitsOf(other) != tlc::bitsOf(element) && isOfWhole(other) &&
        (isInteger || (tlc::bitsOf(element) == 16 && tlc::bitsOf(other) == 32)))
      others.push_back(other);
  std::optional<Drawn> x = others.empty() ? std::nullopt : drawFull(shape, element, depth - 1);
  if (!x || !x->domain.exact || !x->domain.finite)
    return std::nullopt;
  ElementType other = draw.oneOf(others);
  draw.note(Feature::bitcast);
  draw.note(Feature::otherWidth);
  auto number = [](ElementType type, double value) {
    return Expression{.kind = Expression::Kind::number, .type = type, .number = value};
  };
  if (isInteger) {
    Expression inner = bitsAs(std::move(x->expression), other);
    if (draw.chance(70))
      inner = scanned(std::move(inner), shape.size(),
                      draw.oneOf({dsl::Reduction::bitXor, dsl::Reduction::bitOr}), draw);
    return Drawn{bitsAs(std::move(inner), element), wholeRange(element)};
  }
  Expression inner = applied(Function::abs, element, {std::move(x->expression)});
  inner = bitsAs(applied(Function::max, element, {std::move(inner), number(element, 0.25)}), other);
  bool isF16 = element == ElementType::f16;
  inner =
      applied(Function::bitAnd, other, {std::move(inner), number(other, isF16 ? 0x03800380 : 0x00700070)});
  inner = applied(Function::bitOr, other, {std::move(inner), number(other, isF16 ? 0x3c003c00 : 0x3f803f80)});
  return Drawn{bitsAs(std::move(inner), element), Domain{2, -3}};
}
