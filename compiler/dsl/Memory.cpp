// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors of ranks and tables, views of tiles. Extents and types are checked by the operations' own
/// verifiers.
#include "compiler/dsl/Arithmetic.h"
#include "compiler/dsl/Trace.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/support/Excerpt.h"
#include "runtime/target/Hardware.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

//===----------------------------------------------------------------------===//
// Tensors and views
//===----------------------------------------------------------------------===//

Global Symmetric::of(const Index &rank, Loc loc) const {
  Trace *trace = traceOf(reference, rank.ref());
  if (!trace)
    return {};
  std::optional<int64_t> known = rank.constant();
  if (known && (*known < 0 || *known >= maxRanks)) {
    trace->error(loc, "expected a rank from 0 to " + Twine(maxRanks - 1) + ", but got " + Twine(*known));
    return trace->poison<Global>();
  }
  return Global(reference, rank);
}

Global Symmetric::ofAll() const {
  return traceOf(reference) ? Global(reference, Global::Owners::all) : Global();
}

namespace {
/// The extents of a member, open axes as values beside; false, silently or with an error, if one is wrong.
bool addExtents(Trace &trace, const std::string &what, const std::vector<Index> &extents,
                SmallVectorImpl<int64_t> &shape, SmallVectorImpl<Value> &open, Loc loc) {
  for (auto [axis, extent] : llvm::enumerate(extents)) {
    std::optional<int64_t> known = extent.constant();
    if (known && (*known < 1 || *known > maxExtent)) {
      trace.error(loc, "expected the extents of " + what + " to be from 1 to " + Twine(maxExtent) +
                           ", but axis " + Twine(axis) + " has " + Twine(*known));
      return false;
    }
    shape.push_back(known.value_or(ShapedType::kDynamic));
    if (known)
      continue;
    open.push_back(trace.useUniform(extent, "an extent of " + what, loc));
    if (!open.back())
      return false;
  }
  return true;
}
} // namespace

Global Addresses::of(const Index &number, const std::vector<Index> &extents,
                     const std::vector<Index> &strides, Loc loc) const {
  Trace *trace = traceOf(reference, number.ref());
  if (!trace)
    return {};
  Value table = trace->use(reference, "a table of addresses", loc);
  if (!table)
    return trace->poison<Global>();
  program::TensorAttr attr = trace->tensorOf(table);
  std::string what = "a member of '" + excerpt(attr.getName()) + "'";
  int64_t axes = attr.getMembers().getAxes();
  auto fail = [&](const Twine &message) {
    Diagnostic &diagnostic = trace->error(loc, message);
    trace->noteDeclaration(diagnostic, table);
    return trace->poison<Global>();
  };
  if (int64_t(extents.size()) != axes)
    return fail("expected an extent for each of the " + Twine(axes) + " axes of " + what + ", but got " +
                Twine(extents.size()));
  if (int64_t(strides.size()) != axes - 1)
    return fail("expected " + Twine(axes - 1) + " strides of " + what +
                " because that of its last axis is 1, but got " + Twine(strides.size()));
  if (std::optional<int64_t> known = number.constant(); known && *known < 0)
    return fail("expected the number of " + what + " to be at least 0, but got " + Twine(*known));
  for (const Index &stride : strides)
    if (std::optional<int64_t> known = stride.constant(); known && *known < 0)
      return fail("expected the strides of " + what + " to be at least 0, but got " + Twine(*known));
  SmallVector<int64_t> shape;
  SmallVector<Value> open, outer;
  if (!addExtents(*trace, what, extents, shape, open, loc))
    return trace->poison<Global>();
  for (const Index &stride : strides) {
    outer.push_back(trace->useUniform(stride, "a stride of " + what, loc));
    if (!outer.back())
      return trace->poison<Global>();
  }
  Value at = trace->useUniform(number, "the number of " + what, loc);
  if (!at)
    return trace->poison<Global>();
  auto type = tile::GlobalType::get(trace->builder.getContext(), shape, attr.getMembers().getElement());
  return trace->make<Global>(trace->create<tile::MemberOp>(loc, type, table, at, open, outer));
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
  auto view = tile::SharedType::get(trace->builder.getContext(), extents, type.getElementType(),
                                    /*layout=*/{}, type.getTransposed());
  return trace->make<Shared>(trace->create<tile::RowsOp>(loc, view, source, first));
}

Shared Shared::columns(int64_t first, int64_t count, Loc loc) const {
  return t(loc).rows(first, count, loc).t(loc);
}

namespace {
/// The slot of a buffer at a position, or null.
template <class T>
Value slotAt(Trace &trace, Value buffer, Value at, bool hasSlots, StringRef what, Loc loc) {
  if (!buffer || !at)
    return {};
  auto type = cast<T>(buffer.getType());
  if (hasSlots)
    return trace.create<tile::SlotOp>(loc, type.slot(), buffer, at);
  Diagnostic &diagnostic =
      trace.error(loc, "expected " + what + " with slots, but got " + trace.describe(buffer));
  trace.noteDeclaration(diagnostic, buffer);
  return {};
}
constexpr StringRef sharedTile = "a shared tile", tensorTile = "a tile in tensor memory";
} // namespace

Shared Shared::slot(const Slot &slot, Loc loc) const {
  Trace *trace = traceOf(reference, slot.ref());
  if (!trace)
    return {};
  Value buffer = trace->use(reference, sharedTile, loc), at = trace->use(slot.ref(), "a slot", loc);
  return trace->make<Shared>(slotAt<tile::SharedType>(*trace, buffer, at, slots, sharedTile, loc));
}

namespace {
bool hasSlots(Value buffer) {
  return buffer && cast<tile::TensorMemoryType>(buffer.getType()).getShape().size() == 3;
}
} // namespace

TensorMemory TensorMemory::slot(const Slot &slot, Loc loc) const {
  Trace *trace = traceOf(reference, slot.ref());
  if (!trace)
    return {};
  Value buffer = trace->use(reference, tensorTile, loc), at = trace->use(slot.ref(), "a slot", loc);
  return trace->make<TensorMemory>(
      slotAt<tile::TensorMemoryType>(*trace, buffer, at, hasSlots(buffer), tensorTile, loc));
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
  Trace *trace = traceOf(reference);
  if (!trace)
    return {};
  for (const Index &at : position)
    if (!trace->useUniform(at, "a position to read", loc))
      return trace->poison<Index>();
  Slice element = tile(position, Shape(position.size(), 1), loc);
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

} // namespace tlc::dsl::inline v1
