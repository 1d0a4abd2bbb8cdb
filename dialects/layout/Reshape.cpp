// SPDX-License-Identifier: Apache-2.0
/// \file
/// Maps of digits from one tile's axes to the number of an element, and on to the other's axes.
#include "dialects/layout/Reshape.h"

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

/// From a tile's coordinates to an element's number.
LayoutMap numberOfElement(const Shape &shape) {
  std::vector<LayoutMap::Input> axes(shape.size());
  int64_t step = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    axes[axis] = {axisDim(int(axis)), {{shape[axis], 0, step}}};
    step *= shape[axis];
  }
  return {std::move(axes), {axisDim(0)}};
}

/// The map back; numbers beyond the tile continue along the outermost axis.
LayoutMap elementOfNumber(const Shape &shape) {
  Modes number;
  std::vector<Dim> axes;
  for (size_t axis = shape.size(); axis-- > 0;)
    number.push_back({shape[axis], int(axis), 1});
  for (size_t axis = 0; axis < shape.size(); ++axis)
    axes.push_back(axisDim(int(axis)));
  return {{{axisDim(0), std::move(number)}}, std::move(axes)};
}

/// Whether nothing that lies outside of the tile has the number of an element.
bool isPaddedOutermost(const FragmentLayout &layout, const Shape &shape) {
  size_t outermost = outermostAxis(shape);
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (axis != outermost && layout.coveredExtent(int(axis)) != shape[axis])
      return false;
  return true;
}

/// A map to numbers of wide elements as one to numbers of their parts.
LayoutMap split(const LayoutMap &map, int64_t parts) {
  std::vector<LayoutMap::Input> inputs = map.inputs();
  for (LayoutMap::Input &input : inputs)
    for (LayoutMode &mode : input.modes)
      mode.step *= parts;
  Modes &registers = inputs[size_t(HardwareAxis::reg)].modes;
  registers.insert(registers.begin(), LayoutMode{parts, 0, 1});
  return {std::move(inputs), map.outputs()};
}

/// The map back; nothing where the parts of an element are not in adjacent registers.
std::optional<LayoutMap> joined(const LayoutMap &map, int64_t parts) {
  std::vector<LayoutMap::Input> inputs = map.inputs();
  Modes &registers = inputs[size_t(HardwareAxis::reg)].modes;
  if (registers.empty() || registers[0].step != 1 || registers[0].extent % parts != 0)
    return std::nullopt;
  registers[0] = {registers[0].extent / parts, 0, parts};
  for (LayoutMap::Input &input : inputs)
    for (LayoutMode &mode : input.modes)
      mode.step /= parts;
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

/// Takes digits of an element's number, the fastest first.
class Spread {
public:
  explicit Spread(int64_t warps) : lanesLeft(lanesPerWarp), warpsLeft(warps) {}

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
  /// What is left, of which the last digit may be padding.
  LayoutMap finish(int64_t count) {
    auto open = [&] { return std::max<int64_t>(1, ceilDiv(count, taken)); };
    lanesLeft /= take(lane, std::min(lanesLeft, nextPowerOf2(open())));
    int64_t share = std::min(warpsLeft, open());
    while (warpsLeft % share != 0)
      --share;
    warpsLeft /= take(warp, share);
    take(reg, open());
    lane.push_back(LayoutMode::replicated(lanesLeft));
    warp.push_back(LayoutMode::replicated(warpsLeft));
    return {{{Dim::reg, reg}, {Dim::lane, lane}, {Dim::warp, warp}}, {axisDim(0)}};
  }

private:
  int64_t take(Modes &modes, int64_t extent) {
    modes.push_back({extent, 0, taken});
    taken *= extent;
    return extent;
  }

  Modes reg, lane, warp;
  int64_t taken = 1, lanesLeft, warpsLeft;
};

} // namespace

std::optional<FragmentLayout> tlc::reshaped(const FragmentLayout &layout, const RowMajorTile &from,
                                            const RowMajorTile &to) {
  if (!isPaddedOutermost(layout, from.shape))
    return std::nullopt;
  std::optional<LayoutMap> numbers = layout.map().then(numberOfElement(from.shape));
  if (numbers && from.elementBits > to.elementBits)
    numbers = split(*numbers, from.elementBits / to.elementBits);
  else if (numbers && from.elementBits < to.elementBits)
    numbers = joined(*numbers, to.elementBits / from.elementBits);
  std::optional<LayoutMap> result = numbers ? numbers->then(elementOfNumber(to.shape)) : std::nullopt;
  return result ? std::optional(FragmentLayout::get(*result)) : std::nullopt;
}

FragmentLayout tlc::reshapableLayout(const RowMajorTile &from, const RowMajorTile &to, int64_t numWarps) {
  // Both as tiles of the narrower elements, of which a thread has whole wide ones.
  int bits = std::min(from.elementBits, to.elementBits);
  auto parts = [&](const RowMajorTile &tile) { return int64_t(tile.elementBits / bits); };
  Shape a = from.shape, b = to.shape;
  a.push_back(parts(from));
  b.push_back(parts(to));
  int64_t count = countOf(a), wide = parts(from) * parts(to),
          inner = std::lcm(wide, std::lcm(innerCount(a), innerCount(b))),
          vector = std::max<int64_t>(wide, maxSharedVectorBytes * 8 / bits);
  Spread spread(numWarps);
  while (spread.step() < inner) {
    int64_t extent = 2;
    while (!mayBeginAt(spread.step() * extent, a) || !mayBeginAt(spread.step() * extent, b))
      ++extent;
    if (spread.step() < wide || spread.registers() * extent <= vector)
      spread.toRegisters(extent);
    else
      spread.toThreads(extent);
  }
  LayoutMap numbers = spread.finish(count);
  if (parts(from) > 1)
    numbers = *joined(numbers, parts(from));
  return FragmentLayout::get(*numbers.then(elementOfNumber(from.shape)));
}
