// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fragments to and from global memory: guarded, in vectors where alignment is known.
#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "compiler/lowering/TileToSimt/Multicast.h"
#include "compiler/lowering/TileToSimt/Windows.h"
#include "dialects/tile/Fetch.h"
#include "dialects/tile/SharedSlice.h"
#include "runtime/support/Math.h"

#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {
/// Whether elements of a fragment that differ in their coordinate along the axis alone are known to be the
/// same.
bool isRepeatedAlong(Value fragment, int64_t axis, int depth = 8) {
  auto type = dyn_cast<RankedTensorType>(fragment.getType());
  if (!type || type.getDimSize(unsigned(axis)) == 1)
    return true;
  Operation *op = fragment.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (isa<tile::SplatOp, arith::ConstantOp>(op))
    return true;
  if (auto coordinates = dyn_cast<tile::CoordinatesOp>(op))
    return int64_t(coordinates.getAxis()) != axis;
  bool keepsPlaces =
      isa<tile::BroadcastOp, tile::ConvertLayoutOp>(op) || op->hasTrait<OpTrait::Elementwise>();
  return keepsPlaces && llvm::all_of(op->getOperands(), [&](Value operand) {
           return isRepeatedAlong(operand, axis, depth - 1);
         });
}

} // namespace

bool lowering::sharePositions(Operation *slice, int64_t axis) {
  return llvm::all_of(slice->getUsers(), [&](Operation *user) {
    OperandRange indices = llvm::TypeSwitch<Operation *, OperandRange>(user)
                               .Case<tile::AtomicFetchOp, tile::GatherOp, tile::ScatterOp>(
                                   [](auto at) { return at.getIndices(); });
    return llvm::all_of(indices, [&](Value each) { return isRepeatedAlong(each, axis); });
  });
}

GlobalAccess::GlobalAccess(KernelLowering &k, const Slice &slice, const FragmentLayout &layout,
                           ArrayRef<int64_t> tileShape, GlobalUse use)
    : b(k.b), slice(slice), policy(k.policyOf(slice)), layout(layout), ends(slice.ends),
      axes(slice.tileAxes(tileShape)), thread(threadCoordinates(b, layout, k.team)),
      inside(b, layout, tileShape, thread) {
  const GlobalTensor &tensor = *slice.tensor;
  gathered = tile::gatheredAxesOf(tile::SliceOp(slice.op).getSlice());
  if (!gathered.empty())
    for (int64_t reg = layout.registersPerThread(); reg-- > 0;)
      registerAt[layout.coordinatesOf({reg, 0, 0})] = reg;
  for (auto [origin, axis] : llvm::zip(slice.origin, axes))
    position.push_back(axis < 0 ? origin : b.add(origin, thread[size_t(axis)]));
  inner = axes.back();
  int64_t bytes = tensor.element.getIntOrFloatBitWidth() / 8;
  int64_t widest = std::min<int64_t>(k.target.maxVectorBytes, tensor.argument.getAlignment()) / bytes;
  if (tensor.argument.getStrided())
    widest = 1;
  if (use == GlobalUse::combine)
    widest = std::min<int64_t>(widest, tensor.element.isF32() ? k.target.maxAddedFloats : 1);
  if (slice.isOfAll())
    widest = std::min(widest, widestMulticastVector(tensor.element, use));
  if (tensor.argument.getOrder() == program::TensorOrder::accumulator)
    choosePieceVectors(tileShape, widest, use);
  else if (inner >= 0 && (gathered.empty() || sharePositions(slice.op, inner)))
    chooseRowVectors(tileShape, widest);
}

void GlobalAccess::chooseRowVectors(ArrayRef<int64_t> tileShape, int64_t widest) {
  int64_t fits = std::gcd(layout.contiguousAlong(inner), tileShape[size_t(inner)]);
  fits = std::gcd(fits, slice.originMultiple());
  while (width * 2 <= widest && fits % (width * 2) == 0)
    width *= 2;
  notePart(axes.size() - 1, width);
}

void GlobalAccess::notePart(size_t axis, int64_t extent) {
  if (slice.isGuarded(int(axis)) && !isKnownInside(axis) && slice.endMultiple(int(axis)) % extent != 0)
    parted.emplace_back(axis, extent);
}

RegisterGroups GlobalAccess::groups(int64_t elements) const {
  if (hasRows() || elements == 1)
    return groupRegisters(layout, inner, elements);
  return groupRegisters(layout, pieceVector(elements),
                        [&](const Coordinates &at) { return beginsPieceVector(at, elements); });
}

bool GlobalAccess::isKnownInside(size_t axis) const {
  std::optional<int64_t> origin = Emitter::known(slice.origin[axis]);
  std::optional<int64_t> end = Emitter::known(ends[axis]);
  return origin && end && *origin >= 0 && *origin + slice.extentAlong(axis) <= *end;
}

