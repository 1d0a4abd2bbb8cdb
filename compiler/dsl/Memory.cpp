// SPDX-License-Identifier: Apache-2.0
/// \file
/// Slices, shared tiles, copies, products. Extents and types are checked by the
/// operations' own verifiers.
#include "compiler/dsl/Arithmetic.h"
#include "compiler/dsl/Trace.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "runtime/support/Excerpt.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

//===----------------------------------------------------------------------===//
// Slices and views
//===----------------------------------------------------------------------===//

Slice Global::tile(const std::vector<Index> &origin, const Shape &extents, Loc loc) const {
  Trace *trace = traceOf(reference);
  if (!trace)
    return {};
  Value tensor = trace->use(reference, "a tensor", loc);
  if (!tensor)
    return trace->poison<Slice>();
  StringRef name = tile::nameOf(tensor);
  std::string what = "the slice of '" + excerpt(name) + "'";
  if (!trace->checkExtents(what, extents, loc) ||
      !trace->checkPacking(what, extents, tile::elementTypeOf(tensor.getType()), loc))
    return trace->poison<Slice>();
  SmallVector<Value> positions;
  for (const Index &position : origin) {
    positions.push_back(trace->useUniform(position, "a position in '" + excerpt(name) + "'", loc));
    if (!positions.back())
      return trace->poison<Slice>();
  }
  auto type =
      tile::SliceType::get(trace->builder.getContext(), extents, tile::elementTypeOf(tensor.getType()));
  return trace->make<Slice>(trace->create<tile::SliceOp>(loc, type, tensor, positions, Value(), Value(),
                                                         IntegerAttr(), StringAttr(), StringAttr()));
}

namespace {
/// The operation that made the slice; null, silently or with an error, if it cannot be used here.
tile::SliceOp sliceBehind(Trace &trace, const detail::Ref &reference, Loc loc) {
  Value slice = trace.use(reference, "a slice", loc);
  return slice ? slice.getDefiningOp<tile::SliceOp>() : tile::SliceOp();
}
} // namespace

Slice Slice::limited(int64_t axis, const Index &end, Loc loc) const {
  Trace *trace = traceOf(reference, end.ref());
  if (!trace)
    return {};
  tile::SliceOp made = sliceBehind(*trace, reference, loc);
  Value limit = trace->useUniform(end, "a limit", loc);
  if (!made || !limit)
    return trace->poison<Slice>();
  if (made.getLimit()) {
    Diagnostic &diagnostic =
        trace->error(loc, "expected a slice without a limit because it can have one, but "
                          "got one that is limited along axis " +
                              Twine(*made.getLimitedAxis()));
    diagnostic.notes.push_back({positionOf(made.getLoc()), "limited here"});
    return trace->poison<Slice>();
  }
  return trace->make<Slice>(trace->create<tile::SliceOp>(
      loc, made.getType(), made.getTensor(), made.getOrigin(), limit, made.getFill(),
      trace->builder.getI64IntegerAttr(axis), made.getUncheckedAttr(), made.getDisjointAttr()));
}

Slice Slice::fill(const Scalar &value, Loc loc) const {
  Trace *trace = traceOf(reference, value.ref());
  if (!trace)
    return {};
  tile::SliceOp made = sliceBehind(*trace, reference, loc);
  if (!made)
    return trace->poison<Slice>();
  Value number = value.constant() ? trace->number(*value.constant(), made.getType().getElementType(), loc)
                                  : trace->use(value.ref(), "a fill value", loc);
  if (!number)
    return trace->poison<Slice>();
  return trace->make<Slice>(trace->create<tile::SliceOp>(
      loc, made.getType(), made.getTensor(), made.getOrigin(), made.getLimit(), number,
      made.getLimitedAxisAttr(), made.getUncheckedAttr(), made.getDisjointAttr()));
}

Slice Slice::unchecked(std::string_view reason, Loc loc) const {
  Trace *trace = traceOf(reference);
  if (!trace)
    return {};
  tile::SliceOp made = sliceBehind(*trace, reference, loc);
  if (!made)
    return trace->poison<Slice>();
  return trace->make<Slice>(trace->create<tile::SliceOp>(
      loc, made.getType(), made.getTensor(), made.getOrigin(), made.getLimit(), made.getFill(),
      made.getLimitedAxisAttr(), trace->builder.getStringAttr(reason), made.getDisjointAttr()));
}

