// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws slices of shared tiles: what a tile holds is read, written and combined in boxes anywhere, also with
/// a position per element.
#include "test/differential/Generator.h"

#include <algorithm>

using namespace tlc;
using namespace tlc::differential;

namespace {
constexpr int64_t mostInTile = 4096; ///< elements

bool mentionsElements(const IndexNode &node) {
  return node.kind == IndexKind::elements || std::ranges::any_of(node.operands, mentionsElements);
}
} // namespace

/// Anywhere near the tile, of any extents.
Box Generator::drawSharedBox(int tile) {
  const SharedInfo info = tree.shared[size_t(tile)];
  Box box{.tile = {.shared = tile}};
  if (info.shape.size() >= 2 && draw.wants(Feature::transposedView)) {
    draw.note(Feature::transposedView);
    box.tile.transposed = true;
  }
  for (int64_t extent : boundsOf(box)) {
    int64_t own = draw.chance(40) ? extent : std::min<int64_t>(draw.between(1, extent + 2), 64);
    box.extents.push_back(newSize(own));
    box.origin.push_back(draw.chance(30) ? IndexNode::constant(0)
                                         : drawOrigin(std::max<int64_t>(own / 2, 1), {}));
  }
  return box;
}

void Generator::readSharedBox(Body &body, int tile, Domain domain) {
  ElementType element = tree.shared[size_t(tile)].element;
  Box box = drawSharedBox(tile);
  Sizes shape = box.extents;
  decorate(box, /*isRead=*/true, &domain);
  domain = join(domain, {}); // outside
  if (draw.wants(Feature::gather))
    gather(body, box, shape);
  int id = declare(body, element, shape, domain);
  body.push_back({.kind = Statement::Kind::copy, .from = Place::of(std::move(box)), .to = Place::of(id)});
}

bool Generator::writeSharedBox(Body &body, int tile, Domain &holds) {
  ElementType element = tree.shared[size_t(tile)].element;
  Box box = drawSharedBox(tile);
  Sizes shape = box.extents;
  if (!spend(double(tree.elementsOf(shape))))
    return false;
  decorate(box, /*isRead=*/false, nullptr);
  std::optional<Drawn> value = drawFull(shape, element, int(draw.between(0, 2)));
  if (!value)
    return false;
  holds = join(holds, value->domain);
  if (draw.wants(Feature::scatter))
    scatter(body, box, shape);
  body.push_back({.kind = Statement::Kind::store,
                  .to = Place::of(std::move(box)),
                  .values = {std::move(value->expression)}});
  return true;
}

bool Generator::combineSharedBox(Body &body, int tile, Domain &holds) {
  using enum ElementType;
  ElementType element = tree.shared[size_t(tile)].element;
  bool isOfIntegers = element == i32 || element == u32 || element == i64;
  if (!isOfIntegers && element != f32 && element != f64)
    return false;
  Function function = Function::add;
  if (isOfIntegers && draw.chance(60))
    function =
        draw.oneOf({Function::min, Function::max, Function::bitAnd, Function::bitOr, Function::bitXor});
  bool isFetch = draw.wants(Feature::atomicFetch), exchanges = isFetch && draw.chance(40);
  bool isSum = function == Function::add && !exchanges;
  Box box = drawSharedBox(tile);
  Sizes shape = box.extents;
  if (!spend(4.0 * double(tree.elementsOf(shape))))
    return false;
  std::optional<Drawn> value = drawFull(shape, element, int(draw.between(0, 2)));
  if (!value)
    return false;
  // Of a gathered box all elements may be added to one.
  double times = double(tree.elementsOf(shape));
  if (!value->domain.finite || !fits(element, repeated(value->domain, 2 * times)))
    value = clamped(std::move(*value), 2);
  Domain all = isSum       ? sum(holds, repeated(value->domain, times))
               : exchanges ? join(holds, value->domain)
                           : combinedBy(function, element, holds, value->domain);
  if (!fits(element, all))
    return false;
  holds = all;
  draw.note(Feature::atomic);
  decorate(box, /*isRead=*/isFetch, &all);
  if (!isFetch) {
    if (draw.wants(Feature::gather))
      gather(body, box, shape);
    else if (draw.wants(Feature::scatter))
      scatter(body, box, shape);
    if (value->expression.kind == Expression::Kind::number) { // with positions for each, else for one
      bool hasPositions =
          std::ranges::any_of(box.origin, [](const IndexNode &origin) { return mentionsElements(origin); });
      if (!hasPositions)
        box.extents.assign(box.extents.size(), Size());
      body.push_back({.kind = Statement::Kind::atomicNumber,
                      .function = function,
                      .number = value->expression.number,
                      .to = Place::of(std::move(box))});
      return true;
    }
    body.push_back({.kind = Statement::Kind::atomic,
                    .function = function,
                    .to = Place::of(std::move(box)),
                    .values = {std::move(value->expression)}});
    return true;
  }
  draw.note(Feature::atomicFetch);
  // Old values that depend on an order are not specified: each element has a position of its own.
  int old = declare(body, element, shape, join(all, {}));
  if (draw.wants(Feature::scatter))
    scatter(body, box, shape);
  body.push_back({.kind = exchanges ? Statement::Kind::exchange : Statement::Kind::fetch,
                  .id = old,
                  .function = function,
                  .to = Place::of(std::move(box)),
                  .values = {std::move(value->expression)}});
  return true;
}

/// Of a tile that copies and other views fill, too, slices are read; one of its own is changed as well.
bool Generator::sharedSlices(Body &body) {
  for (int tile : env.written)
    if (!isPacked(tree.shared[size_t(tile)].element) && tree.shared[size_t(tile)].slots == 0 &&
        draw.chance(40)) {
      draw.note(Feature::sharedSlice);
      readSharedBox(body, tile, tileHolds[size_t(tile)].current);
      return true;
    }
  Sizes shape = drawShape();
  ElementType element = draw.chance(50) ? draw.oneOf({ElementType::i32, ElementType::u32, ElementType::i64,
                                                      ElementType::f32, ElementType::f64})
                                        : drawElement();
  if (isPacked(element) || tree.elementsOf(shape) > mostInTile || !spend(2 * double(tree.elementsOf(shape))))
    return false;
  Domain holds;
  Statement first;
  if (std::optional<Drawn> value = drawFull(shape, element, int(draw.between(0, 1)))) {
    holds = value->domain;
    first = {.kind = Statement::Kind::store, .values = {std::move(value->expression)}};
  } else {
    first = {.kind = Statement::Kind::fill, .number = 0};
  }
  draw.note(Feature::sharedSlice);
  int tile = newShared(body, shape, element);
  env.tiles.pop_back(); // what it holds is not followed further
  first.to = Place::of(View{.shared = tile});
  body.push_back(std::move(first));
  for (int64_t count = draw.between(1, 4); count > 0; --count) {
    bool combines = draw.chance(60) && combineSharedBox(body, tile, holds);
    if (!combines && draw.chance(60))
      writeSharedBox(body, tile, holds);
    if (draw.chance(30))
      readSharedBox(body, tile, holds);
  }
  readSharedBox(body, tile, holds);
  return true;
}
