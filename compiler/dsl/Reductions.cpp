// SPDX-License-Identifier: Apache-2.0
/// \file
/// What goes along an axis: positions, reductions, cumulative operations, and what is made of them.
#include "compiler/dsl/Arithmetic.h"
#include "dialects/tile/Shapes.h"

#include <cmath>

using namespace mlir;

namespace tlc::dsl::inline v1 {

namespace {
TLC_ENUM_CONVERSION(kindOf, Reduction, tile::ReduceKind, TLC_REDUCTIONS)

/// The axis counted from the first; nothing if there is none.
std::optional<int64_t> countedAxis(int64_t rank, int64_t axis) {
  int64_t counted = axis < 0 ? axis + rank : axis;
  return counted >= 0 && counted < rank ? std::optional(counted) : std::nullopt;
}

/// What an operation along an axis works on; a null fragment where an error was reported.
struct Along {
  Value value;
  int64_t axis = 0; ///< counted from the first
};

Along along(Trace &trace, Value value, int64_t axis, StringRef verb, Loc loc) {
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  if (std::optional<int64_t> counted = countedAxis(rank, axis))
    return {value, *counted};
  Diagnostic &diagnostic =
      trace.error(loc, "expected an axis to " + verb + " from " + Twine(-rank) + " to " + Twine(rank - 1) +
                           " of " + trace.describe(value) + ", but got " + Twine(axis));
  trace.noteDeclaration(diagnostic, value);
  return {};
}

Along along(Trace &trace, const FragmentValue &x, int64_t axis, StringRef verb, StringRef noun, Loc loc) {
  Value value = trace.use(x.ref(), ("a fragment to " + verb).str(), loc);
  if (!value || !checkComputable(trace, value, noun, loc))
    return {};
  return along(trace, value, axis, verb, loc);
}

Type narrowed(Value value, int64_t axis) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> extents(type.getShape());
  extents[axis] = 1;
  return type.clone(extents);
}

Value reduced(Trace &trace, tile::ReduceKind kind, Value value, int64_t axis, Loc loc) {
  return trace.create<tile::ReduceOp>(loc, narrowed(value, axis), value, axis, kind, Value());
}

/// Integers without a sign are ordered as those with one are whose highest bit is the other one. Both ways.
Value inOrder(Trace &trace, Reduction kind, Value value, Loc loc) {
  bool isOrdered = kind == Reduction::max || kind == Reduction::min;
  auto type = cast<RankedTensorType>(value.getType());
  if (!isOrdered)
    return value;
  unsigned bits = type.getElementTypeBitWidth();
  Value highest = trace.filled(-std::ldexp(1.0, int(bits) - 1), type, loc);
  return highest ? trace.create<arith::XOrIOp>(loc, value, highest) : Value();
}

/// `make` on the fragment; of integers without a sign on those with one.
FragmentValue combined(Trace &trace, Reduction kind, Value value, llvm::function_ref<Value(Value)> make,
                       Loc loc) {
  Type element = getElementTypeOrSelf(value);
  if (!element.isUnsignedInteger())
    return trace.make<FragmentValue>(make(value));
  ElementType without = *toElementType(element);
  value = inOrder(trace, kind, convert(trace, value, signedType(without), {}, loc), loc);
  value = value ? make(value) : Value();
  value = value ? inOrder(trace, kind, value, loc) : Value();
  return trace.make<FragmentValue>(value ? convert(trace, value, without, {}, loc) : Value());
}
} // namespace

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

FragmentValue reduce(Reduction kind, const FragmentValue &x, int64_t axis, Loc loc) {
  Trace *trace = traceOf(x.ref());
  if (!trace)
    return {};
  auto [value, counted] = along(*trace, x, axis, "reduce", "a reduction", loc);
  if (!value)
    return trace->poison<FragmentValue>();
  auto make = [&, counted = counted](Value value) {
    return reduced(*trace, kindOf(kind), value, counted, loc);
  };
  return combined(*trace, kind, value, make, loc);
}

FragmentValue cumulative(Reduction kind, const FragmentValue &x, int64_t axis, Direction direction, Loc loc) {
  Trace *trace = traceOf(x.ref());
  if (!trace)
    return {};
  auto [value, counted] = along(*trace, x, axis, "go along", "a cumulative operation", loc);
  if (!value)
    return trace->poison<FragmentValue>();
  auto make = [&, counted = counted](Value value) {
    return trace->create<tile::ScanOp>(loc, value.getType(), value, counted, kindOf(kind),
                                       direction == Direction::backward, Value());
  };
  return combined(*trace, kind, value, make, loc);
}