Slice Slice::disjoint(std::string_view reason, Loc loc) const {
  Trace *trace = traceOf(reference);
  if (!trace)
    return {};
  tile::SliceOp made = sliceBehind(*trace, reference, loc);
  if (!made)
    return trace->poison<Slice>();
  return trace->make<Slice>(trace->create<tile::SliceOp>(
      loc, made.getType(), made.getTensor(), made.getOrigin(), made.getLimit(), made.getFill(),
      made.getLimitedAxisAttr(), made.getUncheckedAttr(), trace->builder.getStringAttr(reason)));
}

Shared Shared::t(Loc loc) const {
  Trace *trace = traceOf(reference);
  if (!trace)
    return {};
  Value source = trace->use(reference, "a shared tile", loc);
  if (!source)
    return trace->poison<Shared>();
  auto type = cast<tile::SharedType>(source.getType());
  if (type.getShape().size() < 2) {
    Diagnostic &diagnostic =
        trace->error(loc, "expected a shared tile of at least two axes to exchange the last two, "
                          "but got " +
                              trace->describe(source));
    trace->noteDeclaration(diagnostic, source);
    return trace->poison<Shared>();
  }
  return trace->make<Shared>(trace->create<tile::TransposeOp>(loc, type.transpose(), source));
}

Shared Shared::rows(int64_t first, int64_t count, Loc loc) const {
  Trace *trace = traceOf(reference);
  if (!trace)
    return {};
  Value source = trace->use(reference, "a shared tile", loc);
  if (!source || !trace->checkExtents("the rows of " + tile::describe(source, "a tile"), {count, 1}, loc))
    return trace->poison<Shared>();
  auto type = cast<tile::SharedType>(source.getType());
  SmallVector<int64_t> extents = {count, type.getShape().back()};
  auto view = tile::SharedType::get(trace->builder.getContext(), extents, type.getElementType());
  return trace->make<Shared>(trace->create<tile::RowsOp>(loc, view, source, first));
}

Shared Shared::slot(const Cursor &cursor, Loc loc) const {
  Trace *trace = traceOf(reference, cursor.ref());
  if (!trace)
    return {};
  Value buffer = trace->use(reference, "a shared tile", loc), at = trace->read(cursor.ref(), "a cursor", loc);
  if (!buffer || !at)
    return trace->poison<Shared>();
  auto type = cast<tile::SharedType>(buffer.getType());
  if (!slots) {
    Diagnostic &diagnostic = trace->error(loc, "expected a shared tile with slots for a cursor, but got " +
                                                   trace->describe(buffer));
    trace->noteDeclaration(diagnostic, buffer);
    return trace->poison<Shared>();
  }
  return trace->make<Shared>(trace->create<tile::SlotOp>(loc, type.slot(), buffer, at));
}

TensorMemory TensorMemory::slot(const Cursor &cursor, Loc loc) const {
  Trace *trace = traceOf(reference, cursor.ref());
  if (!trace)
    return {};
  Value buffer = trace->use(reference, "a tile in tensor memory", loc),
        at = trace->read(cursor.ref(), "a cursor", loc);
  if (!buffer || !at)
    return trace->poison<TensorMemory>();
  auto type = cast<tile::TensorMemoryType>(buffer.getType());
  if (type.getShape().size() != 3) {
    Diagnostic &diagnostic = trace->error(
        loc, "expected a tile in tensor memory with slots for a cursor, but got " + trace->describe(buffer));
    trace->noteDeclaration(diagnostic, buffer);
    return trace->poison<TensorMemory>();
  }
  return trace->make<TensorMemory>(trace->create<tile::SlotOp>(loc, type.slot(), buffer, at));
}

namespace {
/// The positions as values; nothing where one is wrong.
std::optional<SmallVector<Value>> positionsIn(Trace &trace, Value tile, const std::vector<Index> &position,
                                              Loc loc) {
  SmallVector<Value> values;
  for (const Index &at : position) {
    values.push_back(trace.useUniform(at, "a position in '" + excerpt(tile::nameOf(tile)) + "'", loc));
    if (!values.back())
      return std::nullopt;
  }
  return values;
}
} // namespace

