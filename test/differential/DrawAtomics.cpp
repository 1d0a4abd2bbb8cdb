// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws atomic operations, of fragments, numbers and tiles.
#include "runtime/support/Math.h"
#include "test/differential/Generator.h"

#include <algorithm>

using namespace tlc;
using namespace tlc::differential;

namespace {

bool isOfBits(Function function) {
  return function == Function::bitAnd || function == Function::bitOr || function == Function::bitXor;
}

} // namespace

Domain differential::combinedBy(Function function, ElementType element, Domain holds, Domain value) {
  Domain either = join(holds, value);
  return isOfBits(function) ? bitsOf(element, either) : either;
}

bool Generator::atomicTile(Body &body) {
  Function function = draw.oneOf({Function::add, Function::add, Function::add, Function::min, Function::max,
                                  Function::bitAnd, Function::bitOr, Function::bitXor});
  bool isSum = function == Function::add;
  ElementType element = isOfBits(function)
                            ? ElementType::i32
                            : draw.oneOf({ElementType::f16, ElementType::bf16, ElementType::i32});
  if (isSum && draw.chance(60))
    element = ElementType::f32;
  if (int(tree.tensors.size()) > 8 || env.variables.empty())
    return false;
  Sizes shape = significant(tree.variables[size_t(draw.oneOf(env.variables))].shape);
  int64_t granule = elementsOf(element, 16);
  if (shape.empty() || tree.valueOf(shape.back()) % granule != 0 ||
      !spend(4.0 * double(tree.elementsOf(shape))))
    return false;
  std::optional<Drawn> value = drawFull(shape, element, int(draw.between(0, 2)));
  if (!value)
    return false;
  double times = 4 * env.repeats * double(blocks);
  if (!value->domain.finite || !fits(element, repeated(value->domain, isSum ? 2 * times : 2)))
    value = clamped(std::move(*value), 1);
  Domain combined = isSum ? repeated(value->domain, times) : value->domain;

  Box box{.extents = shape};
  std::vector<TensorExtent> axes;
  for (Size extent : shape) {
    int64_t length = tree.valueOf(extent);
    IndexNode origin = IndexNode::constant(0);
    if (!env.axes.empty() && draw.chance(50))
      origin = IndexNode::apply(IndexKind::multiply,
                                IndexNode::of(IndexKind::position, draw.oneOf(env.axes).position),
                                IndexNode::of(IndexKind::size, extent.number));
    int64_t reach = std::min<int64_t>(rangeOf(origin).high + length, 600);
    bool isLast = axes.size() + 1 == shape.size();
    axes.push_back(isLast ? TensorExtent{.size = newSize(alignTo(reach, granule))}
                          : drawTensorExtent(std::max<int64_t>(1, reach - draw.between(0, 2))));
    box.origin.push_back(std::move(origin));
  }
  bool isPassedOn = launchesLeft > 0 && draw.wants(Feature::workspace);
  box.tensor = newTensor(isPassedOn ? Access::workspace : Access::inout, element, std::move(axes));
  if (box.tensor < 0)
    return false;
  TensorInfo &info = tree.tensors[size_t(box.tensor)];
  Domain &holds = tensorDomains[size_t(box.tensor)];
  if (isPassedOn) {
    draw.note(Feature::workspace);
    holds = {};
    info.workspace.initial = dsl::Initial::zero;
    bool hasPieces = shape.size() > 1 && tree.valueOf(shape[shape.size() - 2]) % 16 == 0 &&
                     tree.valueOf(shape.back()) % 8 == 0;
    if (!hasPieces)
      info.workspace.order = dsl::TensorOrder::natural;
  } else {
    info.alignment = 16;
    info.offset = 0;
    info.lastStride = dsl::LastStride::one;
    info.step = 1;
    info.rowPadding = info.rowPadding / granule * granule;
  }
  unread.insert(box.tensor);
  if (isSum && !fits(element, sum(holds, combined)))
    value = {number(element, 1)}, combined = repeated({1, -1, true}, times);
  holds = isSum ? sum(holds, combined) : combinedBy(function, element, holds, combined);
  draw.note(Feature::atomic);
  draw.note(Feature::atomicTile);
  int tile = newShared(body, shape, element);
  env.tiles.pop_back(); // other uses of it may want another order of its elements
  View view{.shared = tile};
  if (value->expression.kind == Expression::Kind::number)
    body.push_back(
        {.kind = Statement::Kind::fill, .number = value->expression.number, .to = Place::of(view)});
  else
    body.push_back(
        {.kind = Statement::Kind::store, .to = Place::of(view), .values = {std::move(value->expression)}});
  body.push_back({.kind = Statement::Kind::atomicTile,
                  .function = function,
                  .from = Place::of(view),
                  .to = Place::of(std::move(box))});
  return true;
}

