// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws statements: what fragments hold, what tensors get, sums over blocks.
#include "runtime/support/Math.h"
#include "test/differential/Generator.h"

#include <algorithm>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::differential;

namespace {
constexpr int deepest = 2;
constexpr int64_t mostElements = 8192; ///< of a fragment
} // namespace

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

void Generator::drawBody(Body &body, int statements) {
  if (env.variables.empty() && !env.inBranch)
    declareLoaded(body);
  for (int tries = 0, done = 0; done < statements && tries < 4 * statements; ++tries)
    done += drawStatement(body);
}

bool Generator::drawStatement(Body &body) {
  auto feature = [&](Feature one) { return draw.weightOf(one); };
  bool mayNest = env.depth < deepest && (env.depth == 0 || draw.wants(Feature::nestedLoop));
  const int weights[] = {
      18,                                                      // declareLoaded
      12,                                                      // declareComputed
      30,                                                      // assign
      8,                                                       // store
      feature(Feature::shared),                                // shared
      feature(Feature::product),                               // product
      mayNest ? feature(Feature::loop) : 0,                    // loop
      mayNest ? feature(Feature::pipelined) : 0,               // pipelined
      env.depth <= deepest ? feature(Feature::when) : 0,       // when
      feature(Feature::whenAny),                               // whenAny
      feature(Feature::atomic),                                // atomic
      env.stored.empty() ? 0 : feature(Feature::loadBack) / 2, // loadBack
      feature(Feature::sliceToSlice),                          // sliceToSlice
      feature(Feature::sharedIndex),                           // sharedIndex
      env.warps == 0 ? 0 : feature(Feature::barrier),          // meet
  };
  switch (draw.weighted(weights)) {
  case 0:
    return declareLoaded(body);
  case 1:
    return declareComputed(body);
  case 2:
    return assign(body);
  case 3:
    return !env.variables.empty() && store(body, draw.oneOf(env.variables));
  case 4:
    return shared(body);
  case 5:
    return product(body);
  case 6:
    return loop(body, /*isPipelined=*/false);
  case 7:
    return loop(body, /*isPipelined=*/true);
  case 8:
    return when(body);
  case 9:
    return whenAny(body);
  case 10:
    return atomic(body);
  case 11:
    return loadBack(body);
  case 12:
    return sliceToSlice(body);
  case 13:
    return sharedIndex(body);
  default:
    return meet(body);
  }
}

