// SPDX-License-Identifier: Apache-2.0
/// \file
/// The fragment layout's construction, evaluation and algebra. Every layout that
/// leaves this file satisfies the invariant and is canonical.
#include "dialects/layout/Layout.h"

#include "runtime/support/Math.h"

#include <algorithm>
#include <fmt/format.h>

using namespace tlc;
namespace {

const char *nameOf(HardwareAxis hardware) {
  switch (hardware) {
  case HardwareAxis::reg:
    return "reg";
  case HardwareAxis::lane:
    return "lane";
  case HardwareAxis::warp:
    return "warp";
  }
  return "";
}

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

/// Each mode by itself, and the number of locations of its hardware index.
Result<void> checkModes(int rank, HardwareAxis hardware, const Modes &modes) {
  int64_t limit = hardware == HardwareAxis::reg    ? maxLayoutRegisters
                  : hardware == HardwareAxis::lane ? lanesPerWarp
                                                   : maxLayoutWarps;
  int64_t total = 1;
  for (const LayoutMode &mode : modes) {
    if (mode.extent < 1)
      return invalid(
          fmt::format("expected a positive extent in {}, but got {}", nameOf(hardware), mode.extent));
    if (mode.axis < LayoutMode::replicatedAxis || mode.axis >= rank)
      return invalid(fmt::format("expected an axis below {} in {} because the tile has that rank, but got {}",
                                 rank, nameOf(hardware), mode.axis));
    if (mode.isReplicated() ? mode.step != 0 : mode.step < 1)
      return invalid(
          fmt::format("expected a positive step along an axis in {} and 0 for replication, but got {}",
                      nameOf(hardware), mode.step));
    if (mode.extent > limit / total)
      return invalid(fmt::format("expected at most {} locations in {}, but the modes have more", limit,
                                 nameOf(hardware)));
    total *= mode.extent;
  }
  if (hardware == HardwareAxis::lane && total != lanesPerWarp)
    return invalid(
        fmt::format("expected the modes of lane to have {} locations, but got {}", lanesPerWarp, total));
  return {};
}

/// The invariant: along each axis the modes, sorted by step, tile the extent.
Result<void> checkTiling(int rank, const std::array<Modes, 3> &all) {
  for (int axis = 0; axis < rank; ++axis) {
    Modes along;
    for (const Modes &modes : all)
      for (const LayoutMode &mode : modes)
        if (mode.axis == axis && mode.extent > 1)
          along.push_back(mode);
    std::sort(along.begin(), along.end(),
              [](const LayoutMode &a, const LayoutMode &b) { return a.step < b.step; });
    int64_t expected = 1;
    for (const LayoutMode &mode : along) {
      if (mode.step != expected)
        return invalid(
            fmt::format("expected step {} along axis {} because the modes with smaller steps cover "
                        "that many elements, but got {}@{}:{}",
                        expected, axis, mode.extent, axis, mode.step));
      expected *= mode.extent;
    }
  }
  return {};
}

int64_t digit(const PlacedMode &placed, int64_t index) { return index / placed.stride % placed.mode.extent; }

int64_t indexOn(const HardwareLocation &location, HardwareAxis hardware) {
  switch (hardware) {
  case HardwareAxis::reg:
    return location.reg;
  case HardwareAxis::lane:
    return location.lane;
  case HardwareAxis::warp:
    return location.warp;
  }
  return 0;
}

template <class Visit> void forEachPlaced(HardwareAxis hardware, const Modes &modes, Visit visit) {
  int64_t stride = 1;
  for (const LayoutMode &mode : modes) {
    visit(PlacedMode{hardware, mode, stride});
    stride *= mode.extent;
  }
}

/// All values of one hardware index that lie at the coordinates, increasing.
std::vector<int64_t> indicesAt(HardwareAxis hardware, const Modes &modes, const Coordinates &coordinates) {
  std::vector<int64_t> result = {0};
  forEachPlaced(hardware, modes, [&](const PlacedMode &placed) {
    const LayoutMode &mode = placed.mode;
    if (!mode.isReplicated()) {
      for (int64_t &index : result)
        index += coordinates[size_t(mode.axis)] / mode.step % mode.extent * placed.stride;
      return;
    }
    const size_t count = result.size();
    for (int64_t d = 1; d < mode.extent; ++d)
      for (size_t i = 0; i < count; ++i)
        result.push_back(result[i] + d * placed.stride);
  });
  return result;
}

/// Lets replicated modes share the elements still `open` along an axis; `step` and
/// `open` keep count.
Modes shareReplicas(const Modes &modes, int axis, int64_t &step, int64_t &open) {
  Modes result;
  for (const LayoutMode &mode : modes) {
    if (!mode.isReplicated()) {
      result.push_back(mode);
      continue;
    }
    int64_t taken = mode.extent;
    if (isPowerOf2(mode.extent))
      taken = std::min(mode.extent, nextPowerOf2(open));
    else
      while (taken > open || mode.extent % taken != 0)
        --taken;
    result.push_back({taken, axis, step});
    result.push_back(LayoutMode::replicated(mode.extent / taken));
    step *= taken;
    open = ceilDiv(open, taken);
  }
  return result;
}

} // namespace

