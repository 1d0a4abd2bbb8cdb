// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws what the blocks of a cluster do to each other's shared tiles, and sums over them.
#include "test/differential/Generator.h"

#include <algorithm>

using namespace tlc;
using namespace tlc::differential;

namespace {
constexpr int64_t mostSharedElements = 4096, rowStep = 8;
} // namespace

bool Generator::otherBlocks(Body &body) {
  if (blocksOfCluster == 1 || !env.isAlike || env.inBranch || env.inRole)
    return false;
  if (draw.chance(25))
    return clusterSum(body);
  Sizes shape = drawShape();
  ElementType element = drawElement();
  if (isPacked(element))
    element = computedType(element);
  if (shape.size() == 2 && draw.chance(40)) // for some of its rows
    shape[0] = newSize(rowStep * draw.between(2, 8));
  if (tree.elementsOf(shape) > mostSharedElements || !spend(3 * double(tree.elementsOf(shape))))
    return false;
  std::optional<Drawn> value = drawFull(shape, element, int(draw.between(0, 1)));
  Drawn all = value ? std::move(*value) : number(element, 3);
  if (!value && !isComputed(element))
    all = {{}, {}};
  int tile = newShared(body, shape, element);
  env.tiles.pop_back(); // nothing else writes it
  tileHolds[size_t(tile)].current = all.domain;
  tileHolds[size_t(tile)].loops = env.loops;
  draw.note(Feature::otherBlocks);
  View own = {.shared = tile}, other = own;
  other.blocks = blocksOfCluster;
  other.blockShift = draw.between(0, blocksOfCluster - 1);
  bool isPushed = draw.chance(40);
  View written = isPushed ? other : own, read = isPushed ? own : other;
  if (value)
    body.push_back(
        {.kind = Statement::Kind::store, .to = Place::of(written), .values = {std::move(all.expression)}});
  else
    body.push_back({.kind = Statement::Kind::fill, .number = all.expression.number, .to = Place::of(own)});
  if (!value)
    read = other;
  int64_t rows = shape.size() == 2 ? tree.valueOf(shape[0]) : 0;
  if (read.blocks != 0 && rows > rowStep && draw.chance(60)) {
    int64_t steps = rows / rowStep;
    read.rowsByBlock = steps >= blocksOfCluster && draw.chance(50);
    int64_t most = read.rowsByBlock ? steps / blocksOfCluster : steps, count = draw.between(1, most);
    read.rows = newSize(rowStep * count);
    read.firstRow = read.rowsByBlock ? 0 : rowStep * draw.between(0, steps - count);
    shape[0] = read.rows;
  }
  int id = declare(body, element, shape, all.domain);
  body.push_back({.kind = Statement::Kind::copy, .from = Place::of(read), .to = Place::of(id)});
  if (draw.chance(30)) // back to the tile, or to another tile
    body.push_back({.kind = Statement::Kind::copy, .from = Place::of(other), .to = Place::of(own)});
  return store(body, id); // so that somebody needs it
}

/// Whole, or this block's share of the rows, or maxima.
bool Generator::clusterSum(Body &body) {
  bool isShare = draw.chance(50), isMax = !isShare && draw.chance(40);
  Sizes shape =
      isShare ? Sizes{newSize(rowStep * blocksOfCluster * draw.between(1, 2)), drawSize(32)} : drawShape();
  ElementType element = draw.oneOf({ElementType::f32, ElementType::f32, ElementType::i32, ElementType::f64});
  if (tree.elementsOf(shape) > mostSharedElements ||
      !spend(double((blocksOfCluster + 2) * tree.elementsOf(shape))))
    return false;
  std::optional<Drawn> value = drawFull(shape, element, int(draw.between(0, 1)));
  if (!value)
    return false;
  Domain domain = isMax ? value->domain : repeated(value->domain, double(blocksOfCluster));
  if (!fits(element, domain))
    return false;
  draw.note(Feature::otherBlocks);
  if (isShare)
    shape[0] = newSize(tree.valueOf(shape[0]) / blocksOfCluster);
  int id = declare(body, element, shape, domain);
  body.push_back({.kind = Statement::Kind::clusterSum,
                  .id = id,
                  .number = isMax ? 2.0 : double(isShare),
                  .values = {std::move(value->expression)}});
  return store(body, id);
}