Index Global::read(const std::vector<Index> &position, Loc loc) const {
  Slice element = tile(position, Shape(position.size(), 1), loc);
  Trace *trace = traceOf(element.ref());
  if (!trace)
    return {};
  Value slice = trace->use(element.ref(), "an element", loc);
  if (!slice)
    return trace->poison<Index>();
  return trace->make<Index>(trace->create<tile::LoadIndexOp>(loc, slice, ValueRange()));
}

Index Shared::read(const std::vector<Index> &position, Loc loc) const {
  Trace *trace = traceOf(reference);
  if (!trace)
    return {};
  Value tile = trace->use(reference, "a shared tile", loc);
  std::optional<SmallVector<Value>> at = tile ? positionsIn(*trace, tile, position, loc) : std::nullopt;
  if (!at)
    return trace->poison<Index>();
  return trace->make<Index>(trace->create<tile::LoadIndexOp>(loc, tile, *at));
}

void Shared::write(const std::vector<Index> &position, const Index &value, Loc loc) const {
  Trace *trace = traceOf(reference, value.ref());
  if (!trace)
    return;
  Value tile = trace->use(reference, "a shared tile", loc);
  std::optional<SmallVector<Value>> at = tile ? positionsIn(*trace, tile, position, loc) : std::nullopt;
  Value number = trace->useUniform(value, "a value to write", loc);
  if (at && number)
    trace->create<tile::StoreIndexOp>(loc, number, tile, *at);
}

int64_t Shared::slotBytes() const {
  Value tile = Trace::peek(reference);
  if (!tile)
    return 0;
  auto type = cast<tile::SharedType>(tile.getType());
  ArrayRef<int64_t> extents = type.getShape();
  return bytesOf(*toElementType(type.getElementType()),
                 tile::numElements(slots ? extents.drop_front() : extents));
}

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

void copy(const Slice &from, const Shared &to, Loc loc) { transfer(from, to, loc); }
void copy(const Shared &from, const Shared &to, Loc loc) { transfer(from, to, loc); }
void copy(const Shared &from, const Slice &to, Loc loc) { transfer(from, to, loc); }
void copy(const Slice &from, Fragment &to, Loc loc) { load(from, to, loc); }
void copy(const Shared &from, Fragment &to, Loc loc) { load(from, to, loc); }
void copy(const FragmentValue &from, const Shared &to, Loc loc) { store(from, to, loc); }
void copy(const FragmentValue &from, const Slice &to, Loc loc) { store(from, to, loc); }
void copy(const FragmentValue &from, Fragment &to, Loc loc) { to = Fragment(from, loc); }
void copy(const TensorMemory &from, Fragment &to, Loc loc) { load(from, to, loc); }
void copy(const FragmentValue &from, const TensorMemory &to, Loc loc) { store(from, to, loc); }

void copy(const Slice &from, const Slice &to, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref());
  if (!trace)
    return;
  Value source = trace->use(from.ref(), "the source of copy", loc);
  if (!source)
    return;
  auto type = RankedTensorType::get(tile::extentsOf(source.getType()), tile::elementTypeOf(source.getType()));
  if (trace->checkFragment(type.getShape(), type.getElementType(), loc))
    store(trace->make<FragmentValue>(trace->create<tile::LoadOp>(loc, type, source)), to, loc);
}

void copy(const Slice &from, const Shared &to, const FullBarrier &barrier, Multicast multicast, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref(), barrier.ring);
  if (!trace)
    return;
  Value source = trace->use(from.ref(), "the source of copy", loc);
  Value destination = trace->use(to.ref(), "the destination of copy", loc);
  Value ring = trace->use(barrier.ring, "a ring", loc), cursor = trace->read(barrier.cursor, "a cursor", loc);
  if (source && destination && ring && cursor)
    trace->create<tile::CopyAsyncOp>(loc, source, destination, ring, cursor, multicast == Multicast::cluster);
}

void fill(const Shared &to, const Scalar &value, Loc loc) { fillMemory(to, value, loc); }
void fill(const Slice &to, const Scalar &value, Loc loc) { fillMemory(to, value, loc); }

