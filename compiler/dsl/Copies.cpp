// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies, fills and atomic additions. Extents and types are checked by the operations' own verifiers.
#include "compiler/dsl/Trace.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "runtime/support/Excerpt.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

//===----------------------------------------------------------------------===//
// Slices with a position per element
//===----------------------------------------------------------------------===//

namespace {

bool hasPositions(const Slice &slice) { return bool(slice.positions().trace); }

/// The positions, one for each element of a fragment; null where they do not fit, with an error.
Value positionsFor(Trace &trace, const Slice &slice, RankedTensorType fragment, Loc loc) {
  Value positions = trace.use(slice.positions(), "the positions of a slice", loc);
  if (!positions)
    return {};
  ArrayRef<int64_t> own = cast<RankedTensorType>(positions.getType()).getShape(), shape = fragment.getShape();
  auto fits = [](auto extents) {
    return std::get<0>(extents) == 1 || std::get<0>(extents) == std::get<1>(extents);
  };
  if (own.size() == shape.size() && llvm::all_of(llvm::zip(own, shape), fits))
    return trace.broadcast(positions, shape, loc);
  trace.error(loc, "expected positions for " + tile::toText(shape) +
                       " elements, or extents of 1 where one is " + "repeated, but got " +
                       trace.describe(positions));
  return {};
}

Value gathered(Trace &trace, const Slice &from, RankedTensorType type, Loc loc) {
  Value source = trace.use(from.ref(), "the source of copy", loc);
  Value positions = source ? positionsFor(trace, from, type, loc) : Value();
  return positions ? trace.create<tile::GatherOp>(loc, type, source, positions) : Value();
}

/// Writes, or adds, the elements where their positions are.
void scatter(Trace &trace, Value value, Value destination, const Slice &to, bool adds, Loc loc) {
  if (Value positions = positionsFor(trace, to, cast<RankedTensorType>(value.getType()), loc))
    trace.create<tile::ScatterOp>(loc, value, destination, positions, adds);
}

RankedTensorType fragmentOf(Value tile) {
  return RankedTensorType::get(tile::extentsOf(tile.getType()), tile::elementTypeOf(tile.getType()));
}

} // namespace

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

namespace {

/// The value of what is written; null, silently or with an error, if the program may not write it.
Value destinationOf(Trace &trace, const Handle &to, StringRef what, Loc loc) {
  Value destination = trace.use(to.ref(), what, loc);
  auto slice = destination ? destination.getDefiningOp<tile::SliceOp>() : tile::SliceOp();
  program::TensorAttr tensor = slice ? trace.tensorOf(slice.getTensor()) : program::TensorAttr();
  if (!tensor || tensor.getAccess() != program::Access::input)
    return destination;
  Diagnostic &diagnostic =
      trace.error(loc, "expected " + what + " to be an output because inputs are only read, but '" +
                           excerpt(tensor.getName()) + "' is an input; declare it with k.inout or k.output");
  trace.noteDeclaration(diagnostic, slice);
  return {};
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

void load(const Handle &from, Fragment &to, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref());
  if (!trace)
    return;
  Value source = trace->use(from.ref(), "the source of copy", loc);
  Value variable = trace->use(to.ref(), "the destination of copy", loc);
  if (!source || !variable)
    return;
  Type type = cast<tile::VariableType>(variable.getType()).getValueType();
  if (Value value = trace->create<tile::LoadOp>(loc, type, source))
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

void copy(const Slice &from, const Shared &to, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref());
  if (!trace || !hasPositions(from))
    return transfer(from, to, loc);
  Value destination = trace->use(to.ref(), "the destination of copy", loc);
  if (destination && trace->checkFragment(tile::extentsOf(destination.getType()),
                                          tile::elementTypeOf(destination.getType()), loc))
    store(trace->make<FragmentValue>(gathered(*trace, from, fragmentOf(destination), loc)), to, loc);
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
    scatter(*trace, value, destination, to, /*adds=*/false, loc);
}

void copy(const Shared &from, const Slice &to, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref());
  if (!trace || !hasPositions(to))
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
  Value value =
      hasPositions(from) ? gathered(*trace, from, type, loc) : trace->create<tile::LoadOp>(loc, type, source);
  copy(trace->make<FragmentValue>(value), to, loc);
}

void copy(const Slice &from, const Shared &to, const FullBarrier &barrier, Multicast multicast, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref(), barrier.ring);
  if (!trace)
    return;
  if (hasPositions(from)) {
    trace->error(
        loc, "expected a box for a copy that reports to a ring because the TMA makes it, but got a position "
             "per element");
    return;
  }
  Value source = trace->use(from.ref(), "the source of copy", loc);
  Value destination = trace->use(to.ref(), "the destination of copy", loc);
  Value ring = trace->use(barrier.ring, "a ring", loc), cursor = trace->read(barrier.cursor, "a cursor", loc);
  if (source && destination && ring && cursor)
    trace->create<tile::CopyAsyncOp>(loc, source, destination, ring, cursor, multicast == Multicast::cluster);
}

void fill(const Shared &to, const Scalar &value, Loc loc) { fillMemory(to, value, loc); }
void fill(const Slice &to, const Scalar &value, Loc loc) {
  Trace *trace = traceOf(to.ref(), value.ref());
  if (!trace || !hasPositions(to))
    return fillMemory(to, value, loc);
  Value destination = destinationOf(*trace, to, "the destination of fill", loc);
  Value filled = destination ? trace->filled(value, fragmentOf(destination), loc) : Value();
  if (filled)
    scatter(*trace, filled, destination, to, /*adds=*/false, loc);
}

void atomicAdd(const FragmentValue &value, const Slice &to, Loc loc) {
  Trace *trace = traceOf(value.ref(), to.ref());
  if (!trace)
    return;
  Value added = trace->use(value.ref(), "what atomicAdd adds", loc);
  Value destination = destinationOf(*trace, to, "the destination of atomicAdd", loc);
  if (added && destination && hasPositions(to))
    scatter(*trace, added, destination, to, /*adds=*/true, loc);
  else if (added && destination)
    trace->create<tile::AtomicAddOp>(loc, added, destination);
}

void atomicAdd(const Scalar &value, const Slice &to, Loc loc) {
  Trace *trace = traceOf(value.ref(), to.ref());
  if (!trace)
    return;
  Value destination = destinationOf(*trace, to, "the destination of atomicAdd", loc);
  if (!destination)
    return;
  if (hasPositions(to)) { // the number for each of them
    if (Value filled = trace->filled(value, fragmentOf(destination), loc))
      scatter(*trace, filled, destination, to, /*adds=*/true, loc);
    return;
  }
  Value added = value.constant()
                    ? trace->number(*value.constant(), tile::elementTypeOf(destination.getType()), loc)
                    : trace->use(value.ref(), "what atomicAdd adds", loc);
  if (added)
    trace->create<tile::AtomicAddOp>(loc, added, destination);
}

namespace {
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
} // namespace

void atomicAdd(const Shared &tile, const Slice &to, Loc loc) {
  combine(tile::CombineKind::add, "atomicAdd", tile, to, loc);
}
void atomicMin(const Shared &tile, const Slice &to, Loc loc) {
  combine(tile::CombineKind::min, "atomicMin", tile, to, loc);
}
void atomicMax(const Shared &tile, const Slice &to, Loc loc) {
  combine(tile::CombineKind::max, "atomicMax", tile, to, loc);
}

} // namespace tlc::dsl::inline v1
