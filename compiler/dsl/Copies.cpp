// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies and fills. Extents and types are checked by the operations' own verifiers.
#include "compiler/dsl/Slices.h"
#include "dialects/tile/Shapes.h"
#include "dialects/tile/SharedSlice.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

namespace {
/// Neither the TMA nor vectors of a copy find the elements: threads load and store them.
bool needsFragment(const Slice &slice) {
  Value value = Trace::peek(slice.ref());
  return hasPositions(slice) || (value && value.getDefiningOp<tile::SliceSharedOp>());
}

/// A fragment of that type from the slice.
Value loaded(Trace &trace, const Slice &from, RankedTensorType type, Loc loc) {
  if (hasPositions(from))
    return gathered(trace, from, type, loc);
  Value source = trace.use(from.ref(), "the source of copy", loc);
  return source ? trace.create<tile::LoadOp>(loc, type, source) : Value();
}

void transfer(const Handle &from, const Handle &to, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref());
  if (!trace)
    return;
  Value source = trace->use(from.ref(), "the source of copy", loc);
  Value destination = destinationOf(*trace, to, "the destination of copy", loc);
  if (source && destination)
    trace->create<tile::CopyOp>(loc, source, destination, tile::CopyAtomAttr());
}

/// With a kind, of all ranks' elements combined.
void load(const Handle &from, Fragment &to, Loc loc, StringRef call = "copy",
          std::optional<tile::CombineKind> kind = std::nullopt) {
  Trace *trace = traceOf(from.ref(), to.ref());
  if (!trace)
    return;
  Value source = trace->use(from.ref(), ("the source of " + call).str(), loc);
  Value variable = trace->use(to.ref(), ("the destination of " + call).str(), loc);
  if (!source || !variable)
    return;
  Type type = cast<tile::VariableType>(variable.getType()).getValueType();
  auto attr = kind ? tile::CombineKindAttr::get(trace->builder.getContext(), *kind) : tile::CombineKindAttr();
  if (Value value = trace->create<tile::LoadOp>(loc, type, source, attr))
    trace->create<tile::WriteOp>(loc, value, variable);
}

void store(const FragmentValue &from, const Handle &to, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref());
  if (!trace)
    return;
  Value value = trace->use(from.ref(), "the source of copy", loc);
  Value destination = destinationOf(*trace, to, "the destination of copy", loc);
  if (value && destination)
    trace->create<tile::StoreOp>(loc, value, destination, Value(), tile::CopyAtomAttr());
}

void fillMemory(const Handle &to, const Scalar &number, Loc loc) {
  Trace *trace = traceOf(to.ref(), number.ref());
  if (!trace)
    return;
  Value destination = destinationOf(*trace, to, "the destination of fill", loc);
  if (!destination)
    return;
  auto type = RankedTensorType::get(tile::extentsOf(destination.getType()),
                                    tile::elementTypeOf(destination.getType()));
  if (Value value = trace->filled(number, type, loc))
    trace->create<tile::StoreOp>(loc, value, destination, Value(), tile::CopyAtomAttr());
}

} // namespace

void copy(const Shared &from, const Shared &to, Loc loc) { transfer(from, to, loc); }
void copy(const Shared &from, Fragment &to, Loc loc) { load(from, to, loc); }
void copy(const FragmentValue &from, const Shared &to, Loc loc) { store(from, to, loc); }
void copy(const FragmentValue &from, Fragment &to, Loc loc) { to = Fragment(from, loc); }
void copy(const TensorMemory &from, Fragment &to, Loc loc) { load(from, to, loc); }
void copy(const FragmentValue &from, const TensorMemory &to, Loc loc) { store(from, to, loc); }

#define TLC_LOAD(name, kind)                                                                                 \
  void name(const Slice &from, Fragment &to, Loc loc) { load(from, to, loc, #name, tile::CombineKind::kind); }
TLC_LOAD(loadSum, add)
TLC_LOAD(loadMin, min)
TLC_LOAD(loadMax, max)
TLC_LOAD(loadAnd, bitAnd)
TLC_LOAD(loadOr, bitOr)
TLC_LOAD(loadXor, bitXor)
#undef TLC_LOAD

void copy(const Slice &from, const Shared &to, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref());
  if (!trace || !needsFragment(from))
    return transfer(from, to, loc);
  Value destination = trace->use(to.ref(), "the destination of copy", loc);
  if (destination && trace->checkFragment(tile::extentsOf(destination.getType()),
                                          tile::elementTypeOf(destination.getType()), loc))
    store(trace->make<FragmentValue>(loaded(*trace, from, fragmentOf(destination), loc)), to, loc);
}

void copy(const Slice &from, Fragment &to, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref());
  if (!trace || !hasPositions(from))
    return load(from, to, loc);
  Value variable = trace->use(to.ref(), "the destination of copy", loc);
  if (!variable)
    return;
  auto type = cast<RankedTensorType>(cast<tile::VariableType>(variable.getType()).getValueType());
  if (Value value = gathered(*trace, from, type, loc))
    trace->create<tile::WriteOp>(loc, value, variable);
}

void copy(const FragmentValue &from, const Slice &to, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref());
  if (!trace || !hasPositions(to))
    return store(from, to, loc);
  Value value = trace->use(from.ref(), "the source of copy", loc);
  Value destination = destinationOf(*trace, to, "the destination of copy", loc);
  if (value && destination)
    scatter(*trace, value, destination, to, /*kind=*/std::nullopt, loc);
}

void copy(const Shared &from, const Slice &to, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref());
  if (!trace || !needsFragment(to))
    return transfer(from, to, loc);
  Value source = trace->use(from.ref(), "the source of copy", loc);
  if (source &&
      trace->checkFragment(tile::extentsOf(source.getType()), tile::elementTypeOf(source.getType()), loc))
    copy(trace->make<FragmentValue>(trace->create<tile::LoadOp>(loc, fragmentOf(source), source)), to, loc);
}

void copy(const Slice &from, const Slice &to, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref());
  if (!trace)
    return;
  Value source = trace->use(from.ref(), "the source of copy", loc);
  if (!source)
    return;
  RankedTensorType type = fragmentOf(source);
  if (!trace->checkFragment(type.getShape(), type.getElementType(), loc))
    return;
  copy(trace->make<FragmentValue>(loaded(*trace, from, type, loc)), to, loc);
}

void fill(const Shared &to, const Scalar &value, Loc loc) { fillMemory(to, value, loc); }
void fill(const Slice &to, const Scalar &value, Loc loc) {
  Trace *trace = traceOf(to.ref(), value.ref());
  if (!trace || !hasPositions(to))
    return fillMemory(to, value, loc);
  Value destination = destinationOf(*trace, to, "the destination of fill", loc);
  Value filled = destination ? trace->filled(value, fragmentOf(destination), loc) : Value();
  if (filled)
    scatter(*trace, filled, destination, to, /*kind=*/std::nullopt, loc);
}

} // namespace tlc::dsl::inline v1
