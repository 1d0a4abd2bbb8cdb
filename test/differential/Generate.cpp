// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws what a program consists of: arguments, launches, grids.
#include "runtime/target/Target.h"
#include "test/differential/Generator.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <span>

using namespace tlc;
using namespace tlc::differential;

DrawnProgram differential::generate(uint64_t seed, std::optional<Feature> forced) {
  return Generator(seed, forced).run();
}

namespace {
constexpr int mostDimensions = 6, mostTensors = 9;
constexpr int64_t mostBlocks = 6;
constexpr int64_t mostWarps = 64; ///< of a multiprocessor
/// Elements computed on in all launches together, which bounds the emulator's time.
constexpr double elementBudget = 200'000;
} // namespace

DrawnProgram Generator::run() {
  tree.sizes = {1};
  tree.isExact = !draw.wants(Feature::rounded);
  if (!tree.isExact)
    draw.note(Feature::rounded);
  budget = elementBudget;
  isForTcgen05 = draw.wants(Feature::plainTcgen05);
  drawOptions();
  int count = 1;
  if (draw.wants(Feature::interleaved))
    interleaved();
  if (draw.wants(Feature::severalLaunches)) {
    draw.note(Feature::severalLaunches);
    count = draw.chance(75) ? 2 : 3;
  }
  for (launchesLeft = count - 1; launchesLeft >= 0; --launchesLeft)
    launch();
  drawTables();
  // Every dimension is an extent of some tensor.
  for (size_t number = 0; number < tree.dimensions.size(); ++number) {
    auto names = [&](const TensorInfo &tensor) {
      return tensor.access != Access::workspace && !tensor.table &&
             std::ranges::any_of(tensor.shape,
                                 [&](const TensorExtent &extent) { return extent.dimension == int(number); });
    };
    if (std::ranges::none_of(tree.tensors, names))
      newTensor(Access::input, ElementType::f32, {{.dimension = int(number)}});
  }
  drawTarget();
  drawRanks();
  drawAllRanks();
  return {std::move(tree), draw.features()};
}

/// A target that has what the program needs: the oldest one sometimes, for programs that ask for nothing
/// newer.
void Generator::drawTarget() {
  if (!tree.tensorMemory.empty() || isForTcgen05) {
    tree.target = "sm_100a";
    for (LaunchTree &launch : tree.launches) // another launch than that for tensor memory
      if (launch.requirement == dsl::Requirement::wgmma)
        launch.requirement = dsl::Requirement::tma;
    return;
  }
  constexpr Feature newer[] = {Feature::roles,       Feature::cluster,   Feature::barrier,   Feature::require,
                               Feature::interleaved, Feature::handshake, Feature::atomicTile};
  if (std::ranges::none_of(newer, [&](Feature feature) { return draw.has(feature); }) && draw.chance(25))
    tree.target = allTargets().front().name;
}

void Generator::drawOptions() {
  std::span<const OptimizationSwitch> switches = optimizationSwitches();
  if (draw.chance(50)) {
    tree.optimizations.*switches[draw.below(switches.size())].member = false;
  } else {
    for (const OptimizationSwitch &one : switches)
      tree.optimizations.*one.member = draw.chance(60);
  }
  tree.optimizations.sharesAllPlaces = draw.chance(40);
  tree.multiprocessors = int(draw.between(1, 4));
}

