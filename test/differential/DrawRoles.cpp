// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws kernels whose roles meet at channels: a role that puts into slots, one that may compute from them
/// what it passes on, and those that use them. All go round as often and release what they got, so that none
/// waits for ever.
#include "runtime/target/BlockBudget.h"
#include "runtime/target/Hardware.h"
#include "test/differential/Generator.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

using namespace tlc;
using namespace tlc::differential;

namespace {

using Kind = Statement::Kind;

Statement fixed(Statement statement) {
  statement.isFixed = true;
  return statement;
}

Statement put(int slot, Body body) {
  return fixed({.kind = Kind::put, .id = slot, .bodies = {std::move(body)}});
}
Statement get(int slot) { return fixed({.kind = Kind::get, .id = slot}); }
Statement release(int channel) { return fixed({.kind = Kind::release, .id = channel}); }

/// The release of `channel`, where `a` is greater than 0.
Statement releaseWhen(IndexNode a, int channel) {
  Statement when = fixed({.kind = Kind::when, .bodies = {{release(channel)}}});
  when.tests = {{.a = std::move(a), .b = IndexNode::constant(0), .comparison = Comparison::greater}};
  return when;
}

void append(Body &body, Body more) {
  body.insert(body.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

} // namespace

int Generator::newRole(std::string_view name, int64_t warps) {
  tree.roles.push_back({fmt::format("{}{}", name, tree.roles.size()), warps, {}});
  return int(tree.roles.size()) - 1;
}

int Generator::newChannel(Body &body, ChannelInfo info) {
  int id = int(tree.channels.size());
  info.name = fmt::format("channel{}", id);
  tree.channels.push_back(std::move(info));
  body.push_back(fixed({.kind = Kind::declareChannel, .id = id}));
  return id;
}

int Generator::newSlot(int channel) {
  int id = int(tree.slots.size());
  tree.slots.push_back({fmt::format("at{}", id), channel});
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

/// The statements that a role of its own may execute: those that declare nothing.
static void collectParts(Body &body, std::vector<Statement *> &parts) {
  for (Statement &statement : body)
    switch (statement.kind) {
    case Kind::assign:
    case Kind::update:
    case Kind::copy:
    case Kind::store:
    case Kind::fill:
    case Kind::gemm:
    case Kind::atomic:
      parts.push_back(&statement);
      break;
    case Kind::loop:
    case Kind::loopWhile:
    case Kind::pipelined:
    case Kind::when:
      for (Body &inside : statement.bodies)
        collectParts(inside, parts);
      break;
    default:
      break;
    }
}

void Generator::giveToRole(Body &body) {
  std::vector<Statement *> parts;
  collectParts(body, parts);
  if (parts.empty())
    return;
  draw.note(Feature::writtenRole);
  Statement &part = *draw.oneOf(parts);
  Statement inRole = {.kind = Kind::role, .id = newRole("part", draw.oneOf<int64_t>({1, 2, 4, 4, 8}))};
  inRole.bodies.push_back({std::move(part)});
  part = std::move(inRole);
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

void Generator::fillSlot(Body &round, const Axis &axis, int slot, std::span<const int> tiles, bool isAsync,
                         bool storesLast) {
  const bool isMulticast = tree.channels[size_t(tree.slots[size_t(slot)].channel)].isMulticast;
  auto partOf = [&](int tile) { return Place::of(View{.shared = tile, .slot = slot}); };
  Body body;
  for (int tile : tiles) {
    const SharedInfo info = tree.shared[size_t(tile)];
    Domain &holds = tileHolds[size_t(tile)].current;
    if (storesLast && tile == tiles.back()) {
      int x = declare(round, info.element, info.shape, {});
      Drawn value = drawFull(info.shape, info.element, 2).value_or(variableValue(x));
      holds = value.domain;
      Statement store = {.kind = Kind::store, .to = partOf(tile), .values = {std::move(value.expression)}};
      draw.note(Feature::putStores);
      body.insert(draw.chance(50) ? body.begin() : body.end(), fixed(std::move(store)));
      continue;
    }
    auto copyInto = [&](Body &into) {
      Domain drawn;
      std::optional<Box> box = isAsync ? drawAsyncBox(info.shape, info.element, isMulticast)
                                       : drawInputBox(info.shape, info.element, drawn);
      if (!box)
        return;
      if (isAsync)
        drawn = tensorDomains[size_t(box->tensor)];
      holds = into.empty() && &into == &body ? drawn : join(holds, drawn);
      into.push_back(fixed({.kind = Kind::copy, .from = Place::of(std::move(*box)), .to = partOf(tile)}));
    };
    // The bytes of several tiles are expected together.
    if (!isMulticast && (!isAsync || tiles.size() == 1) && draw.wants(Feature::putBranches)) {
      draw.note(Feature::putBranches);
      Statement when = fixed({.kind = Kind::when, .bodies = {{}, {}}});
      when.tests = {{.a = IndexNode::of(IndexKind::position, axis.position),
                     .b = IndexNode::constant(draw.between(0, 2)),
                     .comparison = Comparison::greater}};
      holds = {};
      for (Body &branch : when.bodies)
        copyInto(branch);
      body.push_back(std::move(when));
    } else {
      holds = {};
      copyInto(body);
    }
  }
  round.push_back(put(slot, std::move(body)));
}

/// Adds up what comes in slots, or multiplies it; stores the sum.
void Generator::consume(Body &statements, const Handed &handed, bool hasTurns, bool hasRegisters) {
  const auto &[channel, released, tiles, count, isProduct, hasSignal] = handed;
  int got = newSlot(channel), slot = got;
  // It may hold a slot until it has used the next one.
  bool holdsTwo = tree.channels[size_t(channel)].slots > 1 && draw.wants(Feature::heldSlots);
  if (holdsTwo)
    draw.note(Feature::heldSlots);
  else if (draw.chance(30))
    slot = newSlot(channel); // the oldest, which is the one it got
  Body body;                 // for one tile of the launch
  // The first tile is M x K, a second one N x K: their product, or sums of the first.
  const SharedInfo first = tree.shared[size_t(tiles[0])];
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
  rounds(body, count, [&](Body &round, const Axis &axis) {
    round.push_back(get(got));
    if (slot != got)
      round.push_back(fixed({.kind = Kind::oldest, .id = slot}));
    if (isProduct) {
      Domain all = repeated(
          differential::product(tileHolds[size_t(tiles[0])].current, tileHolds[size_t(tiles[1])].current),
          double(tree.valueOf(first.shape[1])));
      Statement gemm = {.kind = isAsync ? Kind::gemmAsync : Kind::gemm, .id = sum};
      gemm.from = Place::of(View{.shared = tiles[0], .slot = slot});
      gemm.to = Place::of(View{.shared = tiles[1], .slot = slot, .transposed = true});
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
      for (int tile : tiles)
        addTile(round, sum, {.shared = tile, .slot = slot, .transposed = isTransposed}, shape);
    }
    if (draw.chance(30))
      assign(round);
    round.push_back(holdsTwo ? releaseWhen(IndexNode::of(IndexKind::position, axis.position), released)
                             : release(released));
  });
  if (holdsTwo)
    body.push_back(releaseWhen(count, released));
  if (hasSignal)
    append(body, {get(newSlot(channel)), release(released)});
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
  bool isChained = !isProduct && isComputed(element) && draw.wants(Feature::chainedChannels);
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
  int64_t loaderWarps = isAsync && draw.chance(20) ? 1 : draw.chance(15) ? 8 : 4;
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
  bool isInPlace = isChained && !isMulticast && draw.wants(Feature::sameSlots);
  bool hasStored = isAsync && isComputed(element) && !isProduct && (!isChained || isInPlace) &&
                   loaderWarps > 1 && draw.wants(Feature::putStores);
  if (hasStored)
    tiles.push_back(newSlots(body, shapes[0], element, slots, {}));
  size_t loaders = tiles.size() > 1 && loaderWarps > 1 && draw.wants(Feature::twoProducers) ? 2 : 1;
  if (loaders > 1)
    draw.note(Feature::twoProducers);
  int loaded = newChannel(body, {.slots = slots, .isMulticast = isMulticast});
  Handed handed = {
      .channel = loaded, .released = loaded, .tiles = tiles, .count = count, .isProduct = isProduct};
  if (isInPlace) {
    draw.note(Feature::sameSlots);
    handed.channel = newChannel(body, {.slots = slots, .of = loaded});
  } else if (isChained) {
    draw.note(Feature::chainedChannels);
    int64_t passedSlots = draw.between(1, 3);
    handed.tiles = {newSlots(body, shapes[0], element, passedSlots, {})};
    handed.channel = handed.released = newChannel(body, {.slots = passedSlots});
  }
  handed.hasSignal = !isChained && draw.wants(Feature::signals);
  if (handed.hasSignal)
    draw.note(Feature::signals);
  Statement roles = {.kind = Kind::roles};
  roles.bodies.emplace_back();
  auto add = [&](Body role) { append(roles.bodies[0], std::move(role)); };
  // Who fills the slots.
  if (isAsync)
    draw.note(Feature::asyncCopy);
  if (isMulticast)
    draw.note(Feature::multicast);
  auto load = [&](std::span<const int> part, bool storesLast) {
    return role(newRole("load", loaderWarps), [&](Body &statements) {
      int slot = newSlot(loaded);
      Body tile;
      rounds(tile, count,
             [&](Body &round, const Axis &axis) { fillSlot(round, axis, slot, part, isAsync, storesLast); });
      if (handed.hasSignal)
        tile.push_back(put(newSlot(loaded), {}));
      append(statements, forTiles(std::move(tile)));
    });
  };
  const std::span<const int> all = tiles;
  Body loader = load(loaders > 1 ? all.first(1) : all, hasStored && loaders == 1);
  if (loaders > 1)
    append(loader, load(all.subspan(1), hasStored));
  if (loaderWarps > 1)
    add(loader);
  if (isChained)
    add(role(newRole("pass", 4), [&](Body &statements) {
      int from = newSlot(loaded), to = newSlot(handed.channel), passed = handed.tiles[0];
      Body tile;
      rounds(tile, count, [&](Body &round, const Axis &) {
        round.push_back(get(from));
        int x = declare(round, element, shapes[0], tileHolds[size_t(tiles[0])].current);
        round.push_back({.kind = Kind::copy,
                         .from = Place::of(View{.shared = tiles[0], .slot = from}),
                         .to = Place::of(x)});
        if (!isInPlace)
          round.push_back(release(loaded));
        Drawn value = drawFull(shapes[0], element, 2).value_or(variableValue(x));
        tileHolds[size_t(passed)].current = value.domain;
        round.push_back(put(to, {fixed({.kind = Kind::store,
                                        .to = Place::of(View{.shared = passed, .slot = to}),
                                        .values = {std::move(value.expression)}})}));
        if (isInPlace)
          round.push_back(fixed({.kind = Kind::pass, .id = loaded}));
      });
      append(statements, forTiles(std::move(tile)));
    }));
  bool hasTurns = isProduct && draw.wants(Feature::turns);
  int64_t warps = std::accumulate(consumerWarps.begin(), consumerWarps.end(), loaderWarps * int64_t(loaders));
  // What an asynchronous product of 128 columns takes, which cannot do without.
  constexpr int64_t ofProduct = 90;
  const BlockBudget budget(*findTarget("sm_90a"));
  bool hasRegisters = launch.residents == 1 && budget.registersAtLaunch(warps) >= ofProduct;
  for (int64_t each : consumerWarps)
    add(role(newRole("use", each),
             [&](Body &statements) { consume(statements, handed, hasTurns, hasRegisters); }));
  if (loaderWarps == 1) // whole warpgroups come first
    add(loader);
  constexpr int64_t ofLoads = 40, ofOthers = 104;
  auto registersOf = [&](const RoleInfo &role) { return role.name.starts_with("load") ? ofLoads : ofOthers; };
  std::vector<RoleRegisters> set;
  for (const Statement &each : roles.bodies[0]) {
    const RoleInfo &role = tree.roles[size_t(each.id)];
    set.push_back({role.warps, registersOf(role)});
  }
  bool areWarpgroups = loaderWarps > 1, hasRoom = budget.fits(set);
  if (areWarpgroups && hasRoom && launch.residents == 1 && draw.wants(Feature::roleRegisters)) {
    draw.note(Feature::roleRegisters);
    for (const Statement &each : roles.bodies[0])
      tree.roles[size_t(each.id)].registers = registersOf(tree.roles[size_t(each.id)]);
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
  tree.optimizations.tma = true; // threads take elements for being in order
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
  int factor = newSlots(reads.body, {rows, depth}, element, slots, holds);
  int channel = newChannel(reads.body, {.slots = slots});
  Body loads = role(newRole("load", 4), [&](Body &body) {
    int slot = newSlot(channel);
    rounds(body, count, [&](Body &round, const Axis &axis) {
      round.push_back(put(slot, {fixed({.kind = Kind::copy,
                                        .from = boxAt(axis),
                                        .to = Place::of(View{.shared = factor, .slot = slot})})}));
    });
  });
  Body uses = role(newRole("use", warps), [&](Body &body) {
    int slot = newSlot(channel);
    int left = loaded(body, {results, depth}, element);
    int sum = declare(body, ElementType::f32, {results, rows}, {});
    rounds(body, count, [&](Body &round, const Axis &) {
      round.push_back(get(slot));
      Statement gemm = {.kind = Kind::gemmAsync, .id = sum};
      gemm.values = {variableValue(left).expression};
      gemm.to = Place::of(View{.shared = factor, .slot = slot, .transposed = true});
      gemm.isFixed = true;
      round.push_back(std::move(gemm));
      round.push_back({.kind = Kind::gemmWait, .id = sum, .isFixed = true});
      round.push_back(release(channel));
      added(sum,
            repeated(differential::product(variableValue(left).domain, holds), double(tree.valueOf(depth))));
    });
    drawBody(body, int(draw.between(0, 2)));
    store(body, sum);
  });
  addRoles(reads, {std::move(loads), std::move(uses)});
  finish(std::move(reads));
}
