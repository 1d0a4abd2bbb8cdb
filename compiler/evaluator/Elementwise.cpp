// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arithmetic, element by element: of fragments, numbers, positions and truth
/// values alike.
#include "compiler/evaluator/Functions.h"
#include "compiler/evaluator/Machine.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tlc::evaluator {

namespace {

using Operands = ArrayRef<const Element *>;
/// Of one element; the kind is the result's.
using Function1 = Element (*)(const Kind &, const Element &);
using Function2 = Element (*)(const Kind &, const Element &, const Element &);

/// What the result has: truth values of warps have an element for each of their condition's.
std::optional<Extents> resultExtents(const Task &task, Operation *op) {
  if (auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType()))
    return Extents(type.getShape());
  std::optional<Extents> extents;
  for (Value operand : op->getOperands())
    if (const auto *ofWarps = std::get_if<FragmentRef>(&task.get(operand))) {
      const Extents &own = (*ofWarps)->extents;
      if (!extents || extents->size() != own.size())
        extents = own;
      for (auto [extent, other] : llvm::zip(*extents, own))
        extent = std::max(extent, other);
    }
  return extents;
}

Step evaluateEach(Task &task, Operation *op, llvm::function_ref<Element(Operands)> compute) {
  std::optional<Extents> extents = resultExtents(task, op);
  SmallVector<const Element *, 3> at, stride;
  SmallVector<bool, 3> isRepeated;
  SmallVector<FragmentRef, 3> held;
  for (Value operand : op->getOperands()) {
    const Datum &datum = task.get(operand);
    const auto *fragment = std::get_if<FragmentRef>(&datum);
    isRepeated.push_back(!fragment);
    if (!fragment) {
      at.push_back(&std::get<Element>(datum));
      continue;
    }
    bool fits = llvm::equal((*fragment)->extents, *extents);
    held.push_back(fits ? *fragment : std::make_shared<const Fragment>(decisionFor(**fragment, *extents)));
    at.push_back(held.back()->elements.data());
  }
  if (!extents) {
    task.set(op->getResult(0), Datum(compute(at)));
    return Step::done;
  }
  Fragment result{*extents, std::vector<Element>(countOf(*extents))};
  for (Element &element : result.elements) {
    element = compute(at);
    for (auto [pointer, repeated] : llvm::zip(at, isRepeated))
      pointer += repeated ? 0 : 1;
  }
  task.set(op->getResult(0), std::move(result));
  return Step::done;
}

template <class Op> void add(Rules &rules, Function1 function) {
  rules.add(Op::getOperationName(), [function](Task &task, Operation *op) {
    Kind kind = kindOf(op->getResult(0).getType());
    return evaluateEach(task, op, [&](Operands x) { return function(kind, *x[0]); });
  });
}