FragmentValue rowSum(const FragmentValue &x, Loc loc) { return reduce(Reduction::sum, x, -1, loc); }
FragmentValue rowMax(const FragmentValue &x, Loc loc) { return reduce(Reduction::max, x, -1, loc); }
FragmentValue rowMin(const FragmentValue &x, Loc loc) { return reduce(Reduction::min, x, -1, loc); }

//===----------------------------------------------------------------------===//
// Truth values
//===----------------------------------------------------------------------===//

namespace {
/// As 0 and 1, of which the largest says whether one holds, the smallest whether all do.
Predicate decided(Reduction kind, StringRef name, const Predicate &condition, int64_t axis, Loc loc) {
  Trace *trace = traceOf(condition.ref());
  if (condition.constant() || !trace)
    return condition;
  Value value = truth(*trace, condition, ("the condition of " + name).str(), loc);
  if (!value)
    return trace->poison<Predicate>();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type) {
    trace->error(loc, "expected a truth value per element for " + name + ", but got one of all threads");
    return trace->poison<Predicate>();
  }
  auto [checked, counted] = along(*trace, value, axis, "reduce", loc);
  if (!checked)
    return trace->poison<Predicate>();
  Value number = trace->create<arith::ExtUIOp>(loc, type.clone(trace->builder.getI32Type()), checked);
  Value decisive = reduced(*trace, kindOf(kind), number, counted, loc);
  Value zero = trace->filled(0, cast<RankedTensorType>(decisive.getType()), loc);
  return trace->make<Predicate>(compare(*trace, Comparison::different, decisive, zero, loc));
}
} // namespace

Predicate any(const Predicate &condition, int64_t axis, Loc loc) {
  return decided(Reduction::max, "any", condition, axis, loc);
}
Predicate all(const Predicate &condition, int64_t axis, Loc loc) {
  return decided(Reduction::min, "all", condition, axis, loc);
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

namespace {
Value positionsOf(Trace &trace, ArrayRef<int64_t> shape, int64_t axis, Loc loc) {
  auto type = RankedTensorType::get(shape, trace.builder.getIndexType());
  return convert(trace, trace.create<tile::CoordinatesOp>(loc, type, axis), ElementType::i32, {}, loc);
}

/// Two reductions: one of the elements, and one of the positions of those that are equal to its result.
FragmentValue firstOf(Reduction kind, StringRef name, const FragmentValue &x, int64_t axis, Loc loc) {
  Trace *trace = traceOf(x.ref());
  if (!trace)
    return {};
  auto [value, counted] = along(*trace, x, axis, "reduce", name, loc);
  if (!value)
    return trace->poison<FragmentValue>();
  auto type = cast<RankedTensorType>(value.getType());
  auto extent = double(type.getDimSize(unsigned(counted)));
  FragmentValue best = reduce(kind, x, counted, loc);
  FragmentValue position = trace->make<FragmentValue>(positionsOf(*trace, type.getShape(), counted, loc));
  Predicate isBest = comparison(Comparison::equal, x, best, loc);
  FragmentValue first = reduce(Reduction::min, where(isBest, position, extent, loc), counted, loc);
  if (!isa<FloatType>(type.getElementType()))
    return first;
  Predicate isNone = comparison(Comparison::equal, first, extent, loc); // of NaN alone
  return where(isNone, 0, first, loc);
}
} // namespace

FragmentValue Scope::positions(const TileExtents &shape, int64_t axis, Loc loc) {
  if (!trace->checkExtents("positions", shape, loc) || !trace->checkFragment(shape, trace->typeOf(i32), loc))
    return trace->poison<FragmentValue>();
  auto rank = int64_t(shape.size());
  std::optional<int64_t> counted = countedAxis(rank, axis);
  if (!counted) {
    trace->error(loc, "expected an axis from " + Twine(-rank) + " to " + Twine(rank - 1) +
                          " of positions of " + tile::toText(shape) + ", but got " + Twine(axis));
    return trace->poison<FragmentValue>();
  }
  return trace->make<FragmentValue>(positionsOf(*trace, shape, *counted, loc));
}

FragmentValue argMax(const FragmentValue &x, int64_t axis, Loc loc) {
  return firstOf(Reduction::max, "argMax", x, axis, loc);
}
FragmentValue argMin(const FragmentValue &x, int64_t axis, Loc loc) {
  return firstOf(Reduction::min, "argMin", x, axis, loc);
}

} // namespace tlc::dsl::inline v1