/// Of a box that no other block touches, so that the old values are known.
bool Generator::atomicFetch(Body &body) {
  using enum ElementType;
  bool exchanges = draw.chance(50), compares = exchanges && draw.chance(50);
  Function function = draw.oneOf({Function::add, Function::add, Function::min, Function::max,
                                  Function::bitAnd, Function::bitOr, Function::bitXor});
  bool isSum = !exchanges && function == Function::add;
  ElementType element =
      (exchanges && !compares) || isSum ? draw.oneOf({f32, f64, i32, i64, u32}) : draw.oneOf({i32, i64, u32});
  if (int(tree.tensors.size()) > 8 || env.variables.empty())
    return false;
  Sizes shape = tree.variables[size_t(draw.oneOf(env.variables))].shape;
  if (!spend(6.0 * double(tree.elementsOf(shape))))
    return false;
  std::optional<Drawn> value = drawFull(shape, element, int(draw.between(0, 2)));
  std::optional<Drawn> expected = compares ? drawFull(shape, element, 1) : std::nullopt;
  if (!value || (compares && !expected))
    return false;
  double times = env.repeats;
  if (!value->domain.finite || !fits(element, repeated(value->domain, 2 * times)))
    value = clamped(std::move(*value), 4);
  std::optional<Box> box = drawOwnedBox(shape, element, Access::inout);
  if (!box || tree.tensors[size_t(box->tensor)].access == Access::workspace)
    return false;
  Domain &holds = tensorDomains[size_t(box->tensor)];
  Domain all = isSum       ? sum(holds, repeated(value->domain, times))
               : exchanges ? join(holds, value->domain)
                           : combinedBy(function, element, holds, value->domain);
  if (!fits(element, all))
    return false;
  holds = all;
  draw.note(Feature::atomic);
  draw.note(Feature::atomicFetch);
  int old = declare(body, element, shape, all);
  env.stored.push_back(*box);
  if (draw.wants(Feature::scatter))
    scatter(body, *box, shape);
  Statement fetch = {.kind = exchanges ? Statement::Kind::exchange : Statement::Kind::fetch,
                     .id = old,
                     .function = function,
                     .to = Place::of(std::move(*box)),
                     .values = {std::move(value->expression)}};
  if (compares)
    fetch.values.push_back(std::move(expected->expression));
  body.push_back(std::move(fetch));
  return true;
}

