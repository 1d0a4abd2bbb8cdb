// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arithmetic on positions and numbers, and the choice of its operation.
#include "compiler/dsl/Arithmetic.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace tlc::dsl::inline v1 {

StringRef nameOf(Arithmetic kind) {
  switch (kind) {
  case Arithmetic::add:
    return "+";
  case Arithmetic::subtract:
    return "-";
  case Arithmetic::multiply:
    return "*";
  case Arithmetic::divide:
    return "/";
  case Arithmetic::remainder:
    return "%";
  case Arithmetic::ceilDiv:
    return "ceilDiv";
  case Arithmetic::min:
    return "min";
  case Arithmetic::max:
    return "max";
  case Arithmetic::minOrNaN:
    return "minOrNaN";
  case Arithmetic::maxOrNaN:
    return "maxOrNaN";
  case Arithmetic::bitAnd:
    return "&";
  case Arithmetic::bitOr:
    return "|";
  case Arithmetic::bitXor:
    return "^";
  case Arithmetic::shiftLeft:
    return "<<";
  case Arithmetic::shiftRight:
    return ">>";
  }
  return "";
}

StringRef nameOf(Comparison kind) {
  switch (kind) {
  case Comparison::less:
    return "<";
  case Comparison::lessOrEqual:
    return "<=";
  case Comparison::equal:
    return "==";
  case Comparison::different:
    return "!=";
  }
  return "";
}

bool checkComputable(Trace &trace, Value value, StringRef operation, Loc loc) {
  std::optional<ElementType> element = toElementType(getElementTypeOrSelf(value));
  if (!element || hasArithmetic(*element))
    return true;
  Diagnostic &diagnostic = trace.error(
      loc, "expected numbers that the machine computes with for " + operation + ", but got " +
               trace.describe(value) + "; convert it with .to(" + toString(computedType(*element)) + ")");
  trace.noteDeclaration(diagnostic, value);
  return false;
}

bool checkRightOperand(Trace &trace, Arithmetic kind, int64_t number, ElementType element, Loc loc) {
  bool divides = kind == Arithmetic::divide || kind == Arithmetic::remainder || kind == Arithmetic::ceilDiv;
  bool shifts = kind == Arithmetic::shiftLeft || kind == Arithmetic::shiftRight;
  int64_t bits = bitsOf(element);
  if (divides && number == 0)
    trace.error(loc, "expected a divisor other than 0 for " + nameOf(kind) + ", but got 0");
  else if (shifts && (number < 0 || number >= bits))
    trace.error(loc, "expected " + nameOf(kind) + " by 0 to " + Twine(bits - 1) + " bits because " +
                         toString(element) + " has " + Twine(bits) + ", but got " + Twine(number));
  else
    return true;
  return false;
}

namespace {
/// `Signed` of integers that have a sign, else `Unsigned`.
template <class Signed, class Unsigned> Value make(Trace &trace, Sign sign, Value a, Value b, Loc loc) {
  return sign == Sign::has ? trace.create<Signed>(loc, a, b) : trace.create<Unsigned>(loc, a, b);
}
} // namespace

