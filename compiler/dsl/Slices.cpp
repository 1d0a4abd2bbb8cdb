// SPDX-License-Identifier: Apache-2.0
/// \file
/// Slices of tensors and of shared tiles, as sources and destinations, and with positions per element.
#include "compiler/dsl/Slices.h"

#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "dialects/tile/SharedSlice.h"
#include "mlir/IR/Matchers.h"
#include "runtime/support/Excerpt.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

namespace {
/// Positions in a tensor or tile: of the box, and of each element along the axes that have them.
struct Positions {
  SmallVector<Value> origin;
  SmallVector<int64_t> gathered; ///< axes
  SmallVector<Value> perElement; ///< along each of them
};

/// The number that all elements are, as a position; null if it is not known to be one.
Value uniformPosition(Trace &trace, Value fragment, Loc loc) {
  Operation *op = fragment.getDefiningOp();
  if (isa_and_nonnull<tile::BroadcastOp, arith::IndexCastOp>(op))
    return uniformPosition(trace, op->getOperand(0), loc);
  DenseIntElementsAttr constant;
  if (matchPattern(fragment, m_Constant(&constant)) && constant.isSplat())
    return trace.index(constant.getSplatValue<APInt>().getSExtValue(), loc);
  auto splat = dyn_cast_or_null<tile::SplatOp>(op);
  if (!splat)
    return {};
  Value number = splat.getValue();
  return number.getType().isIndex()
             ? number
             : trace.create<arith::IndexCastOp>(loc, trace.builder.getIndexType(), number);
}

/// Where positions are first, first + 1, ... along the axis, and the same along all others: the first one;
/// null if they are not known to be.
Value firstOfRow(Trace &trace, Value fragment, int64_t axis, Loc loc) {
  Operation *op = fragment.getDefiningOp();
  if (auto coordinates = dyn_cast_or_null<tile::CoordinatesOp>(op))
    return int64_t(coordinates.getAxis()) == axis ? trace.index(0, loc) : Value();
  if (isa_and_nonnull<tile::BroadcastOp, arith::IndexCastOp>(op))
    return firstOfRow(trace, op->getOperand(0), axis, loc);
  if (!isa_and_nonnull<arith::AddIOp>(op))
    return {};
  for (auto [row, other] :
       {std::pair(op->getOperand(0), op->getOperand(1)), std::pair(op->getOperand(1), op->getOperand(0))})
    if (Value first = firstOfRow(trace, row, axis, loc))
      if (Value shift = uniformPosition(trace, other, loc))
        return trace.create<arith::AddIOp>(loc, first, shift);
  return {};
}

/// The axis of positions that an axis of the slice is, of which they may lack those of extent 1; nothing if
/// they have none.
std::optional<size_t> ownAxis(Value positions, size_t axis, const TileExtents &extents) {
  const auto own = size_t(cast<RankedTensorType>(positions.getType()).getRank());
  if (own == extents.size())
    return axis;
  const auto isLong = [](int64_t extent) { return extent != 1; };
  if (axis >= extents.size() || extents[axis] == 1 || size_t(llvm::count_if(extents, isLong)) != own)
    return std::nullopt;
  return size_t(std::count_if(extents.begin(), extents.begin() + ptrdiff_t(axis), isLong));
}

int64_t extentAlong(Value positions, size_t axis, const TileExtents &extents) {
  const std::optional<size_t> own = ownAxis(positions, axis, extents);
  return own ? cast<RankedTensorType>(positions.getType()).getDimSize(unsigned(*own)) : 1;
}

/// Of several axes with positions per element, those along which they follow one another are those of a box.
void findBoxes(Trace &trace, Positions &positions, const TileExtents &extents, Loc loc) {
  if (positions.gathered.size() < 2 || positions.origin.size() != extents.size())
    return;
  llvm::erase_if(positions.gathered, [&](int64_t gathered) {
    const auto axis = size_t(gathered);
    Value each = positions.origin[axis];
    const std::optional<size_t> own = ownAxis(each, axis, extents);
    if (!own || extentAlong(each, axis, extents) != extents[axis])
      return false;
    Value first = firstOfRow(trace, each, int64_t(*own), loc);
    if (first)
      positions.origin[axis] = first;
    return bool(first);
  });
}

std::string listOf(ArrayRef<int64_t> extents) {
  return llvm::join(llvm::map_range(extents, [](int64_t extent) { return std::to_string(extent); }), ", ");
}

/// Extents with 1 for each axis that is `bare`: those of the tile are for the axes with positions alone.
/// Empty where other axes are between these.
Shape extentsWithout(const Positions &positions, ArrayRef<int64_t> bare, ArrayRef<int> boxes,
                     const TileExtents &extents) {
  ArrayRef<int64_t> gathered = positions.gathered;
  const int64_t first = std::min(bare.front(), gathered.front()),
                last = std::max(bare.back(), gathered.back());
  if (last - first + 1 != int64_t(bare.size() + gathered.size()))
    return {};
  const bool areTogether = gathered.back() - gathered.front() + 1 == int64_t(gathered.size());
  if (!areTogether)
    return {};
  const auto before = llvm::count_if(bare, [&](int64_t axis) { return axis < gathered.front(); });
  Shape own = extents;
  own.insert(own.end() - ptrdiff_t(boxes.size() - size_t(last) - 1), size_t(bare.size()) - size_t(before), 1);
  own.insert(own.begin() + first, size_t(before), 1);
  return own;
}

/// Axes that have one position, though the elements along them have several positions along a gathered one.
void reportBare(Trace &trace, StringRef name, const Positions &positions, ArrayRef<int64_t> bare,
                ArrayRef<int> boxes, const TileExtents &extents, Loc loc) {
  const int64_t axis = bare.front();
  const auto along = size_t(boxes[size_t(axis)]);
  const auto sum = [&](const Shape &shape) {
    return "position + k.positions({" + listOf(shape) + "}, " + std::to_string(along) + ").toIndex()";
  };
  const auto *differing =
      llvm::find_if(positions.perElement, [&](Value each) { return extentAlong(each, along, extents) != 1; });
  const int64_t gathered = positions.gathered[size_t(differing - positions.perElement.begin())];
  Shape row(extents.size(), 1);
  const std::string alone = sum(row);
  row[along] = extents[along];
  const Shape own = extentsWithout(positions, bare, boxes, extents);
  trace.error(loc, "expected positions along axis " + Twine(axis) + " of '" + excerpt(name) +
                       "' as well because those along axis " + Twine(gathered) +
                       " differ there, but got one position; for that position and those after it, write " +
                       sum(row) + "; for that position alone, write " +
                       (own.empty() ? alone : "the extents {" + listOf(own) + "}"));
}

/// Nothing, with an error, where one is wrong.
std::optional<Positions> positionsOf(Trace &trace, StringRef name, const std::vector<Index> &origin,
                                     const TileExtents &extents, Loc loc) {
  Positions positions;
  for (auto [axis, position] : llvm::enumerate(origin)) {
    Value value = trace.use(position, "a position in '" + excerpt(name) + "'", loc);
    if (!value)
      return std::nullopt;
    if (isa<RankedTensorType>(value.getType()))
      positions.gathered.push_back(int64_t(axis));
    positions.origin.push_back(value);
  }
  const SmallVector<int64_t> perElement = positions.gathered;
  findBoxes(trace, positions, extents, loc);
  for (int64_t axis : positions.gathered)
    positions.perElement.push_back(std::exchange(positions.origin[size_t(axis)], trace.index(0, loc)));
  if (!tile::hasBoxAxes(positions.gathered, origin.size(), extents.size()))
    return positions; // the operation reports it
  const SmallVector<int> boxes = tile::boxAxes(positions.gathered, origin.size(), extents.size());
  SmallVector<int64_t> bare;
  for (auto [axis, box] : llvm::enumerate(boxes)) {
    if (llvm::is_contained(perElement, int64_t(axis)) || extents[size_t(box)] == 1)
      continue;
    const auto along = size_t(box);
    if (llvm::any_of(positions.perElement,
                     [&](Value each) { return extentAlong(each, along, extents) != 1; }))
      bare.push_back(int64_t(axis));
  }
  if (bare.empty())
    return positions;
  reportBare(trace, name, positions, bare, boxes, extents, loc);
  return std::nullopt;
}

Slice sliceOf(Trace &trace, Value slice, const Positions &positions) {
  std::vector<detail::Ref> perElement;
  for (Value each : positions.perElement)
    perElement.push_back(trace.make<Handle>(each).ref());
  return Slice(trace.make<Handle>(slice).ref(), std::move(perElement));
}
} // namespace

