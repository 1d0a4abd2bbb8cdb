// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws loops and branches.
#include "test/differential/Generator.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

using namespace tlc;
using namespace tlc::differential;

Body Generator::inside(const std::function<void(Body &)> &drawInside) {
  Environment before = env;
  ++env.depth;
  Body body;
  drawInside(body);
  env = std::move(before);
  return body;
}

/// Copies, products, and between them arithmetic and tiles through which threads exchange what they have.
void Generator::drawLeanBody(Body &body) {
  env.isLean = true;
  product(body);
  for (int64_t number = draw.between(0, 3); number > 0; --number) {
    switch (draw.weighted({40, 30, 15, 15, 8, 20, draw.weightOf(Feature::report),
                           draw.weightOf(Feature::sharedSlice),
                           blocksOfCluster == 1 ? 0 : draw.weightOf(Feature::otherBlocks)})) {
    case 0:
      assign(body);
      break;
    case 1:
      product(body);
      break;
    case 2:
      declareComputed(body);
      break;
    case 3:
      assignWhen(body, drawTest());
      break;
    case 4:
      atomic(body);
      break;
    case 5:
      shared(body);
      break;
    case 6:
      report(body);
      break;
    case 7:
      sharedSlices(body);
      break;
    default:
      otherBlocks(body);
    }
  }
}

bool Generator::assignWhen(Body &body, PositionTest test) {
  Statement when = {.kind = Statement::Kind::when};
  when.tests.push_back(std::move(test));
  when.bodies.push_back(inside([&](Body &statements) {
    env.inBranch = true;
    assign(statements);
  }));
  if (when.bodies[0].empty())
    return false;
  draw.note(Feature::when);
  body.push_back(std::move(when));
  return true;
}

/// A small number or a position, as it stands: what is computed in a loop is no bound that does not change
/// there.
IndexNode Generator::drawBound(int notThis) {
  if (!env.axes.empty() && draw.chance(50))
    if (int position = draw.oneOf(env.axes).position; position != notThis)
      return IndexNode::of(IndexKind::position, position);
  return IndexNode::constant(draw.between(0, 3));
}

/// A branch on the counter of a loop from `from`, by which the compiler splits the loop. The rounds that are
/// meant may lie before the first one, in some blocks only.
void Generator::firstRounds(Body &body, const Axis &axis, const IndexNode &from) {
  IndexNode end = drawBound(axis.position);
  if (int64_t last = rangeOf(from).high; last > 0 && draw.chance(50))
    end = IndexNode::constant(int64_t(draw.below(uint64_t(last))));
  if (assignWhen(body, {.a = IndexNode::of(IndexKind::position, axis.position), .b = std::move(end)}))
    draw.note(Feature::firstRounds);
}

namespace {
/// Whether the compiler sees that the blocks of a cluster have one number: no position, nothing that is read.
bool isAlikeForAll(const IndexNode &node) {
  bool isKnown = node.kind == IndexKind::constant || node.kind == IndexKind::size ||
                 node.kind == IndexKind::dimension || node.kind >= IndexKind::add;
  return isKnown && std::ranges::all_of(node.operands, isAlikeForAll);
}
} // namespace

void Generator::drawStep(const IndexNode &from, IndexNode &to, IndexNode &step) {
  std::optional<IndexNode> read = drawIndexRead(draw.between(1, 3));
  if (!read)
    return;
  draw.note(Feature::readStep);
  if (draw.chance(50)) {
    step = IndexNode::apply(IndexKind::add, std::move(*read), IndexNode::constant(1));
    return;
  }
  IndexNode any = IndexNode::apply(IndexKind::min, *read, IndexNode::constant(1));
  to = IndexNode::apply(IndexKind::subtract, std::move(to), from);
  to = IndexNode::apply(IndexKind::add, IndexNode::apply(IndexKind::multiply, std::move(to), std::move(any)),
                        from);
  step = std::move(*read);
}

