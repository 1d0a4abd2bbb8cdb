// SPDX-License-Identifier: Apache-2.0
/// \file
/// Functions of fragments, element by element.
#include "compiler/dsl/Operands.h"
#include "compiler/dsl/Trace.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

namespace {
arith::FastMathFlags flagsOf(Accuracy accuracy) {
  return accuracy == Accuracy::fast ? arith::FastMathFlags::afn : arith::FastMathFlags::none;
}

/// Applies `Op` to fragments and numbers of floating point.
template <class Op>
FragmentValue apply(StringRef name, std::initializer_list<Operand> operands, Loc loc,
                    Accuracy accuracy = Accuracy::accurate) {
  Trace *trace = nullptr;
  for (const Operand &operand : operands)
    trace = trace ? trace : traceOf(operand.ref());
  if (!trace)
    return {};
  Operands unified(*trace, name, loc);
  for (const Operand &operand : operands)
    unified.add(operand);
  if (!unified.unify() || !unified.checkFloat())
    return trace->poison<FragmentValue>();
  SmallVector<Value> values;
  for (size_t i = 0; i < operands.size(); ++i)
    values.push_back(unified[i]);
  auto flags = arith::FastMathFlagsAttr::get(trace->builder.getContext(), flagsOf(accuracy));
  return unified.result(trace->create<Op>(loc, TypeRange(values.front().getType()), values,
                                          trace->builder.getNamedAttr("fastmath", flags)));
}

/// The same of one fragment.
template <class Op>
FragmentValue apply(StringRef name, const FragmentValue &x, Loc loc, Accuracy accuracy = Accuracy::accurate) {
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
  return trace->make<FragmentValue>(trace->create<Op>(loc, value, flagsOf(accuracy)));
}
} // namespace

FragmentValue exp(const FragmentValue &x, Loc loc) { return apply<math::ExpOp>("exp", x, loc); }
FragmentValue exp2(const FragmentValue &x, Loc loc) { return apply<math::Exp2Op>("exp2", x, loc); }
FragmentValue expm1(const FragmentValue &x, Loc loc) { return apply<math::ExpM1Op>("expm1", x, loc); }
FragmentValue log(const FragmentValue &x, Loc loc) { return apply<math::LogOp>("log", x, loc); }
FragmentValue log2(const FragmentValue &x, Loc loc) { return apply<math::Log2Op>("log2", x, loc); }
FragmentValue log10(const FragmentValue &x, Loc loc) { return apply<math::Log10Op>("log10", x, loc); }
FragmentValue log1p(const FragmentValue &x, Loc loc) { return apply<math::Log1pOp>("log1p", x, loc); }
FragmentValue sqrt(const FragmentValue &x, Accuracy accuracy, Loc loc) {
  return apply<math::SqrtOp>("sqrt", x, loc, accuracy);
}
FragmentValue rsqrt(const FragmentValue &x, Loc loc) { return apply<math::RsqrtOp>("rsqrt", x, loc); }
FragmentValue sin(const FragmentValue &x, Accuracy accuracy, Loc loc) {
  return apply<math::SinOp>("sin", x, loc, accuracy);
}
FragmentValue cos(const FragmentValue &x, Accuracy accuracy, Loc loc) {
  return apply<math::CosOp>("cos", x, loc, accuracy);
}
FragmentValue tan(const FragmentValue &x, Loc loc) { return apply<math::TanOp>("tan", x, loc); }
FragmentValue atan(const FragmentValue &x, Loc loc) { return apply<math::AtanOp>("atan", x, loc); }
FragmentValue tanh(const FragmentValue &x, Accuracy accuracy, Loc loc) {
  return apply<math::TanhOp>("tanh", x, loc, accuracy);
}
FragmentValue erf(const FragmentValue &x, Loc loc) { return apply<math::ErfOp>("erf", x, loc); }
FragmentValue floor(const FragmentValue &x, Loc loc) { return apply<math::FloorOp>("floor", x, loc); }
FragmentValue ceil(const FragmentValue &x, Loc loc) { return apply<math::CeilOp>("ceil", x, loc); }
FragmentValue round(const FragmentValue &x, Loc loc) { return apply<math::RoundEvenOp>("round", x, loc); }
FragmentValue trunc(const FragmentValue &x, Loc loc) { return apply<math::TruncOp>("trunc", x, loc); }

FragmentValue pow(const Operand &x, const Operand &y, Accuracy accuracy, Loc loc) {
  return apply<math::PowFOp>("pow", {x, y}, loc, accuracy);
}
FragmentValue exp10(const FragmentValue &x, Loc loc) { return apply<math::PowFOp>("exp10", {10, x}, loc); }
FragmentValue fma(const Operand &a, const Operand &b, const Operand &c, Loc loc) {
  return apply<math::FmaOp>("fma", {a, b, c}, loc);
}
FragmentValue copySign(const Operand &magnitude, const Operand &sign, Loc loc) {
  return apply<math::CopySignOp>("copySign", {magnitude, sign}, loc);
}

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

FragmentValue max(const Operand &a, const Operand &b, Loc loc) { return binary(Arithmetic::max, a, b, loc); }
FragmentValue min(const Operand &a, const Operand &b, Loc loc) { return binary(Arithmetic::min, a, b, loc); }
FragmentValue maxOrNaN(const Operand &a, const Operand &b, Loc loc) {
  return binary(Arithmetic::maxOrNaN, a, b, loc);
}
FragmentValue minOrNaN(const Operand &a, const Operand &b, Loc loc) {
  return binary(Arithmetic::minOrNaN, a, b, loc);
}

FragmentValue clamp(const FragmentValue &x, const Operand &low, const Operand &high, Loc loc) {
  Trace *trace = traceOf(x.ref(), low.ref(), high.ref());
  if (!trace)
    return {};
  Operands operands(*trace, "clamp", loc);
  for (const Operand &operand : {Operand(x), low, high})
    operands.add(operand);
  if (!operands.unify())
    return trace->poison<FragmentValue>();
  bool isFloat = operands.isFloat();
  Value raised = arithmetic(*trace, isFloat ? Arithmetic::maxOrNaN : Arithmetic::max, operands[0],
                            operands[1], loc, operands.sign());
  return operands.result(arithmetic(*trace, isFloat ? Arithmetic::minOrNaN : Arithmetic::min, raised,
                                    operands[2], loc, operands.sign()));
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