Value GlobalAccess::hasWholeVectors() {
  Value all;
  for (auto [axis, extent] : parted) {
    // The extent is taken from the end: added to a position just below 2^31 it would wrap around.
    Value isBefore = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, slice.origin[axis],
                                           b.add(ends[axis], -slice.extentAlong(axis)));
    Value isMultiple = b.isEqual(b.remainder(ends[axis], extent), 0);
    all = b.both(all, arith::OrIOp::create(b, isMultiple, isBefore));
  }
  return all;
}

Value GlobalAccess::gatheredPosition(size_t number, ArrayRef<int64_t> constant) {
  int64_t reg = registerAt.at(Coordinates(constant.begin(), constant.end()));
  return b.add(position[size_t(gathered[number])], b.extract(slice.indices[number], reg));
}

Value GlobalAccess::gatheredInside(ArrayRef<int64_t> constant) {
  Value all;
  for (auto [number, axis] : llvm::enumerate(gathered))
    if (slice.isGuarded(int(axis)))
      all = b.both(all, b.isBelow(gatheredPosition(number, constant), ends[size_t(axis)]));
  return all;
}

std::vector<int64_t> GlobalAccess::outerSteps(ArrayRef<int64_t> constant) const {
  std::vector<int64_t> steps;
  for (size_t axis = 0; axis + 1 < position.size(); ++axis)
    steps.push_back(constantAlong(axis, constant));
  return steps;
}

const GlobalAccess::WindowRow &GlobalAccess::windowRow(ArrayRef<int64_t> constant) {
  std::vector<int64_t> steps = outerSteps(constant);
  auto [entry, isNew] = windowRows.try_emplace(steps);
  if (!isNew)
    return entry->second;
  const GlobalTensor &tensor = *slice.tensor;
  const WindowedSource &source = *tensor.source;
  FirstTap first = firstTap(b, source, b.add(position.front(), steps.front()));
  Value index = b.mul(b.extend(position.back()), tensor.strides.back());
  index = b.add(index, b.mul(b.extend(first.image), tensor.strides.front()));
  WindowRow &row = entry->second;
  for (size_t axis = 0; axis < first.at.size(); ++axis) {
    Value tap = b.add(position[axis + 1], steps[axis + 1]);
    Value at = b.add(first.at[axis], b.mul(tap, source.window.dilations[axis]));
    index = b.add(index, b.mul(b.extend(at), tensor.strides[axis + 1]));
    if (source.window.before[axis] != 0 || source.window.after[axis] != 0)
      row.inside = b.both(row.inside, b.isBelow(at, source.extents[axis + 1]));
  }
  row.address = b.element(slice.pointer, tensor.element, index);
  return row;
}

Value GlobalAccess::address(ArrayRef<int64_t> constant) {
  if (!hasRows())
    return addressInPieces(constant);
  const GlobalTensor &tensor = *slice.tensor;
  if (tensor.source)
    return alongRow(windowRow(constant).address, inner < 0 ? 0 : constant[size_t(inner)]);
  size_t last = position.size() - 1;
  if (!base) {
    base = b.i64(0);
    for (auto [axis, at, stride] : llvm::enumerate(position, tensor.strides))
      if (!llvm::is_contained(gathered, int64_t(axis)))
        base = b.add(base, b.mul(b.extend(at), stride));
  }
  if (!gathered.empty()) {
    Value index = base;
    for (auto [number, axis] : llvm::enumerate(gathered))
      index = b.add(index, b.mul(b.extend(gatheredPosition(number, constant)), tensor.strides[size_t(axis)]));
    for (size_t axis = 0; axis < last; ++axis)
      index = b.add(index, b.mul(tensor.strides[axis], constantAlong(axis, constant)));
    Value element = b.element(slice.pointer, tensor.element, index);
    return alongRow(element, inner < 0 ? 0 : constant[size_t(inner)]);
  }
  std::vector<int64_t> outer = outerSteps(constant);
  Value &row = rows[outer];
  if (!row) {
    Value index = base;
    for (auto [step, stride] : llvm::zip(outer, tensor.strides))
      index = b.add(index, b.mul(stride, step));
    row = b.element(slice.pointer, tensor.element, index);
  }
  return alongRow(row, inner < 0 ? 0 : constant[size_t(inner)]);
}

Value GlobalAccess::predicate(ArrayRef<int64_t> constant) {
  Value all = insideTile(constant);
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (llvm::is_contained(gathered, int64_t(axis)) || !slice.isGuarded(int(axis)) || isKnownInside(axis))
      continue;
    int64_t step = constantAlong(axis, constant);
    // Unsigned, so that positions before the tensor are outside, too.
    Value &guard = guards[{int(axis), step}];
    if (!guard) {
      Value at = b.add(position[axis], step);
      // A constant before the tensor is outside whatever its size. This must fold here: see simt.load.
      bool isBefore = b.known(at).value_or(0) < 0;
      guard = isBefore ? b.i1(false) : b.isBelow(at, ends[axis]);
    }
    all = b.both(all, guard);
  }
  return slice.tensor->source ? b.both(all, windowRow(constant).inside) : all;
}

