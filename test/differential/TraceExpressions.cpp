// SPDX-License-Identifier: Apache-2.0
/// \file
/// Positions and values.
#include "test/differential/Tracer.h"

using namespace tlc;
using namespace tlc::differential;
using dsl::Fragment, dsl::FragmentValue, dsl::Index, dsl::Operand, dsl::Predicate, dsl::Scalar;

namespace {

/// Applies `f` so that overload resolution sees a fragment.
auto apply(auto &&f, const Value &a, const Value &b) {
  return b.fragment && !a.fragment ? f(Operand(a.number), *b.fragment)
                                   : f(a.fragment.value_or(FragmentValue()), Operand(b));
}

template <class A, class B> Predicate compare(Comparison comparison, const A &a, const B &b) {
  switch (comparison) {
  case Comparison::less:
    return a < b;
  case Comparison::lessOrEqual:
    return a <= b;
  case Comparison::greater:
    return a > b;
  case Comparison::greaterOrEqual:
    return a >= b;
  case Comparison::equal:
    return a == b;
  case Comparison::different:
    return a != b;
  }
  return {};
}

} // namespace

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

std::vector<Index> Tracer::indices(const std::vector<IndexNode> &nodes, size_t from) {
  std::vector<Index> values;
  for (size_t i = from; i < nodes.size(); ++i)
    values.push_back(index(nodes[i]));
  return values;
}

Index Tracer::index(const IndexNode &node) {
  switch (node.kind) {
  case IndexKind::constant:
    return node.number;
  case IndexKind::size:
    return tree.sizes[size_t(node.id)];
  case IndexKind::dimension:
    return dimensions[size_t(node.id)];
  case IndexKind::position:
    return positions[node.id];
  case IndexKind::coordinate:
    return size_t(node.id) < coordinates.size() ? coordinates[size_t(node.id)] : Index();
  case IndexKind::elements:
    return FragmentValue(variable(node.id)).toIndex();
  case IndexKind::ownPlace: {
    dsl::Shape shape(size_t(node.number), 1);
    shape[size_t(node.id)] = tree.sizes[size_t(node.operands.front().id)];
    return k.positions(shape, node.id).toIndex();
  }
  case IndexKind::blocks:
    return k.blocks();
  case IndexKind::blockRank:
    return k.blockRank();
  case IndexKind::multiprocessors:
    return k.multiprocessors();
  case IndexKind::read:
    return tensor(node.id).read(indices(node.operands));
  case IndexKind::readShared:
    return shared[node.id].read(indices(node.operands));
  default:
    break;
  }
  Index a = index(node.operands[0]), b = index(node.operands[1]);
  switch (node.kind) {
  case IndexKind::add:
    return a + b;
  case IndexKind::subtract:
    return a - b;
  case IndexKind::multiply:
    return a * b;
  case IndexKind::divide:
    return a / b;
  case IndexKind::remainder:
    return a % b;
  case IndexKind::ceilDiv:
    return ceilDiv(a, b);
  case IndexKind::min:
    return min(a, b);
  case IndexKind::max:
    return max(a, b);
  default:
    return {};
  }
}

