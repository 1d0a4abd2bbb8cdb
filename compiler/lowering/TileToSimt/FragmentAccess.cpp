// SPDX-License-Identifier: Apache-2.0
/// \file
/// Coordinates of a thread's registers, and what of a fragment one instruction moves.
#include "compiler/lowering/TileToSimt/FragmentAccess.h"

#include "dialects/layout/LayoutText.h"
#include "runtime/support/Math.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

Value lowering::digitOf(Emitter &b, const PlacedMode &mode, const Team &team) {
  bool lane = mode.hardware == HardwareAxis::lane;
  int64_t locations = lane ? lanesPerWarp : team.warps;
  Value digit = b.divide(lane ? team.lane : team.warp, mode.stride);
  return mode.stride * mode.mode.extent == locations ? digit : b.remainder(digit, mode.mode.extent);
}

SmallVector<Value> lowering::threadCoordinates(Emitter &b, const FragmentLayout &layout, const Team &team) {
  SmallVector<Value> coordinates;
  for (int axis = 0; axis < layout.rank(); ++axis) {
    Value sum = b.i32(0);
    for (const PlacedMode &mode : layout.modesAlong(axis))
      if (mode.hardware != HardwareAxis::reg)
        sum = b.add(sum, b.mul(digitOf(b, mode, team), mode.mode.step));
    coordinates.push_back(sum);
  }
  return coordinates;
}

Value lowering::isOwner(Emitter &b, const FragmentLayout &layout, const Team &team) {
  Value owner;
  for (HardwareAxis hardware : {HardwareAxis::lane, HardwareAxis::warp}) {
    int64_t stride = 1;
    for (const LayoutMode &mode : layout.modes(hardware)) {
      if (mode.isReplicated())
        owner = b.both(owner, b.isEqual(digitOf(b, {hardware, mode, stride}, team), 0));
      stride *= mode.extent;
    }
  }
  return owner;
}

RegisterGroups lowering::groupRegisters(const FragmentLayout &layout, int axis, int64_t width) {
  std::vector<Coordinates> vector(size_t(width), Coordinates(size_t(layout.rank()), 0));
  for (int64_t i = 1; i < width; ++i)
    vector[size_t(i)][size_t(axis)] = i;
  return groupRegisters(layout, vector,
                        [&](const Coordinates &at) { return width == 1 || at[size_t(axis)] % width == 0; });
}

RegisterGroups lowering::groupRegisters(const FragmentLayout &layout, ArrayRef<Coordinates> vector,
                                        function_ref<bool(const Coordinates &)> begins) {
  RegisterGroups result;
  std::map<Coordinates, int64_t> first;
  std::vector<Coordinates> coordinates;
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg) {
    coordinates.push_back(layout.coordinatesOf({reg, 0, 0}));
    auto [known, added] = first.try_emplace(coordinates.back(), reg);
    if (!added)
      result.replicas.emplace_back(reg, known->second);
  }
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg) {
    const Coordinates &at = coordinates[size_t(reg)];
    if (first[at] != reg || !begins(at))
      continue;
    RegisterGroup group{at, {}};
    for (Coordinates element : vector) {
      for (auto [coordinate, start] : llvm::zip_equal(element, at))
        coordinate += start;
      group.registers.push_back(first[element]);
    }
    result.groups.push_back(std::move(group));
  }
  return result;
}

SmallVector<int64_t> lowering::reducedRegisters(const FragmentLayout &layout, const FragmentLayout &reduced,
                                                ArrayRef<int> axes) {
  std::map<Coordinates, int64_t> known;
  for (int64_t reg = 0; reg < reduced.registersPerThread(); ++reg)
    known.try_emplace(reduced.coordinatesOf({reg, 0, 0}), reg);
  SmallVector<int64_t> result;
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg) {
    Coordinates at = layout.coordinatesOf({reg, 0, 0});
    for (int axis : axes)
      at[size_t(axis)] = 0;
    result.push_back(known.at(at));
  }
  return result;
}

std::optional<FragmentLayout> lowering::onAxesOf(const FragmentLayout &layout, ArrayRef<int64_t> from,
                                                 ArrayRef<int64_t> to) {
  if (from == to)
    return layout;
  FragmentLayout result = layout;
  for (int axis = int(from.size()) - 1; axis >= 0; --axis) {
    if (from[size_t(axis)] != 1)
      continue;
    for (const PlacedMode &mode : result.modesAlong(axis))
      if (mode.hardware == HardwareAxis::reg)
        return std::nullopt;
    result = result.withoutAxis(axis);
  }
  for (auto [axis, extent] : llvm::enumerate(to))
    if (extent == 1)
      result = result.withUnitAxis(int(axis));
  return result;
}

std::optional<FragmentLayout> lowering::layoutOnTile(Operation *op, const FragmentLayout &fragment,
                                                     ArrayRef<int64_t> own, ArrayRef<int64_t> tile) {
  std::optional<FragmentLayout> layout = onAxesOf(fragment, own, tile);
  if (!layout)
    op->emitOpError()
        << "expected no registers along axes of extent 1 because they are dropped to match the tile of "
        << printShape(Shape(tile.begin(), tile.end())) << ", but got " << printLayout(fragment) << " of "
        << printShape(Shape(own.begin(), own.end()));
  return layout;
}

InsidePredicates::InsidePredicates(Emitter &b, const FragmentLayout &layout, ArrayRef<int64_t> shape,
                                   ArrayRef<Value> thread)
    : b(b), shape(shape.begin(), shape.end()), thread(thread) {
  for (auto [axis, extent] : llvm::enumerate(shape))
    if (layout.coveredExtent(int(axis)) > extent)
      padded.push_back(int(axis));
}

Value InsidePredicates::at(ArrayRef<int64_t> constant) {
  Value all;
  for (int axis : padded) {
    Value &inside = cache[{axis, constant[size_t(axis)]}];
    if (!inside)
      inside = b.isBelow(b.add(thread[size_t(axis)], constant[size_t(axis)]), b.i32(shape[size_t(axis)]));
    all = b.both(all, inside);
  }
  return all;
}