Slice Global::tile(const std::vector<Index> &origin, const TileExtents &extents, Loc loc) const {
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
  std::optional<Positions> positions = positionsOf(*trace, name, origin, extents, loc);
  if (!positions)
    return trace->poison<Slice>();
  Value rank = owner ? trace->useUniform(*owner, "the rank of '" + excerpt(name) + "'", loc) : Value();
  if (owner && !rank)
    return trace->poison<Slice>();
  auto type =
      tile::SliceType::get(trace->builder.getContext(), extents, tile::elementTypeOf(tensor.getType()));
  Value slice = trace->create<tile::SliceOp>(
      loc, type, tensor, rank, owners == Owners::all, positions->origin, Value(), Value(), IntegerAttr(),
      positions->gathered, StringAttr(), StringAttr(), program::EvictionAttr());
  return sliceOf(*trace, slice, *positions);
}

Slice Shared::tile(const std::vector<Index> &origin, const TileExtents &extents, Loc loc) const {
  Trace *trace = traceOf(reference);
  if (!trace)
    return {};
  Value tile = trace->use(reference, "a shared tile", loc);
  if (!tile)
    return trace->poison<Slice>();
  StringRef name = tile::nameOf(tile);
  if (slots) {
    Diagnostic &diagnostic =
        trace->error(loc, "expected one slot of shared tile '" + excerpt(name) +
                              "' for a slice, but got all of them; take it with .slot(at)");
    trace->noteDeclaration(diagnostic, tile);
    return trace->poison<Slice>();
  }
  if (!trace->checkExtents("the slice of '" + excerpt(name) + "'", extents, loc))
    return trace->poison<Slice>();
  std::optional<Positions> positions = positionsOf(*trace, name, origin, extents, loc);
  if (!positions)
    return trace->poison<Slice>();
  auto type = tile::SliceType::get(trace->builder.getContext(), extents, tile::elementTypeOf(tile.getType()));
  Value slice = trace->create<tile::SliceSharedOp>(loc, type, tile, positions->origin, Value(), Value(),
                                                   IntegerAttr(), positions->gathered, StringAttr());
  return sliceOf(*trace, slice, *positions);
}