Value GlobalAccess::bytesInside(ArrayRef<int64_t> constant, int64_t elements) {
  Value first = predicate(constant);
  if (!first)
    return {};
  int64_t elementBytes = slice.tensor->element.getIntOrFloatBitWidth() / 8;
  Value bytes = b.i32(elements * elementBytes);
  if (mayStraddle()) {
    Value at = b.add(position.back(), constant[size_t(inner)]);
    Value rest = b.add(ends.back(), b.mul(at, -1));
    bytes = b.mul(b.smaller(rest, b.i32(elements)), elementBytes);
  }
  return b.select(first, bytes, b.i32(0));
}

Value GlobalAccess::load(ArrayRef<int64_t> constant, int64_t elements, Value mayLoad) {
  Type element = slice.tensor->element;
  Type type = elements == 1 ? element : Type(b.vectorOf(elements, element));
  Value inside = b.both(mayLoad, predicate(constant));
  Value loaded =
      rankReduction ? Value(simt::MulticastLoadOp::create(b, type, *rankReduction, address(constant), inside))
                    : Value(simt::LoadOp::create(b, type, address(constant), inside, policy));
  return filledOutside(b, loaded, inside, slice.fill);
}

Value lowering::filledOutside(Emitter &b, Value loaded, Value inside, Value fill) {
  if (!inside || !fill)
    return loaded;
  auto vector = dyn_cast<VectorType>(loaded.getType());
  int64_t elements = vector ? vector.getNumElements() : 1;
  Type element = getElementTypeOrSelf(loaded), word = b.getI32Type();
  fill = vector ? b.splat(fill, elements) : fill;
  // Of narrower elements LLVM would select one at a time.
  int64_t bits = element.getIntOrFloatBitWidth(), wordBits = word.getIntOrFloatBitWidth();
  if (bits >= wordBits || elements * bits % wordBits != 0)
    return b.select(inside, loaded, fill);
  return b.recast(b.select(inside, b.recast(loaded, word), b.recast(fill, word)), element);
}

namespace {
/// How the registers of a vector are loaded or stored: together or each by itself.
enum class Path { vectors, elements };

/// Elements that registers are written to, and how.
struct Write {
  const Slice &slice;
  const FragmentLayout &layout;
  ArrayRef<int64_t> shape;
  GlobalUse use;
  /// Emits it for a vector, by the threads that satisfy the predicate.
  function_ref<void(Value piece, Value address, Value predicate)> emit;
};

void writePath(KernelLowering &k, const Write &write, Value value, Path path) {
  Emitter &b = k.b;
  GlobalAccess access(k, write.slice, write.layout, write.shape, write.use);
  int64_t width = path == Path::vectors ? access.vectorWidth() : 1;
  Value owner = isOwner(b, write.layout, k.team);
  SmallVector<CombinedPiece> combined;
  for (const RegisterGroup &group : access.groups(width).groups) {
    Value predicate = access.predicate(group.start);
    Value piece = width == 1 ? b.extract(value, group.registers[0]) : b.pick(value, group.registers);
    if (write.use == GlobalUse::combine)
      combined.push_back({piece, access.address(group.start), predicate});
    else
      write.emit(piece, access.address(group.start), b.both(owner, predicate));
  }
  combinePieces(b, owner, combined,
                [&](const CombinedPiece &piece) { write.emit(piece.value, piece.address, Value()); });
}
} // namespace

// One branch around all that have a predicate in common: ptxas makes a branch of each that has one.
void lowering::combinePieces(Emitter &b, Value owner, ArrayRef<CombinedPiece> pieces,
                             function_ref<void(const CombinedPiece &)> emit) {
  while (!pieces.empty()) {
    Value predicate = pieces.front().predicate;
    ArrayRef<CombinedPiece> alike =
        pieces.take_while([&](const CombinedPiece &piece) { return piece.predicate == predicate; });
    pieces = pieces.drop_front(alike.size());
    auto emitAll = [&] { llvm::for_each(alike, emit); };
    if (Value all = b.both(owner, predicate))
      b.when(all, emitAll);
    else
      emitAll();
  }
}

// Where it is known at run time only whether a vector lies across the tensor's edge, there is a path with
// vectors and one element by element. What the paths load are vectors, which are cut after both: a thread
// waits for them where it needs them.