bool Generator::spend(double cost) {
  cost *= env.repeats * double(std::max<int64_t>(blocks, 1));
  if (cost > budget)
    return false;
  budget -= cost;
  return true;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

LaunchTree Generator::newLaunch() {
  env = {};
  blocks = cluster = blocksOfCluster = 1;
  hasBlocks = true;
  namedBarriers = 0;
  tiles.reset();
  unread.clear();
  launchStores.clear();
  return {.name = fmt::format("launch{}", tree.launches.size())};
}

void Generator::launch() {
  LaunchTree drawn = newLaunch();
  drawGrid(drawn);
  size_t firstRole = tree.roles.size();
  bool hasRoles = draw.wants(Feature::roles) && drawn.grid != LaunchTree::Grid::persistent;
  bool hasHandshake = hasRoles && drawn.cluster == 1 && draw.wants(Feature::handshake);
  if (!hasRoles && draw.wants(Feature::warps)) {
    env.warps = drawn.warps = draw.oneOf<int64_t>({1, 2, 3, 4, 4, 5, 8, 8});
    draw.note(Feature::warps);
  }
  if (draw.wants(Feature::residents)) {
    drawn.residents = draw.between(2, 3);
    draw.note(Feature::residents);
  }
  if (!hasRoles && draw.wants(Feature::loadRole)) {
    drawn.loadRole = true;
    draw.note(Feature::loadRole);
  }
  if (!hasRoles && draw.wants(Feature::storeRole)) {
    drawn.storeRole = true;
    draw.note(Feature::storeRole);
  }
  bool hasTensorMemory = drawn.cluster == 1 && drawn.grid != LaunchTree::Grid::persistent && !hasHandshake &&
                         draw.wants(Feature::tensorMemory);
  bool isParted = hasHandshake      ? handshake(drawn)
                  : hasTensorMemory ? tensorMemory(drawn)
                                    : hasRoles && roles(drawn);
  if (!isParted) {
    if (draw.wants(Feature::leanLaunch)) {
      draw.note(Feature::leanLaunch);
      env.isLean = true;
      if (env.warps == 0 && draw.chance(30)) { // two warpgroups, which products keep apart
        env.warps = drawn.warps = 8;
        draw.note(Feature::warps);
      }
      if (draw.chance(80))
        loop(drawn.body, /*isPipelined=*/true);
    }
    drawBody(drawn.body, int(draw.between(env.isLean ? 1 : 2, env.isLean ? 5 : 9)));
    storeResults(drawn.body);
    if (draw.wants(Feature::writtenRole))
      giveToRole(drawn.body);
    drawn.body = forTiles(std::move(drawn.body));
  }
  if (isParted) {
    int64_t warps = drawn.warps;
    for (const RoleInfo &each : std::span(tree.roles).subspan(firstRole))
      warps += each.warps;
    drawn.residents = std::min(drawn.residents, mostWarps / warps);
  }
  drawRequirement(drawn);
  finish(std::move(drawn));
}

void Generator::finish(LaunchTree drawn) {
  for (const Box &box : launchStores)
    if (hasBlocks && covers(box))
      complete.insert(box.tensor);
  for (int number : unread) {
    const TensorInfo &tensor = tree.tensors[size_t(number)];
    if (tensor.access == Access::inout || tensor.workspace.initial == dsl::Initial::zero)
      complete.insert(number);
  }
  tree.launches.push_back(std::move(drawn));
}

void Generator::drawGrid(LaunchTree &launch) {
  if (draw.wants(Feature::persistent))
    launch.grid = LaunchTree::Grid::persistent;
  else if (draw.wants(Feature::grid))
    launch.grid = LaunchTree::Grid::grid;
  else
    return;
  draw.note(launch.grid == LaunchTree::Grid::grid ? Feature::grid : Feature::persistent);
  int axes = 1;
  if (draw.wants(Feature::severalAxes)) {
    draw.note(Feature::severalAxes);
    axes = draw.chance(80) ? 2 : 3;
  }
  if (draw.wants(Feature::cluster) || draw.isForced(Feature::otherBlocks)) {
    draw.note(Feature::cluster);
    launch.cluster = draw.chance(85) ? 2 : 4;
    blocksOfCluster = launch.cluster;
    if (axes > 1 && draw.chance(40))
      launch.persistent.cluster = dsl::ClusterAxis::columns;
    if (launch.grid == LaunchTree::Grid::grid)
      cluster = launch.cluster;
  }
  launch.persistent.group = draw.oneOf<int64_t>({1, 2, 3, 8});
  for (int number = 0; number < axes; ++number) {
    int64_t most = std::max<int64_t>(1, std::min<int64_t>(3, mostBlocks / blocks));
    int64_t count = draw.between(1, most);
    // The last cluster of a persistent loop has a body for each of its blocks, tile or not.
    bool isClusters =
        launch.grid == LaunchTree::Grid::grid ? number == 0 : number == int(launch.persistent.cluster);
    if (isClusters)
      count = (count + launch.cluster - 1) / launch.cluster * launch.cluster;
    Axis axis;
    axis.position = int(tree.positions.size());
    axis.count = count;
    axis.isGrid = true;
    axis.tile = drawSize(64);
    int64_t extent = tree.valueOf(axis.tile);
    if (draw.chance(70) && int(tree.dimensions.size()) < mostDimensions) {
      int64_t value = draw.chance(50) ? count * extent : (count - 1) * extent + draw.between(1, extent);
      if (launch.cluster != 1)
        value = count * extent;
      if (launch.cluster == 1 && draw.wants(Feature::zeroExtent)) {
        draw.note(Feature::zeroExtent);
        value = count = 0;
        hasBlocks = false;
      } else if (launch.cluster == 1 && draw.wants(Feature::unitExtent)) {
        draw.note(Feature::unitExtent);
        value = count = 1;
      }
      axis.count = std::max<int64_t>(count, 1);
      axis.dimension = newDimension(value);
      launch.extents.push_back(IndexNode::apply(IndexKind::ceilDiv,
                                                IndexNode::of(IndexKind::dimension, axis.dimension),
                                                IndexNode::of(IndexKind::size, axis.tile.number)));
    } else {
      launch.extents.push_back(IndexNode::constant(count));
    }
    blocks *= axis.count;
    tree.positions.push_back({fmt::format("p{}", axis.position)});
    positionRanges.push_back({0, axis.count - 1});
    launch.positions.push_back(axis.position);
    env.axes.push_back(axis);
  }
  if (launch.grid == LaunchTree::Grid::grid && launch.cluster == 1 && draw.wants(Feature::strided))
    stride(launch);
  env.inTiles = tiles || launch.grid == LaunchTree::Grid::persistent;
}

/// As many blocks as there are multiprocessors, each of which takes several places of the first axis.
void Generator::stride(LaunchTree &launch) {
  draw.note(Feature::strided);
  Axis &axis = env.axes.front();
  IndexNode end = launch.extents.front();
  IndexNode begin = IndexNode::of(IndexKind::position, axis.position);
  launch.extents.front() = IndexNode::apply(IndexKind::min, end, {.kind = IndexKind::multiprocessors});
  axis.position = int(tree.positions.size());
  tree.positions.push_back({fmt::format("p{}", axis.position)});
  positionRanges.push_back({0, axis.count - 1});
  tiles = {.kind = Statement::Kind::loop, .id = axis.position};
  tiles->index = {std::move(begin), std::move(end), {.kind = IndexKind::blocks}};
  tiles->isFixed = true;
}

Body Generator::forTiles(Body body) const {
  if (!tiles)
    return body;
  Statement loop = *tiles;
  loop.bodies = {std::move(body)};
  return {std::move(loop)};
}

/// The launch is refused where this is missed, which is seldom where it was drawn to be had.
void Generator::drawRequirement(LaunchTree &launch) {
  bool canHave = env.isLean || draw.has(Feature::asyncCopy);
  if (!canHave || !draw.wants(Feature::require))
    return;
  draw.note(Feature::require);
  launch.requirement =
      draw.oneOf({dsl::Requirement::tma, isForTcgen05 ? dsl::Requirement::tcgen05 : dsl::Requirement::wgmma,
                  dsl::Requirement::warpSpecialized});
}

void Generator::storeResults(Body &body) {
  std::vector<int> left = env.variables;
  int wanted = int(draw.between(1, 3)), stored = 0;
  for (size_t place = draw.wants(Feature::panelStore) ? left.size() : 0; place > 0 && stored == 0; --place)
    if (storePanels(body, left[place - 1])) {
      left.erase(left.begin() + int64_t(place - 1));
      ++stored;
    }
  while (!left.empty() && stored < wanted) {
    // The last ones depend on most.
    size_t place = draw.chance(60) ? left.size() - 1 : draw.below(left.size());
    int variable = left[place];
    left.erase(left.begin() + int64_t(place));
    stored += store(body, variable);
  }
  if (stored == 0 && declareLoaded(body))
    store(body, env.variables.back());
}

//===----------------------------------------------------------------------===//
// Extents, dimensions, tensors
//===----------------------------------------------------------------------===//

Size Generator::newSize(int64_t value) {
  if (value == 1)
    return {};
  tree.sizes.push_back(value);
  return {int(tree.sizes.size()) - 1};
}

int64_t Generator::drawExtent(int64_t most) {
  if (draw.wants(Feature::largeExtent)) {
    draw.note(Feature::largeExtent);
    return draw.between(1, std::min<int64_t>(300, 4 * most));
  }
  if (draw.wants(Feature::oddExtent)) {
    draw.note(Feature::oddExtent);
    return draw.between(1, std::min<int64_t>(most, 40));
  }
  static constexpr int64_t usual[] = {1, 2, 4, 8, 16, 16, 32, 32, 64, 64, 24, 48, 128};
  for (;;)
    if (int64_t extent = draw.oneOf(usual); extent <= most)
      return extent;
}

int Generator::newDimension(int64_t value) {
  DimensionInfo dimension;
  dimension.name = fmt::format("n{}", tree.dimensions.size());
  dimension.value = value;
  if (draw.wants(Feature::multipleOf)) {
    for (int64_t divisor : {2, 4, 8, 16, 64})
      if (value % divisor == 0 && draw.chance(60))
        dimension.multipleOf = divisor;
    if (dimension.multipleOf != 1)
      draw.note(Feature::multipleOf);
  }
  if (value > 0 && draw.wants(Feature::fixedDimension)) {
    draw.note(Feature::fixedDimension);
    dimension.fixed = true;
  }
  tree.dimensions.push_back(std::move(dimension));
  return int(tree.dimensions.size()) - 1;
}

TensorExtent Generator::drawTensorExtent(int64_t value) {
  if (value == 0 || draw.chance(60)) {
    for (size_t number = 0; number < tree.dimensions.size(); ++number)
      if (tree.dimensions[number].value == value && draw.chance(80))
        return {.dimension = int(number)};
    if (value == 0 || int(tree.dimensions.size()) < mostDimensions)
      return {.dimension = newDimension(value)};
  }
  return {.size = newSize(value)};
}

int Generator::newTensor(Access access, ElementType element, std::vector<TensorExtent> shape) {
  if (int(tree.tensors.size()) >= mostTensors && access != Access::input)
    return -1;
  TensorInfo tensor;
  std::string_view letters[] = {"A", "Y", "Z", "W"};
  tensor.name = fmt::format("{}{}", letters[size_t(access)], tree.tensors.size());
  tensor.access = access;
  tensor.element = element;
  tensor.shape = std::move(shape);
  // Rows stay known where orders of workspaces, packed elements and reductions by the TMA ask for it.
  bool keepsRows = access != Access::input || isPacked(element);
  for (TensorExtent &extent : std::span(tensor.shape).first(tensor.shape.size() - (keepsRows ? 1 : 0)))
    if (extent.dimension < 0 && !tree.dimensions.empty() && draw.wants(Feature::computedExtent)) {
      int from = int(draw.between(0, int64_t(tree.dimensions.size()) - 1));
      if (tree.dimensions[size_t(from)].value == 0 || tree.dimensions[size_t(from)].fixed)
        continue;
      draw.note(Feature::computedExtent);
      extent.computedFrom = from;
    }
  tensor.whole = tree.isExact || isInteger(element);
  Domain domain;
  if (tensor.whole) {
    tensor.largest = double(draw.between(1, 6));
    tensor.smallest = draw.chance(15) || isUnsigned(element) ? 0 : -tensor.largest;
    if (!isInteger(element) && draw.chance(25))
      tensor.exponent = int(draw.between(-2, 1));
    domain = {std::ldexp(tensor.largest, tensor.exponent), tensor.exponent, true};
  } else {
    tensor.largest = draw.oneOf({1.0, 1.0, 2.0, 0.5});
    tensor.smallest = draw.chance(15) ? 0.125 : -tensor.largest;
    domain = {tensor.largest, 0, false};
  }
  if (!fits(element, domain)) { // of a type with few numbers
    tensor.exponent = 0;
    tensor.largest = std::min(tensor.largest, differential::largest(element, 0));
    tensor.smallest = std::max(tensor.smallest, -tensor.largest);
    domain.magnitude = tensor.largest;
    domain.exponent = 0;
  }
  tensorDomains.push_back(domain);
  if (access != Access::workspace) {
    const int64_t unit = elementsPerUnit(element);
    if (!isPacked(element) && draw.wants(Feature::anyStride)) {
      draw.note(Feature::anyStride);
      tensor.lastStride = dsl::LastStride::any;
      tensor.step = draw.oneOf<int64_t>({1, 2, 3, 5, 8});
    }
    if (draw.wants(Feature::rowPadding) && tensor.shape.size() > 1) {
      draw.note(Feature::rowPadding);
      tensor.rowPadding = unit * (draw.chance(50) ? draw.between(1, 5) : 16 * draw.between(1, 2));
    }
    if (draw.wants(Feature::offset)) {
      draw.note(Feature::offset);
      tensor.offset = unit * (draw.chance(60) ? draw.between(1, 7) : 16);
    }
    std::vector<int64_t> extents = tree.shapeOf(tensor);
    bool isAligned =
        bytesOf(element, tensor.offset) % 16 == 0 &&
        (extents.size() == 1 || bytesOf(element, extents.back() * tensor.step + tensor.rowPadding) % 16 == 0);
    if ((isAligned || bytesOf(element, 1) > 1) && draw.wants(Feature::alignment)) {
      draw.note(Feature::alignment);
      tensor.alignment = isAligned ? draw.oneOf<int64_t>({4, 8, 16, 16, 16}) : bytesOf(element, 1);
    }
  } else {
    if (draw.chance(40))
      tensor.workspace.initial = dsl::Initial::zero;
    if (draw.wants(Feature::alignment)) {
      draw.note(Feature::alignment);
      tensor.workspace.alignment = draw.oneOf<int64_t>({4, 16, 16, 128});
    }
    int64_t bits = bitsOf(element);
    if ((bits == 16 || bits == 32) && tensor.shape.size() > 1 && draw.wants(Feature::accumulatorOrder)) {
      draw.note(Feature::accumulatorOrder);
      tensor.workspace.order = dsl::TensorOrder::accumulator;
    }
  }
  tree.tensors.push_back(std::move(tensor));
  return int(tree.tensors.size()) - 1;
}

int Generator::newIndexTensor(int64_t most) {
  int tensor = newTensor(Access::input, ElementType::i32, {drawTensorExtent(draw.between(1, 6))});
  TensorInfo &info = tree.tensors[size_t(tensor)];
  info.smallest = 0;
  info.largest = double(most);
  info.exponent = 0;
  tensorDomains[size_t(tensor)] = {info.largest, 0, true};
  return tensor;
}

namespace {
constexpr std::pair<Feature, ElementType> elementFeatures[] = {
#define TLC_ELEMENT_TYPE(name, ...) {Feature::name, ElementType::name},
#include "runtime/support/ElementTypes.def"
};
} // namespace

ElementType Generator::drawElement() {
  std::vector<int> weights;
  for (auto [feature, element] : elementFeatures)
    weights.push_back(draw.weightOf(feature));
  auto [feature, element] = elementFeatures[draw.weighted(weights)];
  draw.note(feature);
  return element;
}

bool Generator::mayBeInMemory(const Sizes &shape, ElementType element) const {
  Sizes extents = significant(shape);
  return !isPacked(element) ||
         (!extents.empty() && tree.valueOf(extents.back()) % elementsPerUnit(element) == 0);
}

ElementType Generator::drawFloat() {
  for (;;)
    if (ElementType element = drawElement(); !isInteger(element) && isComputed(element))
      return element;
}

Sizes Generator::significant(const Sizes &shape) const {
  Sizes sizes;
  for (Size size : shape)
    if (tree.valueOf(size) != 1)
      sizes.push_back(size);
  return sizes;
}
