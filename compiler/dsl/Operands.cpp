// SPDX-License-Identifier: Apache-2.0
/// \file
/// How operands of elementwise operations get common extents and one element type.
#include "compiler/dsl/Operands.h"

#include "compiler/dsl/Trace.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

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

Sign signOf(Type type) { return getElementTypeOrSelf(type).isUnsignedInteger() ? Sign::hasNot : Sign::has; }

namespace {
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
} // namespace

void Operands::add(const Operand &operand) {
  if (std::optional<Constant> number = operand.constant()) {
    entries.push_back({Value(), number});
    return;
  }
  Value value = trace.read(operand.ref(), "an operand of " + operation.str(), loc);
  good &= bool(value);
  entries.push_back({value});
}

void Operands::addCondition(Value value) {
  good &= bool(value);
  conditions.push_back(value);
}

bool Operands::unify() {
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

FragmentValue Operands::result(Value value) {
  return trace.make<FragmentValue>(likeElement(trace, value, element, loc));
}

bool Operands::checkHas(Arithmetic kind) {
  if (isFloat())
    return !isOfIntegers(kind) || fail("integers", ElementType::i32);
  return !isOfFloats(kind) || checkFloat();
}

bool Operands::checkRight(Arithmetic kind, const Constant &number) {
  std::optional<int64_t> integer = number.toInteger(64, true);
  return isFloat() || !integer || checkRightOperand(trace, kind, *integer, *toElementType(element), loc);
}

bool Operands::checkFloat() { return isFloat() || fail("floating point", ElementType::f32); }

bool Operands::fail(StringRef expected, ElementType cure) {
  Diagnostic &diagnostic =
      trace.error(loc, "expected " + expected + " for " + operation + ", but got " + trace.describe(first) +
                           "; convert it with .to(" + toString(cure) + ")");
  trace.noteDeclaration(diagnostic, first);
  return false;
}

bool Operands::meet(Value value) {
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

bool Operands::checkElement(Value typed, Value value) {
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

bool Operands::complete(Entry &entry) {
  if (entry.value && isa<RankedTensorType>(entry.value.getType())) {
    entry.value = trace.broadcast(entry.value, extents, loc);
  } else {
    Value number = entry.value ? entry.value : constant(*entry.number);
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
Value Operands::constant(const Constant &number) {
  if (signOf(element) == Sign::has)
    return trace.number(number, element, loc);
  TypedAttr attr = trace.numberAttr(number, element, loc);
  return attr ? trace.create<arith::ConstantOp>(loc, attr) : Value();
}

} // namespace tlc::dsl::inline v1