bool Generator::atomic(Body &body) {
  if (draw.wants(Feature::atomicTile))
    return atomicTile(body);
  if (draw.wants(Feature::atomicFetch))
    return atomicFetch(body);
  ElementType element =
      draw.oneOf({ElementType::f32, ElementType::f32, ElementType::i32, ElementType::i64, ElementType::f64});
  Function function = Function::add;
  if (isInteger(element) && draw.chance(60)) {
    function =
        draw.oneOf({Function::min, Function::max, Function::bitAnd, Function::bitOr, Function::bitXor});
    element = draw.oneOf({ElementType::i32, ElementType::i64, ElementType::u32});
  }
  bool isSum = function == Function::add;
  if (int(tree.tensors.size()) > 8 || env.variables.empty())
    return false;
  Sizes shape = tree.variables[size_t(draw.oneOf(env.variables))].shape;
  if (!spend(4.0 * double(tree.elementsOf(shape))))
    return false;
  std::optional<Drawn> value = drawFull(shape, element, int(draw.between(0, 2)));
  if (!value)
    return false;
  double times = env.repeats * double(blocks);
  if (!value->domain.finite || !fits(element, repeated(value->domain, 2 * times)))
    value = clamped(std::move(*value), 4);
  bool isOwned = draw.chance(40);
  Box box;
  if (isOwned) {
    // Whoever owns the box may read it again: what was added is there.
    std::optional<Box> owned = drawOwnedBox(shape, element, Access::inout);
    if (!owned || tree.tensors[size_t(owned->tensor)].access == Access::workspace)
      return false;
    box = std::move(*owned);
  } else {
    Sizes extents = significant(shape);
    if (extents.empty())
      extents = {Size()};
    std::vector<TensorExtent> axes;
    for (Size extent : extents) {
      int64_t length = tree.valueOf(extent);
      IndexNode origin = drawOrigin(std::max<int64_t>(1, draw.chance(50) ? length : length / 2), {});
      axes.push_back(
          drawTensorExtent(std::clamp<int64_t>(rangeOf(origin).high + length - draw.between(0, 2), 1, 600)));
      box.origin.push_back(std::move(origin));
    }
    box.extents = extents;
    bool isPassedOn = launchesLeft > 0 && draw.wants(Feature::workspace);
    if (isPassedOn)
      draw.note(Feature::workspace);
    box.tensor = newTensor(isPassedOn ? Access::workspace : Access::inout, element, std::move(axes));
    if (box.tensor < 0)
      return false;
    if (isPassedOn) {
      tree.tensors[size_t(box.tensor)].workspace.initial = dsl::Initial::zero;
      tensorDomains[size_t(box.tensor)] = {};
    }
    unread.insert(box.tensor);
  }
  draw.note(Feature::atomic);
  Domain &holds = tensorDomains[size_t(box.tensor)];
  Domain all = sum(holds, repeated(value->domain, times * (isOwned ? 1 : 4)));
  if (!isSum)
    all = combinedBy(function, element, holds, value->domain);
  else if (!fits(element, all))
    value = {number(element, 1)}, all = sum(holds, repeated({1, -1, true}, times * 4));
  holds = all;
  if (isOwned)
    env.stored.push_back(box);
  if (value->expression.kind == Expression::Kind::number) {
    box.extents.assign(box.extents.size(), Size());
    body.push_back({.kind = Statement::Kind::atomicNumber,
                    .function = function,
                    .number = value->expression.number,
                    .to = Place::of(std::move(box))});
    return true;
  }
  if (draw.wants(Feature::scatter))
    scatter(body, box, shape);
  Statement combine = {.kind = Statement::Kind::atomic,
                       .function = function,
                       .to = Place::of(std::move(box)),
                       .values = {std::move(value->expression)}};
  // Whose turn it is depends on which block starts first, and so does how sums are rounded.
  if (isSum && (tree.isExact || isInteger(element)) && draw.wants(Feature::counts))
    takeTurns(combine);
  body.push_back(std::move(combine));
  return true;
}

void Generator::takeTurns(Statement &add) {
  int counts = newTensor(Access::workspace, ElementType::i32, {{.size = newSize(2)}});
  if (counts < 0)
    return;
  draw.note(Feature::counts);
  tree.tensors[size_t(counts)].workspace.initial = dsl::Initial::zero;
  unread.insert(counts);
  add.kind = Statement::Kind::addInTurn;
  add.from = Place::of(Box{.tensor = counts, .origin = {IndexNode::constant(0)}, .extents = {newSize(2)}});
}
