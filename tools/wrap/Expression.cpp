// SPDX-License-Identifier: Apache-2.0
#include "tools/wrap/Expression.h"

#include "runtime/support/NearestName.h"

#include <fmt/format.h>

using namespace tlc;
using namespace tlc::wrap;

namespace {

/// Of parentheses and functions in each other.
constexpr unsigned mostNesting = 16;

using Op = HostExpr::Op;
struct Operator {
  std::string_view sign;
  Op op;
};

class Expression {
public:
  Expression(Line &line, std::span<const Dimension> dimensions) : line(line), dimensions(dimensions) {}

  HostExpr sum(unsigned nesting) {
    static constexpr Operator operators[] = {{"+", Op::add}, {"-", Op::subtract}};
    return leftToRight(operators, [&] { return product(nesting); });
  }

private:
  HostExpr product(unsigned nesting) {
    static constexpr Operator operators[] = {{"*", Op::multiply}, {"/", Op::divide}, {"%", Op::remainder}};
    return leftToRight(operators, [&] { return operand(nesting); });
  }

  template <size_t count, class Next>
  HostExpr leftToRight(const Operator (&operators)[count], const Next &next) {
    HostExpr value = next();
    for (bool found = true; found;) {
      found = false;
      for (const Operator &each : operators)
        if (line.takeIf(each.sign)) {
          const HostExpr right = next();
          value.steps.insert(value.steps.end(), right.steps.begin(), right.steps.end());
          value.steps.push_back({each.op});
          found = true;
        }
    }
    return value;
  }

  HostExpr operand(unsigned nesting) {
    static constexpr Operator functions[] = {{"ceilDiv", Op::ceilDiv}, {"min", Op::min}, {"max", Op::max}};
    if (nesting > mostNesting)
      line.fail(fmt::format("expected at most {} parentheses in each other", mostNesting));
    if (line.failure)
      return HostExpr::constant(0);
    if (line.peek().kind == Token::Kind::number)
      return HostExpr::constant(line.integer(0, maxExtent));
    if (line.takeIf("multiprocessors"))
      return HostExpr::multiprocessors();
    if (line.takeIf("(")) {
      HostExpr value = sum(nesting + 1);
      line.expect(")");
      return value;
    }
    for (const Operator &function : functions)
      if (line.has(function.sign) && line.peek(1).text == "(") {
        line.take(), line.take();
        const HostExpr left = sum(nesting + 1);
        line.expect(",");
        const HostExpr right = sum(nesting + 1);
        line.expect(")");
        return HostExpr::apply(function.op, left, right);
      }
    return dimension();
  }

  HostExpr dimension() {
    const Place place = line.place();
    const std::string_view name = line.word("a number, a dimension or an expression of them");
    const auto known = std::ranges::find(dimensions, name, &Dimension::name);
    if (known != dimensions.end())
      return HostExpr::dimension(known - dimensions.begin());
    std::vector<std::string> names;
    for (const Dimension &each : dimensions)
      names.push_back(each.name);
    line.failAt(place, formatMessage("expected a dimension that a line before names, but got '{}'{}", name,
                                     nearestText(name, names)));
    return HostExpr::constant(0);
  }

  Line &line;
  std::span<const Dimension> dimensions;
};

} // namespace

HostExpr wrap::parseExpression(Line &line, std::span<const Dimension> dimensions) {
  const Place place = line.place();
  HostExpr value = Expression(line, dimensions).sum(0);
  size_t depth = 0, most = 0;
  for (const HostExpr::Step &step : value.steps)
    most = std::max(most, step.op <= Op::multiprocessors ? ++depth : --depth);
  if (most > HostExpr::maxDepth)
    line.failAt(place, formatMessage("expected an expression with at most {} operands pending, but got {}",
                                     HostExpr::maxDepth, most));
  return value;
}
