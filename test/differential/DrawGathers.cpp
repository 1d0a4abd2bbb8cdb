// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws positions per element, along one or several axes of a box.
#include "test/differential/Generator.h"

#include <algorithm>

using namespace tlc;
using namespace tlc::differential;

namespace {
/// The position of each element of that variable, among `extent` elements or just outside.
IndexNode positionAmong(int64_t extent, int variable) {
  return IndexNode::apply(IndexKind::remainder, IndexNode::of(IndexKind::elements, variable),
                          IndexNode::constant(extent));
}
} // namespace

bool Generator::hasExtents(const Box &box, const Sizes &shape) const {
  return tree.extentsOf(box.extents) == tree.extentsOf(shape);
}

std::optional<int> Generator::drawPerElement(Body &body, const Sizes &narrow) {
  std::optional<Drawn> numbers =
      draw.chance(50) ? drawPositions(narrow, ElementType::i32) : drawFull(narrow, ElementType::i32, 1);
  if (!numbers)
    return std::nullopt;
  int at = declare(body, ElementType::i32, narrow, numbers->domain);
  body.back().values = {std::move(numbers->expression)};
  return at;
}

void Generator::gather(Body &body, Box &box, const Sizes &shape) {
  if (!isInOrder(box) || box.window)
    return;
  const bool hasAxesOfBox = hasExtents(box, shape), severalAxes = draw.wants(Feature::gatheredAxes);
  const size_t first = draw.below(box.origin.size());
  std::vector<bool> isGathered(box.origin.size());
  std::vector<bool> differs(shape.size()); // positions do, along that axis
  int64_t count = 0;
  for (size_t axis = 0; axis != box.origin.size(); ++axis) {
    if (axis != first && (!severalAxes || draw.chance(40)))
      continue;
    Sizes narrow = shape;
    for (Size &extent : narrow)
      if (draw.chance(50) || !hasAxesOfBox)
        extent = {};
    std::optional<int> at = drawPerElement(body, narrow);
    if (!at)
      continue;
    isGathered[axis] = true;
    ++count;
    // Any numbers, of which the remainder may be before the first element or after the last one.
    box.origin[axis] = positionAmong(boundsOf(box)[axis] + draw.between(1, 3), *at);
    box.unchecked = false;
    for (size_t along = 0; along != narrow.size(); ++along)
      differs[along] = differs[along] || tree.valueOf(narrow[along]) != 1;
  }
  if (count == 0)
    return;
  draw.note(Feature::gather);
  if (count > 1)
    draw.note(Feature::gatheredAxes);
  // An axis along which positions differ has positions that follow one another, if it has none of those.
  for (size_t along = 0; along != shape.size(); ++along)
    if (differs[along] && !isGathered[along])
      box.origin[along] = IndexNode::apply(IndexKind::add,
                                           {IndexKind::ownPlace,
                                            int64_t(shape.size()),
                                            int(along),
                                            {IndexNode::of(IndexKind::size, shape[along].number)}},
                                           box.origin[along]);
}

std::optional<Box> Generator::drawGathered(Body &body, const Sizes &shape, ElementType element,
                                           Domain &domain) {
  constexpr size_t mostTensors = 14, mostAxes = 4;
  if (isPacked(element) || tree.tensors.size() > mostTensors)
    return std::nullopt;
  // Axes of boxes around those with positions, which are all other axes of the tile.
  const auto before = size_t(draw.between(0, std::min<int64_t>(1, int64_t(shape.size())))),
             after = size_t(draw.between(0, std::min<int64_t>(1, int64_t(shape.size() - before)))),
             gathered = size_t(draw.between(1, std::min<int64_t>(3, int64_t(mostAxes - before - after)))),
             rank = before + gathered + after;
  constexpr int64_t mostGathered[] = {40, 16, 7}; // along one, two or three axes
  const int64_t mostOfBox = before + after == 2 ? 60 : 600;
  Box box{.extents = shape};
  std::vector<TensorExtent> axes;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (axis < before || axis >= before + gathered) {
      const int64_t value = tree.valueOf(shape[axis < before ? axis : axis + shape.size() - rank]);
      IndexNode origin = drawOrigin(value, {});
      axes.push_back(drawTensorExtent(
          std::clamp<int64_t>(rangeOf(origin).high + value - draw.between(0, value / 2), 1, mostOfBox)));
      box.origin.push_back(std::move(origin));
      continue;
    }
    Sizes narrow = shape;
    for (size_t along = 0; along < shape.size(); ++along)
      if (along < before || along >= shape.size() - after || draw.chance(30))
        narrow[along] = {};
    std::optional<int> at = drawPerElement(body, narrow);
    if (!at)
      return std::nullopt;
    const int64_t extent = draw.between(1, mostGathered[gathered - 1]);
    axes.push_back(drawTensorExtent(extent));
    box.origin.push_back(positionAmong(extent + draw.between(1, 3), *at));
  }
  box.tensor = newTensor(Access::input, element, std::move(axes));
  if (box.tensor < 0)
    return std::nullopt;
  draw.note(Feature::gather);
  draw.note(Feature::gatheredAxes);
  domain = tensorDomains[size_t(box.tensor)];
  decorate(box, /*isRead=*/true, &domain);
  box.unchecked = false;
  drawEviction(box);
  return box;
}

void Generator::scatter(Body &body, Box &box, const Sizes &shape) {
  if (!hasExtents(box, shape) || box.unchecked || !isInOrder(box))
    return;
  const size_t first = draw.below(shape.size());
  const bool severalAxes = draw.wants(Feature::gatheredAxes);
  int64_t count = 0;
  for (size_t axis = 0; axis != shape.size(); ++axis) {
    if (axis != first && (!severalAxes || draw.chance(30)))
      continue;
    int64_t extent = tree.valueOf(shape[axis]);
    if (box.limit && box.limit->axis == int(axis))
      continue;
    ++count;
    Sizes narrow(shape.size());
    narrow[axis] = shape[axis];
    Expression last = {.kind = Expression::Kind::position, .type = ElementType::i32};
    last.positions.push_back(
        {.a = IndexNode::apply(IndexKind::add, box.origin[axis], IndexNode::constant(extent - 1)), .b = {}});
    Expression positions = {
        .kind = Expression::Kind::positions, .type = ElementType::i32, .axis = int(axis), .shape = narrow};
    int at = declare(body, ElementType::i32, narrow,
                     {double(std::max<int64_t>(std::abs(rangeOf(box.origin[axis]).high), 1) + extent), 0});
    body.back().values = {
        applied(Function::subtract, ElementType::i32, {std::move(last), std::move(positions)})};
    box.origin[axis] = IndexNode::of(IndexKind::elements, at);
  }
  if (count > 0)
    draw.note(Feature::scatter);
  if (count > 1)
    draw.note(Feature::gatheredAxes);
}
