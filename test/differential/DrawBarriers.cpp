// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws what meets at barriers: all warps of a place, or roles that pass each other a tile.
#include "test/differential/Generator.h"

#include <fmt/format.h>

using namespace tlc;
using namespace tlc::differential;

namespace {

using Kind = Statement::Kind;

constexpr int64_t threadsOfWarp = 32;
constexpr int mostNamedBarriers = 4; ///< a block has 15, of which the compiler takes some

Statement atBarrier(Kind kind, int barrier) {
  Statement statement = {.kind = kind, .id = barrier};
  statement.isFixed = true;
  return statement;
}

Statement awaitPhase(int barrier, IndexNode phase) {
  Statement statement = atBarrier(Kind::awaitPhase, barrier);
  statement.index = {std::move(phase)};
  return statement;
}

} // namespace

int Generator::newBarrier(Body &body, BarrierInfo::Kind kind, int64_t count) {
  bool isNamed = kind == BarrierInfo::Kind::warps;
  namedBarriers += isNamed;
  draw.note(isNamed ? Feature::namedBarrier : Feature::barrier);
  int id = int(tree.barriers.size());
  tree.barriers.push_back({fmt::format("b{}", id), kind, count});
  body.push_back(atBarrier(Kind::declareBarrier, id));
  return id;
}

bool Generator::countsRounds() const { return env.loops == 0 && !env.inBranch && !env.inTiles; }

bool Generator::meet(Body &body) {
  bool mayCount = countsRounds();
  if (namedBarriers < mostNamedBarriers && (!mayCount || draw.wants(Feature::namedBarrier))) {
    int barrier = newBarrier(body, BarrierInfo::Kind::warps, env.warps);
    body.push_back(atBarrier(Kind::meet, barrier));
    return true;
  }
  if (!mayCount)
    return false;
  int barrier = newBarrier(body, BarrierInfo::Kind::threads, threadsOfWarp * env.warps);
  body.push_back(atBarrier(Kind::arrive, barrier));
  drawStatement(body);
  body.push_back(awaitPhase(barrier, IndexNode::constant(0)));
  return true;
}

/// A role that fills a tile, and others that read it. Before it fills the tile again the others have arrived.
bool Generator::handshake(LaunchTree &launch) {
  if (tree.tensors.size() > 10)
    return false;
  Body &body = launch.body;
  ElementType element = drawElement();
  Sizes shape = {newSize(draw.oneOf<int64_t>({8, 16, 32, 64})),
                 newSize(draw.oneOf<int64_t>({8, 16, 24, 32}))};
  if (!spend(double(tree.elementsOf(shape)) * 6))
    return false;
  draw.note(Feature::roles);
  draw.note(Feature::handshake);
  // Phases are counted over all tiles of a block.
  IndexNode count = tiles ? IndexNode::constant(draw.between(1, 4)) : drawCount(4);
  auto roundOf = [&](const Axis &axis) {
    IndexNode round = IndexNode::of(IndexKind::position, axis.position);
    if (!tiles)
      return round;
    IndexNode before = IndexNode::apply(IndexKind::divide, IndexNode::of(IndexKind::position, tiles->id),
                                        {.kind = IndexKind::blocks});
    return IndexNode::apply(IndexKind::add, IndexNode::apply(IndexKind::multiply, std::move(before), count),
                            std::move(round));
  };
  int64_t writing = draw.oneOf<int64_t>({4, 4, 8}), reading = draw.oneOf<int64_t>({4, 4, 8}), readers = 1;
  if (draw.wants(Feature::twoConsumers)) {
    draw.note(Feature::twoConsumers);
    readers = 2;
  }
  auto kind = draw.chance(50) ? BarrierInfo::Kind::threads : BarrierInfo::Kind::warps;
  bool isNamed = kind == BarrierInfo::Kind::warps;
  int64_t all = writing + reading * readers;
  int tile = newShared(body, shape, element);
  env.tiles.pop_back(); // written by its role only
  int full = newBarrier(body, kind, isNamed ? all : threadsOfWarp * writing);
  int empty = newBarrier(body, kind, isNamed ? all : threadsOfWarp * reading * readers);
  auto meetAt = [&](Body &round, int barrier, IndexNode phase) {
    round.push_back(isNamed ? atBarrier(Kind::meet, barrier) : awaitPhase(barrier, std::move(phase)));
  };
  Statement roles = {.kind = Kind::roles};
  roles.bodies.emplace_back();
  auto add = [&](std::string_view name, int64_t warps, const std::function<void(Body &)> &drawTile) {
    Body drawn = role(newRole(name, warps), [&](Body &statements) {
      Body inTile;
      drawTile(inTile);
      statements = forTiles(std::move(inTile));
    });
    roles.bodies[0].push_back(std::move(drawn[0]));
  };
  add("write", writing, [&](Body &statements) {
    bool waitsAfterwards = isNamed || draw.chance(50);
    rounds(statements, count, [&](Body &round, const Axis &axis) {
      IndexNode number = roundOf(axis);
      if (!waitsAfterwards) {
        Statement again = {.kind = Kind::when};
        again.tests.push_back({.a = number, .b = IndexNode::constant(0), .comparison = Comparison::greater});
        again.bodies.push_back(
            {awaitPhase(empty, IndexNode::apply(IndexKind::subtract, number, IndexNode::constant(1)))});
        again.isFixed = true;
        round.push_back(std::move(again));
      }
      std::optional<Drawn> value;
      if (draw.chance(50) && loaded(round, shape, draw.chance(60) ? element : drawElement()) >= 0)
        value = drawFull(shape, element, 2);
      if (value) {
        tileHolds[size_t(tile)].current = value->domain;
        round.push_back({.kind = Kind::store,
                         .to = Place::of(View{.shared = tile}),
                         .values = {std::move(value->expression)}});
      } else if (std::optional<Box> box = drawInputBox(shape, element, tileHolds[size_t(tile)].current)) {
        round.push_back(
            {.kind = Kind::copy, .from = Place::of(std::move(*box)), .to = Place::of(View{.shared = tile})});
      }
      round.back().isFixed = true;
      round.push_back(atBarrier(Kind::arrive, full));
      if (waitsAfterwards)
        meetAt(round, empty, number);
    });
  });
  for (int64_t number = 0; number < readers; ++number)
    add("read", reading, [&](Body &statements) {
      View view = {.shared = tile, .transposed = draw.wants(Feature::transposedView)};
      Sizes seen = shape;
      if (view.transposed) {
        draw.note(Feature::transposedView);
        std::swap(seen[0], seen[1]);
      }
      int sum = declare(statements, !isComputed(element) ? ElementType::f32 : element, seen, {});
      rounds(statements, count, [&](Body &round, const Axis &axis) {
        meetAt(round, full, roundOf(axis));
        addTile(round, sum, view, seen);
        round.push_back(atBarrier(Kind::arrive, empty));
        if (draw.chance(30))
          assign(round);
      });
      store(statements, sum);
    });
  body.push_back(std::move(roles));
  return true;
}