void atomicAdd(const FragmentValue &value, const Slice &to, Loc loc) {
  Trace *trace = traceOf(value.ref(), to.ref());
  if (!trace)
    return;
  Value added = trace->use(value.ref(), "what atomicAdd adds", loc);
  Value destination = destinationOf(*trace, to, "the destination of atomicAdd", loc);
  if (added && destination)
    trace->create<tile::AtomicAddOp>(loc, added, destination);
}

void atomicAdd(const Scalar &value, const Slice &to, Loc loc) {
  Trace *trace = traceOf(value.ref(), to.ref());
  if (!trace)
    return;
  Value destination = destinationOf(*trace, to, "the destination of atomicAdd", loc);
  if (!destination)
    return;
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

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
TLC_ENUM_CONVERSION(policyOf, WarpPolicy, tile::WarpPolicy, TLC_WARP_POLICIES)

template <class Op>
void product(StringRef name, const Handle &a, const Shared &b, Fragment &acc, WarpPolicy policy, Loc loc) {
  Trace *trace = traceOf(a.ref(), b.ref(), acc.ref());
  if (!trace)
    return;
  Value left = trace->use(a.ref(), ("the left factor of " + name).str(), loc);
  Value right = trace->use(b.ref(), ("the right factor of " + name).str(), loc);
  Value variable = trace->use(acc.ref(), ("the accumulator of " + name).str(), loc);
  if (!left || !right || !variable)
    return;
  Value before = trace->read(acc.ref(), "the accumulator", loc);
  if (Value after = trace->create<Op>(loc, before.getType(), left, right, before, policyOf(policy),
                                      tile::MatrixAtomAttr()))
    trace->create<tile::WriteOp>(loc, after, variable);
}
} // namespace

void gemm(const Shared &a, const Shared &b, Fragment &acc, WarpPolicy policy, Loc loc) {
  product<tile::GemmOp>("gemm", a, b, acc, policy, loc);
}
void gemm(const FragmentValue &a, const Shared &b, Fragment &acc, WarpPolicy policy, Loc loc) {
  product<tile::GemmOp>("gemm", a, b, acc, policy, loc);
}
void gemmAsync(const Shared &a, const Shared &b, Fragment &acc, WarpPolicy policy, Loc loc) {
  product<tile::GemmAsyncOp>("gemmAsync", a, b, acc, policy, loc);
}
void gemmAsync(const FragmentValue &a, const Shared &b, Fragment &acc, WarpPolicy policy, Loc loc) {
  product<tile::GemmAsyncOp>("gemmAsync", a, b, acc, policy, loc);
}

namespace {
void productInPlace(const Handle &a, const Shared &b, const TensorMemory &acc, const ProductOptions &options,
                    Loc loc) {
  Trace *trace = traceOf(a.ref(), b.ref(), acc.ref());
  if (!trace)
    return;
  Value left = trace->use(a.ref(), "the left factor of gemmAsync", loc);
  Value right = trace->use(b.ref(), "the right factor of gemmAsync", loc);
  Value sum = trace->use(acc.ref(), "the accumulator of gemmAsync", loc);
  Value accumulate = uniformTruth(*trace, options.accumulate, "whether gemmAsync accumulates", loc);
  if (left && right && sum && accumulate)
    trace->create<tile::GemmInPlaceOp>(loc, left, right, sum, accumulate);
}
} // namespace

void gemmAsync(const Shared &a, const Shared &b, const TensorMemory &acc, const ProductOptions &options,
               Loc loc) {
  productInPlace(a, b, acc, options, loc);
}
void gemmAsync(const TensorMemory &a, const Shared &b, const TensorMemory &acc, const ProductOptions &options,
               Loc loc) {
  productInPlace(a, b, acc, options, loc);
}

void gemmWait(Fragment &acc, int64_t pending, Loc loc) {
  Trace *trace = traceOf(acc.ref());
  if (!trace)
    return;
  Value variable = trace->use(acc.ref(), "the accumulator of gemmWait", loc);
  if (!variable)
    return;
  Value before = trace->read(acc.ref(), "the accumulator", loc);
  if (Value after = trace->create<tile::GemmWaitOp>(loc, before.getType(), before, pending))
    trace->create<tile::WriteOp>(loc, after, variable);
}

} // namespace tlc::dsl::inline v1
