// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fragments to and from shared memory, by ordinary loads and stores.
#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "runtime/support/Math.h"

#include <numeric>

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {
/// Swizzles add these bits of the offset, shifted by 3, to it.
int64_t swizzledBits(Swizzle swizzle) { return swizzleSpan(swizzle) - swizzleChunkBytes; }
} // namespace

SharedAddresses::SharedAddresses(Emitter &b, const SharedTile &tile, const FragmentLayout &layout,
                                 const Team &team, ArrayRef<Value> moving)
    : b(b), tile(tile), fragment(layout), team(team), moving(moving) {
  if (!moving.empty() || tile.layout.isInPieces())
    return;
  threadOffset = b.i32(0);
  for (int axis = 0; axis < layout.rank(); ++axis)
    for (const PlacedMode &mode : layout.modesAlong(axis))
      if (mode.hardware != HardwareAxis::reg && threadOffset && !addMode(mode))
        threadOffset = {};
}

/// Adds a mode's part of the offset; false if it is not a multiple of its digit.
bool SharedAddresses::addMode(const PlacedMode &placed) {
  LayoutMode mode = placed.mode;
  int axis = tile.layoutAxis(mode.axis);
  auto add = [&](Value digit, int64_t extent, int64_t pitch) {
    int64_t bits = 0;
    for (int64_t value = 0; value < extent; ++value)
      bits |= value * pitch;
    disjoint &= (bits & threadBits) == 0;
    threadBits |= bits;
    threadOffset = b.add(threadOffset, b.mul(digit, pitch));
  };
  Value digit = digitOf(b, placed, team);
  const SharedLayout &layout = tile.layout;
  if (axis != layout.contiguousAxis()) {
    Coordinates step(layout.shape().size(), 0);
    step[size_t(axis)] = mode.step;
    add(digit, mode.extent, layout.linearOffset(step));
    return true;
  }
  if (mode.step % periodOf(layout.rowOrder()) != 0)
    return false;
  int64_t panel = layout.panelExtent(), bytes = tile.elementBytes();
  if (layout.panels() == 1 || mode.step * mode.extent <= panel) {
    mostInPanel += (mode.extent - 1) * mode.step;
    add(digit, mode.extent, mode.step * bytes);
    return true;
  }
  if (mode.step >= panel) {
    if (mode.step % panel != 0)
      return false;
    add(digit, mode.extent, mode.step / panel * layout.panelPitch());
    return true;
  }
  // The digit's lower part moves within a panel, the upper part from panel to panel.
  if (panel % mode.step != 0 || mode.extent % (panel / mode.step) != 0)
    return false;
  int64_t within = panel / mode.step;
  mostInPanel += (within - 1) * mode.step;
  add(b.remainder(digit, within), within, mode.step * bytes);
  add(b.divide(digit, within), mode.extent / within, layout.panelPitch());
  return true;
}

namespace {
Value swizzledOffset(Emitter &b, const SharedLayout &layout, Value offset) {
  if (layout.swizzle() == Swizzle::none)
    return offset;
  return b.bitXor(offset, b.bitAnd(b.shiftRight(offset, 3), swizzledBits(layout.swizzle())));
}

/// The place, in the order of its row, of an element that the device computes.
Value placeOf(Emitter &b, const SharedLayout &layout, Value element) {
  SmallVector<Value> moved;
  int64_t stay = -1, stride = 1;
  for (const LayoutMode &mode : layout.rowOrder()) {
    if (mode.step != stride) {
      int64_t bits = mode.extent - 1;
      moved.push_back(b.mul(b.bitAnd(b.shiftRight(element, log2Floor(stride)), bits), mode.step));
      stay &= ~(bits * stride);
    }
    stride *= mode.extent;
  }
  if (moved.empty())
    return element;
  Value place = b.bitAnd(element, stay);
  for (Value part : moved)
    place = b.add(place, part);
  return place;
}

/// Bytes of an element of a tile in pieces because of its place along an axis.
Value offsetInPieces(Emitter &b, const SharedLayout &layout, int axis, Value coordinate) {
  const Modes &digits = layout.map().modes(size_t(axis));
  Value offset = b.i32(0);
  int64_t weight = 1;
  for (auto [i, digit] : llvm::enumerate(digits)) {
    Value value = b.divide(coordinate, weight);
    if (i + 1 < digits.size())
      value = b.remainder(value, digit.extent);
    offset = b.add(offset, b.mul(value, digit.step / 8));
    weight *= digit.extent;
  }
  return offset;
}
} // namespace

