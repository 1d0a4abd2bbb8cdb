// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arithmetic of fragments: operands become fragments of common extents and
/// element type, then `arith` and `math` apply element by element.
#include "compiler/dsl/Arithmetic.h"
#include "compiler/dsl/Trace.h"
#include "dialects/tile/Shapes.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

//===----------------------------------------------------------------------===//
// Common extents and element type
//===----------------------------------------------------------------------===//

std::optional<SmallVector<int64_t>> commonExtents(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() != b.size())
    return std::nullopt;
  SmallVector<int64_t> common;
  for (auto [x, y] : llvm::zip(a, b)) {
    if (x != y && x != 1 && y != 1)
      return std::nullopt;
    common.push_back(x == 1 ? y : x);
  }
  return common;
}

namespace {

Sign signOf(Type type) { return getElementTypeOrSelf(type).isUnsignedInteger() ? Sign::hasNot : Sign::has; }

/// The value with another element type, if it has not got that.
Value likeElement(Trace &trace, Value value, Type element, Loc loc) {
  std::optional<ElementType> known = value ? toElementType(element) : std::nullopt;
  return known ? convert(trace, value, *known, {}, loc) : value;
}

/// Integers without a sign as bits of those with one.
Value withSign(Trace &trace, Value value, Loc loc) {
  if (signOf(value.getType()) == Sign::has)
    return value;
  return convert(trace, value, signedType(*toElementType(getElementTypeOrSelf(value))), {}, loc);
}

/// Operands of one elementwise operation, on their way to common extents.
class Operands {
public:
  Operands(Trace &trace, StringRef operation, Loc loc) : trace(trace), operation(operation), loc(loc) {}

  void add(const Operand &operand) {
    if (std::optional<double> number = operand.constant()) {
      entries.push_back({Value(), *number});
      return;
    }
    Value value = trace.read(operand.ref(), "an operand of " + operation.str(), loc);
    good &= bool(value);
    entries.push_back({value, 0});
  }

  /// A condition takes part in the extents but not in the element type.
  void addCondition(Value value) {
    good &= bool(value);
    conditions.push_back(value);
  }

  /// False after a mistake, which is reported.
  bool unify() {
    if (!good)
      return false;
    for (Value condition : conditions)
      if (isa<RankedTensorType>(condition.getType()) && !meet(condition))
        return false;
    Value typed;
    for (Entry &entry : entries) {
      if (!entry.value || !isa<RankedTensorType>(entry.value.getType()))
        continue;
      if (!meet(entry.value) || !checkElement(typed, entry.value))
        return false;
      typed = entry.value;
    }
    if (!first) {
      trace.error(loc, "expected a fragment as an operand of " + operation + ", but got numbers only");
      return false;
    }
    for (Entry &entry : entries)
      if (!typed && entry.value)
        typed = entry.value;
    if (typed && !checkComputable(trace, typed, operation, loc))
      return false;
    element = typed ? getElementTypeOrSelf(typed.getType()) : Type(trace.builder.getF32Type());
    for (Entry &entry : entries)
      if (!complete(entry))
        return false;
    for (Entry &entry : entries)
      entry.value = withSign(trace, entry.value, loc);
    for (Value &condition : conditions) {
      bool uniform = !isa<RankedTensorType>(condition.getType());
      condition = uniform ? trace.splat(condition, extents, loc) : trace.broadcast(condition, extents, loc);
    }
    return true;
  }

  /// Integers without a sign as bits of those with one.
  Value operator[](size_t i) const { return entries[i].value; }
  Value condition() const { return conditions.front(); }
  bool isFloat() const { return isa<FloatType>(element); }
  Sign sign() const { return signOf(element); }
  /// What was computed of the operands, with their element type.
  FragmentValue result(Value value) {
    return trace.make<FragmentValue>(likeElement(trace, value, element, loc));
  }

  /// Whether the element type has the operation; if not, an error.
  bool checkHas(Arithmetic kind) {
    if (isFloat() ? !isOfIntegers(kind) : !isOfFloats(kind))
      return true;
    Diagnostic &diagnostic =
        trace.error(loc, "expected " + Twine(isFloat() ? "integers" : "floating point") + " for " +
                             operation + ", but got " + trace.describe(first) + "; convert it with .to(" +
                             (isFloat() ? "i32" : "f32") + ")");
    trace.noteDeclaration(diagnostic, first);
    return false;
  }

private:
  struct Entry {
    Value value; ///< null for a C++ number
    double number;
  };

  bool meet(Value value) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
    std::optional<SmallVector<int64_t>> common =
        first ? commonExtents(extents, shape) : SmallVector<int64_t>(shape);
    if (common) {
      extents = *common;
      first = first ? first : value;
      return true;
    }
    Diagnostic &diagnostic = trace.error(
        loc, "expected operands of " + operation + " with extents that are equal, or 1 where one is " +
                 "repeated, but got " + trace.describe(first) + " and " + trace.describe(value));
    trace.noteDeclaration(diagnostic, first);
    trace.noteDeclaration(diagnostic, value);
    return false;
  }