Predicate Tracer::holds(const std::vector<PositionTest> &tests) {
  Predicate all = true;
  for (const PositionTest &test : tests) {
    Index a = index(test.a), b = index(test.b);
    Predicate one = compare(test.comparison, a, b);
    all = all.constant() == true ? one : one.constant() == true ? all : all && one;
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

Value Tracer::value(const Expression &expression) {
  using Kind = Expression::Kind;
  switch (expression.kind) {
  case Kind::variable:
    return {FragmentValue(variable(expression.id))};
  case Kind::number:
    return {{}, expression.number};
  case Kind::scalar:
    return {{}, scalars[size_t(expression.id)]};
  case Kind::position:
    return {{}, index(expression.positions.front().a).to(expression.type)};
  case Kind::apply:
    if (isOfThree(expression.function))
      return {ofThree(expression)};
    return {isOfTwo(expression.function) ? ofTwo(expression) : ofOne(expression)};
  case Kind::convert:
    return {fragment(expression.operands[0]).to(expression.type, expression.conversion)};
  case Kind::bitcast:
    return {bitcast(fragment(expression.operands[0]), expression.type)};
  case Kind::reshape:
    return {reshape(fragment(expression.operands[0]), tree.extentsOf(expression.shape))};
  case Kind::reduce:
    return {reduce(expression.reduction, fragment(expression.operands[0]), expression.axis)};
  case Kind::scan:
    return {cumulative(expression.reduction, fragment(expression.operands[0]), expression.axis,
                       expression.direction)};
  case Kind::positions:
    return {k.positions(tree.extentsOf(expression.shape), expression.axis)};
  case Kind::argument: {
    FragmentValue x = fragment(expression.operands[0]);
    return {expression.reduction == dsl::Reduction::max ? argMax(x, expression.axis)
                                                        : argMin(x, expression.axis)};
  }
  case Kind::whereAny: {
    Predicate condition = elementTest(expression.comparison, expression.operands);
    bool isAny = expression.reduction == dsl::Reduction::max;
    condition = isAny ? any(condition, expression.axis) : all(condition, expression.axis);
    Value x = value(expression.operands[2]), y = value(expression.operands[3]);
    return {where(condition, Operand(x), Operand(y))};
  }
  case Kind::where: {
    Predicate condition = elementTest(expression.comparison, expression.operands);
    Value x = value(expression.operands[2]), y = value(expression.operands[3]);
    return {where(condition, Operand(x), Operand(y))};
  }
  case Kind::wherePlace:
    return {wherePlace(expression)};
  }
  return {};
}

Predicate Tracer::elementTest(Comparison comparison, const std::vector<Expression> &operands) {
  Value a = value(operands[0]), b = value(operands[1]);
  return apply([&](const auto &x, const auto &y) { return compare(comparison, x, y); }, a, b);
}

FragmentValue Tracer::wherePlace(const Expression &expression) {
  Value x = value(expression.operands[0]), y = value(expression.operands[1]);
  auto with = [&](auto... at) {
    coordinates = {at...};
    Predicate condition = holds(expression.positions);
    coordinates.clear();
    return condition;
  };
  size_t axes = x.fragment ? x.fragment->shape().size() : y.fragment ? y.fragment->shape().size() : 0;
  if (axes == 1)
    return where([&](Index a) { return with(a); }, Operand(x), Operand(y));
  if (axes == 2)
    return where([&](Index a, Index b) { return with(a, b); }, Operand(x), Operand(y));
  return where([&](Index a, Index b, Index c) { return with(a, b, c); }, Operand(x), Operand(y));
}

FragmentValue Tracer::ofOne(const Expression &expression) {
  FragmentValue x = fragment(expression.operands[0]);
  switch (expression.function) {
  case Function::negate:
    return -x;
  case Function::abs:
    return abs(x);
  case Function::exp:
    return exp(x);
  case Function::exp2:
    return exp2(x);
  case Function::log:
    return log(x);
  case Function::log2:
    return log2(x);
  case Function::sqrt:
    return sqrt(x, expression.accuracy);
  case Function::rsqrt:
    return rsqrt(x);
  case Function::tanh:
    return tanh(x, expression.accuracy);
  case Function::floor:
    return floor(x);
  case Function::ceil:
    return ceil(x);
  case Function::exp10:
    return exp10(x);
  case Function::expm1:
    return expm1(x);
  case Function::log10:
    return log10(x);
  case Function::log1p:
    return log1p(x);
  case Function::tan:
    return tan(x);
  case Function::atan:
    return atan(x);
  case Function::erf:
    return erf(x);
  case Function::round:
    return round(x);
  case Function::trunc:
    return trunc(x);
  case Function::sin:
    return sin(x, expression.accuracy);
  case Function::cos:
    return cos(x, expression.accuracy);
  case Function::finiteOrZero:
    return finiteOrZero(x);
  case Function::complement:
    return ~x;
  default:
    return {};
  }
}

FragmentValue Tracer::ofTwo(const Expression &expression) {
  Value a = value(expression.operands[0]), b = value(expression.operands[1]);
  switch (expression.function) {
  case Function::add:
    return apply([](const auto &x, const auto &y) { return x + y; }, a, b);
  case Function::subtract:
    return apply([](const auto &x, const auto &y) { return x - y; }, a, b);
  case Function::multiply:
    return apply([](const auto &x, const auto &y) { return x * y; }, a, b);
  case Function::divide:
    return apply([](const auto &x, const auto &y) { return x / y; }, a, b);
  case Function::min:
    return min(Operand(a), Operand(b));
  case Function::max:
    return max(Operand(a), Operand(b));
  case Function::divideOrZero:
    return divideOrZero(Operand(a), Operand(b));
  case Function::maxOrNaN:
    return maxOrNaN(Operand(a), Operand(b));
  case Function::minOrNaN:
    return minOrNaN(Operand(a), Operand(b));
  case Function::pow:
    return pow(Operand(a), Operand(b), expression.accuracy);
  case Function::copySign:
    return copySign(Operand(a), Operand(b));
  case Function::remainder:
    return apply([](const auto &x, const auto &y) { return x % y; }, a, b);
  case Function::bitAnd:
    return apply([](const auto &x, const auto &y) { return x & y; }, a, b);
  case Function::bitOr:
    return apply([](const auto &x, const auto &y) { return x | y; }, a, b);
  case Function::bitXor:
    return apply([](const auto &x, const auto &y) { return x ^ y; }, a, b);
  case Function::shiftLeft:
    return apply([](const auto &x, const auto &y) { return x << y; }, a, b);
  case Function::shiftRight:
    return apply([](const auto &x, const auto &y) { return x >> y; }, a, b);
  default:
    return {};
  }
}

FragmentValue Tracer::ofThree(const Expression &expression) {
  Value a = value(expression.operands[0]), b = value(expression.operands[1]),
        c = value(expression.operands[2]);
  if (expression.function == Function::fma)
    return fma(Operand(a), Operand(b), Operand(c));
  return clamp(*a.fragment, Operand(b), Operand(c));
}