Value SharedAddresses::swizzled(Value offset) { return swizzledOffset(b, tile.layout, offset); }

Value lowering::addressIn(Emitter &b, const SharedTile &tile, ArrayRef<Value> coordinates) {
  const SharedLayout &layout = tile.layout;
  Value offset = b.i32(0);
  for (int axis = 0; axis < tile.rank(); ++axis) {
    int at = tile.layoutAxis(axis);
    Value coordinate = coordinates[size_t(axis)];
    if (layout.isInPieces()) {
      offset = b.add(offset, offsetInPieces(b, layout, at, coordinate));
      continue;
    }
    if (at == layout.contiguousAxis()) {
      coordinate = placeOf(b, layout, coordinate);
      if (layout.panels() > 1) {
        offset = b.add(offset, b.mul(b.divide(coordinate, layout.panelExtent()), layout.panelPitch()));
        coordinate = b.remainder(coordinate, layout.panelExtent());
      }
      offset = b.add(offset, b.mul(coordinate, tile.elementBytes()));
      continue;
    }
    Coordinates unit(layout.shape().size(), 0);
    unit[size_t(at)] = 1;
    offset = b.add(offset, b.mul(coordinate, layout.linearOffset(unit)));
  }
  return b.offset(tile.base, swizzledOffset(b, layout, offset));
}

/// Where steps and panels do not divide one another.
Value SharedAddresses::fullAddress(ArrayRef<int64_t> constant) {
  if (thread.empty()) {
    thread = threadCoordinates(b, fragment, team);
    for (auto [coordinate, first] : llvm::zip(thread, moving))
      coordinate = b.add(coordinate, first);
  }
  SmallVector<Value> coordinates;
  for (auto [coordinate, first] : llvm::zip(thread, constant))
    coordinates.push_back(b.add(coordinate, first));
  return addressIn(b, tile, coordinates);
}

Value SharedAddresses::at(ArrayRef<int64_t> constant) {
  const SharedLayout &layout = tile.layout;
  Coordinates coordinates = tile.layoutCoordinates(constant);
  int64_t column = coordinates[size_t(layout.contiguousAxis())];
  bool crosses = layout.panels() > 1 && mostInPanel + column % layout.panelExtent() >= layout.panelExtent();
  if (!threadOffset || crosses)
    return fullAddress(constant);
  int64_t offset = layout.linearOffset(coordinates);
  if (layout.swizzle() != Swizzle::none && (!disjoint || (threadBits & offset)))
    return b.offset(tile.base, swizzled(b.add(threadOffset, offset)));
  // Parts without common bits can be swizzled one by one: what the constant's low bits
  // become is xored to the thread's part, the rest goes into the instruction.
  int64_t low = layout.swizzle() == Swizzle::none ? 0 : offset % swizzleAlignment;
  int64_t permuted = applySwizzle(layout.swizzle(), low);
  Value &base = bases[permuted];
  if (!base) {
    if (!threadSwizzled)
      threadSwizzled = swizzled(threadOffset);
    base = b.offset(tile.base, b.bitXor(threadSwizzled, b.i32(permuted)));
  }
  return b.offset(base, offset - low);
}

int64_t lowering::sharedVectorWidth(const KernelLowering &k, const SharedTile &tile,
                                    const FragmentLayout &layout, ArrayRef<int64_t> shape) {
  int axis = tile.contiguousAxis();
  int64_t widest = std::max<int64_t>(1, k.target.maxVectorBytes / tile.elementBytes());
  int64_t common = std::gcd(std::gcd(layout.contiguousAlong(axis), tile.layout.contiguousElements()),
                            std::gcd(shape[size_t(axis)], widest));
  return powerOf2Factor(common);
}