IndexNode Generator::drawFar(const IndexNode &from, const IndexNode &to) {
  draw.note(Feature::farLoop);
  constexpr int64_t mostRead = 3;
  IndexRange first = rangeOf(from), end = rangeOf(to);
  int64_t highest = std::max({int64_t(0), first.high, end.high}),
          lowest = std::min({int64_t(0), first.low, end.low}); // 0: what is added is a position, too
  int64_t offset = draw.between(0, 2);
  std::optional<IndexNode> read = draw.chance(40) ? drawIndexRead(mostRead) : std::nullopt;
  IndexNode far = IndexNode::constant(
      draw.chance(70) ? std::numeric_limits<int32_t>::max() - highest - offset - (read ? mostRead : 0)
                      : std::numeric_limits<int32_t>::min() - lowest + offset);
  return read ? IndexNode::apply(IndexKind::add, std::move(far), std::move(*read)) : far;
}

bool Generator::loop(Body &body, bool isPipelined) {
  IndexNode from = IndexNode::constant(0), to = drawCount(5), step = IndexNode::constant(1);
  if (!tree.dimensions.empty() && draw.wants(Feature::negativeQuotient)) {
    IndexNode dimension = IndexNode::of(IndexKind::dimension, int(draw.below(tree.dimensions.size())));
    if (IndexNode count = drawQuotient(std::move(dimension)); rangeOf(count).high <= 5)
      to = std::move(count);
  }
  if (draw.wants(Feature::steppedLoop)) {
    draw.note(Feature::steppedLoop);
    from = drawBound();
    step = IndexNode::constant(draw.chance(50) ? 1 : draw.between(2, 3));
    to = IndexNode::apply(IndexKind::add, std::move(to), from);
  }
  if (draw.wants(Feature::readStep))
    drawStep(from, to, step);
  std::optional<IndexNode> far;
  if (draw.wants(Feature::farLoop))
    far = drawFar(from, to);
  int64_t first = rangeOf(from).low, last = rangeOf(to).high - 1,
          by = std::max<int64_t>(rangeOf(step).low, 1);
  int64_t count = std::max<int64_t>(0, (last - first) / by + 1);
  if (last < first)
    count = 0;
  if (!spend(100 * double(count)))
    return false;
  bool isLean = isPipelined && (env.isLean || draw.wants(Feature::leanLoop));
  // A sum that the loop adds to.
  if (isLean || (draw.chance(65) && !env.inBranch)) {
    Sizes shape = drawShape();
    if (isLean)
      shape = {newSize(env.warps == 8 || isForTcgen05 ? 128 : draw.oneOf<int64_t>({64, 64, 128})),
               newSize(draw.wants(Feature::panelStore) ? draw.oneOf<int64_t>({64, 64, 128})
                                                       : draw.oneOf<int64_t>({8, 16, 32, 64, 64, 128}))};
    int id = declare(body, isLean || draw.chance(85) ? ElementType::f32 : drawFloat(), shape, {});
    if (draw.chance(20)) {
      variableHolds[size_t(id)].current = domainOf(1);
      tree.variables[size_t(id)].initial = 1;
    }
  }
  Axis axis;
  axis.position = int(tree.positions.size());
  axis.count = std::max<int64_t>(count, 1);
  tree.positions.push_back({fmt::format("i{}", axis.position)});
  positionRanges.push_back({first, std::max(first, last)});
  bool endsEarly = !isPipelined && draw.wants(Feature::loopWhile);
  Statement loop = {.kind = isPipelined ? Statement::Kind::pipelined
                            : endsEarly ? Statement::Kind::loopWhile
                                        : Statement::Kind::loop,
                    .id = axis.position};
  if (isPipelined) {
    loop.number = double(draw.between(1, 3));
    if (draw.wants(Feature::manyStages)) {
      draw.note(Feature::manyStages);
      loop.number = double(draw.between(3, 5));
    }
  }
  draw.note(isPipelined ? Feature::pipelined : Feature::loop);
  if (endsEarly)
    draw.note(Feature::loopWhile);
  if (isLean)
    draw.note(Feature::leanLoop);
  if (env.loops > 0)
    draw.note(Feature::nestedLoop);
  bool isCounted = from.kind == IndexKind::constant && from.number == 0 && step.kind == IndexKind::constant &&
                   by == 1 && !endsEarly;
  bool hasBarrier = isCounted && env.warps != 0 && countsRounds() && draw.wants(Feature::barrier);
  int barrier = hasBarrier ? newBarrier(body, BarrierInfo::Kind::threads, 32 * env.warps) : -1;
  loop.bodies.push_back(inside([&](Body &statements) {
    env.axes.push_back(axis);
    env.repeats *= double(axis.count);
    env.filledBefore = env.written;
    ++env.loops;
    env.inBranch |= endsEarly;
    env.isAlike &=
        isAlikeForAll(from) && isAlikeForAll(to) && isAlikeForAll(step) && (!far || isAlikeForAll(*far));
    if (isLean) {
      drawLeanBody(statements);
    } else {
      if (isPipelined && draw.chance(70))
        product(statements);
      else
        declareLoaded(statements);
      drawBody(statements, int(draw.between(1, 4)));
    }
    bool beginsLate = rangeOf(from).high > 0;
    if (by == 1 && (draw.wants(Feature::firstRounds) || (beginsLate && draw.chance(50))))
      firstRounds(statements, axis, from);
    if (endsEarly)
      loop.tests.push_back(drawTest());
  }));
  if (hasBarrier) {
    Body &round = loop.bodies[0];
    round.insert(round.begin(), {.kind = Statement::Kind::arrive, .id = barrier, .isFixed = true});
    round.push_back({.kind = Statement::Kind::awaitPhase,
                     .id = barrier,
                     .index = {IndexNode::of(IndexKind::position, axis.position)},
                     .isFixed = true});
  }
  loop.index = {std::move(from), std::move(to), std::move(step)};
  if (far) {
    for (size_t bound : {0, 1})
      loop.index[bound] = IndexNode::apply(IndexKind::add, std::move(loop.index[bound]), *far);
    loop.index.push_back(std::move(*far));
  }
  body.push_back(std::move(loop));
  return true;
}

