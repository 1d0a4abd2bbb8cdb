// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operators, conversions and choices of fragments, element by element.
#include "compiler/dsl/Operands.h"
#include "compiler/dsl/Trace.h"
#include "dialects/tile/Shapes.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

FragmentValue binary(Arithmetic kind, const Operand &a, const Operand &b, Loc loc) {
  Trace *trace = traceOf(a.ref(), b.ref());
  if (!trace)
    return {};
  Operands operands(*trace, nameOf(kind), loc);
  operands.add(a);
  operands.add(b);
  if (!operands.unify() || !operands.checkHas(kind) ||
      (b.constant() && !operands.checkRight(kind, *b.constant())))
    return trace->poison<FragmentValue>();
  return operands.result(arithmetic(*trace, kind, operands[0], operands[1], loc, operands.sign()));
}

FragmentValue negate(const Operand &x, Loc loc) {
  Trace *trace = traceOf(x.ref());
  if (!trace)
    return {};
  Operands operands(*trace, "-", loc);
  operands.add(x);
  if (!operands.unify())
    return trace->poison<FragmentValue>();
  if (operands.isFloat())
    return trace->make<FragmentValue>(trace->create<arith::NegFOp>(loc, operands[0]));
  return binary(Arithmetic::subtract, 0, x, loc);
}

namespace {
/// All bits are flipped: of -1 and of the largest integer without a sign all are set.
FragmentValue complement(const Operand &x, Loc loc) {
  Trace *trace = traceOf(x.ref());
  if (!trace)
    return {};
  Operands operands(*trace, "~", loc);
  operands.add(x);
  if (!operands.unify() || !operands.checkHas(Arithmetic::bitXor))
    return trace->poison<FragmentValue>();
  Value ones = trace->filled(-1, cast<RankedTensorType>(operands[0].getType()), loc);
  return operands.result(ones ? arithmetic(*trace, Arithmetic::bitXor, operands[0], ones, loc) : Value());
}

} // namespace

Predicate comparison(Comparison kind, const Operand &a, const Operand &b, Loc loc) {
  Trace *trace = traceOf(a.ref(), b.ref());
  if (!trace)
    return {};
  Operands operands(*trace, nameOf(kind), loc);
  operands.add(a);
  operands.add(b);
  if (!operands.unify())
    return trace->poison<Predicate>();
  return trace->make<Predicate>(compare(*trace, kind, operands[0], operands[1], loc, operands.sign()));
}

namespace detail {
FragmentValue operator+(At<ElementOperand> a, At<ElementOperand> b) {
  return binary(Arithmetic::add, a.value, b.value, a.loc);
}
FragmentValue operator-(At<ElementOperand> a, At<ElementOperand> b) {
  return binary(Arithmetic::subtract, a.value, b.value, a.loc);
}
FragmentValue operator*(At<ElementOperand> a, At<ElementOperand> b) {
  return binary(Arithmetic::multiply, a.value, b.value, a.loc);
}
FragmentValue operator/(At<ElementOperand> a, At<ElementOperand> b) {
  return binary(Arithmetic::divide, a.value, b.value, a.loc);
}
FragmentValue operator-(At<ElementOperand> a) { return negate(a.value, a.loc); }
FragmentValue operator%(At<ElementOperand> a, At<ElementOperand> b) {
  return binary(Arithmetic::remainder, a.value, b.value, a.loc);
}
FragmentValue operator&(At<ElementOperand> a, At<ElementOperand> b) {
  return binary(Arithmetic::bitAnd, a.value, b.value, a.loc);
}
FragmentValue operator|(At<ElementOperand> a, At<ElementOperand> b) {
  return binary(Arithmetic::bitOr, a.value, b.value, a.loc);
}
FragmentValue operator^(At<ElementOperand> a, At<ElementOperand> b) {
  return binary(Arithmetic::bitXor, a.value, b.value, a.loc);
}
FragmentValue operator~(At<ElementOperand> a) { return complement(a.value, a.loc); }
FragmentValue operator<<(At<ElementOperand> a, At<ElementOperand> b) {
  return binary(Arithmetic::shiftLeft, a.value, b.value, a.loc);
}
FragmentValue operator>>(At<ElementOperand> a, At<ElementOperand> b) {
  return binary(Arithmetic::shiftRight, a.value, b.value, a.loc);
}
Predicate operator<(At<ElementOperand> a, At<ElementOperand> b) {
  return comparison(Comparison::less, a.value, b.value, a.loc);
}
Predicate operator<=(At<ElementOperand> a, At<ElementOperand> b) {
  return comparison(Comparison::lessOrEqual, a.value, b.value, a.loc);
}
Predicate operator>(At<ElementOperand> a, At<ElementOperand> b) {
  return comparison(Comparison::less, b.value, a.value, a.loc);
}
Predicate operator>=(At<ElementOperand> a, At<ElementOperand> b) {
  return comparison(Comparison::lessOrEqual, b.value, a.value, a.loc);
}
Predicate operator==(At<ElementOperand> a, At<ElementOperand> b) {
  return comparison(Comparison::equal, a.value, b.value, a.loc);
}
Predicate operator!=(At<ElementOperand> a, At<ElementOperand> b) {
  return comparison(Comparison::different, a.value, b.value, a.loc);
}
} // namespace detail