Value arithmetic(Trace &trace, Arithmetic kind, Value a, Value b, Loc loc, Sign sign) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(a));
  switch (kind) {
  case Arithmetic::add:
    return isFloat ? trace.create<arith::AddFOp>(loc, a, b) : trace.create<arith::AddIOp>(loc, a, b);
  case Arithmetic::subtract:
    return isFloat ? trace.create<arith::SubFOp>(loc, a, b) : trace.create<arith::SubIOp>(loc, a, b);
  case Arithmetic::multiply:
    return isFloat ? trace.create<arith::MulFOp>(loc, a, b) : trace.create<arith::MulIOp>(loc, a, b);
  case Arithmetic::divide:
    return isFloat ? trace.create<arith::DivFOp>(loc, a, b)
                   : make<arith::DivSIOp, arith::DivUIOp>(trace, sign, a, b, loc);
  case Arithmetic::remainder:
    return make<arith::RemSIOp, arith::RemUIOp>(trace, sign, a, b, loc);
  case Arithmetic::ceilDiv:
    return trace.create<arith::CeilDivSIOp>(loc, a, b);
  case Arithmetic::min:
    return isFloat ? trace.create<arith::MinNumFOp>(loc, a, b)
                   : make<arith::MinSIOp, arith::MinUIOp>(trace, sign, a, b, loc);
  case Arithmetic::max:
    return isFloat ? trace.create<arith::MaxNumFOp>(loc, a, b)
                   : make<arith::MaxSIOp, arith::MaxUIOp>(trace, sign, a, b, loc);
  case Arithmetic::minOrNaN:
    return trace.create<arith::MinimumFOp>(loc, a, b);
  case Arithmetic::maxOrNaN:
    return trace.create<arith::MaximumFOp>(loc, a, b);
  case Arithmetic::bitAnd:
    return trace.create<arith::AndIOp>(loc, a, b);
  case Arithmetic::bitOr:
    return trace.create<arith::OrIOp>(loc, a, b);
  case Arithmetic::bitXor:
    return trace.create<arith::XOrIOp>(loc, a, b);
  case Arithmetic::shiftLeft:
    return trace.create<arith::ShLIOp>(loc, a, b);
  case Arithmetic::shiftRight:
    return make<arith::ShRSIOp, arith::ShRUIOp>(trace, sign, a, b, loc);
  }
  return {};
}

Value compare(Trace &trace, Comparison kind, Value a, Value b, Loc loc, Sign sign) {
  using Float = arith::CmpFPredicate;
  using Integer = arith::CmpIPredicate;
  bool hasSign = sign == Sign::has;
  std::pair<Float, Integer> predicates[] = {{Float::OLT, hasSign ? Integer::slt : Integer::ult},
                                            {Float::OLE, hasSign ? Integer::sle : Integer::ule},
                                            {Float::OEQ, Integer::eq},
                                            {Float::UNE, Integer::ne}};
  auto [ofFloats, ofIntegers] = predicates[size_t(kind)];
  if (isa<FloatType>(getElementTypeOrSelf(a)))
    return trace.create<arith::CmpFOp>(loc, ofFloats, a, b);
  return trace.create<arith::CmpIOp>(loc, ofIntegers, a, b);
}

namespace {
TLC_ENUM_CONVERSION(roundingOf, Rounding, tile::Rounding, TLC_ROUNDINGS)
} // namespace

