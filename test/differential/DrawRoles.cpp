// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws kernels whose roles meet at rings: a role that fills slots, one that may compute from them what it
/// passes on, and those that use them. All go round as often, wait before they use and release afterwards, so
/// that none waits for ever.
#include "runtime/target/Hardware.h"
#include "test/differential/Generator.h"

#include <algorithm>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::differential;

namespace {

using Kind = Statement::Kind;

Statement synchronization(Kind kind, int cursor) {
  Statement statement = {.kind = kind, .id = cursor};
  statement.isFixed = true;
  return statement;
}

void append(Body &body, Body more) {
  body.insert(body.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

} // namespace

int Generator::newRole(std::string_view name, int64_t warps) {
  tree.roles.push_back({fmt::format("{}{}", name, tree.roles.size()), warps, {}});
  return int(tree.roles.size()) - 1;
}

int Generator::newCursor(Body &body, int ring) {
  int id = int(tree.cursors.size());
  tree.cursors.push_back({fmt::format("at{}", id), ring});
  body.push_back(synchronization(Kind::declareCursor, id));
  return id;
}

int Generator::newRing(Body &body, int64_t slots) {
  int id = int(tree.rings.size());
  tree.rings.push_back({fmt::format("ring{}", id), slots});
  body.push_back(synchronization(Kind::declareRing, id));
  return id;
}

int Generator::newSlots(Body &body, const Sizes &shape, ElementType element, int64_t slots, Domain domain) {
  int tile = newShared(body, shape, element);
  env.tiles.pop_back(); // written by its role only
  tree.shared[size_t(tile)].slots = slots;
  tileHolds[size_t(tile)].current = domain;
  return tile;
}

Body Generator::role(int id, const std::function<void(Body &)> &drawRole) {
  Environment before = env;
  env.variables.clear();
  env.tiles.clear();
  env.written.clear();
  env.stored.clear();
  env.inRole = true;
  env.warps = tree.roles[size_t(id)].warps;
  Statement role = {.kind = Kind::role, .id = id};
  role.isFixed = true;
  role.bodies.emplace_back();
  drawRole(role.bodies[0]);
  env = std::move(before);
  return {std::move(role)};
}

void Generator::rounds(Body &body, const IndexNode &count,
                       const std::function<void(Body &, const Axis &)> &drawRound) {
  Axis axis = {.position = int(tree.positions.size()), .count = std::max<int64_t>(1, rangeOf(count).high)};
  tree.positions.push_back({fmt::format("i{}", axis.position)});
  positionRanges.push_back({0, axis.count - 1});
  Statement loop = {.kind = Kind::loop, .id = axis.position};
  loop.index = {IndexNode::constant(0), count, IndexNode::constant(1)};
  loop.isFixed = true;
  loop.bodies.push_back(inside([&](Body &round) {
    env.axes.push_back(axis);
    env.repeats *= double(axis.count);
    ++env.loops;
    drawRound(round, axis);
  }));
  body.push_back(std::move(loop));
}

/// A box that the TMA can copy: rows of whole 16 bytes at aligned addresses.
std::optional<Box> Generator::drawAsyncBox(const Sizes &shape, ElementType element, bool isMulticast) {
  Box box;
  std::vector<TensorExtent> extents;
  int64_t granule = elementsOf(element, 16);
  std::vector<Axis> axes = env.axes;
  if (isMulticast) // the blocks of a cluster copy the same
    axes = {env.axes.back()};
  bool isOfWindows = shape.size() <= 2 && tree.tensors.size() <= 14 && draw.wants(Feature::windows);
  if (isOfWindows)
    box = drawWindows(shape, element, axes, granule);
  for (size_t axis = 0; !isOfWindows && axis < shape.size(); ++axis) {
    int64_t value = tree.valueOf(shape[axis]);
    IndexNode origin = IndexNode::constant(0);
    if (!axes.empty() && draw.chance(75))
      origin =
          IndexNode::apply(IndexKind::multiply,
                           IndexNode::of(IndexKind::position,
                                         draw.chance(60) ? axes.back().position : draw.oneOf(axes).position),
                           IndexNode::of(IndexKind::size, shape[axis].number));
    int64_t reach = rangeOf(origin).high + value;
    if (axis + 1 == shape.size())
      reach = (reach + granule - 1) / granule * granule + (draw.chance(30) ? granule : 0);
    else if (draw.chance(40))
      reach = std::max<int64_t>(1, reach - draw.between(1, std::max<int64_t>(1, value / 2)));
    box.origin.push_back(std::move(origin));
    box.extents.push_back(shape[axis]);
    extents.push_back(drawTensorExtent(reach));
  }
  if (tree.tensors.size() > 14)
    return std::nullopt;
  if (!isOfWindows)
    box.tensor = newTensor(Access::input, element, std::move(extents));
  TensorInfo &info = tree.tensors[size_t(box.tensor)];
  info.alignment = env.inRole || draw.chance(30) ? 16 : 1;
  info.offset = 0;
  info.rowPadding = info.rowPadding / granule * granule;
  info.lastStride = dsl::LastStride::one;
  info.step = 1;
  drawEviction(box);
  if (!env.inRole && !isOfWindows && draw.wants(Feature::limit)) {
    draw.note(Feature::limit);
    box.limit = {0, IndexNode::constant(draw.between(0, tree.shapeOf(info)[0] + 1))};
    if (!env.axes.empty() && draw.chance(40))
      box.limit->end = IndexNode::apply(IndexKind::subtract, std::move(box.limit->end),
                                        IndexNode::of(IndexKind::position, draw.oneOf(env.axes).position));
  }
  return box;
}

void Generator::addTile(Body &round, int sum, View tile, const Sizes &shape) {
  int x =
      declare(round, tree.shared[size_t(tile.shared)].element, shape, tileHolds[size_t(tile.shared)].current);
  round.push_back({.kind = Kind::copy, .from = Place::of(tile), .to = Place::of(x)});
  std::optional<Drawn> value = drawFull(shape, tree.variables[size_t(sum)].element, 1);
  if (!value || !mayAdd(sum, value->domain))
    return;
  added(sum, value->domain);
  round.push_back({.kind = Kind::update, .id = sum, .values = {std::move(value->expression)}});
}

/// Adds up what comes in slots, or multiplies it; stores the sum.
void Generator::consume(Body &statements, int ring, const std::vector<int> &tiles, const IndexNode &count,
                        bool hasTurns, bool hasRegisters) {
  int cursor = newCursor(statements, ring);
  Body body; // for one tile of the launch
  // The first tile is M x K, a second one N x K: their product, or sums of the first.
  const SharedInfo first = tree.shared[size_t(tiles[0])];
  bool isProduct = tiles.size() > 1;
  Sizes shape = isProduct ? Sizes{first.shape[0], tree.shared[size_t(tiles[1])].shape[0]} : first.shape;
  bool isTransposed = !isProduct && draw.wants(Feature::transposedView);
  if (isTransposed) {
    draw.note(Feature::transposedView);
    std::swap(shape[0], shape[1]);
  }
  ElementType of = isProduct                    ? sumsOf(first.element)
                   : !isComputed(first.element) ? ElementType::f32
                                                : first.element;
  int sum = declare(body, of, shape, {});
  bool isAsync =
      isProduct && hasRegisters && tree.valueOf(shape[0]) % 64 == 0 && draw.wants(Feature::asyncProduct);
  rounds(body, count, [&](Body &round, const Axis &) {
    round.push_back(synchronization(Kind::wait, cursor));
    if (isProduct) {
      Domain all = repeated(
          differential::product(tileHolds[size_t(tiles[0])].current, tileHolds[size_t(tiles[1])].current),
          double(tree.valueOf(first.shape[1])));
      Statement gemm = {.kind = isAsync ? Kind::gemmAsync : Kind::gemm, .id = sum};
      gemm.from = Place::of(View{.shared = tiles[0], .cursor = cursor});
      gemm.to = Place::of(View{.shared = tiles[1], .cursor = cursor, .transposed = true});
      gemm.isFixed = isAsync;
      if (isAsync && tree.valueOf(shape[1]) % (2 * wgmmaColumnsOf(first.element)) == 0 &&
          draw.wants(Feature::warpPolicy)) {
        draw.note(Feature::warpPolicy);
        gemm.policy = draw.chance(50) ? dsl::WarpPolicy::square : dsl::WarpPolicy::fullColumn;
      }
      draw.note(Feature::product);
      if (std::optional<Feature> kind = productOf(first.element))
        draw.note(*kind);
      if (isAsync) {
        draw.note(Feature::asyncProduct);
        if (hasTurns) {
          draw.note(Feature::turns);
          Statement turn = {.kind = Kind::inTurn};
          turn.bodies.push_back({std::move(gemm)});
          turn.isFixed = true;
          round.push_back(std::move(turn));
        } else {
          round.push_back(std::move(gemm));
        }
        Statement wait = {.kind = Kind::gemmWait, .id = sum};
        wait.isFixed = true;
        round.push_back(std::move(wait));
      } else {
        round.push_back(std::move(gemm));
      }
      added(sum, all);
    } else {
      addTile(round, sum, {.shared = tiles[0], .cursor = cursor, .transposed = isTransposed}, shape);
    }
    if (draw.chance(30))
      assign(round);
    round.push_back(synchronization(Kind::release, cursor));
    round.push_back(synchronization(Kind::advance, cursor));
  });
  drawBody(body, int(draw.between(0, 2)));
  if (!draw.wants(Feature::panelStore) || !storePanels(body, sum))
    store(body, sum);
  append(statements, forTiles(std::move(body)));
}

bool Generator::roles(LaunchTree &launch) {
  if (tree.tensors.size() > 10)
    return false;
  Body &body = launch.body;
  ElementType element = drawElement();
  using enum ElementType;
  bool isMulticast = launch.cluster > 1 && draw.wants(Feature::multicast);
  bool isAsync = isMulticast || draw.wants(Feature::asyncCopy);
  bool isFactor = element == bf16 || element == f16 || element == i8 || element == u8;
  // Of f32 the elements of inputs, which tf32 has.
  bool isProduct = isFactor ? draw.chance(70) : element == f32 && isAsync && draw.wants(Feature::tf32Product);
  bool isChained = !isProduct && isComputed(element) && draw.wants(Feature::chainedRings);
  int64_t granule = elementsOf(element, 16);
  Size rows = newSize(isProduct ? draw.oneOf<int64_t>({64, 64, 128}) : draw.oneOf<int64_t>({8, 16, 32, 64}));
  int64_t step = elementsOf(element, matrixDepthBytes);
  Size depth = newSize(isProduct ? step * draw.oneOf<int64_t>({1, 2, 4}) : granule * draw.between(1, 4));
  Size columns = newSize(wgmmaColumnsOf(element) * draw.oneOf<int64_t>({1, 2, 4, 8}));
  if (isMulticast && !isProduct && tree.valueOf(rows) < 16 * launch.cluster)
    rows = newSize(16 * launch.cluster);
  if (isMulticast && isProduct)
    columns = newSize(64);
  if (!spend(double(tree.valueOf(rows) * tree.valueOf(depth)) * 6))
    return false;
  // The blocks of a cluster fill each other's slots, so that they go round as often: wherever they stand.
  std::vector<Axis> axes = isMulticast ? std::exchange(env.axes, {}) : env.axes;
  IndexNode count = drawCount(5);
  env.axes = std::move(axes);
  int64_t slots = draw.between(1, 4);
  int64_t loaderWarps = isAsync && draw.chance(20) ? 1 : 4;
  int consumers = 1;
  if (draw.wants(Feature::twoConsumers)) {
    draw.note(Feature::twoConsumers);
    consumers = 2;
  }
  std::vector<int64_t> consumerWarps;
  for (int number = 0; number < consumers; ++number)
    consumerWarps.push_back(isProduct && tree.valueOf(rows) == 128 ? 8 : 4);
  draw.note(Feature::roles);
  // Declarations.
  std::vector<Box> boxes;
  std::vector<int> tiles;
  std::vector<Sizes> shapes = {{rows, depth}};
  if (isProduct)
    shapes.push_back({columns, depth});
  for (const Sizes &shape : shapes)
    tiles.push_back(newSlots(body, shape, element, slots, {}));
  int ring = newRing(body, slots);
  int passedRing = ring;
  std::vector<int> passed = tiles;
  int64_t passedSlots = draw.between(1, 3);
  if (isChained) {
    draw.note(Feature::chainedRings);
    passed = {newSlots(body, shapes[0], element, passedSlots, {})};
    passedRing = newRing(body, passedSlots);
  }
  Statement roles = {.kind = Kind::roles};
  roles.bodies.emplace_back();
  auto add = [&](Body role) { append(roles.bodies[0], std::move(role)); };
  // Who fills the slots.
  Body loader = role(newRole("load", loaderWarps), [&](Body &statements) {
    int cursor = newCursor(statements, ring);
    Body tile;
    rounds(tile, count, [&](Body &round, const Axis &) {
      round.push_back(synchronization(Kind::acquire, cursor));
      if (isAsync) {
        draw.note(Feature::asyncCopy);
        if (isMulticast)
          draw.note(Feature::multicast);
        Statement expect = synchronization(Kind::expect, cursor);
        expect.slots = tiles;
        round.push_back(std::move(expect));
      }
      for (size_t number = 0; number < tiles.size(); ++number) {
        View slot = {.shared = tiles[number], .cursor = cursor};
        Domain &holds = tileHolds[size_t(tiles[number])].current;
        if (isAsync) {
          Statement copy = synchronization(Kind::copyAsync, cursor);
          std::optional<Box> box = drawAsyncBox(shapes[number], element, isMulticast);
          if (!box)
            continue;
          holds = tensorDomains[size_t(box->tensor)];
          copy.from = Place::of(std::move(*box));
          copy.to = Place::of(slot);
          copy.number = isMulticast;
          round.push_back(std::move(copy));
        } else if (std::optional<Box> box = drawInputBox(shapes[number], element, holds)) {
          round.push_back({.kind = Kind::copy, .from = Place::of(std::move(*box)), .to = Place::of(slot)});
          round.back().isFixed = true;
        }
      }
      if (!isAsync)
        round.push_back(synchronization(Kind::publish, cursor));
      round.push_back(synchronization(Kind::advance, cursor));
    });
    append(statements, forTiles(std::move(tile)));
  });
  if (loaderWarps == 4)
    add(loader);
  if (isChained)
    add(role(newRole("pass", 4), [&](Body &statements) {
      int from = newCursor(statements, ring), to = newCursor(statements, passedRing);
      Body tile;
      rounds(tile, count, [&](Body &round, const Axis &) {
        round.push_back(synchronization(Kind::wait, from));
        int x = declare(round, element, shapes[0], tileHolds[size_t(tiles[0])].current);
        round.push_back({.kind = Kind::copy,
                         .from = Place::of(View{.shared = tiles[0], .cursor = from}),
                         .to = Place::of(x)});
        round.push_back(synchronization(Kind::release, from));
        round.push_back(synchronization(Kind::advance, from));
        round.push_back(synchronization(Kind::acquire, to));
        Drawn value = drawFull(shapes[0], element, 2).value_or(variableValue(x));
        tileHolds[size_t(passed[0])].current = value.domain;
        round.push_back({.kind = Kind::store,
                         .to = Place::of(View{.shared = passed[0], .cursor = to}),
                         .values = {std::move(value.expression)}});
        round.back().isFixed = true;
        round.push_back(synchronization(Kind::publish, to));
        round.push_back(synchronization(Kind::advance, to));
      });
      append(statements, forTiles(std::move(tile)));
    }));
  bool hasTurns = isProduct && draw.wants(Feature::turns);
  bool hasRegisters = launch.residents == 1; // what an asynchronous product takes, which cannot do without
  for (int64_t warps : consumerWarps)
    add(role(newRole("use", warps), [&](Body &statements) {
      consume(statements, passedRing, passed, count, hasTurns, hasRegisters);
    }));
  if (loaderWarps != 4) // whole warpgroups come first
    add(loader);
  bool areWarpgroups = loaderWarps == 4;
  if (areWarpgroups && launch.residents == 1 && draw.wants(Feature::roleRegisters)) {
    draw.note(Feature::roleRegisters);
    for (const Statement &each : roles.bodies[0])
      tree.roles[size_t(each.id)].registers = tree.roles[size_t(each.id)].name.starts_with("load") ? 40 : 104;
  }
  body.push_back(std::move(roles));
  return true;
}

/// Two launches that pass an interleaved workspace: the TMA writes it in the first one; the second one
/// multiplies what it has in registers by it. Rows of the workspace are summed along.
void Generator::interleaved() {
  constexpr ElementType element = ElementType::e4m3;
  Size rows = newSize(draw.oneOf<int64_t>({16, 32, 64})), depth = newSize(draw.oneOf<int64_t>({32, 64, 128}));
  Size results = newSize(draw.oneOf<int64_t>({64, 64, 128}));
  auto count = IndexNode::constant(draw.between(1, 3));
  for (Feature feature : {Feature::interleaved, Feature::severalLaunches, Feature::workspace, Feature::roles,
                          Feature::asyncCopy, Feature::asyncProduct, Feature::product,
                          Feature::registerFactor, Feature::transposedRight, Feature::e4m3})
    draw.note(feature);
  int workspace = newTensor(Access::workspace, element,
                            {{.size = newSize(count.number * tree.valueOf(rows))}, {.size = depth}});
  tree.tensors[size_t(workspace)].workspace = {.order = dsl::TensorOrder::interleaved};
  auto boxAt = [&](const Axis &axis) {
    Box box = {.tensor = workspace, .extents = {rows, depth}};
    box.origin = {IndexNode::apply(IndexKind::multiply, IndexNode::of(IndexKind::position, axis.position),
                                   IndexNode::of(IndexKind::size, rows.number)),
                  IndexNode::constant(0)};
    return Place::of(std::move(box));
  };
  auto addRoles = [](LaunchTree &launch, std::initializer_list<Body> parts) {
    Statement roles = {.kind = Kind::roles};
    roles.bodies.emplace_back();
    for (const Body &part : parts)
      append(roles.bodies[0], part);
    launch.body.push_back(std::move(roles));
  };
  LaunchTree writes = newLaunch();
  int tile = newShared(writes.body, {rows, depth}, element);
  Domain holds;
  addRoles(writes, {role(newRole("write", 4), [&](Body &body) {
             rounds(body, count, [&](Body &round, const Axis &axis) {
               std::optional<Box> box = drawInputBox({rows, depth}, element, holds);
               Place place = Place::of(View{.shared = tile});
               round.push_back({.kind = Kind::copy, .from = Place::of(std::move(*box)), .to = place});
               round.push_back({.kind = Kind::copy, .from = place, .to = boxAt(axis)});
             });
           })});
  finish(std::move(writes));

  LaunchTree reads = newLaunch();
  int64_t slots = draw.between(1, 3), warps = tree.valueOf(results) / 16;
  int slot = newSlots(reads.body, {rows, depth}, element, slots, holds);
  int ring = newRing(reads.body, slots);
  Body loads = role(newRole("load", 4), [&](Body &body) {
    int cursor = newCursor(body, ring);
    rounds(body, count, [&](Body &round, const Axis &axis) {
      round.push_back(synchronization(Kind::acquire, cursor));
      round.push_back(synchronization(Kind::expect, cursor));
      round.back().slots = {slot};
      round.push_back(synchronization(Kind::copyAsync, cursor));
      round.back().from = boxAt(axis);
      round.back().to = Place::of(View{.shared = slot, .cursor = cursor});
      round.push_back(synchronization(Kind::advance, cursor));
    });
  });
  Body uses = role(newRole("use", warps), [&](Body &body) {
    int cursor = newCursor(body, ring);
    int left = loaded(body, {results, depth}, element);
    int sum = declare(body, ElementType::f32, {results, rows}, {});
    rounds(body, count, [&](Body &round, const Axis &) {
      round.push_back(synchronization(Kind::wait, cursor));
      Statement gemm = {.kind = Kind::gemmAsync, .id = sum};
      gemm.values = {variableValue(left).expression};
      gemm.to = Place::of(View{.shared = slot, .cursor = cursor, .transposed = true});
      gemm.isFixed = true;
      round.push_back(std::move(gemm));
      round.push_back({.kind = Kind::gemmWait, .id = sum, .isFixed = true});
      round.push_back(synchronization(Kind::release, cursor));
      round.push_back(synchronization(Kind::advance, cursor));
      added(sum,
            repeated(differential::product(variableValue(left).domain, holds), double(tree.valueOf(depth))));
    });
    drawBody(body, int(draw.between(0, 2)));
    store(body, sum);
  });
  addRoles(reads, {std::move(loads), std::move(uses)});
  finish(std::move(reads));
}
