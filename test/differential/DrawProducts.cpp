// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws shared tiles, what moves through them, and products.
#include "runtime/target/Hardware.h"
#include "test/differential/Generator.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::differential;

namespace {
constexpr int64_t mostSharedElements = 8192;
} // namespace

//===----------------------------------------------------------------------===//
// Shared tiles
//===----------------------------------------------------------------------===//

int Generator::newShared(Body &body, const Sizes &shape, ElementType element) {
  int id = int(tree.shared.size());
  tree.shared.push_back({fmt::format("t{}", id), element, shape, 0});
  tileHolds.push_back({});
  body.push_back({.kind = Statement::Kind::declareShared, .id = id});
  env.tiles.push_back(id);
  draw.note(Feature::shared);
  return id;
}

namespace {
Place whole(int tile) { return Place::of(View{.shared = tile}); }
} // namespace

bool Generator::writeTile(Body &body, int tile) {
  const SharedInfo info = tree.shared[size_t(tile)];
  if (!spend(double(tree.elementsOf(info.shape))))
    return false;
  Domain domain;
  bool isOuter = env.loops > tileHolds[size_t(tile)].loops;
  // What a loop puts into a tile that was declared before it, its next iteration may read.
  auto settle = [&] {
    Holds &holds = tileHolds[size_t(tile)];
    holds.current = env.written.contains(tile) || isOuter ? join(holds.current, domain) : domain;
    env.written.insert(tile);
  };
  // What a loop computes, its products read: of a tile that the loop declares.
  bool isNew = !isOuter && !env.written.contains(tile);
  if (env.isLean && isNew && draw.wants(Feature::storedFactor)) {
    if (std::optional<Drawn> value = drawFull(info.shape, info.element, int(draw.between(0, 2)))) {
      draw.note(Feature::storedFactor);
      domain = value->domain;
      body.push_back(
          {.kind = Statement::Kind::store, .to = whole(tile), .values = {std::move(value->expression)}});
      settle();
      return true;
    }
  }
  if (env.isLean) {
    std::optional<Box> box = drawAsyncBox(info.shape, info.element, /*isMulticast=*/false);
    if (!box)
      return false;
    domain = tensorDomains[size_t(box->tensor)];
    body.push_back({.kind = Statement::Kind::copy, .from = Place::of(std::move(*box)), .to = whole(tile)});
    settle();
    return true;
  }
  if (draw.wants(Feature::fill)) {
    draw.note(Feature::fill);
    Drawn value = number(info.element, 3);
    if (!isComputed(info.element))
      value = {{}, {}};
    domain = value.domain;
    body.push_back({.kind = Statement::Kind::fill, .number = value.expression.number, .to = whole(tile)});
    settle();
    return true;
  }
  int64_t rows = info.shape.size() == 2 ? tree.valueOf(info.shape[0]) : 0;
  if (rows > 8 && draw.wants(Feature::rowsView)) { // part by part
    draw.note(Feature::rowsView);
    int64_t first = 8 * draw.between(1, (rows - 1) / 8);
    for (auto [from, count] : {std::pair(int64_t(0), first), std::pair(first, rows - first)}) {
      Sizes part = {newSize(count), info.shape[1]};
      Domain ofPart;
      std::optional<Box> box = drawInputBox(part, info.element, ofPart);
      if (!box)
        return false;
      domain = join(domain, ofPart);
      View view = {.shared = tile, .firstRow = from, .rows = part[0]};
      body.push_back(
          {.kind = Statement::Kind::copy, .from = Place::of(std::move(*box)), .to = Place::of(view)});
    }
    settle();
    return true;
  }
  if (int64_t panels = panelsOf(info); panels > 1 && draw.wants(Feature::columnsView)) {
    draw.note(Feature::columnsView);
    int64_t columns = tree.valueOf(info.shape[1]), first = columns / panels * draw.between(1, panels - 1);
    for (auto [from, count] : {std::pair(int64_t(0), first), std::pair(first, columns - first)}) {
      Sizes part = {info.shape[0], newSize(count)};
      Domain ofPart;
      std::optional<Box> box = drawInputBox(part, info.element, ofPart);
      if (!box)
        return false;
      domain = join(domain, ofPart);
      View view = {.shared = tile, .firstColumn = from, .columns = part[1]};
      body.push_back(
          {.kind = Statement::Kind::copy, .from = Place::of(std::move(*box)), .to = Place::of(view)});
    }
    settle();
    return true;
  }
  // What an iteration computes from the tile, the next one would compute from that.
  bool isCarried = isOuter && env.filledBefore.contains(tile);
  if (!isCarried && draw.wants(Feature::sharedToShared)) {
    for (int other : env.written) {
      const SharedInfo &source = tree.shared[size_t(other)];
      if (other == tile || source.element != info.element || source.shape.size() != 2 ||
          info.shape.size() != 2)
        continue;
      View view = {.shared = other, .transposed = equal({source.shape[1], source.shape[0]}, info.shape)};
      if (view.transposed && isPacked(info.element)) // other elements would share a byte
        view.transposed = false;
      if (!view.transposed && !equal(source.shape, info.shape))
        continue;
      draw.note(Feature::sharedToShared);
      domain = tileHolds[size_t(other)].current;
      body.push_back({.kind = Statement::Kind::copy, .from = Place::of(view), .to = whole(tile)});
      settle();
      return true;
    }
  }
  if (!isCarried && draw.chance(env.isLean ? 50 : 35)) {
    Place to = whole(tile);
    if (!env.isLean && !isPacked(info.element) && draw.wants(Feature::reshapedTile))
      to.view.extents = otherExtents(info.shape);
    const Sizes &shape = to.view.extents.empty() ? info.shape : to.view.extents;
    if (std::optional<Drawn> value = drawFull(shape, info.element, int(draw.between(0, 2)))) {
      if (!to.view.extents.empty())
        draw.note(Feature::reshapedTile);
      domain = value->domain;
      body.push_back({.kind = Statement::Kind::store, .to = to, .values = {std::move(value->expression)}});
      settle();
      return true;
    }
  }
  std::optional<Box> box = drawInputBox(info.shape, info.element, domain);
  if (!box)
    return false;
  body.push_back({.kind = Statement::Kind::copy, .from = Place::of(std::move(*box)), .to = whole(tile)});
  settle();
  return true;
}