bool Generator::when(Body &body) {
  Statement when = {.kind = Statement::Kind::when};
  when.tests.push_back(drawTest());
  if (draw.chance(15))
    when.tests.push_back(drawTest());
  int branches = 1;
  if (draw.wants(Feature::otherwise)) {
    draw.note(Feature::otherwise);
    branches = 2;
  }
  draw.note(Feature::when);
  for (int branch = 0; branch < branches; ++branch)
    when.bodies.push_back(inside([&](Body &statements) {
      env.inBranch = true;
      drawBody(statements, int(draw.between(1, 3)));
    }));
  body.push_back(std::move(when));
  return true;
}

bool Generator::whenAny(Body &body) {
  std::vector<int> candidates;
  for (int id : env.variables)
    if (isComputed(tree.variables[size_t(id)].element) && variableValue(id).domain.exact)
      candidates.push_back(id);
  if (candidates.empty())
    return false;
  int variable = draw.oneOf(candidates);
  const VariableInfo info = tree.variables[size_t(variable)];
  if (!spend(2 * double(tree.elementsOf(info.shape))))
    return false;
  Drawn x = variableValue(variable), bound = number(info.element, 3);
  env.isPure = true;
  std::optional<Drawn> next = drawOfTwo(info.shape, info.element, 1);
  env.isPure = false;
  if (!next || !mayAssign(variable, join(next->domain, x.domain)))
    return false;
  draw.note(Feature::whenAny);
  Statement any = {.kind = Statement::Kind::whenAny, .comparison = Comparison(draw.below(4))};
  any.values = {x.expression, bound.expression};
  Expression chosen = {.kind = Expression::Kind::where, .type = info.element, .comparison = any.comparison};
  chosen.operands = {x.expression, bound.expression, std::move(next->expression), x.expression};
  Domain after = join(next->domain, x.domain);
  any.bodies.push_back({{.kind = Statement::Kind::assign, .id = variable, .values = {std::move(chosen)}}});
  bool wasBranch = std::exchange(env.inBranch, true);
  assigned(variable, after);
  env.inBranch = wasBranch;
  body.push_back(std::move(any));
  return true;
}