  bool checkElement(Value typed, Value value) {
    if (!typed || getElementTypeOrSelf(typed) == getElementTypeOrSelf(value))
      return true;
    Diagnostic &diagnostic = trace.error(loc, "expected operands of " + operation +
                                                  " with one element type because there are no implicit " +
                                                  "conversions, but got " + trace.describe(typed) + " and " +
                                                  trace.describe(value) + "; convert one with .to(...)");
    trace.noteDeclaration(diagnostic, typed);
    trace.noteDeclaration(diagnostic, value);
    return false;
  }

  bool complete(Entry &entry) {
    if (entry.value && isa<RankedTensorType>(entry.value.getType())) {
      entry.value = trace.broadcast(entry.value, extents, loc);
    } else {
      Value number = entry.value ? entry.value : constant(entry.number);
      if (!number)
        return false;
      if (entry.value &&
          !checkElement(first && getElementTypeOrSelf(first) == element ? first : Value(), number))
        return false;
      entry.value = trace.splat(number, extents, loc);
    }
    return bool(entry.value);
  }

  /// A C++ number; of a type without a sign as bits of the one with it.
  Value constant(double number) {
    if (signOf(element) == Sign::has)
      return trace.number(number, element, loc);
    TypedAttr attr = trace.numberAttr(number, element, loc);
    return attr ? trace.create<arith::ConstantOp>(loc, attr) : Value();
  }

  Trace &trace;
  StringRef operation;
  Loc loc;
  bool good = true;
  SmallVector<Entry> entries;
  SmallVector<Value> conditions;
  Value first; ///< the first fragment
  SmallVector<int64_t> extents;
  Type element;
};

FragmentValue binary(Arithmetic kind, const Operand &a, const Operand &b, Loc loc) {
  Trace *trace = traceOf(a.ref(), b.ref());
  if (!trace)
    return {};
  Operands operands(*trace, nameOf(kind), loc);
  operands.add(a);
  operands.add(b);
  if (!operands.unify() || !operands.checkHas(kind))
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
FragmentValue operator+(At<Operand> a, At<Operand> b) {
  return binary(Arithmetic::add, a.value, b.value, a.loc);
}
FragmentValue operator-(At<Operand> a, At<Operand> b) {
  return binary(Arithmetic::subtract, a.value, b.value, a.loc);
}
FragmentValue operator*(At<Operand> a, At<Operand> b) {
  return binary(Arithmetic::multiply, a.value, b.value, a.loc);
}
FragmentValue operator/(At<Operand> a, At<Operand> b) {
  return binary(Arithmetic::divide, a.value, b.value, a.loc);
}
FragmentValue operator-(At<Operand> a) { return negate(a.value, a.loc); }
FragmentValue operator%(At<Operand> a, At<Operand> b) {
  return binary(Arithmetic::remainder, a.value, b.value, a.loc);
}
FragmentValue operator&(At<Operand> a, At<Operand> b) {
  return binary(Arithmetic::bitAnd, a.value, b.value, a.loc);
}
FragmentValue operator|(At<Operand> a, At<Operand> b) {
  return binary(Arithmetic::bitOr, a.value, b.value, a.loc);
}
FragmentValue operator^(At<Operand> a, At<Operand> b) {
  return binary(Arithmetic::bitXor, a.value, b.value, a.loc);
}
FragmentValue operator~(At<Operand> a) { return complement(a.value, a.loc); }
FragmentValue operator<<(At<Operand> a, At<Operand> b) {
  return binary(Arithmetic::shiftLeft, a.value, b.value, a.loc);
}
FragmentValue operator>>(At<Operand> a, At<Operand> b) {
  return binary(Arithmetic::shiftRight, a.value, b.value, a.loc);
}
Predicate operator<(At<Operand> a, At<Operand> b) {
  return comparison(Comparison::less, a.value, b.value, a.loc);
}
Predicate operator<=(At<Operand> a, At<Operand> b) {
  return comparison(Comparison::lessOrEqual, a.value, b.value, a.loc);
}
Predicate operator>(At<Operand> a, At<Operand> b) {
  return comparison(Comparison::less, b.value, a.value, a.loc);
}
Predicate operator>=(At<Operand> a, At<Operand> b) {
  return comparison(Comparison::lessOrEqual, b.value, a.value, a.loc);
}
Predicate operator==(At<Operand> a, At<Operand> b) {
  return comparison(Comparison::equal, a.value, b.value, a.loc);
}
Predicate operator!=(At<Operand> a, At<Operand> b) {
  return comparison(Comparison::different, a.value, b.value, a.loc);
}
} // namespace detail

