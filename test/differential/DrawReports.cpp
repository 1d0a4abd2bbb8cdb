// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws prints, and checks that hold.
#include "test/differential/Generator.h"

#include <cmath>

using namespace tlc;
using namespace tlc::differential;

namespace {

/// A number that no number of the domain is above; nothing where the type has none for sure.
std::optional<double> boundOf(ElementType element, Domain domain) {
  double bound = std::ceil(domain.exact ? domain.magnitude : 2 * domain.magnitude);
  bool isRepresented = isComputed(element) && bitsOf(element) > 8 && bound <= largest(element, 0);
  return domain.finite && isRepresented ? std::optional(bound) : std::nullopt;
}

} // namespace

bool Generator::report(Body &body) {
  if (env.variables.empty() || draw.chance(30))
    return reportPosition(body);
  int variable = draw.oneOf(env.variables);
  ElementType element = tree.variables[size_t(variable)].element;
  if (!spend(double(tree.elementsOf(tree.variables[size_t(variable)].shape))))
    return false;
  draw.note(Feature::report);
  Drawn x = variableValue(variable);
  Statement report = {.kind = Statement::Kind::print};
  report.values = {x.expression};
  if (std::optional<double> bound = boundOf(element, x.domain); bound && draw.chance(80)) {
    report.kind = Statement::Kind::check;
    report.comparison = Comparison::lessOrEqual;
    report.values.push_back({.kind = Expression::Kind::number, .type = element, .number = *bound});
  }
  body.push_back(std::move(report));
  return true;
}

bool Generator::reportPosition(Body &body) {
  std::optional<IndexNode> position = drawPosition();
  if (!position)
    return false;
  draw.note(Feature::report);
  Statement report = {.kind = draw.chance(80) ? Statement::Kind::check : Statement::Kind::print};
  IndexRange range = rangeOf(*position);
  if (report.kind == Statement::Kind::check)
    report.tests = {{*position, IndexNode::constant(range.low), Comparison::greaterOrEqual},
                    {*position, IndexNode::constant(range.high), Comparison::lessOrEqual}};
  report.index = {*position};
  body.push_back(std::move(report));
  return true;
}