int64_t Generator::panelsOf(const SharedInfo &info) const {
  constexpr int64_t panelBytes = 128;
  int64_t panel = elementsOf(info.element, panelBytes);
  bool isWhole = info.shape.size() == 2 && tree.valueOf(info.shape[1]) % panel == 0;
  return isWhole ? tree.valueOf(info.shape[1]) / panel : 0;
}

bool Generator::readTile(Body &body, int tile) {
  const SharedInfo info = tree.shared[size_t(tile)];
  View view = {.shared = tile};
  Sizes shape = info.shape;
  int64_t rows = shape.size() == 2 ? tree.valueOf(shape[0]) : 0;
  if (shape.size() >= 2 && draw.wants(Feature::transposedView)) {
    draw.note(Feature::transposedView);
    view.transposed = true;
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  } else if (rows > 8 && draw.wants(Feature::rowsView)) {
    draw.note(Feature::rowsView);
    view.firstRow = 8 * draw.between(0, (rows - 1) / 8);
    view.rows = newSize(draw.between(1, rows - *view.firstRow));
    shape[0] = view.rows;
  } else if (int64_t panels = panelsOf(info); panels > 1 && draw.wants(Feature::columnsView)) {
    draw.note(Feature::columnsView);
    constexpr int64_t vectorBytes = 16;
    int64_t columns = tree.valueOf(shape[1]), panel = columns / panels,
            vector = elementsOf(info.element, vectorBytes);
    view.firstColumn = panel * draw.between(0, panels - 1);
    view.columns = newSize(vector * draw.between(1, (columns - *view.firstColumn) / vector));
    shape[1] = view.columns;
  }
  if (!spend(double(tree.elementsOf(shape))))
    return false;
  Domain domain = tileHolds[size_t(tile)].current;
  bool hasSameBytes = !view.transposed || !isPacked(info.element);
  if (hasSameBytes && draw.wants(Feature::sharedToSlice)) {
    std::optional<Box> box = drawOwnedBox(shape, info.element, Access::output);
    if (!box)
      return false;
    draw.note(Feature::sharedToSlice);
    tensorDomains[size_t(box->tensor)] = join(tensorDomains[size_t(box->tensor)], domain);
    env.stored.push_back(*box);
    if (env.loops == 0 && !env.inBranch && !env.inRole)
      launchStores.push_back(*box);
    body.push_back(
        {.kind = Statement::Kind::copy, .from = Place::of(view), .to = Place::of(std::move(*box))});
    return true;
  }
  if (!isPacked(info.element) && draw.wants(Feature::reshapedTile)) {
    draw.note(Feature::reshapedTile);
    shape = view.extents = otherExtents(shape);
  }
  int id = declare(body, info.element, shape, domain);
  body.push_back({.kind = Statement::Kind::copy, .from = Place::of(view), .to = Place::of(id)});
  return true;
}

