// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws what windows see of images.
#include "runtime/support/Math.h"
#include "test/differential/Generator.h"

#include <algorithm>

using namespace tlc;
using namespace tlc::differential;

namespace {
TensorWindow drawWindow(Draw &draw, size_t axes) {
  TensorWindow window;
  for (size_t axis = 0; axis < axes; ++axis) {
    window.taps.push_back(draw.between(1, 3));
    window.strides.push_back(draw.chance(70) ? 1 : draw.between(2, 3));
    window.dilations.push_back(draw.chance(75) ? 1 : 2);
    window.before.push_back(draw.between(0, 2));
    window.after.push_back(draw.between(0, 2));
  }
  return window;
}
} // namespace

Box Generator::drawWindows(const Sizes &extents, ElementType element, const std::vector<Axis> &axes,
                           int64_t channelsUnit) {
  draw.note(Feature::windows);
  constexpr size_t mostInner = 3;
  const size_t between = extents.size() > 2 ? extents.size() - 2 : 0, // extents along taps
      inner = size_t(draw.between(int64_t(std::max<size_t>(between, 1)), mostInner)), rank = inner + 2;
  Box box;
  box.window = drawWindow(draw, inner);
  box.extents.assign(rank, Size());
  if (!extents.empty())
    box.extents.back() = extents.back();
  for (size_t axis = 0; axis + 1 < extents.size(); ++axis)
    box.extents[axis] = extents[axis];
  std::vector<TensorExtent> shape;
  shape.push_back(drawTensorExtent(draw.chance(4) ? 0 : draw.between(1, 3)));
  for (size_t axis = 0; axis < inner; ++axis)
    shape.push_back(drawTensorExtent(draw.between(1, inner == 1 ? 40 : inner == 2 ? 9 : 4)));
  box.origin.push_back(drawOrigin(tree.valueOf(box.extents.front()), axes));
  for (size_t axis = 0; axis < inner; ++axis) {
    int64_t taps = box.window->taps[axis];
    box.origin.push_back(
        !axes.empty() && draw.chance(30)
            ? IndexNode::of(IndexKind::position, draw.oneOf(axes).position)
            : IndexNode::constant(draw.chance(10) ? draw.between(-1, taps) : draw.between(0, taps - 1)));
  }
  const int64_t channels = tree.valueOf(box.extents.back());
  IndexNode first = IndexNode::constant(0);
  if (!axes.empty() && draw.chance(60))
    first =
        IndexNode::apply(IndexKind::multiply, IndexNode::of(IndexKind::position, draw.oneOf(axes).position),
                         IndexNode::constant(alignTo(channels, channelsUnit)));
  int64_t reach = std::clamp<int64_t>(rangeOf(first).high + channels, 1, 300);
  if (draw.chance(30))
    reach = std::max<int64_t>(1, reach - draw.between(1, std::max<int64_t>(channels / 2, 1)));
  box.origin.push_back(std::move(first));
  shape.push_back(drawTensorExtent(alignTo(reach, channelsUnit)));
  box.tensor = newTensor(Access::input, element, std::move(shape));
  tree.tensors[size_t(box.tensor)].hasWindows = true;
  return box;
}