namespace {
/// What is said of a slice besides its box.
struct SliceFacts {
  explicit SliceFacts(tile::SliceOp made)
      : limit(made.getLimit()), fill(made.getFill()), limitedAxis(made.getLimitedAxisAttr()),
        unchecked(made.getUncheckedAttr()), disjoint(made.getDisjointAttr()),
        eviction(made.getEvictionAttr()) {}
  explicit SliceFacts(tile::SliceSharedOp made)
      : limit(made.getLimit()), fill(made.getFill()), limitedAxis(made.getLimitedAxisAttr()),
        unchecked(made.getUncheckedAttr()) {}

  /// The same box with these facts.
  Value create(Trace &trace, tile::SliceOp made, Loc loc) const {
    return trace.create<tile::SliceOp>(loc, made.getType(), made.getTensor(), made.getRank(), made.getOfAll(),
                                       made.getOrigin(), limit, fill, limitedAxis, made.getGatheredAxes(),
                                       unchecked, disjoint, eviction);
  }
  Value create(Trace &trace, tile::SliceSharedOp made, Loc loc) const {
    return trace.create<tile::SliceSharedOp>(loc, made.getType(), made.getTile(), made.getOrigin(), limit,
                                             fill, limitedAxis, made.getGatheredAxes(), unchecked);
  }

  Value limit, fill;
  IntegerAttr limitedAxis;
  StringAttr unchecked, disjoint;
  program::EvictionAttr eviction;
};

/// The slice with facts that `change` changes, which returns whether it may; poisoned, silently or with an
/// error, if it may not. Without a trace there is none.
Slice withFacts(Trace *current, const Slice &slice, Loc loc,
                function_ref<bool(Trace &trace, Operation *made, SliceFacts &facts)> change) {
  if (!current)
    return {};
  Trace &trace = *current;
  Value value = trace.use(slice.ref(), "a slice", loc), changed;
  auto create = [&](auto made) {
    SliceFacts facts(made);
    if (change(trace, made, facts))
      changed = facts.create(trace, made, loc);
  };
  if (auto ofTile = value ? value.getDefiningOp<tile::SliceSharedOp>() : tile::SliceSharedOp())
    create(ofTile);
  else if (auto ofTensor = value ? value.getDefiningOp<tile::SliceOp>() : tile::SliceOp())
    create(ofTensor);
  return changed ? Slice(trace.make<Handle>(changed).ref(), slice.positions()) : trace.poison<Slice>();
}

/// Whether it is one of a tensor: if not, an error that says why `call` needs one.
bool checkOfTensor(Trace &trace, Operation *made, StringRef call, StringRef why, Loc loc) {
  if (isa<tile::SliceOp>(made))
    return true;
  Diagnostic &diagnostic =
      trace.error(loc, "expected a slice of a tensor for " + call + " because " + why + ", but got one of " +
                           tile::describe(made->getResult(0), "a shared tile"));
  trace.noteDeclaration(diagnostic, made->getResult(0));
  return false;
}
} // namespace