bool Generator::shared(Body &body) {
  std::vector<int> written(env.written.begin(), env.written.end());
  if (!written.empty() && draw.chance(45))
    return readTile(body, draw.oneOf(written));
  if (!env.tiles.empty() && draw.chance(25))
    return writeTile(body, draw.oneOf(env.tiles));
  Sizes shape = drawShape();
  ElementType element = drawElement();
  if (env.isLean) // rows of whole 16 bytes
    shape = {newSize(draw.oneOf<int64_t>({1, 8, 16, 32, 64})),
             newSize(elementsOf(element, 16) * draw.between(1, 6))};
  if (tree.elementsOf(shape) > mostSharedElements ||
      tree.valueOf(shape.back()) % elementsPerUnit(element) != 0)
    return false;
  int tile = newShared(body, shape, element);
  tileHolds[size_t(tile)].loops = env.loops;
  bool isWritten = writeTile(body, tile);
  return isWritten && draw.chance(60) ? readTile(body, tile) : isWritten;
}

bool Generator::sharedIndex(Body &body) {
  if (env.axes.empty())
    return false;
  int tile = newShared(body, {newSize(draw.between(2, 4))}, ElementType::i32);
  tileHolds[size_t(tile)].loops = env.loops;
  draw.note(Feature::sharedIndex);
  env.tiles.pop_back(); // written by elements only
  IndexNode value = IndexNode::of(IndexKind::position, draw.oneOf(env.axes).position);
  if (draw.chance(40))
    value = IndexNode::apply(IndexKind::add, value, IndexNode::constant(draw.between(0, 3)));
  IndexNode at = IndexNode::constant(draw.between(0, 1));
  body.push_back({.kind = Statement::Kind::writeIndex, .id = tile, .index = {std::move(value), at}});
  // Read as a condition.
  Statement when = {.kind = Statement::Kind::when};
  when.tests.push_back({.a = {IndexKind::readShared, 0, tile, {at}},
                        .b = IndexNode::constant(draw.between(0, 2)),
                        .comparison = Comparison(draw.below(6))});
  when.bodies.push_back(inside([&](Body &statements) {
    env.inBranch = true;
    drawBody(statements, int(draw.between(1, 2)));
  }));
  body.push_back(std::move(when));
  return true;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

std::optional<int> Generator::factorTile(Body &body, Size rows, Size columns, ElementType element) {
  Sizes shape = {rows, columns};
  if (tree.valueOf(columns) % elementsPerUnit(element) != 0)
    return std::nullopt;
  std::vector<int> candidates;
  for (int tile : env.written) {
    const SharedInfo &info = tree.shared[size_t(tile)];
    if (info.element == element && info.slots == 0 && equal(info.shape, shape))
      candidates.push_back(tile);
  }
  if (!candidates.empty() && draw.chance(35))
    return draw.oneOf(candidates);
  // One that was declared before the loop, as a rule, or here.
  std::vector<int> declared;
  for (int tile : env.tiles) {
    const SharedInfo &info = tree.shared[size_t(tile)];
    if (info.element == element && info.slots == 0 && equal(info.shape, shape))
      declared.push_back(tile);
  }
  int tile = !declared.empty() && draw.chance(60) ? draw.oneOf(declared) : newShared(body, shape, element);
  if (tree.shared.size() == size_t(tile) + 1)
    tileHolds[size_t(tile)].loops = env.loops;
  return writeTile(body, tile) ? std::optional(tile) : std::nullopt;
}

/// Of a sparse factor: one of two bytes for each element.
Expression Generator::metadata(Body &body, const Sizes &shape, ElementType factor) {
  auto places = [&]() -> int64_t {
    return factor == ElementType::f32 ? draw.oneOf<int64_t>({4, 14})
                                      : draw.oneOf<int64_t>({4, 8, 12, 9, 13, 14});
  };
  auto byte = [&]() {
    int64_t first = places();
    return double(first | places() << 4);
  };
  std::optional<Drawn> chooses = drawFull(shape, ElementType::i32, 1);
  int id = declare(body, ElementType::u8, shape, {});
  env.variables.pop_back(); // nothing else is written to it
  tree.variables[size_t(id)].initial = byte();
  Expression first = {.kind = Expression::Kind::variable, .type = ElementType::u8, .id = id};
  if (!chooses)
    return first;
  Expression where = {.kind = Expression::Kind::where, .type = ElementType::u8};
  where.comparison = Comparison(draw.below(6));
  Expression second = {.kind = Expression::Kind::number, .type = ElementType::u8, .number = byte()};
  where.operands = {std::move(chooses->expression), number(ElementType::i32, 2).expression, std::move(first),
                    std::move(second)};
  return where;
}

bool Generator::product(Body &body) {
  using enum ElementType;
  bool areIntegers = draw.wants(Feature::integerProduct);
  ElementType element = areIntegers                        ? draw.oneOf({i8, u8})
                        : draw.wants(Feature::tf32Product) ? f32
                                                           : draw.oneOf({bf16, bf16, f16, f16, e4m3});
  const bool areFloats8 = element == e4m3; // of which each may be of either type
  if (areFloats8)
    element = draw.oneOf({e4m3, e4m3, e5m2});
  ElementType rightElement = areIntegers  ? draw.oneOf({i8, u8})
                             : areFloats8 ? draw.oneOf({e4m3, e4m3, e5m2})
                                          : element;
  ElementType sumElement = sumsOf(element);
  // The sum: one that a loop around declared, or a new one.
  std::vector<int> sums;
  for (int id : env.variables) {
    const VariableInfo &info = tree.variables[size_t(id)];
    bool fitsWgmma = !env.isLean || (tree.valueOf(info.shape.front()) % 64 == 0 &&
                                     tree.valueOf(info.shape.back()) % wgmmaColumnsOf(element) == 0);
    if (info.element == sumElement && info.shape.size() == 2 && tree.elementsOf(info.shape) >= 16 &&
        fitsWgmma)
      sums.push_back(id);
  }
  int sum = !sums.empty() && draw.chance(env.isLean ? 88 : 70) ? draw.oneOf(sums) : -1;
  Size rows, columns;
  if (sum >= 0) {
    rows = tree.variables[size_t(sum)].shape[0];
    columns = tree.variables[size_t(sum)].shape[1];
  } else {
    static constexpr int64_t usualRows[] = {64, 64, 64, 128, 16, 32, 48, 8};
    static constexpr int64_t usualColumns[] = {64, 32, 16, 8, 24, 128, 40};
    rows = draw.chance(85) ? newSize(draw.oneOf(usualRows)) : drawSize(64);
    columns = env.isLean || draw.chance(85) ? newSize(draw.oneOf(usualColumns)) : drawSize(64);
    if (env.isLean && isForTcgen05)
      rows = newSize(128);
    else if (env.isLean && tree.valueOf(rows) % 64 != 0)
      rows = newSize(64);
    if (env.isLean && tree.valueOf(columns) % wgmmaColumnsOf(element) != 0)
      columns = newSize(32);
    // More columns than an instruction has.
    if (factsOf(element).bits == 16 && (tree.valueOf(rows) == 64 || (env.isLean && isForTcgen05)) &&
        draw.wants(Feature::wideProduct)) {
      draw.note(Feature::wideProduct);
      columns = newSize(draw.oneOf<int64_t>({272, 320, 384, 512}));
    }
  }
  // The left factor: a variable's tile in registers, or a shared tile.
  std::vector<int> lefts;
  for (int id : env.variables) {
    const VariableInfo &info = tree.variables[size_t(id)];
    if (info.shape.size() == 2 && equal(info.shape[0], rows) && tree.valueOf(info.shape[1]) <= 128 &&
        id != sum)
      lefts.push_back(id);
  }
  static constexpr int64_t usualDepths[] = {16, 32, 64, 64, 128};
  bool isRegister = draw.wants(Feature::registerFactor);
  bool mayBeSparse = !isRegister && tree.valueOf(rows) % 64 == 0 &&
                     tree.valueOf(columns) % wgmmaColumnsOf(element) == 0 && env.warps % 4 == 0;
  bool isSparse = mayBeSparse && draw.wants(Feature::sparseProduct);
  // wgmma takes bytes and tf32 along the summed axis only.
  bool isAlongK = (env.isLean || isSparse) && factsOf(element).bits != 16;
  Size depth = env.isLean || draw.chance(88) ? newSize(draw.oneOf(usualDepths)) : drawSize(64);
  if (tree.valueOf(columns) > maxWgmmaColumns)
    depth = newSize(16);
  if (isAlongK)
    depth = newSize(draw.oneOf<int64_t>({32, 64}));
  if (isSparse) // of which an instruction reads 64 bytes
    depth = newSize(draw.between(1, 3) * 512 / int64_t(factsOf(element).bits));
  if (isRegister && !lefts.empty() && draw.chance(60))
    depth = tree.variables[size_t(draw.oneOf(lefts))].shape[1];
  int64_t m = tree.valueOf(rows), n = tree.valueOf(columns), k = tree.valueOf(depth);
  if (m * k > mostSharedElements || n * k > mostSharedElements || !spend(double(m * n) * double(k) / 100))
    return false;
  Statement gemm = {.kind = Statement::Kind::gemm};
  Domain left;
  if (isRegister) {
    Sizes shape = {rows, depth};
    std::optional<Drawn> value = drawFull(shape, element, int(draw.between(0, 2)));
    if (!value) { // from a tile or a tensor of this iteration
      ElementType of = draw.chance(50) ? element : drawElement();
      if (!env.isLean && draw.chance(50)) {
        if (loaded(body, shape, of) < 0)
          return false;
      } else {
        std::optional<int> tile = factorTile(body, rows, depth, of);
        if (!tile)
          return false;
        int id = declare(body, of, shape, tileHolds[size_t(*tile)].current);
        body.push_back({.kind = Statement::Kind::copy, .from = whole(*tile), .to = Place::of(id)});
      }
      value = drawFull(shape, element, int(draw.between(0, 2)));
    }
    if (!value)
      return false;
    draw.note(Feature::registerFactor);
    if (element == f32 && value->domain.exact)
      value = clamped(std::move(*value), largestOfTf32(value->domain.exponent));
    left = value->domain;
    gemm.values = {std::move(value->expression)};
  } else {
    View view = {.transposed = !isAlongK && draw.wants(Feature::transposedLeft)};
    Size stored = isSparse ? newSize(k / 2) : depth;
    std::optional<int> tile =
        view.transposed ? factorTile(body, stored, rows, element) : factorTile(body, rows, stored, element);
    if (!tile)
      return false;
    if (view.transposed)
      draw.note(Feature::transposedLeft);
    view.shared = *tile;
    gemm.from = Place::of(view);
  }
  View right = {.transposed = isAlongK || draw.wants(Feature::transposedRight)};
  std::optional<int> tile = right.transposed ? factorTile(body, columns, depth, rightElement)
                                             : factorTile(body, depth, columns, rightElement);
  if (!tile)
    return false;
  if (right.transposed)
    draw.note(Feature::transposedRight);
  right.shared = *tile;
  gemm.to = Place::of(right);
  if (!isRegister) // now, as the right factor may have been written to the same tile
    left = tileHolds[size_t(gemm.from.view.shared)].current;
  left = factor(element, left);
  Domain ofRight = factor(element, tileHolds[size_t(*tile)].current);
  Domain all = repeated(differential::product(left, ofRight), double(k));
  if (tree.isExact && !all.exact)
    return false;
  // A sum of floats of 8 bits keeps 13 bits after the point of its largest term.
  bool isExactSum = !all.exact || !areFloats8 || all.magnitude < std::ldexp(1.0, 12 + all.exponent);
  if (tree.isExact && !isExactSum)
    return false;
  if (sum < 0 || !mayAdd(sum, all) || areFloats8)
    sum = declare(body, sumElement, {rows, columns}, {});
  if (!mayAdd(sum, all)) { // a smaller factor
    if (!isRegister || areFloats8 || !left.exact)
      return false;
    Drawn smaller = clamped({std::move(gemm.values[0]), left}, 4);
    gemm.values[0] = std::move(smaller.expression);
    all = repeated(differential::product(smaller.domain, ofRight), double(k));
    if (!mayAdd(sum, all))
      return false;
  }
  added(sum, all);
  gemm.id = sum;
  if (env.isLean && isForTcgen05) {
    draw.note(Feature::plainTcgen05);
    if (env.loops > 0 && draw.wants(Feature::changedSum))
      changeSum(body, sum);
  }
  if (isSparse) {
    draw.note(Feature::sparseProduct);
    gemm.isSparse = true;
    gemm.values = {metadata(body, {rows, newSize(element == f32 ? k / 4 : k / 8)}, element)};
  }
  if (draw.wants(Feature::warpPolicy)) {
    draw.note(Feature::warpPolicy);
    gemm.policy = draw.chance(50) ? dsl::WarpPolicy::square : dsl::WarpPolicy::fullColumn;
  }
  draw.note(Feature::product);
  if (std::optional<Feature> kind = productOf(element))
    draw.note(*kind);
  body.push_back(std::move(gemm));
  if (env.loops > 0 && draw.wants(Feature::exchange))
    exchange(body);
  return true;
}

/// A sum between the products that add to it, in some iterations or in all: another sign, or one more.
void Generator::changeSum(Body &body, int sum) {
  draw.note(Feature::changedSum);
  const ElementType element = tree.variables[size_t(sum)].element;
  const Domain one = domainOf(1);
  const bool adds = draw.chance(50) && mayAdd(sum, one);
  if (adds)
    added(sum, one);
  Expression number = {.kind = Expression::Kind::number, .type = element, .number = adds ? 1.0 : -1.0};
  Statement change = {.kind = Statement::Kind::assign, .id = sum};
  change.values = {applied(adds ? Function::add : Function::multiply, element,
                           {variableValue(sum).expression, std::move(number)})};
  if (draw.chance(50)) {
    Statement when = {.kind = Statement::Kind::when};
    when.tests.push_back(drawTest());
    draw.note(Feature::when);
    when.bodies.push_back({std::move(change)});
    change = std::move(when);
  }
  body.push_back(std::move(change));
}

/// Threads meet between a product, which the next iteration may await, and what is written to its factors
/// then.
void Generator::exchange(Body &body) {
  Sizes shape = {newSize(draw.oneOf<int64_t>({8, 16, 64})), newSize(draw.oneOf<int64_t>({16, 32}))};
  ElementType element = draw.chance(50) ? ElementType::f32 : ElementType::bf16;
  std::optional<Drawn> value = drawFull(shape, element, int(draw.between(0, 1)));
  Drawn all = value ? std::move(*value) : number(element, 3);
  draw.note(Feature::exchange);
  int tile = newShared(body, shape, element);
  env.tiles.pop_back(); // this one exchange writes it
  tileHolds[size_t(tile)].current = all.domain;
  tileHolds[size_t(tile)].loops = env.loops;
  if (value)
    body.push_back(
        {.kind = Statement::Kind::store, .to = whole(tile), .values = {std::move(all.expression)}});
  else
    body.push_back({.kind = Statement::Kind::fill, .number = all.expression.number, .to = whole(tile)});
  int id = declare(body, element, shape, all.domain);
  body.push_back({.kind = Statement::Kind::copy, .from = whole(tile), .to = Place::of(id)});
  store(body, id); // so that somebody needs it
}