Value convert(Trace &trace, Value value, ElementType element, Conversion how, Loc loc) {
  auto with = [&](Type element) {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    return tensor ? Type(tensor.clone(element)) : element;
  };
  if (getElementTypeOrSelf(value).isIndex()) // positions have 32 bits on the device
    value = trace.create<arith::IndexCastOp>(loc, with(trace.builder.getI32Type()), value);
  ElementType from = *toElementType(getElementTypeOrSelf(value));
  if (from == element)
    return value;
  bool isCut = isFloat(from) && isInteger(element);
  Rounding rounding = how.rounding.value_or(isCut ? Rounding::zero : Rounding::nearest);
  return trace.create<tile::ConvertOp>(loc, with(trace.typeOf(element)), value, roundingOf(rounding),
                                       how.saturate || saturates(element));
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

namespace {

/// The result where both are known while tracing; nothing where it is not defined.
std::optional<int64_t> evaluate(Arithmetic kind, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (kind) {
  case Arithmetic::add:
    return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Arithmetic::subtract:
    return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Arithmetic::multiply:
    return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Arithmetic::divide:
    return b == 0 || b == -1 ? (b == 0 ? std::nullopt : evaluate(Arithmetic::subtract, 0, a))
                             : std::optional(a / b);
  case Arithmetic::remainder:
    return b == 0 ? std::nullopt : std::optional(b == -1 ? 0 : a % b);
  case Arithmetic::ceilDiv:
    return b == 0 || b == -1 ? evaluate(Arithmetic::divide, a, b) : llvm::divideCeilSigned(a, b);
  case Arithmetic::min:
    return std::min(a, b);
  case Arithmetic::max:
    return std::max(a, b);
  case Arithmetic::minOrNaN:
  case Arithmetic::maxOrNaN:
  case Arithmetic::bitAnd:
  case Arithmetic::bitOr:
  case Arithmetic::bitXor:
  case Arithmetic::shiftLeft:
  case Arithmetic::shiftRight:
    break; // not of positions
  }
  return std::nullopt;
}

bool evaluate(Comparison kind, int64_t a, int64_t b) {
  switch (kind) {
  case Comparison::less:
    return a < b;
  case Comparison::lessOrEqual:
    return a <= b;
  case Comparison::equal:
    return a == b;
  case Comparison::different:
    return a != b;
  }
  return false;
}

/// One per element where either is.
bool unify(Trace &trace, Value &a, Value &b, StringRef operation, Loc loc) {
  auto ofA = dyn_cast<RankedTensorType>(a.getType()), ofB = dyn_cast<RankedTensorType>(b.getType());
  if (ofA && ofB) {
    std::optional<SmallVector<int64_t>> common = commonExtents(ofA.getShape(), ofB.getShape());
    if (!common) {
      trace.error(loc, "expected operands of " + operation + " of one fragment, but got " +
                           trace.describe(a) + " and " + trace.describe(b));
      return false;
    }
    a = trace.broadcast(a, *common, loc);
    b = trace.broadcast(b, *common, loc);
  }
  if (ofA && !ofB)
    b = trace.splat(b, ofA.getShape(), loc);
  if (ofB && !ofA)
    a = trace.splat(a, ofB.getShape(), loc);
  return true;
}

Index binary(Arithmetic kind, const Index &a, const Index &b, Loc loc) {
  Trace *trace = traceOf(a.ref(), b.ref());
  if (a.constant() && b.constant()) {
    std::optional<int64_t> result = evaluate(kind, *a.constant(), *b.constant());
    return result ? Index(*result) : Index(); // reported where it is used: nothing here knows the program
  }
  if (!trace)
    return {};
  if (b.constant() && !checkRightOperand(*trace, kind, *b.constant(), ElementType::i32, loc))
    return trace->poison<Index>();
  std::string what = ("an operand of " + nameOf(kind)).str();
  Value x = trace->use(a, what, loc), y = trace->use(b, what, loc);
  if (!x || !y || !unify(*trace, x, y, nameOf(kind), loc))
    return trace->poison<Index>();
  return trace->make<Index>(arithmetic(*trace, kind, x, y, loc));
}

Predicate comparison(Comparison kind, const Index &a, const Index &b, Loc loc) {
  Trace *trace = traceOf(a.ref(), b.ref());
  if (a.constant() && b.constant())
    return evaluate(kind, *a.constant(), *b.constant());
  if (!trace)
    return {};
  std::string what = ("an operand of " + nameOf(kind)).str();
  Value x = trace->use(a, what, loc), y = trace->use(b, what, loc);
  if (!x || !y || !unify(*trace, x, y, nameOf(kind), loc))
    return trace->poison<Predicate>();
  return trace->make<Predicate>(compare(*trace, kind, x, y, loc));
}

} // namespace

Index operator+(At<Index> a, At<Index> b) { return binary(Arithmetic::add, a.value, b.value, a.loc); }
Index operator-(At<Index> a, At<Index> b) { return binary(Arithmetic::subtract, a.value, b.value, a.loc); }
Index operator-(At<Index> a) { return binary(Arithmetic::subtract, 0, a.value, a.loc); }
Index operator*(At<Index> a, At<Index> b) { return binary(Arithmetic::multiply, a.value, b.value, a.loc); }
Index operator/(At<Index> a, At<Index> b) { return binary(Arithmetic::divide, a.value, b.value, a.loc); }
Index operator%(At<Index> a, At<Index> b) { return binary(Arithmetic::remainder, a.value, b.value, a.loc); }
Predicate operator<(At<Index> a, At<Index> b) {
  return comparison(Comparison::less, a.value, b.value, a.loc);
}
Predicate operator<=(At<Index> a, At<Index> b) {
  return comparison(Comparison::lessOrEqual, a.value, b.value, a.loc);
}
Predicate operator>(At<Index> a, At<Index> b) {
  return comparison(Comparison::less, b.value, a.value, a.loc);
}
Predicate operator>=(At<Index> a, At<Index> b) {
  return comparison(Comparison::lessOrEqual, b.value, a.value, a.loc);
}
Predicate operator==(At<Index> a, At<Index> b) {
  return comparison(Comparison::equal, a.value, b.value, a.loc);
}
Predicate operator!=(At<Index> a, At<Index> b) {
  return comparison(Comparison::different, a.value, b.value, a.loc);
}

Index ceilDiv(const Index &a, const Index &b, Loc loc) { return binary(Arithmetic::ceilDiv, a, b, loc); }
Index min(const Index &a, const Index &b, Loc loc) { return binary(Arithmetic::min, a, b, loc); }
Index max(const Index &a, const Index &b, Loc loc) { return binary(Arithmetic::max, a, b, loc); }

Scalar Index::to(ElementType element, Loc loc) const {
  if (known)
    return Scalar(*known);
  Trace *trace = traceOf(reference);
  if (!trace)
    return {};
  Value value = trace->useUniform(*this, "a position to convert", loc);
  return trace->make<Scalar>(value ? convert(*trace, value, element, {}, loc) : Value());
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

namespace {

/// Both operands with one type, a C++ number with the other's.
std::optional<std::pair<Value, Value>> unify(Trace &trace, const Scalar &a, const Scalar &b,
                                             StringRef operation, Loc loc) {
  std::string what = ("an operand of " + operation).str();
  Value x = a.constant() ? Value() : trace.use(a.ref(), what, loc);
  Value y = b.constant() ? Value() : trace.use(b.ref(), what, loc);
  if ((!x && !a.constant()) || (!y && !b.constant()))
    return std::nullopt;
  Type element = x ? x.getType() : y ? y.getType() : Type(trace.builder.getF32Type());
  if (!x)
    x = trace.number(*a.constant(), element, loc);
  if (!y)
    y = trace.number(*b.constant(), element, loc);
  if (!x || !y)
    return std::nullopt;
  if (x.getType() == y.getType())
    return std::pair(x, y);
  trace.error(loc, "expected operands of " + operation +
                       " of one type because there are no implicit conversions, but got " +
                       trace.describe(x) + " and " + trace.describe(y) + "; convert one with .to(...)");
  return std::nullopt;
}

double evaluate(Arithmetic kind, double a, double b) {
  switch (kind) {
  case Arithmetic::add:
    return a + b;
  case Arithmetic::subtract:
    return a - b;
  case Arithmetic::multiply:
    return a * b;
  case Arithmetic::divide:
    return a / b;
  case Arithmetic::min:
    return std::min(a, b);
  case Arithmetic::max:
    return std::max(a, b);
  case Arithmetic::remainder:
  case Arithmetic::ceilDiv:
  case Arithmetic::minOrNaN:
  case Arithmetic::maxOrNaN:
  case Arithmetic::bitAnd:
  case Arithmetic::bitOr:
  case Arithmetic::bitXor:
  case Arithmetic::shiftLeft:
  case Arithmetic::shiftRight:
    break;
  }
  return 0;
}

/// Quotients of integers are not cut off: both may stand for floats.
Constant evaluate(Arithmetic kind, const Constant &a, const Constant &b) {
  bool areIntegers = !a.isFloat() && !b.isFloat() && kind != Arithmetic::divide;
  std::optional<int64_t> x = a.toInteger(64, true), y = b.toInteger(64, true);
  std::optional<int64_t> exact = areIntegers && x && y ? evaluate(kind, *x, *y) : std::nullopt;
  return exact ? Constant(*exact) : Constant(evaluate(kind, a.toDouble(), b.toDouble()));
}

Scalar binary(Arithmetic kind, const Scalar &a, const Scalar &b, Loc loc) {
  if (a.constant() && b.constant())
    return evaluate(kind, *a.constant(), *b.constant()).visit([](auto value) { return Scalar(value); });
  Trace *trace = traceOf(a.ref(), b.ref());
  if (!trace)
    return {};
  auto operands = unify(*trace, a, b, nameOf(kind), loc);
  if (!operands)
    return trace->poison<Scalar>();
  std::optional<int64_t> right = b.constant() ? b.constant()->toInteger(64, true) : std::nullopt;
  ElementType element = *toElementType(operands->first.getType());
  if (right && isInteger(element) && !checkRightOperand(*trace, kind, *right, element, loc))
    return trace->poison<Scalar>();
  return trace->make<Scalar>(arithmetic(*trace, kind, operands->first, operands->second, loc));
}

Predicate comparison(Comparison kind, const Scalar &a, const Scalar &b, Loc loc) {
  Trace *trace = traceOf(a.ref(), b.ref());
  if (!trace)
    return {};
  auto operands = unify(*trace, a, b, nameOf(kind), loc);
  if (!operands)
    return trace->poison<Predicate>();
  return trace->make<Predicate>(compare(*trace, kind, operands->first, operands->second, loc));
}

} // namespace

Scalar operator+(At<Scalar> a, At<Scalar> b) { return binary(Arithmetic::add, a.value, b.value, a.loc); }
Scalar operator-(At<Scalar> a, At<Scalar> b) { return binary(Arithmetic::subtract, a.value, b.value, a.loc); }
Scalar operator*(At<Scalar> a, At<Scalar> b) { return binary(Arithmetic::multiply, a.value, b.value, a.loc); }
Scalar operator/(At<Scalar> a, At<Scalar> b) { return binary(Arithmetic::divide, a.value, b.value, a.loc); }
Scalar operator-(At<Scalar> a) { return binary(Arithmetic::subtract, 0, a.value, a.loc); }
Predicate operator<(At<Scalar> a, At<Scalar> b) {
  return comparison(Comparison::less, a.value, b.value, a.loc);
}
Predicate operator<=(At<Scalar> a, At<Scalar> b) {
  return comparison(Comparison::lessOrEqual, a.value, b.value, a.loc);
}
Predicate operator>(At<Scalar> a, At<Scalar> b) {
  return comparison(Comparison::less, b.value, a.value, a.loc);
}
Predicate operator>=(At<Scalar> a, At<Scalar> b) {
  return comparison(Comparison::lessOrEqual, b.value, a.value, a.loc);
}
Predicate operator==(At<Scalar> a, At<Scalar> b) {
  return comparison(Comparison::equal, a.value, b.value, a.loc);
}
Predicate operator!=(At<Scalar> a, At<Scalar> b) {
  return comparison(Comparison::different, a.value, b.value, a.loc);
}

Scalar min(const Scalar &a, const Scalar &b, Loc loc) { return binary(Arithmetic::min, a, b, loc); }
Scalar max(const Scalar &a, const Scalar &b, Loc loc) { return binary(Arithmetic::max, a, b, loc); }

Scalar Scalar::to(ElementType element, Conversion how, Loc loc) const {
  Trace *trace = traceOf(reference);
  if (known || !trace)
    return *this;
  Value value = trace->use(reference, "a number to convert", loc);
  return trace->make<Scalar>(value ? convert(*trace, value, element, how, loc) : Value());
}

Index Scalar::toIndex(Loc loc) const {
  if (std::optional<int64_t> integer = known ? known->toInteger(64, true) : std::nullopt)
    return Index(*integer);
  Trace *trace = traceOf(reference);
  if (!trace)
    return {};
  Value value = trace->use(reference, "a number to convert", loc);
  if (!value)
    return trace->poison<Index>();
  if (!value.getType().isSignlessInteger(32)) {
    trace->error(loc,
                 "expected a number of i32 because it becomes a position, but got " + trace->describe(value));
    return trace->poison<Index>();
  }
  return trace->make<Index>(trace->create<arith::IndexCastOp>(loc, trace->builder.getIndexType(), value));
}

//===----------------------------------------------------------------------===//
// Truth values
//===----------------------------------------------------------------------===//

Value truth(Trace &trace, const Predicate &predicate, StringRef what, Loc loc) {
  if (std::optional<bool> known = predicate.constant())
    return trace.create<arith::ConstantOp>(loc, trace.builder.getBoolAttr(*known));
  return trace.use(predicate.ref(), what, loc);
}

Value uniformTruth(Trace &trace, const Predicate &predicate, StringRef what, Loc loc, StringRef cure) {
  Value value = truth(trace, predicate, what, loc);
  if (!value || !isa<RankedTensorType>(value.getType()))
    return value;
  trace.error(loc, "expected " + what + " to be one truth value, but got one per element (" +
                       trace.describe(value) + "); " + cure);
  return {};
}

namespace {
template <class Op> Predicate combine(StringRef name, const Predicate &a, const Predicate &b, Loc loc) {
  Trace *trace = traceOf(a.ref(), b.ref());
  if (!trace)
    return {};
  std::string what = ("an operand of " + name).str();
  Value x = truth(*trace, a, what, loc), y = truth(*trace, b, what, loc);
  if (!x || !y || !unify(*trace, x, y, name, loc))
    return trace->poison<Predicate>();
  return trace->make<Predicate>(trace->create<Op>(loc, x, y));
}
} // namespace

Predicate operator&&(const Predicate &a, At<Predicate> b) {
  if (a.constant())
    return *a.constant() ? b.value : a;
  if (b.value.constant())
    return *b.value.constant() ? a : b.value;
  return combine<arith::AndIOp>("&&", a, b.value, b.loc);
}

Predicate operator||(const Predicate &a, At<Predicate> b) {
  if (a.constant())
    return *a.constant() ? a : b.value;
  if (b.value.constant())
    return *b.value.constant() ? b.value : a;
  return combine<arith::OrIOp>("||", a, b.value, b.loc);
}

// Has no place of its own: it stands where the last operation does, most often its operand.
Predicate operator!(const Predicate &a) {
  if (a.constant())
    return !*a.constant();
  Trace *trace = traceOf(a.ref());
  return trace ? combine<arith::XOrIOp>("!", a, true, trace->latestPlace()) : Predicate();
}

Index where(const Predicate &condition, const Index &x, const Index &y, Loc loc) {
  if (std::optional<bool> known = condition.constant())
    return *known ? x : y;
  Trace *trace = traceOf(condition.ref(), x.ref(), y.ref());
  if (!trace)
    return {};
  Value chosen = truth(*trace, condition, "the condition of where", loc);
  Value a = trace->use(x, "an operand of where", loc), b = trace->use(y, "an operand of where", loc);
  // A condition per element gives a position per element.
  if (!chosen || !a || !b || !unify(*trace, a, b, "where", loc) || !unify(*trace, chosen, a, "where", loc) ||
      !unify(*trace, chosen, b, "where", loc))
    return trace->poison<Index>();
  return trace->make<Index>(trace->create<arith::SelectOp>(loc, chosen, a, b));
}

Scalar where(const Predicate &condition, const Scalar &x, const Scalar &y, Loc loc) {
  if (std::optional<bool> known = condition.constant())
    return *known ? x : y;
  Trace *trace = traceOf(condition.ref(), x.ref(), y.ref());
  if (!trace)
    return {};
  Value chosen = uniformTruth(*trace, condition, "the condition of where", loc);
  auto operands = unify(*trace, x, y, "where", loc);
  if (!chosen || !operands)
    return trace->poison<Scalar>();
  return trace->make<Scalar>(trace->create<arith::SelectOp>(loc, chosen, operands->first, operands->second));
}

} // namespace tlc::dsl::inline v1