#define TLC_ASSIGNMENT(symbol, kind)                                                                         \
  Fragment &Fragment::operator symbol(At<Operand> other) {                                                   \
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

FragmentValue max(const Operand &a, const Operand &b, Loc loc) { return binary(Arithmetic::max, a, b, loc); }
FragmentValue min(const Operand &a, const Operand &b, Loc loc) { return binary(Arithmetic::min, a, b, loc); }
FragmentValue maxOrNaN(const Operand &a, const Operand &b, Loc loc) {
  return binary(Arithmetic::maxOrNaN, a, b, loc);
}
FragmentValue minOrNaN(const Operand &a, const Operand &b, Loc loc) {
  return binary(Arithmetic::minOrNaN, a, b, loc);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

namespace {
/// Applies `Op` to a fragment of floating point.
template <class Op> FragmentValue apply(StringRef name, const FragmentValue &x, Loc loc) {
  Trace *trace = traceOf(x.ref());
  if (!trace)
    return {};
  Value value = trace->use(x.ref(), ("the operand of " + name).str(), loc);
  if (!value)
    return trace->poison<FragmentValue>();
  if (!checkComputable(*trace, value, name, loc))
    return trace->poison<FragmentValue>();
  if (!isa<FloatType>(getElementTypeOrSelf(value))) {
    Diagnostic &diagnostic = trace->error(loc, "expected floating point for " + name + ", but got " +
                                                   trace->describe(value) + "; convert it with .to(f32)");
    trace->noteDeclaration(diagnostic, value);
    return trace->poison<FragmentValue>();
  }
  return trace->make<FragmentValue>(trace->create<Op>(loc, value));
}
} // namespace

FragmentValue exp(const FragmentValue &x, Loc loc) { return apply<math::ExpOp>("exp", x, loc); }
FragmentValue exp2(const FragmentValue &x, Loc loc) { return apply<math::Exp2Op>("exp2", x, loc); }
FragmentValue log(const FragmentValue &x, Loc loc) { return apply<math::LogOp>("log", x, loc); }
FragmentValue log2(const FragmentValue &x, Loc loc) { return apply<math::Log2Op>("log2", x, loc); }
FragmentValue sqrt(const FragmentValue &x, Loc loc) { return apply<math::SqrtOp>("sqrt", x, loc); }
FragmentValue rsqrt(const FragmentValue &x, Loc loc) { return apply<math::RsqrtOp>("rsqrt", x, loc); }
FragmentValue tanh(const FragmentValue &x, Loc loc) { return apply<math::TanhOp>("tanh", x, loc); }
FragmentValue floor(const FragmentValue &x, Loc loc) { return apply<math::FloorOp>("floor", x, loc); }
FragmentValue ceil(const FragmentValue &x, Loc loc) { return apply<math::CeilOp>("ceil", x, loc); }

FragmentValue abs(const FragmentValue &x, Loc loc) {
  Trace *trace = traceOf(x.ref());
  if (!trace)
    return {};
  Value value = trace->use(x.ref(), "the operand of abs", loc);
  if (!value)
    return trace->poison<FragmentValue>();
  if (!checkComputable(*trace, value, "abs", loc))
    return trace->poison<FragmentValue>();
  if (isa<FloatType>(getElementTypeOrSelf(value)))
    return trace->make<FragmentValue>(trace->create<math::AbsFOp>(loc, value));
  if (signOf(value.getType()) == Sign::hasNot)
    return x;
  return binary(Arithmetic::max, x, negate(x, loc), loc);
}

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

// In statements: C++ leaves the order of arguments open, and these have one place in the source.
FragmentValue finiteOrZero(const FragmentValue &x, Loc loc) {
  Predicate isFinite = comparison(Comparison::less, abs(x, loc), inf, loc);
  return where(isFinite, x, 0, loc);
}

FragmentValue divideOrZero(const Operand &a, const Operand &b, Loc loc) {
  Trace *trace = traceOf(a.ref(), b.ref());
  if (!trace)
    return {};
  Operands operands(*trace, "divideOrZero", loc);
  operands.add(a);
  operands.add(b);
  operands.add(0);
  operands.add(1);
  if (!operands.unify())
    return trace->poison<FragmentValue>();
  Value divisor = operands[1], zero = operands[2], one = operands[3];
  Value isZero = compare(*trace, Comparison::equal, divisor, zero, loc);
  if (!operands.isFloat()) // of integers the quotient by 0 is undefined
    divisor = trace->create<arith::SelectOp>(loc, isZero, one, divisor);
  Value quotient = arithmetic(*trace, Arithmetic::divide, operands[0], divisor, loc, operands.sign());
  return operands.result(trace->create<arith::SelectOp>(loc, isZero, zero, quotient));
}

} // namespace tlc::dsl::inline v1
