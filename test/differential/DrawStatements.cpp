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
      18,                                                       // declareLoaded
      12,                                                       // declareComputed
      30,                                                       // assign
      8,                                                        // store
      feature(Feature::shared),                                 // shared
      feature(Feature::product),                                // product
      mayNest ? feature(Feature::loop) : 0,                     // loop
      mayNest ? feature(Feature::pipelined) : 0,                // pipelined
      env.depth <= deepest ? feature(Feature::when) : 0,        // when
      feature(Feature::whenAny),                                // whenAny
      feature(Feature::atomic),                                 // atomic
      env.stored.empty() ? 0 : feature(Feature::loadBack) / 2,  // loadBack
      feature(Feature::sliceToSlice),                           // sliceToSlice
      feature(Feature::sharedIndex),                            // sharedIndex
      feature(Feature::sharedSlice),                            // sharedSlices
      feature(Feature::report),                                 // report
      env.warps == 0 ? 0 : feature(Feature::barrier),           // meet
      blocksOfCluster == 1 ? 0 : feature(Feature::otherBlocks), // otherBlocks
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
  case 14:
    return sharedSlices(body);
  case 15:
    return report(body);
  case 16:
    return meet(body);
  default:
    return otherBlocks(body);
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
  const bool isGathered = draw.wants(Feature::gather), isOfNewTensor = isGathered && draw.chance(40);
  std::optional<Box> box = isOfNewTensor ? drawGathered(body, shape, element, domain) : std::nullopt;
  if (!box)
    box = drawInputBox(shape, element, domain);
  if (!box)
    return -1;
  if (mayBeInfinite(element) && draw.wants(Feature::infinity)) {
    box->fill = drawInfinity();
    domain.finite = false;
  }
  if (isGathered && !isOfNewTensor && !isPacked(element))
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
  if (box)
    storeTo(body, *box, std::move(*value), info.shape);
  return box.has_value();
}

void Generator::storeTo(Body &body, const Box &box, Drawn value, const Sizes &shape) {
  const TensorInfo tensor = tree.tensors[size_t(box.tensor)]; // a limit may be read from a new one
  if (tensor.access == Access::workspace)
    draw.note(Feature::workspace);
  Domain &holds = tensorDomains[size_t(box.tensor)];
  holds = join(holds, value.domain);
  Box written = box;
  if (draw.chance(30))
    decorate(written, /*isRead=*/false, nullptr);
  if (!written.limit || tensor.access == Access::inout)
    env.stored.push_back(box);
  if (!written.limit && env.loops == 0 && !env.inBranch && !env.inRole)
    launchStores.push_back(box);
  if (!isPacked(tensor.element) && draw.wants(Feature::scatter))
    scatter(body, written, shape);
  body.push_back({.kind = Statement::Kind::store,
                  .to = Place::of(std::move(written)),
                  .values = {std::move(value.expression)}});
}

/// What leaves as 16 bits by whole panels, to a tensor that the TMA can write or to rows of any alignment, in
/// its natural order or another one, once or twice.
bool Generator::storePanels(Body &body, int variable) {
  const Sizes shape = tree.variables[size_t(variable)].shape;
  constexpr int64_t panel = 64, tmaBytes = 16;
  if (shape.size() != 2 || tree.valueOf(shape[0]) % panel != 0 || tree.valueOf(shape[1]) % panel != 0 ||
      !spend(2 * double(tree.elementsOf(shape))))
    return false;
  ElementType element = draw.chance(50) ? ElementType::bf16 : ElementType::f16;
  std::optional<Drawn> value = converted(variableValue(variable), element);
  if (!value)
    return false;
  Access access = draw.chance(25)                       ? Access::inout
                  : launchesLeft > 0 && draw.chance(70) ? Access::workspace
                                                        : Access::output;
  std::optional<Box> box = drawOwnedBox(shape, element, access);
  if (!box)
    return false;
  draw.note(Feature::panelStore);
  TensorInfo &tensor = tree.tensors[size_t(box->tensor)];
  if (tensor.access != Access::workspace && tensor.shape.size() > 1 && draw.chance(60)) {
    int64_t row = tree.shapeOf(tensor).back();
    tensor.offset = 0;
    tensor.lastStride = dsl::LastStride::one;
    tensor.step = 1;
    tensor.rowPadding = alignTo(row, tmaBytes / bytesOf(element, 1)) - row;
    tensor.alignment = tmaBytes;
  }
  storeTo(body, *box, std::move(*value), shape);
  if (!draw.chance(35))
    return true;
  if (std::optional<Drawn> other = drawFull(shape, element, 1))
    storeTo(body, *box, std::move(*other), shape);
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
