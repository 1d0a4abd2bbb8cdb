// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws positions, and boxes of tensors. Any place may be read; a block writes only boxes of its own.
#include "runtime/support/Math.h"
#include "test/differential/Generator.h"

#include <algorithm>
#include <numeric>

using namespace tlc;
using namespace tlc::differential;

namespace {
constexpr size_t mostAxes = 4;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

IndexRange Generator::rangeOf(const IndexNode &node) const {
  auto operand = [&](size_t i) { return rangeOf(node.operands[i]); };
  auto hull = [](std::initializer_list<int64_t> values) {
    return IndexRange{std::min(values), std::max(values)};
  };
  switch (node.kind) {
  case IndexKind::constant:
    return {node.number, node.number};
  case IndexKind::size:
    return {tree.sizes[size_t(node.id)], tree.sizes[size_t(node.id)]};
  case IndexKind::dimension:
    return {tree.dimensions[size_t(node.id)].value, tree.dimensions[size_t(node.id)].value};
  case IndexKind::position:
    return positionRanges[size_t(node.id)];
  case IndexKind::read:
    return {0, int64_t(tree.tensors[size_t(node.id)].largest)};
  case IndexKind::add: {
    IndexRange a = operand(0), b = operand(1);
    return {a.low + b.low, a.high + b.high};
  }
  case IndexKind::subtract: {
    IndexRange a = operand(0), b = operand(1);
    return {a.low - b.high, a.high - b.low};
  }
  case IndexKind::multiply: {
    IndexRange a = operand(0), b = operand(1);
    return hull({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  }
  case IndexKind::divide: {
    IndexRange a = operand(0), b = operand(1);
    return hull({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
  }
  case IndexKind::remainder:
    return {operand(0).low < 0 ? 1 - operand(1).high : 0, operand(1).high - 1};
  case IndexKind::ceilDiv: {
    IndexRange a = operand(0), b = operand(1);
    auto up = [](int64_t x, int64_t by) { return x / by + (x % by > 0); };
    return hull({up(a.low, b.low), up(a.low, b.high), up(a.high, b.low), up(a.high, b.high)});
  }
  case IndexKind::min:
    return {std::min(operand(0).low, operand(1).low), std::min(operand(0).high, operand(1).high)};
  case IndexKind::max:
    return {std::max(operand(0).low, operand(1).low), std::max(operand(0).high, operand(1).high)};
  case IndexKind::blockRank:
    return {0, cluster - 1};
  case IndexKind::blocks:
  case IndexKind::multiprocessors:
  case IndexKind::readShared:
  case IndexKind::coordinate:
  case IndexKind::elements:
  case IndexKind::ownPlace:
    break;
  }
  return {0, 64};
}

namespace {
IndexNode positionOf(const Axis &axis) { return IndexNode::of(IndexKind::position, axis.position); }
IndexNode scaled(const Axis &axis, int64_t step) {
  return step == 1 ? positionOf(axis)
                   : IndexNode::apply(IndexKind::multiply, positionOf(axis), IndexNode::constant(step));
}
IndexNode scaled(const Axis &axis, Size step) {
  return step.number == 0 ? positionOf(axis)
                          : IndexNode::apply(IndexKind::multiply, positionOf(axis),
                                             IndexNode::of(IndexKind::size, step.number));
}
} // namespace

namespace {
IndexNode times(IndexNode node, int64_t factor) {
  return factor == 1 ? node
                     : IndexNode::apply(IndexKind::multiply, std::move(node), IndexNode::constant(factor));
}
} // namespace

std::optional<IndexNode> Generator::drawIndexRead(int64_t most) {
  if (env.isPure)
    return std::nullopt;
  int tensor = -1;
  for (size_t number = 0; number < tree.tensors.size(); ++number) {
    const TensorInfo &info = tree.tensors[number];
    if (info.access == Access::input && info.element == ElementType::i32 && info.smallest >= 0 &&
        info.largest <= double(most) && info.shape.size() == 1 && info.exponent == 0)
      tensor = int(number);
  }
  if (tensor < 0)
    tensor = newIndexTensor(most);
  draw.note(Feature::indexRead);
  IndexNode at = env.axes.empty() || draw.chance(30) ? IndexNode::constant(draw.between(-1, 4))
                                                     : positionOf(draw.oneOf(env.axes));
  if (draw.chance(20))
    at = IndexNode::apply(IndexKind::subtract, at, IndexNode::constant(1));
  return IndexNode{IndexKind::read, 0, tensor, {at}};
}

std::optional<IndexNode> Generator::drawPosition() {
  if (cluster > 1 && draw.wants(Feature::blockRank)) {
    draw.note(Feature::blockRank);
    return IndexNode::of(IndexKind::blockRank, -1);
  }
  return env.axes.empty() ? std::nullopt : std::optional(positionOf(draw.oneOf(env.axes)));
}

IndexNode Generator::drawQuotient(IndexNode of) {
  draw.note(Feature::negativeQuotient);
  if (int64_t by = draw.between(0, 130); by > 0)
    of = IndexNode::apply(IndexKind::subtract, std::move(of), IndexNode::constant(by));
  IndexNode divisor =
      IndexNode::constant(draw.chance(50) ? int64_t(1) << draw.between(0, 6) : draw.between(1, 65));
  if (draw.wants(Feature::indexRead))
    if (std::optional<IndexNode> read = drawIndexRead(3))
      divisor = IndexNode::apply(IndexKind::add, std::move(divisor), std::move(*read));
  return IndexNode::apply(draw.oneOf({IndexKind::divide, IndexKind::remainder, IndexKind::ceilDiv}),
                          std::move(of), std::move(divisor));
}

IndexNode Generator::drawOrigin(int64_t extent, const std::vector<Axis> &preferred) {
  const std::vector<Axis> &axes = preferred.empty() ? env.axes : preferred;
  IndexNode origin = IndexNode::constant(0);
  if (!axes.empty() && draw.chance(80))
    origin = scaled(axes[draw.chance(60) ? axes.size() - 1 : draw.below(axes.size())], extent);
  if (env.axes.size() > 1 && draw.chance(8))
    origin = IndexNode::apply(IndexKind::add, origin, *drawPosition());
  if (draw.wants(Feature::indexRead)) {
    if (std::optional<IndexNode> read = drawIndexRead(draw.between(1, 9)))
      origin = IndexNode::apply(IndexKind::add, origin, *read);
  } else if (draw.wants(Feature::shiftedOrigin)) {
    draw.note(Feature::shiftedOrigin);
    int64_t by = draw.chance(40) ? 8 * draw.between(-2, 2) : draw.between(-5, 9);
    origin = by < 0 ? IndexNode::apply(IndexKind::subtract, origin, IndexNode::constant(-by))
                    : IndexNode::apply(IndexKind::add, origin, IndexNode::constant(by));
  } else if (std::optional<IndexNode> position;
             draw.wants(Feature::negativeQuotient) && (position = drawPosition())) {
    origin = IndexNode::apply(IndexKind::add, origin, drawQuotient(std::move(*position)));
  }
  return origin;
}

IndexNode Generator::drawCount(int64_t most) {
  if (draw.wants(Feature::emptyLoop)) {
    draw.note(Feature::emptyLoop);
    return IndexNode::constant(0);
  }
  if (draw.wants(Feature::indexRead))
    if (std::optional<IndexNode> read = drawIndexRead(std::min<int64_t>(most, 4)))
      return *read;
  if (!env.axes.empty() && draw.chance(15)) {
    const Axis &axis = draw.oneOf(env.axes);
    if (positionRanges[size_t(axis.position)].high < most && positionRanges[size_t(axis.position)].low >= 0)
      return IndexNode::apply(IndexKind::add, positionOf(axis), IndexNode::constant(1));
  }
  if (draw.chance(50)) {
    for (size_t number = 0; number < tree.dimensions.size(); ++number) {
      int64_t value = tree.dimensions[number].value;
      for (int64_t by : {8, 16, 32, 64, 1})
        if ((value + by - 1) / by <= most && draw.chance(40))
          return IndexNode::apply(IndexKind::ceilDiv, IndexNode::of(IndexKind::dimension, int(number)),
                                  IndexNode::constant(by));
    }
  }
  return IndexNode::constant(1 + int64_t(draw.weighted({15, 35, 25, 15, 10})) % std::max<int64_t>(most, 1));
}

PositionTest Generator::drawTest() {
  PositionTest test;
  test.comparison = Comparison(draw.below(6));
  test.a = IndexNode::constant(draw.between(0, 3));
  if (std::optional<IndexNode> position = drawPosition())
    test.a = *position;
  else if (!tree.dimensions.empty())
    test.a = IndexNode::of(IndexKind::dimension, int(draw.below(tree.dimensions.size())));
  if (draw.wants(Feature::negativeQuotient))
    test.a = drawQuotient(std::move(test.a));
  else if (draw.chance(25))
    test.a = IndexNode::apply(IndexKind::remainder, test.a, IndexNode::constant(draw.between(2, 3)));
  test.b = IndexNode::constant(draw.between(0, 3));
  if (draw.wants(Feature::indexRead)) {
    if (std::optional<IndexNode> read = drawIndexRead(3))
      test.b = *read;
  } else if (env.axes.size() > 1 && draw.chance(30)) {
    test.b = positionOf(draw.oneOf(env.axes));
  } else if (draw.chance(5)) {
    test.b =
        IndexNode::apply(IndexKind::subtract, IndexNode::of(IndexKind::blocks, -1), IndexNode::constant(1));
  }
  return test;
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

std::vector<int64_t> Generator::boundsOf(const Box &box) const {
  if (box.tensor >= 0)
    return tree.shapeAround(box);
  std::vector<int64_t> shape = tree.extentsOf(tree.shared[size_t(box.tile.shared)].shape);
  if (box.tile.transposed)
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

bool Generator::isInOrder(const Box &box) const {
  return box.tensor < 0 || tree.tensors[size_t(box.tensor)].workspace.order == dsl::TensorOrder::natural;
}

bool Generator::isInside(const Box &box) const {
  std::vector<int64_t> shape = boundsOf(box);
  if (shape.size() != box.extents.size()) // it has positions per element
    return false;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    IndexRange range = rangeOf(box.origin[axis]);
    if (range.low < 0 || range.high + tree.valueOf(box.extents[axis]) > shape[axis])
      return false;
  }
  return true;
}

bool Generator::covers(const Box &box) const {
  std::vector<int64_t> shape = tree.shapeOf(tree.tensors[size_t(box.tensor)]);
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (IndexRange range = rangeOf(box.origin[axis]);
        range.low > 0 || range.high + tree.valueOf(box.extents[axis]) < shape[axis])
      return false;
  return !box.limit;
}

void Generator::drawEviction(Box &box) {
  if (!draw.wants(Feature::eviction))
    return;
  draw.note(Feature::eviction);
  box.eviction = draw.oneOf({dsl::Eviction::normal, dsl::Eviction::first, dsl::Eviction::last});
}

void Generator::decorate(Box &box, bool isRead, Domain *domain) {
  if (draw.wants(Feature::limit)) {
    draw.note(Feature::limit);
    Limit limit;
    limit.axis = int(draw.below(box.origin.size()));
    ElementType element = box.tensor < 0 ? tree.shared[size_t(box.tile.shared)].element
                                         : tree.tensors[size_t(box.tensor)].element;
    int64_t unit = limit.axis + 1 == int(box.origin.size()) ? elementsPerUnit(element) : 1;
    int64_t extent = boundsOf(box)[size_t(limit.axis)] / unit;
    limit.end = IndexNode::constant(draw.between(-1, extent + 2));
    if (draw.wants(Feature::indexRead)) {
      if (std::optional<IndexNode> read = drawIndexRead(std::max<int64_t>(extent, 1)))
        limit.end = *read;
    } else if (!env.axes.empty() && draw.chance(40)) {
      limit.end = IndexNode::apply(IndexKind::subtract, IndexNode::constant(extent),
                                   positionOf(draw.oneOf(env.axes)));
    }
    limit.end = times(std::move(limit.end), unit);
    box.limit = std::move(limit);
  }
  if (isRead && draw.wants(Feature::fillValue)) {
    draw.note(Feature::fillValue);
    box.fill = double(draw.between(0, 3));
    *domain = join(*domain, {3, 0, true});
  }
  if (isInside(box) && draw.wants(Feature::unchecked)) {
    draw.note(Feature::unchecked);
    box.unchecked = true;
  }
}

Sizes Generator::onAxes(const Sizes &extents, size_t rank, ElementType element) {
  // The last one of packed elements stays the last.
  size_t kept = isPacked(element) ? 1 : 0, next = 0;
  Sizes result;
  for (size_t axis = 0; axis + kept < rank; ++axis) {
    size_t left = extents.size() - kept - next;
    bool isLeft = left >= rank - kept - axis; // all the rest is needed
    bool takes = left > 0 && (isLeft || draw.chance(50));
    result.push_back(takes ? extents[next++] : Size());
  }
  if (kept > 0)
    result.push_back(extents.back());
  return result;
}

std::optional<Box> Generator::drawInputBox(const Sizes &shape, ElementType element, Domain &domain) {
  if (!mayBeInMemory(shape, element))
    return std::nullopt;
  Sizes extents = significant(shape);
  auto unitOf = [&](size_t axis, size_t rank) { return axis + 1 == rank ? elementsPerUnit(element) : 1; };
  // Tensors that can have such a box.
  std::vector<int> candidates;
  int inputs = 0;
  for (size_t number = 0; number < tree.tensors.size(); ++number) {
    const TensorInfo &info = tree.tensors[number];
    inputs += info.access == Access::input;
    bool isReadable = info.access == Access::input || complete.contains(int(number));
    if (isReadable && !unread.contains(int(number)) && info.element == element &&
        info.shape.size() >= extents.size())
      candidates.push_back(int(number));
  }
  constexpr size_t mostTensors = 14, mostOfWindows = 5;
  Box box;
  if (tree.tensors.size() <= mostTensors && extents.size() <= mostOfWindows && draw.wants(Feature::windows)) {
    box = drawWindows(extents, element, env.axes, elementsPerUnit(element));
  } else if (!candidates.empty() && (inputs > 7 || draw.chance(35))) {
    box.tensor = draw.oneOf(candidates);
    size_t rank = tree.tensors[size_t(box.tensor)].shape.size();
    box.extents = onAxes(extents, rank, element);
    for (size_t axis = 0; axis < rank; ++axis) {
      int64_t unit = unitOf(axis, rank);
      box.origin.push_back(times(drawOrigin(tree.valueOf(box.extents[axis]) / unit, {}), unit));
    }
  } else {
    if (tree.tensors.size() > mostTensors)
      return std::nullopt;
    std::vector<TensorExtent> axes;
    size_t rank = std::max<size_t>(extents.size(), 1);
    if (rank < 3 && draw.chance(12))
      ++rank;
    box.extents = onAxes(extents, rank, element);
    for (size_t axis = 0; axis < rank; ++axis) {
      int64_t value = tree.valueOf(box.extents[axis]), unit = unitOf(axis, rank);
      IndexNode origin = times(drawOrigin(value / unit, {}), unit);
      int64_t reach = std::clamp<int64_t>(rangeOf(origin).high + value, 1, 600);
      if (draw.chance(35)) // an edge
        reach = std::max<int64_t>(1, reach - draw.between(1, std::max<int64_t>(value / 2, 1)));
      box.origin.push_back(std::move(origin));
      axes.push_back(drawTensorExtent(alignTo(reach, unit)));
    }
    box.tensor = newTensor(Access::input, element, std::move(axes));
  }
  domain = tensorDomains[size_t(box.tensor)];
  decorate(box, /*isRead=*/true, &domain);
  drawEviction(box);
  return box;
}

std::optional<Box> Generator::drawOwnedBox(const Sizes &shape, ElementType element, Access access) {
  if (!mayBeInMemory(shape, element))
    return std::nullopt;
  Sizes extents = significant(shape);
  // The same box again: stores follow each other, or what was stored before.
  if (!env.stored.empty() && access != Access::workspace && draw.chance(20)) {
    const Box &before = draw.oneOf(env.stored);
    if (tree.tensors[size_t(before.tensor)].element == element && equal(significant(before.extents), extents))
      return before;
  }
  // Axes of the grid that must tell boxes apart; those of loops do not.
  std::vector<Axis> grid;
  for (const Axis &axis : env.axes)
    if (axis.isGrid && axis.count > 1)
      grid.push_back(axis);
  size_t rank = std::max<size_t>({extents.size(), grid.size(), 1});
  if (rank < 3 && draw.chance(10))
    ++rank;
  if (rank > mostAxes)
    return std::nullopt;
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = rank; i > 1; --i)
    if (draw.chance(30))
      std::swap(order[i - 1], order[draw.below(i)]);
  Box box;
  std::vector<TensorExtent> axes(rank);
  box.origin.assign(rank, IndexNode::constant(0));
  box.extents = onAxes(extents, rank, element);
  for (size_t axis = 0; axis < rank; ++axis) {
    Size extent = box.extents[axis];
    int64_t value = tree.valueOf(extent), reach = value;
    int64_t unit = axis + 1 == rank ? elementsPerUnit(element) : 1;
    size_t place = size_t(std::ranges::find(order, axis) - order.begin());
    int dimension = -1;
    if (place < grid.size()) {
      const Axis &walked = grid[place];
      box.origin[axis] = scaled(walked, extent);
      reach = walked.count * value;
      if (walked.dimension >= 0 && tree.valueOf(walked.tile) == value &&
          tree.dimensions[size_t(walked.dimension)].value % unit == 0)
        dimension = walked.dimension;
    } else if (draw.wants(Feature::shiftedOrigin)) {
      draw.note(Feature::shiftedOrigin);
      int64_t by = unit * draw.between(0, 9);
      box.origin[axis] = IndexNode::constant(by);
      reach += by;
    }
    if (dimension >= 0 && draw.chance(75)) {
      axes[axis] = {.dimension = dimension};
      continue;
    }
    if (draw.chance(35))
      reach = draw.chance(50)
                  ? reach + draw.between(1, 9)
                  : std::max<int64_t>(1, reach - draw.between(1, std::max<int64_t>(value / 2, 1)));
    axes[axis] = drawTensorExtent(std::min<int64_t>(alignTo(reach, unit), 900));
  }
  box.tensor = newTensor(access, element, std::move(axes));
  if (box.tensor < 0)
    return std::nullopt;
  if (access != Access::inout)
    tensorDomains[size_t(box.tensor)] = {}; // what is stored will tell
  unread.insert(box.tensor);
  drawEviction(box);
  return box;
}