std::vector<int64_t> AxisReduction::laneMasks() const {
  std::vector<int64_t> masks;
  for (const PlacedMode &placed : lanes)
    for (int64_t bit = 1; bit < placed.mode.extent; bit *= 2)
      masks.push_back(placed.stride * bit);
  std::sort(masks.begin(), masks.end());
  return masks;
}

FragmentLayout::FragmentLayout() : FragmentLayout(0, {Modes{}, {LayoutMode::replicated(lanesPerWarp)}, {}}) {}

FragmentLayout::FragmentLayout(int rank, HardwareModes modes) {
  std::vector<Dim> axes;
  for (int axis = 0; axis < rank; ++axis)
    axes.push_back(axisDim(axis));
  digits = LayoutMap(
      {{Dim::reg, std::move(modes[0])}, {Dim::lane, std::move(modes[1])}, {Dim::warp, std::move(modes[2])}},
      std::move(axes));
}

FragmentLayout::HardwareModes FragmentLayout::allModes() const {
  return {digits.modes(0), digits.modes(1), digits.modes(2)};
}

Result<FragmentLayout> FragmentLayout::create(int rank, Modes reg, Modes lane, Modes warp) {
  if (rank < 0)
    return invalid(fmt::format("expected a rank of at least 0, but got {}", rank));
  std::array<Modes, 3> all = {std::move(reg), std::move(lane), std::move(warp)};
  for (HardwareAxis hardware : hardwareAxes)
    if (Result<void> ok = checkModes(rank, hardware, all[size_t(hardware)]); !ok)
      return ok.error();
  if (Result<void> ok = checkTiling(rank, all); !ok)
    return ok.error();
  return FragmentLayout(rank, std::move(all));
}

FragmentLayout FragmentLayout::get(int rank, Modes reg, Modes lane, Modes warp) {
  Result<FragmentLayout> layout = create(rank, std::move(reg), std::move(lane), std::move(warp));
  assert(layout && "modes of a layout that is correct by construction");
  return *layout;
}

FragmentLayout FragmentLayout::get(const LayoutMap &map) {
  assert(map.inputs().size() == hardwareAxes.size() && "registers, lanes and warps");
  return get(int(map.outputs().size()), map.modes(0), map.modes(1), map.modes(2));
}

FragmentLayout FragmentLayout::replicated(const Shape &shape, int64_t numWarps) {
  Modes reg;
  for (int axis = int(shape.size()) - 1; axis >= 0; --axis)
    reg.push_back({shape[size_t(axis)], axis, 1});
  return get(int(shape.size()), reg, {LayoutMode::replicated(lanesPerWarp)},
             {LayoutMode::replicated(numWarps)});
}

int64_t FragmentLayout::extent(HardwareAxis hardware) const { return digits.extent(size_t(hardware)); }

int64_t FragmentLayout::coveredExtent(int axis) const { return digits.size(axis); }

Shape FragmentLayout::coveredShape() const {
  Shape shape;
  for (int axis = 0; axis < rank(); ++axis)
    shape.push_back(coveredExtent(axis));
  return shape;
}

bool FragmentLayout::covers(const Shape &shape) const {
  if (int(shape.size()) != rank())
    return false;
  for (int axis = 0; axis < rank(); ++axis)
    if (coveredExtent(axis) < shape[size_t(axis)])
      return false;
  return true;
}

Coordinates FragmentLayout::coordinatesOf(const HardwareLocation &location) const {
  Coordinates coordinates(size_t(rank()), 0);
  int64_t indices[] = {location.reg, location.lane, location.warp};
  digits.addSums(indices, coordinates);
  return coordinates;
}

bool FragmentLayout::isInside(const HardwareLocation &location, const Shape &shape) const {
  Coordinates coordinates = coordinatesOf(location);
  for (size_t axis = 0; axis < coordinates.size(); ++axis)
    if (coordinates[axis] >= shape[axis])
      return false;
  return true;
}

std::vector<HardwareLocation> FragmentLayout::locationsOf(const Coordinates &coordinates) const {
  std::vector<int64_t> lanes = indicesAt(HardwareAxis::lane, modes(HardwareAxis::lane), coordinates);
  std::vector<int64_t> warps = indicesAt(HardwareAxis::warp, modes(HardwareAxis::warp), coordinates);
  std::vector<HardwareLocation> result;
  for (int64_t reg : indicesAt(HardwareAxis::reg, modes(HardwareAxis::reg), coordinates))
    for (int64_t lane : lanes)
      for (int64_t warp : warps)
        result.push_back({reg, lane, warp});
  return result;
}

HardwareLocation FragmentLayout::ownerOf(const Coordinates &coordinates) const {
  auto first = [&](HardwareAxis hardware) {
    int64_t index = 0;
    forEachPlaced(hardware, modes(hardware), [&](const PlacedMode &placed) {
      const LayoutMode &mode = placed.mode;
      if (!mode.isReplicated())
        index += coordinates[size_t(mode.axis)] / mode.step % mode.extent * placed.stride;
    });
    return index;
  };
  return {first(HardwareAxis::reg), first(HardwareAxis::lane), first(HardwareAxis::warp)};
}

