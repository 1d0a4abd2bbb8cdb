// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws what combines elements along an axis.
#include "test/differential/Generator.h"

#include <algorithm>
#include <cmath>

using namespace tlc;
using namespace tlc::differential;

std::optional<Drawn> Generator::drawReduction(const Sizes &shape, ElementType element) {
  if (!isComputed(element))
    return std::nullopt;
  std::vector<std::pair<int, int>> candidates; // variable, axis
  for (int id : env.variables) {
    const VariableInfo &info = tree.variables[size_t(id)];
    if (info.shape.size() != shape.size() || !hasArithmetic(info.element))
      continue;
    int different = 0, at = -1;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (!equal(info.shape[axis], shape[axis])) {
        ++different;
        at = int(axis);
      }
    if (different == 1 && tree.valueOf(shape[size_t(at)]) == 1)
      candidates.emplace_back(id, at);
    if (different == 0)
      for (size_t axis = 0; axis < shape.size(); ++axis)
        if (tree.valueOf(shape[axis]) == 1 && draw.chance(20))
          candidates.emplace_back(id, int(axis));
  }
  if (candidates.empty())
    return std::nullopt;
  auto [id, axis] = draw.oneOf(candidates);
  const VariableInfo info = tree.variables[size_t(id)];
  Sizes from = info.shape;
  std::optional<Drawn> x = draw.chance(50) ? variableValue(id) : drawFull(from, info.element, 1);
  if (!x)
    return x;
  Expression reduce = {.kind = Expression::Kind::reduce, .type = info.element, .axis = axis};
  reduce.reduction =
      draw.oneOf({dsl::Reduction::sum, dsl::Reduction::sum, dsl::Reduction::max, dsl::Reduction::min});
  auto count = double(tree.valueOf(from[size_t(axis)]));
  draw.note(Feature::reduction);
  if (x->domain.exact && draw.wants(Feature::argument)) {
    draw.note(Feature::argument);
    reduce.kind = Expression::Kind::argument;
    reduce.type = ElementType::i32;
    reduce.reduction = draw.chance(50) ? dsl::Reduction::max : dsl::Reduction::min;
    reduce.operands = {std::move(x->expression)};
    return converted({std::move(reduce), {count, 0}}, element);
  }
  if (isUnsigned(info.element) || (isInteger(info.element) && draw.wants(Feature::bits))) {
    std::vector<dsl::Reduction> kinds = {dsl::Reduction::bitAnd, dsl::Reduction::bitOr,
                                         dsl::Reduction::bitXor};
    if (isUnsigned(info.element)) {
      draw.note(Feature::withoutSign);
      kinds.insert(kinds.end(), {dsl::Reduction::sum, dsl::Reduction::max, dsl::Reduction::min});
    } else {
      draw.note(Feature::bits);
    }
    reduce.reduction = draw.oneOf(kinds);
    reduce.operands = {std::move(x->expression)};
    return converted({std::move(reduce), bitsOf(info.element, x->domain)}, element);
  }
  if (isFloat(info.element) && draw.chance(20) && reduce.reduction != dsl::Reduction::sum)
    reduce.reduction =
        reduce.reduction == dsl::Reduction::max ? dsl::Reduction::maxOrNaN : dsl::Reduction::minOrNaN;
  if (reduce.reduction == dsl::Reduction::sum) {
    if (!fits(info.element, repeated(x->domain, count)))
      x = clamped(
          std::move(*x),
          std::max(1.0, std::floor(std::min(2.0, largest(info.element, x->domain.exponent) / count))));
    x->domain = repeated(x->domain, count);
    if (!fits(info.element, x->domain)) {
      x->domain.magnitude /= count;
      reduce.reduction = dsl::Reduction::max;
    }
  }
  reduce.operands = {std::move(x->expression)};
  return converted({std::move(reduce), x->domain}, element);
}

std::optional<Drawn> Generator::drawScan(const Sizes &shape, ElementType element, int depth) {
  std::optional<Drawn> x = drawFull(shape, element, depth - 1);
  if (!x || shape.empty())
    return x;
  Expression scan = {.kind = Expression::Kind::scan, .type = element, .axis = int(draw.below(shape.size()))};
  scan.direction = draw.chance(50) ? dsl::Direction::forward : dsl::Direction::backward;
  scan.reduction = draw.oneOf({dsl::Reduction::sum, dsl::Reduction::sum, dsl::Reduction::max,
                               dsl::Reduction::min, dsl::Reduction::product});
  int64_t count = tree.valueOf(shape[size_t(scan.axis)]);
  Domain domain = x->domain;
  if (scan.reduction == dsl::Reduction::product) {
    constexpr int64_t mostFactors = 4;
    for (int64_t i = 1; i < std::min(count, mostFactors); ++i)
      domain = join(domain, differential::product(domain, x->domain));
    if (count > mostFactors || !domain.exact || !fits(element, domain))
      scan.reduction = dsl::Reduction::sum;
  }
  if (scan.reduction == dsl::Reduction::sum) {
    domain = repeated(x->domain, double(count));
    if (!fits(element, domain))
      scan.reduction = dsl::Reduction::max;
  }
  if (scan.reduction == dsl::Reduction::max || scan.reduction == dsl::Reduction::min)
    domain = x->domain;
  draw.note(Feature::scan);
  scan.operands = {std::move(x->expression)};
  return Drawn{std::move(scan), domain};
}