template <class Op> void add(Rules &rules, Function2 function) {
  rules.add(Op::getOperationName(), [function](Task &task, Operation *op) {
    Kind kind = kindOf(op->getResult(0).getType());
    return evaluateEach(task, op, [&](Operands x) { return function(kind, *x[0], *x[1]); });
  });
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// Wraps around as the kind does. Nothing where the language leaves the result open.
using Integers = std::optional<int64_t> (*)(const Kind &, int64_t, int64_t);

template <Integers compute> Element integers(const Kind &kind, const Element &a, const Element &b) {
  std::optional<int64_t> result = compute(kind, a.integer, b.integer);
  Element element = exactInteger(kind, result.value_or(0));
  return result && isExact(a) && isExact(b) ? element : unspecified(element);
}

uint64_t bitsOf(const Kind &kind, int64_t x) {
  return kind.bits == 64 ? static_cast<uint64_t>(x)
                         : static_cast<uint64_t>(x) & ((uint64_t(1) << kind.bits) - 1);
}

// In 64 bits without a sign, or sums and products would overflow in C++'s eyes.
std::optional<int64_t> sum(const Kind &, int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
std::optional<int64_t> difference(const Kind &, int64_t a, int64_t b) {
  return int64_t(uint64_t(a) - uint64_t(b));
}
std::optional<int64_t> product(const Kind &, int64_t a, int64_t b) {
  return int64_t(uint64_t(a) * uint64_t(b));
}
bool divides(const Kind &kind, int64_t a, int64_t b) {
  return b != 0 && !(b == -1 && a == wrapped(kind, int64_t(uint64_t(1) << (kind.bits - 1))));
}
std::optional<int64_t> quotient(const Kind &kind, int64_t a, int64_t b) {
  return divides(kind, a, b) ? std::optional(a / b) : std::nullopt;
}
std::optional<int64_t> remainder(const Kind &kind, int64_t a, int64_t b) {
  return divides(kind, a, b) ? std::optional(a % b) : std::nullopt;
}
std::optional<int64_t> quotientUnsigned(const Kind &kind, int64_t a, int64_t b) {
  return b != 0 ? std::optional(int64_t(bitsOf(kind, a) / bitsOf(kind, b))) : std::nullopt;
}
std::optional<int64_t> remainderUnsigned(const Kind &kind, int64_t a, int64_t b) {
  return b != 0 ? std::optional(int64_t(bitsOf(kind, a) % bitsOf(kind, b))) : std::nullopt;
}
/// Of counts: a is at least 0 and b positive.
std::optional<int64_t> quotientRoundedUp(const Kind &, int64_t a, int64_t b) {
  return a >= 0 && b > 0 ? std::optional(a / b + (a % b != 0)) : std::nullopt;
}
std::optional<int64_t> quotientRoundedUpSigned(const Kind &kind, int64_t a, int64_t b) {
  return divides(kind, a, b) ? std::optional(llvm::divideCeilSigned(a, b)) : std::nullopt;
}
std::optional<int64_t> least(const Kind &, int64_t a, int64_t b) { return std::min(a, b); }
std::optional<int64_t> most(const Kind &, int64_t a, int64_t b) { return std::max(a, b); }
std::optional<int64_t> leastUnsigned(const Kind &kind, int64_t a, int64_t b) {
  return bitsOf(kind, a) < bitsOf(kind, b) ? a : b;
}
std::optional<int64_t> mostUnsigned(const Kind &kind, int64_t a, int64_t b) {
  return bitsOf(kind, a) > bitsOf(kind, b) ? a : b;
}
std::optional<int64_t> both(const Kind &, int64_t a, int64_t b) { return a & b; }
std::optional<int64_t> any(const Kind &, int64_t a, int64_t b) { return a | b; }
std::optional<int64_t> oneOf(const Kind &, int64_t a, int64_t b) { return a ^ b; }
std::optional<int64_t> shiftedLeft(const Kind &kind, int64_t a, int64_t b) {
  return b >= 0 && b < kind.bits ? std::optional(int64_t(uint64_t(a) << b)) : std::nullopt;
}
std::optional<int64_t> shiftedRight(const Kind &kind, int64_t a, int64_t b) {
  return b >= 0 && b < kind.bits ? std::optional(a >> b) : std::nullopt;
}
std::optional<int64_t> shiftedRightUnsigned(const Kind &kind, int64_t a, int64_t b) {
  return b >= 0 && b < kind.bits ? std::optional(int64_t(bitsOf(kind, a) >> b)) : std::nullopt;
}

/// A truth value that is certain may decide alone.
Element logicalAnd(const Kind &kind, const Element &a, const Element &b) {
  bool decides = kind.bits == 1 && ((isExact(a) && !a.integer) || (isExact(b) && !b.integer));
  return decides ? truthOf(false) : integers<both>(kind, a, b);
}
Element logicalOr(const Kind &kind, const Element &a, const Element &b) {
  bool decides = kind.bits == 1 && ((isExact(a) && a.integer) || (isExact(b) && b.integer));
  return decides ? truthOf(true) : integers<any>(kind, a, b);
}

void addIntegerRules(Rules &rules) {
  add<arith::AddIOp>(rules, integers<sum>);
  add<arith::SubIOp>(rules, integers<difference>);
  add<arith::MulIOp>(rules, integers<product>);
  add<arith::DivSIOp>(rules, integers<quotient>);
  add<arith::RemSIOp>(rules, integers<remainder>);
  add<arith::DivUIOp>(rules, integers<quotientUnsigned>);
  add<arith::RemUIOp>(rules, integers<remainderUnsigned>);
  add<arith::CeilDivUIOp>(rules, integers<quotientRoundedUp>);
  add<arith::CeilDivSIOp>(rules, integers<quotientRoundedUpSigned>);
  add<arith::MinSIOp>(rules, integers<least>);
  add<arith::MaxSIOp>(rules, integers<most>);
  add<arith::MinUIOp>(rules, integers<leastUnsigned>);
  add<arith::MaxUIOp>(rules, integers<mostUnsigned>);
  add<arith::AndIOp>(rules, logicalAnd);
  add<arith::OrIOp>(rules, logicalOr);
  add<arith::XOrIOp>(rules, integers<oneOf>);
  add<arith::ShLIOp>(rules, integers<shiftedLeft>);
  add<arith::ShRSIOp>(rules, integers<shiftedRight>);
  add<arith::ShRUIOp>(rules, integers<shiftedRightUnsigned>);
}

//===----------------------------------------------------------------------===//
// Constants, comparisons, choices
//===----------------------------------------------------------------------===//

Element elementOf(const Kind &kind, Attribute attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return exactFloat(kind, number.getValueAsDouble());
  APInt bits = cast<IntegerAttr>(attribute).getValue();
  return exactInteger(kind, kind.bits == 1 ? int64_t(bits.getZExtValue()) : bits.getSExtValue());
}

Step evaluateConstant(Task &task, arith::ConstantOp op) {
  Kind kind = kindOf(op.getType());
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense) {
    task.set(op.getResult(), Datum(elementOf(kind, op.getValue())));
    return Step::done;
  }
  Fragment fragment{Extents(cast<RankedTensorType>(op.getType()).getShape()), {}};
  for (Attribute element : dense.getValues<Attribute>())
    fragment.elements.push_back(elementOf(kind, element));
  task.set(op.getResult(), std::move(fragment));
  return Step::done;
}

Step evaluateCompareFloats(Task &task, arith::CmpFOp op) {
  bool isItself = op.getLhs() == op.getRhs();
  return evaluateEach(task, op, [&](Operands x) {
    bool holds = arith::applyCmpPredicate(op.getPredicate(), APFloat(x[0]->value), APFloat(x[1]->value));
    bool certain = isItself ? !isUnspecified(*x[0]) : !isOpen(*x[0], *x[1]);
    if (!certain)
      task.block.evaluation.noteAmbiguity(op, *x[0], *x[1]);
    return truthOf(holds, certain);
  });
}

Step evaluateCompareIntegers(Task &task, arith::CmpIOp op) {
  Kind kind = kindOf(op.getLhs().getType());
  auto bits = [&](const Element &x) { return APInt(kind.bits, bitsOf(kind, x.integer)); };
  return evaluateEach(task, op, [&](Operands x) {
    bool holds = arith::applyCmpPredicate(op.getPredicate(), bits(*x[0]), bits(*x[1]));
    return truthOf(holds, isExact(*x[0]) && isExact(*x[1]));
  });
}

/// A uniform condition chooses a whole fragment, or anything else; warps and elements choose elements.
Step evaluateSelect(Task &task, arith::SelectOp op) {
  Kind kind = kindOf(op.getType());
  return evaluateEach(task, op, [&](Operands x) { return select(kind, *x[0], *x[1], *x[2]); });
}

//===----------------------------------------------------------------------===//
// Floating point and conversions
//===----------------------------------------------------------------------===//

Accuracy accuracyOf(Operation *op) {
  arith::FastMathFlags flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr().getValue();
  return bitEnumContainsAll(flags, arith::FastMathFlags::afn) ? Accuracy::fast : Accuracy::accurate;
}

template <class Op> void add(Rules &rules, Function function) {
  rules.add(Op::getOperationName(), [function](Task &task, Operation *op) {
    Kind kind = kindOf(op->getResult(0).getType());
    Accuracy accuracy = accuracyOf(op);
    return evaluateEach(task, op, [&](Operands x) { return apply(kind, function, *x[0], accuracy); });
  });
}

Step evaluatePower(Task &task, math::PowFOp op) {
  Kind kind = kindOf(op.getType());
  Accuracy accuracy = accuracyOf(op);
  return evaluateEach(task, op, [&](Operands x) { return power(kind, *x[0], *x[1], accuracy); });
}

Step evaluateFma(Task &task, math::FmaOp op) {
  Kind kind = kindOf(op.getType());
  return evaluateEach(task, op, [&](Operands x) { return multiplyAdd(kind, *x[0], *x[1], *x[2]); });
}

Element resized(const Kind &to, const Element &x) {
  Element result = exactInteger(to, x.integer);
  return isExact(x) ? result : unspecified(result);
}

template <class Op> void addZeroExtension(Rules &rules) {
  rules.add(Op::getOperationName(), [](Task &task, Operation *op) {
    Kind from = kindOf(op->getOperand(0).getType()), to = kindOf(op->getResult(0).getType());
    return evaluateEach(task, op, [&](Operands x) {
      Element extended = *x[0];
      extended.integer = int64_t(bitsOf(from, extended.integer));
      return resized(to, extended);
    });
  });
}

/// A truth value is -1 as a number with a sign.
template <class Op> void addSignExtension(Rules &rules) {
  rules.add(Op::getOperationName(), [](Task &task, Operation *op) {
    bool isTruth = kindOf(op->getOperand(0).getType()).bits == 1;
    Kind to = kindOf(op->getResult(0).getType());
    return evaluateEach(task, op, [&](Operands x) {
      Element extended = *x[0];
      extended.integer = isTruth ? -extended.integer : extended.integer;
      return resized(to, extended);
    });
  });
}

void addFloatRules(Rules &rules) {
  add<arith::AddFOp>(rules, evaluator::add);
  add<arith::SubFOp>(rules, [](const Kind &kind, const Element &a, const Element &b) {
    return evaluator::add(kind, a, negate(b));
  });
  add<arith::MulFOp>(rules, multiply);
  add<arith::DivFOp>(rules, divide);
  add<arith::MaxNumFOp>(rules, maximum);
  add<arith::MinNumFOp>(rules, minimum);
  add<arith::MaximumFOp>(rules, maximumOrNaN);
  add<arith::MinimumFOp>(rules, minimumOrNaN);
  add<arith::NegFOp>(rules, [](const Kind &, const Element &x) { return negate(x); });
  add<math::AbsFOp>(rules, [](const Kind &, const Element &x) { return absolute(x); });
  add<math::CopySignOp>(rules, copySign);
  rules.add(evaluatePower);
  rules.add(evaluateFma);
  add<math::ExpOp>(rules, Function::exp);
  add<math::Exp2Op>(rules, Function::exp2);
  add<math::ExpM1Op>(rules, Function::expm1);
  add<math::LogOp>(rules, Function::log);
  add<math::Log2Op>(rules, Function::log2);
  add<math::Log10Op>(rules, Function::log10);
  add<math::Log1pOp>(rules, Function::log1p);
  add<math::SqrtOp>(rules, Function::sqrt);
  add<math::RsqrtOp>(rules, Function::rsqrt);
  add<math::SinOp>(rules, Function::sin);
  add<math::CosOp>(rules, Function::cos);
  add<math::TanOp>(rules, Function::tan);
  add<math::AtanOp>(rules, Function::atan);
  add<math::TanhOp>(rules, Function::tanh);
  add<math::ErfOp>(rules, Function::erf);
  add<math::FloorOp>(rules, Function::floor);
  add<math::CeilOp>(rules, Function::ceil);
  add<math::RoundEvenOp>(rules, Function::round);
  add<math::TruncOp>(rules, Function::trunc);
}

/// A float that an integer was just converted to: the compiled program may round the integer itself.
bool isConvertedInteger(Value value) {
  auto inner = value.getDefiningOp<tile::ConvertOp>();
  return inner && !kindOf(inner.getSource().getType()).isFloat;
}

Step evaluateConvert(Task &task, tile::ConvertOp op) {
  Kind from = kindOf(op.getSource().getType()), to = kindOf(op.getType());
  Rounding rounding = op.getRounding();
  bool saturate = op.getSaturate();
  to.saturates |= saturate;
  bool isNarrowed = from.isFloat && to.isFloat && to.bits < from.bits && rounding == Rounding::nearest;
  bool isOfInteger = isConvertedInteger(op.getSource());
  return evaluateEach(task, op, [&](Operands x) {
    if (!to.isFloat)
      return from.isFloat ? floatToInteger(to, *x[0], rounding, saturate)
                          : integerToInteger(to, *x[0], saturate);
    if (!from.isFloat)
      return integerToFloat(to, *x[0]);
    if (isNarrowed)
      return isOfInteger ? integerToFloat(to, *x[0]) : roundedAgain(to, *x[0]);
    return floatToFloat(to, *x[0], rounding);
  });
}

/// Which zero it is nobody follows, nor which NaN.
Element bitsOfFloat(FloatType from, const Kind &to, const Element &x) {
  APFloat number(x.value);
  bool losesInfo = false;
  number.convert(from.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  Element bits = exactInteger(to, number.bitcastToAPInt().getSExtValue());
  return isExact(x) && x.value != 0 && !std::isnan(x.value) ? bits : unspecified(bits);
}

Element floatOfBits(FloatType to, const Kind &from, const Element &x) {
  APInt bits(from.bits, bitsOf(from, x.integer));
  APFloat number(to.getFloatSemantics(), bits);
  bool losesInfo = false;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  Element element = exactFloat(kindOf(to), number.convertToDouble());
  return isExact(x) ? element : unspecified(element);
}

Step evaluateBitcast(Task &task, arith::BitcastOp op) {
  Kind from = kindOf(op.getIn().getType()), to = kindOf(op.getType());
  auto ofFloat = dyn_cast<FloatType>(getElementTypeOrSelf(op.getIn())),
       toFloat = dyn_cast<FloatType>(getElementTypeOrSelf(op.getType()));
  return evaluateEach(task, op, [&](Operands x) {
    if (!ofFloat)
      return toFloat ? floatOfBits(toFloat, from, *x[0]) : *x[0];
    Kind integer = {.bits = from.bits};
    Element bits = bitsOfFloat(ofFloat, toFloat ? integer : to, *x[0]);
    return toFloat ? floatOfBits(toFloat, integer, bits) : bits;
  });
}

/// An integer as another kind has it.
Element integerAs(const Kind &to, int64_t integer, bool isKnown) {
  Element number = exactInteger(to, integer);
  return isKnown ? number : unspecified(number);
}

/// The bits of an element as an integer.
Element bitsOf(Type type, const Element &x) {
  Kind kind = kindOf(type);
  if (auto ofFloat = dyn_cast<FloatType>(type))
    return bitsOfFloat(ofFloat, {.bits = kind.bits}, x);
  return integerAs(kind, x.integer, isExact(x));
}

/// The element of that type that has such bits.
Element elementOf(Type type, uint64_t bits, bool isKnown) {
  Kind kind = kindOf(type);
  if (auto toFloat = dyn_cast<FloatType>(type))
    return floatOfBits(toFloat, {.bits = kind.bits}, integerAs({.bits = kind.bits}, int64_t(bits), isKnown));
  return integerAs(kind, int64_t(bits), isKnown);
}

/// An element's bits are several elements', or several elements' are one's.
std::vector<Element> withOtherWidth(ArrayRef<Element> elements, Type from, Type to) {
  unsigned had = kindOf(from).bits, has = kindOf(to).bits;
  std::vector<Element> result;
  if (had > has) {
    for (const Element &element : elements) {
      Element bits = bitsOf(from, element);
      for (unsigned shift = 0; shift < had; shift += has)
        result.push_back(elementOf(to, uint64_t(bits.integer) >> shift, isExact(bits)));
    }
    return result;
  }
  size_t parts = has / had;
  for (; !elements.empty(); elements = elements.drop_front(parts)) {
    uint64_t whole = 0;
    bool isKnown = true;
    for (size_t i = 0; i < parts; ++i) {
      Element part = bitsOf(from, elements[i]);
      whole |= bitsOf({.bits = had}, part.integer) << (i * had);
      isKnown &= isExact(part);
    }
    result.push_back(elementOf(to, whole, isKnown));
  }
  return result;
}

Step evaluateReshape(Task &task, tile::ReshapeOp op) {
  const std::vector<Element> &source = task.fragment(op.getSource()).elements;
  Type from = op.getSource().getType().getElementType(), to = op.getType().getElementType();
  task.set(op.getResult(),
           Fragment{extentsOf(op.getResult()), from == to ? source : withOtherWidth(source, from, to)});
  return Step::done;
}

void addConversionRules(Rules &rules) {
  rules.add(evaluateReshape);
  rules.add(evaluateConvert);
  rules.add(evaluateBitcast);
  add<arith::TruncIOp>(rules, resized);
  add<arith::IndexCastOp>(rules, resized); // a position has 32 bits, with a sign
  addSignExtension<arith::ExtSIOp>(rules);
  addZeroExtension<arith::ExtUIOp>(rules);
  addZeroExtension<arith::IndexCastUIOp>(rules);
}

} // namespace

void addElementwiseRules(Rules &rules) {
  addIntegerRules(rules);
  addFloatRules(rules);
  addConversionRules(rules);
  rules.add(evaluateConstant);
  rules.add(evaluateCompareFloats);
  rules.add(evaluateCompareIntegers);
  rules.add(evaluateSelect);
}

} // namespace tlc::evaluator
