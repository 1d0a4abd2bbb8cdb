// SPDX-License-Identifier: Apache-2.0
/// \file
/// Maps of digits from one tile's axes to the number of an element, and on to the other's axes.
#include "dialects/layout/Reshape.h"

#include "dialects/layout/StockLayouts.h"
#include "runtime/support/Math.h"

#include <algorithm>
#include <numeric>

using namespace tlc;

namespace {

int64_t countOf(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

/// The first axis with several elements, or the rank.
size_t outermostAxis(const Shape &shape) {
  return size_t(std::find_if(shape.begin(), shape.end(), [](int64_t extent) { return extent > 1; }) -
                shape.begin());
}

/// Elements for each step along the outermost axis.
int64_t innerCount(const Shape &shape) {
  size_t outermost = outermostAxis(shape);
  return outermost == shape.size() ? 1 : countOf(shape) / shape[outermost];
}

/// The extents of a tile in parts of its elements, which are the last axis.
Shape withParts(const RowMajorTile &tile, int partBits) {
  Shape shape = tile.shape;
  shape.push_back(tile.elementBits / partBits);
  return shape;
}

/// Axes of a tile, each with the group that it belongs to.
struct GroupedAxes {
  Shape shape;
  std::vector<int> groups = std::vector<int>(shape.size(), 0);
  int partsGroup() const { return groups.back(); }
  Shape axesOf(int group) const {
    Shape axes;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (groups[axis] == group)
        axes.push_back(shape[axis]);
    return axes;
  }
};

/// Cuts both row-major shapes where as many elements are inside in both: axes of one group hold elements that
/// axes of the same group hold in the other tile. Returns the number of groups.
int groupAxes(GroupedAxes &a, GroupedAxes &b) {
  size_t i = 0, j = 0;
  int group = 0;
  auto isLeft = [&] { return i < a.shape.size() || j < b.shape.size(); };
  // The parts of elements belong to the last group, also where there is one part.
  auto hasOnlyOnes = [](const Shape &shape, size_t from) {
    return std::all_of(shape.begin() + std::ptrdiff_t(from), shape.end(),
                       [](int64_t extent) { return extent == 1; });
  };
  for (; isLeft(); ++group) {
    int64_t ofA = 1, ofB = 1;
    do {
      bool takesA = j == b.shape.size() || (i < a.shape.size() && ofA <= ofB);
      GroupedAxes &axes = takesA ? a : b;
      size_t axis = takesA ? i++ : j++;
      axes.groups[axis] = group;
      (takesA ? ofA : ofB) *= axes.shape[axis];
    } while (ofA != ofB || (isLeft() && (ofA == 1 || (hasOnlyOnes(a.shape, i) && hasOnlyOnes(b.shape, j)))));
  }
  return group;
}

/// From a tile's coordinates to the number of the first part of an element in each group.
LayoutMap numbersOfElement(const GroupedAxes &tile, int groups) {
  std::vector<LayoutMap::Input> axes(tile.shape.size());
  std::vector<int64_t> steps(size_t(groups), 1);
  for (size_t axis = tile.shape.size(); axis-- > 0;) {
    int64_t &step = steps[size_t(tile.groups[axis])];
    axes[axis] = {axisDim(int(axis)), {{tile.shape[axis], tile.groups[axis], step}}};
    step *= tile.shape[axis];
  }
  axes.pop_back();
  std::vector<Dim> numbers;
  for (int group = 0; group < groups; ++group)
    numbers.push_back(axisDim(group));
  return {std::move(axes), std::move(numbers)};
}

/// The map back; numbers beyond a group continue along its outermost axis.
LayoutMap elementOfNumbers(const GroupedAxes &tile, int groups) {
  std::vector<LayoutMap::Input> numbers;
  for (int group = 0; group < groups; ++group)
    numbers.push_back({axisDim(group), {}});
  std::vector<Dim> axes;
  for (size_t axis = tile.shape.size(); axis-- > 0;)
    numbers[size_t(tile.groups[axis])].modes.push_back({tile.shape[axis], int(axis), 1});
  for (size_t axis = 0; axis + 1 < tile.shape.size(); ++axis)
    axes.push_back(axisDim(int(axis)));
  return {std::move(numbers), std::move(axes)};
}

/// Whether the layout has padding along the outermost axes of groups only.
bool isPaddedOutermost(const FragmentLayout &layout, const GroupedAxes &tile) {
  int group = -1; // of the last axis with several elements
  for (size_t axis = 0; axis + 1 < tile.shape.size(); ++axis) {
    bool isOutermost = tile.shape[axis] > 1 && tile.groups[axis] != group;
    if (!isOutermost && layout.coveredExtent(int(axis)) != tile.shape[axis])
      return false;
    if (tile.shape[axis] > 1)
      group = tile.groups[axis];
  }
  return true;
}

/// A map to numbers of the parts of wide elements as one of registers that hold one part each.
LayoutMap split(const LayoutMap &map, int64_t parts, int group) {
  std::vector<LayoutMap::Input> inputs = map.inputs();
  Modes &registers = inputs[size_t(HardwareAxis::reg)].modes;
  registers.insert(registers.begin(), LayoutMode{parts, group, 1});
  return {std::move(inputs), map.outputs()};
}

/// The map back; nothing where the parts of an element are not in adjacent registers.
std::optional<LayoutMap> joined(const LayoutMap &map, int64_t parts, int group) {
  std::vector<LayoutMap::Input> inputs = map.inputs();
  Modes &registers = inputs[size_t(HardwareAxis::reg)].modes;
  if (registers.empty() || registers[0].axis != group || registers[0].step != 1 ||
      registers[0].extent % parts != 0)
    return std::nullopt;
  registers[0] = {registers[0].extent / parts, group, parts};
  return LayoutMap(std::move(inputs), map.outputs());
}

/// Whether no digit along an axis of the tile lies on both sides of the step of an element's number.
bool mayBeginAt(int64_t step, const Shape &shape) {
  size_t outermost = outermostAxis(shape);
  for (size_t axis = shape.size(); axis-- > outermost + 1;) {
    if (step % shape[axis] != 0)
      return shape[axis] % step == 0;
    step /= shape[axis];
  }
  return true;
}

/// Takes digits of an element's numbers in groups, the fastest first.
class Spread {
public:
  explicit Spread(int64_t warps) : lanesLeft(lanesPerWarp), warpsLeft(warps) {}

  void begin(int nextGroup) {
    group = nextGroup;
    taken = 1;
  }
  int64_t step() const { return taken; }
  int64_t registers() const { return numIndices(reg); }
  void toRegisters(int64_t extent) { take(reg, extent); }
  /// To lanes or warps as long as they can count it.
  void toThreads(int64_t extent) {
    if (lanesLeft % extent == 0)
      lanesLeft /= take(lane, extent);
    else if (warpsLeft % extent == 0)
      warpsLeft /= take(warp, extent);
    else
      take(reg, extent);
  }
  /// The rest of a group of `count` elements; its last digit may be padding.
  void finish(int64_t count) {
    auto open = [&] { return std::max<int64_t>(1, ceilDiv(count, taken)); };
    lanesLeft /= take(lane, std::min(lanesLeft, nextPowerOf2(open())));
    int64_t share = std::min(warpsLeft, open());
    while (warpsLeft % share != 0)
      --share;
    warpsLeft /= take(warp, share);
    take(reg, open());
  }
  /// To the numbers of that many groups.
  LayoutMap map(int groups) {
    lane.push_back(LayoutMode::replicated(lanesLeft));
    warp.push_back(LayoutMode::replicated(warpsLeft));
    std::vector<Dim> numbers;
    for (int i = 0; i < groups; ++i)
      numbers.push_back(axisDim(i));
    return {{{Dim::reg, reg}, {Dim::lane, lane}, {Dim::warp, warp}}, std::move(numbers)};
  }

private:
  int64_t take(Modes &modes, int64_t extent) {
    modes.push_back({extent, group, taken});
    taken *= extent;
    return extent;
  }

  Modes reg, lane, warp;
  int group = 0;
  int64_t taken = 1, lanesLeft, warpsLeft;
};

} // namespace

std::optional<FragmentLayout> tlc::reshaped(const FragmentLayout &layout, const RowMajorTile &from,
                                            const RowMajorTile &to) {
  int bits = std::min(from.elementBits, to.elementBits);
  GroupedAxes source{withParts(from, bits)}, result{withParts(to, bits)};
  int groups = groupAxes(source, result);
  if (!isPaddedOutermost(layout, source))
    return std::nullopt;
  std::optional<LayoutMap> numbers = layout.map().then(numbersOfElement(source, groups));
  if (numbers && source.shape.back() > 1)
    numbers = split(*numbers, source.shape.back(), source.partsGroup());
  else if (numbers && result.shape.back() > 1)
    numbers = joined(*numbers, result.shape.back(), result.partsGroup());
  std::optional<LayoutMap> elements =
      numbers ? numbers->then(elementOfNumbers(result, groups)) : std::nullopt;
  // Padding that would continue among the parts of an element has no place.
  if (!elements || elements->size(int(to.shape.size())) > 1)
    return std::nullopt;
  return FragmentLayout::get(*elements);
}

FragmentLayout tlc::reshapableLayout(const RowMajorTile &from, const RowMajorTile &to, int64_t numWarps) {
  if (FragmentLayout layout = defaultLayout(from.shape, from.elementBits, numWarps);
      reshaped(layout, from, to))
    return layout;
  // Both as tiles of the narrower elements, of which a thread has whole wide ones.
  int bits = std::min(from.elementBits, to.elementBits);
  GroupedAxes a{withParts(from, bits)}, b{withParts(to, bits)};
  int groups = groupAxes(a, b);
  Spread spread(numWarps);
  for (int group = groups - 1; group >= 0; --group) {
    Shape ofA = a.axesOf(group), ofB = b.axesOf(group);
    bool isLast = group + 1 == groups; // with the parts of elements and vectors of them
    int64_t count = countOf(ofA), wide = isLast ? a.shape.back() * b.shape.back() : 1,
            inner = std::lcm(wide, std::lcm(innerCount(ofA), innerCount(ofB))),
            vector = isLast ? std::max<int64_t>(wide, maxSharedVectorBytes * 8 / bits) : 1;
    spread.begin(group);
    while (spread.step() < inner) {
      int64_t extent = 2;
      while (!mayBeginAt(spread.step() * extent, ofA) || !mayBeginAt(spread.step() * extent, ofB))
        ++extent;
      if (spread.step() < wide || spread.registers() * extent <= vector)
        spread.toRegisters(extent);
      else
        spread.toThreads(extent);
    }
    while (spread.registers() * 2 <= vector && count % (spread.step() * 2) == 0)
      spread.toRegisters(2);
    spread.finish(count);
  }
  LayoutMap numbers = spread.map(groups);
  if (a.shape.back() > 1)
    numbers = *joined(numbers, a.shape.back(), a.partsGroup());
  return FragmentLayout::get(*numbers.then(elementOfNumbers(a, groups)));
}