Sizes Generator::drawShape() {
  if (!env.variables.empty() && draw.chance(50))
    return tree.variables[size_t(draw.oneOf(env.variables))].shape;
  Sizes shape;
  if (draw.wants(Feature::rank1)) {
    draw.note(Feature::rank1);
    shape = {drawSize(256)};
  } else {
    bool isRank3 = draw.wants(Feature::rank3);
    if (isRank3) {
      draw.note(Feature::rank3);
      shape.push_back(drawSize(4));
    }
    // The tile that a grid steps by, as programs usually have it.
    for (int axis = 0; axis < 2; ++axis) {
      bool isGrids = size_t(axis) < env.axes.size() && env.axes[size_t(axis)].isGrid && draw.chance(60);
      shape.push_back(isGrids ? env.axes[size_t(axis)].tile : drawSize(isRank3 ? 32 : 128));
    }
  }
  while (tree.elementsOf(shape) > mostElements / (env.loops > 0 ? 2 : 1))
    *std::ranges::max_element(shape, {}, [&](Size size) { return tree.valueOf(size); }) = drawSize(32);
  return shape;
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

int Generator::declare(Body &body, ElementType element, const Sizes &shape, Domain domain) {
  int id = int(tree.variables.size());
  tree.variables.push_back({fmt::format("x{}", id), element, shape, 0});
  Holds holds; // half of the limit is for what is assigned, half for what loops add
  holds.current = domain;
  holds.limit = join(repeated(domain, 2), defaultDomain(element));
  if (!tree.isExact && !isInteger(element))
    holds.limit.exact = false;
  if (!holds.limit.exact)
    holds.limit.magnitude = std::max(200.0, domain.magnitude);
  holds.repeats = env.repeats;
  holds.loops = env.loops;
  variableHolds.push_back(holds);
  body.push_back({.kind = Statement::Kind::declareVariable, .id = id});
  env.variables.push_back(id);
  return id;
}

int Generator::loaded(Body &body, const Sizes &shape, ElementType element) {
  if (!spend(double(tree.elementsOf(shape))))
    return -1;
  Domain domain;
  std::optional<Box> box = drawInputBox(shape, element, domain);
  if (!box)
    return -1;
  if (mayBeInfinite(element) && draw.wants(Feature::infinity)) {
    box->fill = drawInfinity();
    domain.finite = false;
  }
  if (!isPacked(element) && draw.wants(Feature::gather))
    gather(body, *box, shape);
  int id = declare(body, element, shape, domain);
  body.push_back({.kind = Statement::Kind::copy, .from = Place::of(std::move(*box)), .to = Place::of(id)});
  return id;
}

bool Generator::declareLoaded(Body &body) {
  Sizes shape = drawShape();
  ElementType element = drawElement();
  return loaded(body, shape, mayBeInMemory(shape, element) ? element : computedType(element)) >= 0;
}

bool Generator::declareComputed(Body &body) {
  ElementType element = drawElement();
  Sizes shape = drawShape();
  if (!spend(double(tree.elementsOf(shape))))
    return false;
  if (draw.chance(25)) {
    Drawn start = number(element, 3);
    if (!isComputed(element))
      start = {{}, {}};
    else if (mayBeInfinite(element) && draw.wants(Feature::infinity))
      start = infinite(element);
    int id = declare(body, element, shape, start.domain);
    tree.variables[size_t(id)].initial = start.expression.number;
    return true;
  }
  // A reduction of what there is makes narrow shapes.
  if (!env.variables.empty() && draw.chance(30)) {
    shape = tree.variables[size_t(draw.oneOf(env.variables))].shape;
    shape[draw.below(shape.size())] = {};
    if (!isComputed(element))
      element = ElementType::f32;
    if (std::optional<Drawn> value = drawReduction(shape, element)) {
      int id = declare(body, element, shape, value->domain);
      body.back().values = {std::move(value->expression)};
      return id >= 0;
    }
  }
  std::optional<Drawn> value = drawFull(shape, element, int(draw.between(1, 3)));
  if (!value)
    return false;
  declare(body, element, shape, value->domain);
  body.back().values = {std::move(value->expression)};
  return true;
}

bool Generator::mayAssign(int variable, Domain domain) const {
  const Holds &holds = variableHolds[size_t(variable)];
  if (!fits(tree.variables[size_t(variable)].element, domain))
    return false;
  if (env.loops == holds.loops)
    return true;
  return 2 * domain.magnitude <= holds.limit.magnitude && isAsTame(domain, holds.limit) &&
         (!domain.exact || domain.exponent >= holds.limit.exponent);
}

void Generator::assigned(int variable, Domain domain) {
  Holds &holds = variableHolds[size_t(variable)];
  bool isOuter = env.loops > holds.loops;
  holds.current = isOuter ? holds.limit : env.inBranch ? join(holds.current, domain) : domain;
  if (!isOuter)
    holds.limit = join(holds.limit, repeated(holds.current, 2));
}

bool Generator::mayAdd(int variable, Domain domain) const {
  const Holds &holds = variableHolds[size_t(variable)];
  if (env.loops == holds.loops)
    return fits(tree.variables[size_t(variable)].element, sum(holds.current, domain));
  double all = holds.added + domain.magnitude * env.repeats / holds.repeats;
  return 2 * all <= holds.limit.magnitude && fits(tree.variables[size_t(variable)].element, holds.limit) &&
         isAsTame(domain, holds.limit) && (!domain.exact || domain.exponent >= holds.limit.exponent);
}

void Generator::added(int variable, Domain domain) {
  Holds &holds = variableHolds[size_t(variable)];
  if (env.loops == holds.loops)
    return assigned(variable, sum(holds.current, domain));
  holds.added += domain.magnitude * env.repeats / holds.repeats;
  holds.current = holds.limit;
}

bool Generator::assign(Body &body) {
  if (env.variables.empty())
    return declareLoaded(body);
  int variable = draw.oneOf(env.variables);
  const VariableInfo info = tree.variables[size_t(variable)];
  if (!spend(double(tree.elementsOf(info.shape))))
    return false;
  const Holds &holds = variableHolds[size_t(variable)];
  if (isComputed(info.element) && draw.chance(40)) { // x += value
    std::optional<Drawn> value = drawFull(info.shape, info.element, int(draw.between(0, 2)));
    if (!value)
      return false;
    if (!mayAdd(variable, value->domain))
      value = clamped(std::move(*value), 2);
    if (!mayAdd(variable, value->domain))
      return false;
    added(variable, value->domain);
    body.push_back({.kind = Statement::Kind::update,
                    .id = variable,
                    .function = draw.chance(70) ? Function::add : Function::subtract,
                    .values = {std::move(value->expression)}});
    return true;
  }
  Domain limit = holds.limit;
  if (env.loops > holds.loops)
    limit.magnitude /= 2;
  else
    limit = {largest(info.element, limit.exponent), limit.exponent, tree.isExact || isInteger(info.element),
             !mayBeInfinite(info.element)};
  std::optional<Drawn> value = drawWithin(info.shape, info.element, limit);
  if (!value || !mayAssign(variable, value->domain))
    return false;
  assigned(variable, value->domain);
  body.push_back({.kind = Statement::Kind::assign, .id = variable, .values = {std::move(value->expression)}});
  return true;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

bool Generator::store(Body &body, int variable) {
  const VariableInfo info = tree.variables[size_t(variable)];
  if (!spend(double(tree.elementsOf(info.shape))))
    return false;
  ElementType element = draw.chance(60) ? info.element : drawElement();
  if (!mayBeInMemory(info.shape, element))
    element = computedType(element);
  std::optional<Drawn> value = draw.chance(60) ? converted(variableValue(variable), element)
                                               : drawFull(info.shape, element, int(draw.between(0, 2)));
  if (!value)
    return false;
  Access access = draw.chance(25)                                      ? Access::inout
                  : launchesLeft > 0 && draw.wants(Feature::workspace) ? Access::workspace
                                                                       : Access::output;
  std::optional<Box> box = drawOwnedBox(info.shape, element, access);
  if (!box)
    return false;
  access = tree.tensors[size_t(box->tensor)].access;
  if (access == Access::workspace)
    draw.note(Feature::workspace);
  Domain &holds = tensorDomains[size_t(box->tensor)];
  holds = join(holds, value->domain);
  Box written = *box;
  if (draw.chance(30))
    decorate(written, /*isRead=*/false, nullptr);
  if (!written.limit || access == Access::inout)
    env.stored.push_back(*box);
  if (!written.limit && env.loops == 0 && !env.inBranch && !env.inRole)
    launchStores.push_back(*box);
  if (!isPacked(element) && draw.wants(Feature::scatter))
    scatter(body, written, info.shape);
  body.push_back({.kind = Statement::Kind::store,
                  .to = Place::of(std::move(written)),
                  .values = {std::move(value->expression)}});
  return true;
}

bool Generator::loadBack(Body &body) {
  if (env.stored.empty())
    return false;
  Box box = draw.oneOf(env.stored);
  const TensorInfo &tensor = tree.tensors[size_t(box.tensor)];
  Sizes shape = significant(box.extents);
  // A shape of two axes meets more of the others.
  while (shape.size() < 2)
    shape.insert(draw.chance(50) ? shape.begin() : shape.end(), Size());
  if (!spend(double(tree.elementsOf(shape))))
    return false;
  draw.note(Feature::loadBack);
  int id = declare(body, tensor.element, shape, tensorDomains[size_t(box.tensor)]);
  body.push_back({.kind = Statement::Kind::copy, .from = Place::of(std::move(box)), .to = Place::of(id)});
  return true;
}

bool Generator::sliceToSlice(Body &body) {
  Sizes shape = drawShape();
  ElementType element = drawElement();
  if (!spend(double(tree.elementsOf(shape))))
    return false;
  Domain domain;
  std::optional<Box> from = drawInputBox(shape, element, domain);
  if (!from)
    return false;
  std::optional<Box> to = drawOwnedBox(shape, element, Access::output);
  if (!to)
    return false;
  draw.note(Feature::sliceToSlice);
  tensorDomains[size_t(to->tensor)] = join(tensorDomains[size_t(to->tensor)], domain);
  env.stored.push_back(*to);
  if (env.loops == 0 && !env.inBranch && !env.inRole)
    launchStores.push_back(*to);
  body.push_back(
      {.kind = Statement::Kind::copy, .from = Place::of(std::move(*from)), .to = Place::of(std::move(*to))});
  return true;
}

bool Generator::atomicTile(Body &body) {
  Function function = draw.oneOf({Function::add, Function::add, Function::min, Function::max});
  bool isSum = function == Function::add;
  ElementType element = draw.oneOf({ElementType::f16, ElementType::bf16, ElementType::i32});
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
    info.rowPadding = info.rowPadding / granule * granule;
  }
  unread.insert(box.tensor);
  if (isSum && !fits(element, sum(holds, combined)))
    value = {number(element, 1)}, combined = repeated({1, -1, true}, times);
  holds = isSum ? sum(holds, combined) : join(holds, combined);
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

bool Generator::atomic(Body &body) {
  if (draw.wants(Feature::atomicTile))
    return atomicTile(body);
  ElementType element =
      draw.oneOf({ElementType::f32, ElementType::f32, ElementType::i32, ElementType::i64, ElementType::f64});
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
  if (!fits(element, all))
    value = {number(element, 1)}, all = sum(holds, repeated({1, -1, true}, times * 4));
  holds = all;
  if (isOwned)
    env.stored.push_back(box);
  if (value->expression.kind == Expression::Kind::number) {
    box.extents.assign(box.extents.size(), Size());
    body.push_back({.kind = Statement::Kind::atomicAddNumber,
                    .number = value->expression.number,
                    .to = Place::of(std::move(box))});
    return true;
  }
  if (draw.wants(Feature::scatter))
    scatter(body, box, shape);
  Statement add = {.kind = Statement::Kind::atomicAdd,
                   .to = Place::of(std::move(box)),
                   .values = {std::move(value->expression)}};
  // Whose turn it is depends on which block starts first, and so does how sums are rounded.
  if ((tree.isExact || isInteger(element)) && draw.wants(Feature::counts))
    takeTurns(add);
  body.push_back(std::move(add));
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