Slice Slice::limited(int64_t axis, const Index &end, Loc loc) const {
  return withFacts(traceOf(reference, end.ref()), *this, loc,
                   [&](Trace &trace, Operation *made, SliceFacts &facts) {
                     Value limit = trace.useUniform(end, "a limit", loc);
                     if (facts.limit) {
                       Diagnostic &diagnostic =
                           trace.error(loc, "expected a slice without a limit because it can have one, but "
                                            "got one that is limited along axis " +
                                                Twine(facts.limitedAxis.getInt()));
                       diagnostic.notes.push_back({positionOf(made->getLoc()), "limited here"});
                       return false;
                     }
                     facts.limit = limit;
                     facts.limitedAxis = trace.builder.getI64IntegerAttr(axis);
                     return bool(limit);
                   });
}

Slice Slice::fill(const Scalar &value, Loc loc) const {
  return withFacts(traceOf(reference, value.ref()), *this, loc,
                   [&](Trace &trace, Operation *made, SliceFacts &facts) {
                     Type element = tile::elementTypeOf(made->getResult(0).getType());
                     facts.fill = value.constant() ? trace.number(*value.constant(), element, loc)
                                                   : trace.use(value.ref(), "a fill value", loc);
                     return bool(facts.fill);
                   });
}

Slice Slice::unchecked(std::string_view reason, Loc loc) const {
  return withFacts(traceOf(reference), *this, loc, [&](Trace &trace, Operation *, SliceFacts &facts) {
    facts.unchecked = trace.builder.getStringAttr(reason);
    return true;
  });
}

Slice Slice::disjoint(std::string_view reason, Loc loc) const {
  return withFacts(traceOf(reference), *this, loc, [&](Trace &trace, Operation *made, SliceFacts &facts) {
    facts.disjoint = trace.builder.getStringAttr(reason);
    return checkOfTensor(trace, made, "disjoint", "barriers order accesses of a whole shared tile", loc);
  });
}

Slice Slice::evict(Eviction eviction, Loc loc) const {
  return withFacts(traceOf(reference), *this, loc, [&](Trace &trace, Operation *made, SliceFacts &facts) {
    facts.eviction = {};
    if (eviction != Eviction::normal)
      facts.eviction = program::EvictionAttr::get(trace.builder.getContext(), eviction == Eviction::first
                                                                                  ? program::Eviction::first
                                                                                  : program::Eviction::last);
    return checkOfTensor(trace, made, "evict", "shared memory is no part of L2", loc);
  });
}

//===----------------------------------------------------------------------===//
// Sources and destinations
//===----------------------------------------------------------------------===//

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

std::optional<SmallVector<Value>> positionsFor(Trace &trace, const Slice &slice, RankedTensorType fragment,
                                               Loc loc) {
  SmallVector<Value> all;
  ArrayRef<int64_t> shape = fragment.getShape();
  auto fits = [](auto extents) {
    return std::get<0>(extents) == 1 || std::get<0>(extents) == std::get<1>(extents);
  };
  for (const detail::Ref &each : slice.positions()) {
    Value positions = trace.use(each, "the positions of a slice", loc);
    if (!positions)
      return std::nullopt;
    ArrayRef<int64_t> own = cast<RankedTensorType>(positions.getType()).getShape();
    if (own.size() != shape.size() || !llvm::all_of(llvm::zip(own, shape), fits)) {
      trace.error(loc, "expected positions for " + tile::toText(shape) +
                           " elements, or extents of 1 where one is repeated, but got " +
                           trace.describe(positions));
      return std::nullopt;
    }
    all.push_back(trace.broadcast(positions, shape, loc));
  }
  return all;
}

Value gathered(Trace &trace, const Slice &from, RankedTensorType type, Loc loc) {
  Value source = trace.use(from.ref(), "the source of copy", loc);
  std::optional<SmallVector<Value>> positions;
  if (source)
    positions = positionsFor(trace, from, type, loc);
  return positions ? trace.create<tile::GatherOp>(loc, type, source, *positions) : Value();
}

void scatter(Trace &trace, Value value, Value destination, const Slice &to,
             std::optional<tile::CombineKind> kind, Loc loc) {
  auto positions = positionsFor(trace, to, cast<RankedTensorType>(value.getType()), loc);
  auto attr = kind ? tile::CombineKindAttr::get(trace.builder.getContext(), *kind) : tile::CombineKindAttr();
  if (positions)
    trace.create<tile::ScatterOp>(loc, value, destination, *positions, attr);
}

RankedTensorType fragmentOf(Value tile) {
  return RankedTensorType::get(tile::extentsOf(tile.getType()), tile::elementTypeOf(tile.getType()));
}

} // namespace tlc::dsl::inline v1