bool FragmentLayout::isOwner(const HardwareLocation &location) const {
  bool owner = true;
  for (HardwareAxis hardware : hardwareAxes)
    forEachPlaced(hardware, modes(hardware), [&](const PlacedMode &placed) {
      owner &= !placed.mode.isReplicated() || digit(placed, indexOn(location, hardware)) == 0;
    });
  return owner;
}

std::optional<int64_t> FragmentLayout::registerOf(const Coordinates &coordinates, int64_t lane,
                                                  int64_t warp) const {
  HardwareLocation location{0, lane, warp};
  bool held = true;
  for (HardwareAxis hardware : {HardwareAxis::lane, HardwareAxis::warp})
    forEachPlaced(hardware, modes(hardware), [&](const PlacedMode &placed) {
      const LayoutMode &mode = placed.mode;
      held &= mode.isReplicated() || digit(placed, indexOn(location, hardware)) ==
                                         coordinates[size_t(mode.axis)] / mode.step % mode.extent;
    });
  if (!held)
    return std::nullopt;
  return ownerOf(coordinates).reg;
}

int64_t FragmentLayout::replication(HardwareAxis hardware) const {
  int64_t result = 1;
  for (const LayoutMode &mode : modes(hardware))
    if (mode.isReplicated())
      result *= mode.extent;
  return result;
}

bool FragmentLayout::isReplicated() const {
  return std::any_of(hardwareAxes.begin(), hardwareAxes.end(),
                     [&](HardwareAxis hardware) { return replication(hardware) != 1; });
}

std::vector<PlacedMode> FragmentLayout::modesAlong(int axis) const {
  std::vector<PlacedMode> result;
  for (HardwareAxis hardware : hardwareAxes)
    forEachPlaced(hardware, modes(hardware), [&](const PlacedMode &placed) {
      if (placed.mode.axis == axis)
        result.push_back(placed);
    });
  return result;
}

AxisReduction FragmentLayout::reduction(int axis) const {
  AxisReduction result;
  for (const PlacedMode &placed : modesAlong(axis))
    (placed.hardware == HardwareAxis::reg    ? result.registers
     : placed.hardware == HardwareAxis::lane ? result.lanes
                                             : result.warps)
        .push_back(placed);
  return result;
}

FragmentLayout FragmentLayout::reduced(int axis) const {
  HardwareModes all = allModes();
  std::erase_if(all[size_t(HardwareAxis::reg)], [&](const LayoutMode &mode) { return mode.axis == axis; });
  for (HardwareAxis hardware : {HardwareAxis::lane, HardwareAxis::warp})
    for (LayoutMode &mode : all[size_t(hardware)])
      if (mode.axis == axis)
        mode = LayoutMode::replicated(mode.extent);
  return FragmentLayout(rank(), std::move(all));
}

FragmentLayout FragmentLayout::expanded(int axis, int64_t extent) const {
  assert(coveredExtent(axis) == 1 && "only an axis of extent 1 broadcasts");
  int64_t step = 1, open = extent;
  HardwareModes all = allModes();
  for (HardwareAxis hardware : {HardwareAxis::lane, HardwareAxis::warp})
    all[size_t(hardware)] = shareReplicas(all[size_t(hardware)], axis, step, open);
  all[size_t(HardwareAxis::reg)].push_back({open, axis, step});
  return FragmentLayout(rank(), std::move(all));
}

FragmentLayout FragmentLayout::transposed(const std::vector<int> &permutation) const {
  assert(int(permutation.size()) == rank());
  std::vector<int> resultAxis(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    resultAxis[size_t(permutation[i])] = int(i);
  HardwareModes all = allModes();
  for (Modes &modes : all)
    for (LayoutMode &mode : modes)
      if (!mode.isReplicated())
        mode.axis = resultAxis[size_t(mode.axis)];
  return FragmentLayout(rank(), std::move(all));
}

FragmentLayout FragmentLayout::withoutAxis(int axis) const {
  HardwareModes all = reduced(axis).allModes();
  for (Modes &modes : all)
    for (LayoutMode &mode : modes)
      mode.axis -= mode.axis > axis;
  return FragmentLayout(rank() - 1, std::move(all));
}

FragmentLayout FragmentLayout::withUnitAxis(int axis) const {
  HardwareModes all = allModes();
  for (Modes &modes : all)
    for (LayoutMode &mode : modes)
      mode.axis += mode.axis >= axis;
  return FragmentLayout(rank() + 1, std::move(all));
}

int64_t FragmentLayout::contiguousAlong(int axis) const {
  int64_t run = 1;
  for (bool grown = true; grown;) {
    grown = false;
    for (const LayoutMode &mode : modes(HardwareAxis::reg))
      if (mode.axis == axis && mode.step == run) {
        run *= mode.extent;
        grown = true;
      }
  }
  return run;
}
