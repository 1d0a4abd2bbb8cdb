// SPDX-License-Identifier: Apache-2.0
/// \file
/// Atomic operations. Extents and types are checked by the operations' own verifiers.
#include "compiler/dsl/Operands.h"
#include "compiler/dsl/Slices.h"
#include "dialects/tile/Fetch.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

namespace {

void combine(tile::CombineKind kind, StringRef name, const FragmentValue &value, const Slice &to, Loc loc) {
  Trace *trace = traceOf(value.ref(), to.ref());
  if (!trace)
    return;
  Value operand = trace->use(value.ref(), ("the operand of " + name).str(), loc);
  Value destination = destinationOf(*trace, to, ("the destination of " + name).str(), loc);
  if (operand && destination && hasPositions(to))
    scatter(*trace, operand, destination, to, kind, loc);
  else if (operand && destination)
    trace->create<tile::AtomicOp>(loc, kind, operand, destination);
}

void combine(tile::CombineKind kind, StringRef name, const Scalar &value, const Slice &to, Loc loc) {
  Trace *trace = traceOf(value.ref(), to.ref());
  if (!trace)
    return;
  Value destination = destinationOf(*trace, to, ("the destination of " + name).str(), loc);
  if (!destination)
    return;
  if (hasPositions(to)) { // the number for each of them
    if (Value filled = trace->filled(value, fragmentOf(destination), loc))
      scatter(*trace, filled, destination, to, kind, loc);
    return;
  }
  Value operand = value.constant()
                      ? trace->number(*value.constant(), tile::elementTypeOf(destination.getType()), loc)
                      : trace->use(value.ref(), ("the operand of " + name).str(), loc);
  if (operand)
    trace->create<tile::AtomicOp>(loc, kind, operand, destination);
}

void combine(tile::CombineKind kind, StringRef name, const Shared &tile, const Slice &to, Loc loc) {
  Trace *trace = traceOf(tile.ref(), to.ref());
  if (!trace)
    return;
  if (hasPositions(to)) {
    trace->error(loc, "expected a box for " + name +
                          " of a shared tile because the TMA makes it, but got a position " +
                          "per element; copy the tile to a fragment");
    return;
  }
  Value source = trace->use(tile.ref(), ("the tile of " + name).str(), loc);
  Value destination = destinationOf(*trace, to, ("the destination of " + name).str(), loc);
  if (source && destination)
    trace->create<tile::CopyReduceOp>(loc, kind, source, destination);
}

/// The operand as a fragment of the type: a number for each element, or extents of 1 repeated.
Value elementsOf(Trace &trace, const Operand &operand, RankedTensorType type, StringRef call, Loc loc) {
  if (std::optional<Constant> number = operand.constant()) {
    Value value = trace.number(*number, type.getElementType(), loc);
    return value ? trace.create<tile::SplatOp>(loc, type, value) : Value();
  }
  Value value = trace.read(operand.ref(), ("an operand of " + call).str(), loc);
  if (!value)
    return {};
  if (getElementTypeOrSelf(value) != type.getElementType()) {
    Diagnostic &diagnostic =
        trace.error(loc, "expected an operand of " + call + " with the elements that it changes, of " +
                             textOf(type.getElementType()) + ", but got " + trace.describe(value));
    trace.noteDeclaration(diagnostic, value);
    return {};
  }
  auto fragment = dyn_cast<RankedTensorType>(value.getType());
  if (!fragment)
    return trace.splat(value, type.getShape(), loc);
  std::optional<SmallVector<int64_t>> common = commonExtents(fragment.getShape(), type.getShape());
  if (common && ArrayRef(*common) == type.getShape())
    return trace.broadcast(value, type.getShape(), loc);
  trace.error(loc, "expected an operand of " + call + " of " + tile::toText(type.getShape()) +
                       ", as the old elements, or with extents of 1 where one is repeated, but got " +
                       trace.describe(value));
  return {};
}

/// Without a kind it exchanges; with `expected` it does so where the elements are those.
void fetch(std::optional<tile::CombineKind> kind, StringRef call, const Operand *expected,
           const Operand &value, const Slice &to, Fragment &old, Loc loc) {
  Trace *trace = traceOf(to.ref(), old.ref());
  if (!trace)
    return;
  Value destination = destinationOf(*trace, to, ("the destination of " + call).str(), loc);
  Value variable = trace->use(old.ref(), ("the old elements of " + call).str(), loc);
  if (!destination || !variable)
    return;
  auto type = cast<RankedTensorType>(cast<tile::VariableType>(variable.getType()).getValueType());
  Type element = tile::elementTypeOf(destination.getType());
  if (type.getElementType() != element) {
    Diagnostic &diagnostic =
        trace->error(loc, "expected a fragment of " + textOf(element) + " for the old elements of " + call +
                              " because " + tile::describe(destination, "the destination") +
                              " has such, but got one of " + textOf(type.getElementType()));
    diagnostic.notes.push_back({positionOf(variable.getLoc()), "the fragment is declared here"});
    return;
  }
  Value elements = elementsOf(*trace, value, type, call, loc);
  if (!elements)
    return;
  std::optional<SmallVector<Value>> positions = positionsFor(*trace, to, type, loc);
  if (!positions)
    return;
  Value wanted = expected ? elementsOf(*trace, *expected, type, call, loc) : Value();
  if (expected && !wanted)
    return;
  auto attr = kind ? tile::CombineKindAttr::get(trace->builder.getContext(), *kind) : tile::CombineKindAttr();
  if (Value was = trace->create<tile::AtomicFetchOp>(loc, elements, destination, *positions, wanted,
                                                     /*scratch=*/Value(), attr))
    trace->create<tile::WriteOp>(loc, was, variable);
}

} // namespace

#define TLC_ATOMIC(name, kind)                                                                               \
  void name(const FragmentValue &value, const Slice &to, Loc loc) {                                          \
    combine(tile::CombineKind::kind, #name, value, to, loc);                                                 \
  }                                                                                                          \
  void name(const Scalar &value, const Slice &to, Loc loc) {                                                 \
    combine(tile::CombineKind::kind, #name, value, to, loc);                                                 \
  }                                                                                                          \
  void name(const Shared &tile, const Slice &to, Loc loc) {                                                  \
    combine(tile::CombineKind::kind, #name, tile, to, loc);                                                  \
  }                                                                                                          \
  void name(const Operand &value, const Slice &to, Fragment &old, Loc loc) {                                 \
    fetch(tile::CombineKind::kind, #name, /*expected=*/nullptr, value, to, old, loc);                        \
  }
TLC_ATOMIC(atomicAdd, add)
TLC_ATOMIC(atomicMin, min)
TLC_ATOMIC(atomicMax, max)
TLC_ATOMIC(atomicAnd, bitAnd)
TLC_ATOMIC(atomicOr, bitOr)
TLC_ATOMIC(atomicXor, bitXor)
#undef TLC_ATOMIC

void atomicExchange(const Operand &value, const Slice &to, Fragment &old, Loc loc) {
  fetch(/*kind=*/std::nullopt, "atomicExchange", /*expected=*/nullptr, value, to, old, loc);
}

void atomicCompareAndSwap(const Operand &expected, const Operand &value, const Slice &to, Fragment &old,
                          Loc loc) {
  fetch(/*kind=*/std::nullopt, "atomicCompareAndSwap", &expected, value, to, old, loc);
}

} // namespace tlc::dsl::inline v1