Value lowering::loadShared(KernelLowering &k, const SharedTile &tile, const FragmentLayout &layout,
                           ArrayRef<int64_t> shape, ArrayRef<int64_t> origin, ArrayRef<Value> moving) {
  if (moving.empty() && fitsMatrixMoves(tile, layout, shape))
    return loadMatrices(k, tile, layout, origin);
  Emitter &b = k.b;
  int axis = tile.contiguousAxis();
  int64_t width = sharedVectorWidth(k, tile, layout, shape);
  if (!origin.empty())
    width = std::gcd(width, origin[size_t(axis)]);
  if (!moving.empty() && Emitter::known(moving[size_t(axis)]) != 0)
    width = 1;
  Type type = width == 1 ? tile.element : Type(b.vectorOf(width, tile.element));
  SharedAddresses addresses(b, tile, layout, k.team, moving);
  InsidePredicates inside(b, layout, shape, threadCoordinates(b, layout, k.team));
  RegisterGroups groups = groupRegisters(layout, axis, width);
  SmallVector<Value> registers(size_t(layout.registersPerThread()));
  for (const RegisterGroup &group : groups.groups) {
    Coordinates at = group.start;
    for (auto [coordinate, first] : llvm::zip(at, origin))
      coordinate += first;
    Value loaded = simt::LoadOp::create(b, type, addresses.at(at), inside.at(group.start), Value());
    for (auto [i, reg] : llvm::enumerate(group.registers))
      registers[size_t(reg)] = width == 1 ? loaded : b.extract(loaded, int64_t(i));
  }
  for (auto [replica, original] : groups.replicas)
    registers[size_t(replica)] = registers[size_t(original)];
  return b.pack(registers);
}

namespace {
/// Stores a fragment to a tile in pieces, in the widest vectors of elements that are adjacent there; false if
/// registers, lanes and warps do not each add their part to the offset of an element.
bool storeByPlaces(KernelLowering &k, const SharedTile &tile, const FragmentLayout &layout, Value owner,
                   ArrayRef<int64_t> shape, Value value) {
  std::optional<LayoutMap> bits = layout.map().then(tile.layout.map());
  for (auto [axis, extent] : llvm::enumerate(shape))
    if (tile.layoutAxis(int(axis)) != int(axis) || layout.coveredExtent(int(axis)) != extent)
      return false;
  if (!bits || layout.replication(HardwareAxis::reg) != 1)
    return false;
  Emitter &b = k.b;
  int64_t elementBits = tile.layout.elementBits(), width = k.target.maxVectorBytes * 8 / elementBits;
  Value offset = b.i32(0);
  for (HardwareAxis hardware : {HardwareAxis::lane, HardwareAxis::warp}) {
    int64_t stride = 1;
    for (const LayoutMode &mode : bits->modes(size_t(hardware))) {
      if (!mode.isReplicated()) {
        offset = b.add(offset, b.mul(digitOf(b, {hardware, mode, stride}, k.team), mode.step / 8));
        width = std::gcd(width, mode.step / elementBits);
      }
      stride *= mode.extent;
    }
  }
  std::map<int64_t, int64_t> registers; // by place
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg)
    registers[(*bits)(std::array<int64_t, 3>{reg, 0, 0}).front() / elementBits] = reg;
  auto isWhole = [&](int64_t place) {
    return llvm::all_of(llvm::seq(width), [&](int64_t i) { return registers.contains(place + i); });
  };
  while (!llvm::all_of(registers, [&](const auto &held) { return isWhole(held.first / width * width); }))
    width /= 2;
  Value base = b.offset(tile.base, offset);
  b.when(owner, [&] {
    for (auto [place, reg] : registers) {
      if (place % width != 0)
        continue;
      SmallVector<int64_t> vector;
      for (int64_t i = 0; i < width; ++i)
        vector.push_back(registers[place + i]);
      Value piece = width == 1 ? b.extract(value, reg) : b.pick(value, vector);
      simt::StoreOp::create(b, piece, b.offset(base, place * elementBits / 8), Value(), Value());
    }
  });
  return true;
}
} // namespace

void lowering::storeShared(KernelLowering &k, const SharedTile &tile, const FragmentLayout &layout,
                           ArrayRef<int64_t> shape, Value value) {
  Emitter &b = k.b;
  Value owner = isOwner(b, layout, k.team);
  if (tile.layout.isInPieces() && storeByPlaces(k, tile, layout, owner, shape, value))
    return;
  if (k.target.stmatrix && fitsMatrixMoves(tile, layout, shape))
    return b.when(owner, [&] { storeMatrices(k, tile, layout, value); });
  int axis = tile.contiguousAxis();
  int64_t width = sharedVectorWidth(k, tile, layout, shape);
  SharedAddresses addresses(b, tile, layout, k.team);
  InsidePredicates inside(b, layout, shape, threadCoordinates(b, layout, k.team));
  for (const RegisterGroup &group : groupRegisters(layout, axis, width).groups) {
    Value piece = width == 1 ? b.extract(value, group.registers[0]) : b.pick(value, group.registers);
    simt::StoreOp::create(b, piece, addresses.at(group.start), b.both(owner, inside.at(group.start)),
                          Value());
  }
}
