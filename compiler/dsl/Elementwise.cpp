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
    for (Value &condition : conditions) {
      bool uniform = !isa<RankedTensorType>(condition.getType());
      condition = uniform ? trace.splat(condition, extents, loc) : trace.broadcast(condition, extents, loc);
    }
    return true;
  }

  Value operator[](size_t i) const { return entries[i].value; }
  Value condition() const { return conditions.front(); }
  bool isFloat() const { return isa<FloatType>(element); }

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
      Value number = entry.value ? entry.value : trace.number(entry.number, element, loc);
      if (!number)
        return false;
      if (!checkElement(first && getElementTypeOrSelf(first) == element ? first : Value(), number))
        return false;
      entry.value = trace.splat(number, extents, loc);
    }
    return bool(entry.value);
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
  if (!operands.unify())
    return trace->poison<FragmentValue>();
  return trace->make<FragmentValue>(arithmetic(*trace, kind, operands[0], operands[1], loc));
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
  return binary(Arithmetic::subtract, 0, trace->make<FragmentValue>(operands[0]), loc);
}

Predicate comparison(Comparison kind, const Operand &a, const Operand &b, Loc loc) {
  Trace *trace = traceOf(a.ref(), b.ref());
  if (!trace)
    return {};
  Operands operands(*trace, nameOf(kind), loc);
  operands.add(a);
  operands.add(b);
  if (!operands.unify())
    return trace->poison<Predicate>();
  return trace->make<Predicate>(compare(*trace, kind, operands[0], operands[1], loc));
}

} // namespace

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

Fragment &Fragment::operator+=(At<Operand> other) {
  store(binary(Arithmetic::add, *this, other.value, other.loc), other.loc);
  return *this;
}
Fragment &Fragment::operator-=(At<Operand> other) {
  store(binary(Arithmetic::subtract, *this, other.value, other.loc), other.loc);
  return *this;
}
Fragment &Fragment::operator*=(At<Operand> other) {
  store(binary(Arithmetic::multiply, *this, other.value, other.loc), other.loc);
  return *this;
}
Fragment &Fragment::operator/=(At<Operand> other) {
  store(binary(Arithmetic::divide, *this, other.value, other.loc), other.loc);
  return *this;
}

FragmentValue max(const Operand &a, const Operand &b, Loc loc) { return binary(Arithmetic::max, a, b, loc); }
FragmentValue min(const Operand &a, const Operand &b, Loc loc) { return binary(Arithmetic::min, a, b, loc); }

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
  return trace->make<FragmentValue>(
      trace->create<arith::SelectOp>(loc, operands.condition(), operands[0], operands[1]));
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
  return where(condition(coordinates), trace->make<FragmentValue>(operands[0]),
               trace->make<FragmentValue>(operands[1]), loc);
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
  Value quotient = arithmetic(*trace, Arithmetic::divide, operands[0], divisor, loc);
  return trace->make<FragmentValue>(trace->create<arith::SelectOp>(loc, isZero, zero, quotient));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {
TLC_ENUM_CONVERSION(kindOf, Reduction, tile::ReduceKind, TLC_REDUCTIONS)

/// What an operation along an axis works on; a null fragment where an error was reported.
struct Along {
  Value value;
  int64_t axis = 0; ///< counted from the first
};

Along along(Trace &trace, const FragmentValue &x, int64_t axis, StringRef verb, StringRef noun, Loc loc) {
  Value value = trace.use(x.ref(), ("a fragment to " + verb).str(), loc);
  if (!value || !checkComputable(trace, value, noun, loc))
    return {};
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank(), counted = axis < 0 ? axis + rank : axis;
  if (counted >= 0 && counted < rank)
    return {value, counted};
  Diagnostic &diagnostic =
      trace.error(loc, "expected an axis to " + verb + " from " + Twine(-rank) + " to " + Twine(rank - 1) +
                           " of " + trace.describe(value) + ", but got " + Twine(axis));
  trace.noteDeclaration(diagnostic, value);
  return {};
}
} // namespace

FragmentValue reduce(Reduction kind, const FragmentValue &x, int64_t axis, Loc loc) {
  Trace *trace = traceOf(x.ref());
  if (!trace)
    return {};
  auto [value, counted] = along(*trace, x, axis, "reduce", "a reduction", loc);
  if (!value)
    return trace->poison<FragmentValue>();
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> extents(type.getShape());
  extents[counted] = 1;
  return trace->make<FragmentValue>(
      trace->create<tile::ReduceOp>(loc, type.clone(extents), value, counted, kindOf(kind), Value()));
}

FragmentValue cumulative(Reduction kind, const FragmentValue &x, int64_t axis, Direction direction, Loc loc) {
  Trace *trace = traceOf(x.ref());
  if (!trace)
    return {};
  auto [value, counted] = along(*trace, x, axis, "go along", "a cumulative operation", loc);
  if (!value)
    return trace->poison<FragmentValue>();
  return trace->make<FragmentValue>(trace->create<tile::ScanOp>(
      loc, value.getType(), value, counted, kindOf(kind), direction == Direction::backward, Value()));
}

FragmentValue rowSum(const FragmentValue &x, Loc loc) { return reduce(Reduction::sum, x, -1, loc); }
FragmentValue rowMax(const FragmentValue &x, Loc loc) { return reduce(Reduction::max, x, -1, loc); }
FragmentValue rowMin(const FragmentValue &x, Loc loc) { return reduce(Reduction::min, x, -1, loc); }

} // namespace tlc::dsl::inline v1