#define TLC_ASSIGNMENT(symbol, kind)                                                                         \
  Fragment &Fragment::operator symbol(At<ElementOperand> other) {                                            \
    store(binary(Arithmetic::kind, *this, other.value, other.loc), other.loc);                               \
    return *this;                                                                                            \
  }
TLC_ASSIGNMENT(+=, add)
TLC_ASSIGNMENT(-=, subtract)
TLC_ASSIGNMENT(*=, multiply)
TLC_ASSIGNMENT(/=, divide)
TLC_ASSIGNMENT(%=, remainder)
TLC_ASSIGNMENT(&=, bitAnd)
TLC_ASSIGNMENT(|=, bitOr)
TLC_ASSIGNMENT(^=, bitXor)
TLC_ASSIGNMENT(<<=, shiftLeft)
TLC_ASSIGNMENT(>>=, shiftRight)
#undef TLC_ASSIGNMENT

FragmentValue FragmentValue::to(ElementType element, Conversion how, Loc loc) const {
  Trace *trace = traceOf(reference);
  if (!trace)
    return {};
  Value value = trace->use(reference, "a fragment to convert", loc);
  if (!value)
    return trace->poison<FragmentValue>();
  return trace->make<FragmentValue>(convert(*trace, value, element, how, loc));
}

Index FragmentValue::toIndex(Loc loc) const {
  Trace *trace = traceOf(reference);
  if (!trace)
    return {};
  Value value = trace->use(reference, "a fragment to convert", loc);
  if (!value)
    return trace->poison<Index>();
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.getElementType().isSignlessInteger(32)) {
    Diagnostic &diagnostic =
        trace->error(loc, "expected a fragment of i32 because its elements are positions, but got " +
                              trace->describe(value));
    trace->noteDeclaration(diagnostic, value);
    return trace->poison<Index>();
  }
  return trace->make<Index>(
      trace->create<arith::IndexCastOp>(loc, type.clone(trace->builder.getIndexType()), value));
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

FragmentValue where(const Predicate &condition, const Operand &x, const Operand &y, Loc loc) {
  Trace *trace = traceOf(condition.ref(), x.ref(), y.ref());
  if (!trace)
    return {};
  Value value = truth(*trace, condition, "the condition of where", loc);
  Operands operands(*trace, "where", loc);
  operands.addCondition(value);
  operands.add(x);
  operands.add(y);
  if (!operands.unify())
    return trace->poison<FragmentValue>();
  return operands.result(trace->create<arith::SelectOp>(loc, operands.condition(), operands[0], operands[1]));
}

FragmentValue detail::whereAt(const PositionCondition &condition, size_t positions, const Operand &x,
                              const Operand &y, Loc loc) {
  Trace *trace = traceOf(x.ref(), y.ref());
  if (!trace)
    return {};
  Operands operands(*trace, "where", loc);
  operands.add(x);
  operands.add(y);
  if (!operands.unify())
    return trace->poison<FragmentValue>();
  auto type = cast<RankedTensorType>(operands[0].getType());
  if (size_t(type.getRank()) != positions) {
    trace->error(loc, "expected a condition of " + Twine(type.getRank()) +
                          " positions because the fragment is " + tile::toText(type.getShape()) +
                          ", but got one of " + Twine(positions));
    return trace->poison<FragmentValue>();
  }
  std::vector<Index> coordinates;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    coordinates.push_back(trace->make<Index>(
        trace->create<tile::CoordinatesOp>(loc, type.clone(trace->builder.getIndexType()), axis)));
  return where(condition(coordinates), operands.result(operands[0]), operands.result(operands[1]), loc);
}

} // namespace tlc::dsl::inline v1