Value lowering::loadGlobal(KernelLowering &k, const Slice &slice, const FragmentLayout &layout,
                           ArrayRef<int64_t> shape, std::optional<arith::AtomicRMWKind> rankReduction) {
  Emitter &b = k.b;
  GlobalAccess access(k, slice, layout, shape, GlobalUse::load);
  access.reduceOverRanks(rankReduction);
  const int64_t width = access.vectorWidth();
  const RegisterGroups groups = access.groups(width);
  SmallVector<Value> registers(size_t(layout.registersPerThread()));
  auto place = [&](const RegisterGroup &group, Value loaded) {
    for (auto [i, reg] : llvm::enumerate(group.registers))
      registers[size_t(reg)] = width == 1 ? loaded : b.extract(loaded, int64_t(i));
  };
  auto path = [&](Path path) {
    return [&, path](OpBuilder &, Location) {
      GlobalAccess access(k, slice, layout, shape, GlobalUse::load);
      access.reduceOverRanks(rankReduction);
      SmallVector<Value> pieces;
      for (const RegisterGroup &group : groups.groups) {
        if (path == Path::vectors) {
          pieces.push_back(access.load(group.start, width));
          continue;
        }
        SmallVector<Value> elements;
        for (int64_t reg : group.registers)
          elements.push_back(access.load(layout.coordinatesOf({reg, 0, 0}), 1));
        pieces.push_back(b.pack(elements));
      }
      scf::YieldOp::create(b, pieces);
    };
  };
  if (access.mayStraddle()) {
    auto loads = scf::IfOp::create(b, access.hasWholeVectors(), path(Path::vectors), path(Path::elements));
    for (auto [group, loaded] : llvm::zip_equal(groups.groups, loads.getResults()))
      place(group, loaded);
  } else {
    for (const RegisterGroup &group : groups.groups)
      place(group, access.load(group.start, width));
  }
  for (auto [replica, original] : groups.replicas)
    registers[size_t(replica)] = registers[size_t(original)];
  return b.pack(registers);
}

namespace {
void writeGlobal(KernelLowering &k, const Write &write, Value value) {
  Emitter &b = k.b;
  GlobalAccess access(k, write.slice, write.layout, write.shape, write.use);
  if (!access.mayStraddle())
    return writePath(k, write, value, Path::vectors);
  auto path = [&](Path path) {
    return [&, path](OpBuilder &, Location) {
      writePath(k, write, value, path);
      scf::YieldOp::create(b);
    };
  };
  scf::IfOp::create(b, access.hasWholeVectors(), path(Path::vectors), path(Path::elements));
}
} // namespace

void lowering::storeGlobal(KernelLowering &k, const Slice &slice, const FragmentLayout &layout,
                           ArrayRef<int64_t> shape, Value value) {
  writeGlobal(k,
              {slice, layout, shape, GlobalUse::store,
               [&](Value piece, Value address, Value predicate) {
                 if (slice.isOfAll())
                   simt::MulticastStoreOp::create(k.b, piece, address, predicate);
                 else
                   simt::StoreOp::create(k.b, piece, address, predicate, k.policyOf(slice));
               }},
              value);
}

arith::AtomicRMWKind lowering::atomicKindOf(tile::CombineKind kind, Type element) {
  bool isFloat = isa<FloatType>(element), isUnsigned = element.isUnsignedInteger();
  switch (kind) {
  case tile::CombineKind::add:
    return isFloat ? arith::AtomicRMWKind::addf : arith::AtomicRMWKind::addi;
  case tile::CombineKind::min:
    return isFloat      ? arith::AtomicRMWKind::minnumf
           : isUnsigned ? arith::AtomicRMWKind::minu
                        : arith::AtomicRMWKind::mins;
  case tile::CombineKind::max:
    return isFloat      ? arith::AtomicRMWKind::maxnumf
           : isUnsigned ? arith::AtomicRMWKind::maxu
                        : arith::AtomicRMWKind::maxs;
  case tile::CombineKind::bitAnd:
    return arith::AtomicRMWKind::andi;
  case tile::CombineKind::bitOr:
    return arith::AtomicRMWKind::ori;
  case tile::CombineKind::bitXor:
    break;
  }
  return arith::AtomicRMWKind::xori;
}

void lowering::combineGlobal(KernelLowering &k, tile::CombineKind kind, const Slice &slice,
                             const FragmentLayout &layout, ArrayRef<int64_t> shape, Value value) {
  tile::SliceOp made = slice.op;
  arith::AtomicRMWKind atomic = atomicKindOf(kind, made.getType().getElementType());
  writeGlobal(k,
              {slice, layout, shape, GlobalUse::combine,
               [&](Value piece, Value address, Value) {
                 if (slice.isOfAll())
                   simt::MulticastAtomicOp::create(k.b, atomic, piece, address, /*release=*/false);
                 else
                   simt::AtomicOp::create(k.b, atomic, piece, address, /*system=*/slice.isSymmetric());
               }},
              value);
}
