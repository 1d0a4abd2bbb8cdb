// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws kernels that add up products in tensor memory. Either roles do it: one fills slots with factors, one
/// multiplies them, one stores the sums; all go round as often and give back what they have waited for, so
/// that none waits for ever. Or all warps do one after the other, and wait for the products.
#include "test/differential/Generator.h"

#include <algorithm>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::differential;

namespace {

using Kind = Statement::Kind;

Statement fixed(Statement statement) {
  statement.isFixed = true;
  return statement;
}

Statement release(int channel, bool afterProducts = false) {
  return fixed({.kind = Kind::release, .id = channel, .number = double(afterProducts)});
}

void append(Body &body, Body more) {
  body.insert(body.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

constexpr int64_t warpsOfWarpgroup = 4, lanesOfTensorMemory = 128;

} // namespace

int Generator::newTensorMemory(Body &body, const Sizes &shape, ElementType element, int64_t slots) {
  int id = int(tree.tensorMemory.size());
  tree.tensorMemory.push_back({fmt::format("m{}", id), element, shape, slots});
  body.push_back(fixed({.kind = Kind::declareTensorMemory, .id = id}));
  return id;
}

bool Generator::tensorMemory(LaunchTree &launch) {
  if (tree.tensors.size() > 6)
    return false;
  Size rows = newSize(lanesOfTensorMemory), depth = newSize(draw.oneOf<int64_t>({16, 32, 48, 64}));
  Size columns = newSize(draw.oneOf<int64_t>({16, 32, 48, 64}));
  if (!spend(2.0 * double(lanesOfTensorMemory * (tree.valueOf(depth) + tree.valueOf(columns)))))
    return false;
  ProductInTensorMemory product = {.rows = rows, .columns = columns, .depth = depth};
  using enum ElementType;
  bool isTf32 = draw.wants(Feature::tf32Product);
  product.element = isTf32 ? f32 : draw.chance(60) ? bf16 : f16;
  draw.note(isTf32 ? Feature::f32 : product.element == bf16 ? Feature::bf16 : Feature::f16);
  draw.note(Feature::tensorMemory);
  draw.note(Feature::product);
  if (isTf32) // whose factors lie along the summed axis
    draw.note(Feature::tf32Product);
  product.leftAcross = !isTf32 && draw.wants(Feature::transposedLeft);
  product.rightAcross = !isTf32 && !draw.wants(Feature::transposedRight);
  if (product.leftAcross)
    draw.note(Feature::transposedLeft);
  if (!product.rightAcross)
    draw.note(Feature::transposedRight);
  if (!tiles && draw.chance(40))
    multiplyTogether(launch, product);
  else
    multiplyInRoles(launch, product);
  return true;
}

Sizes Generator::ProductInTensorMemory::leftShape() const {
  return leftAcross ? Sizes{depth, rows} : Sizes{rows, depth};
}

Sizes Generator::ProductInTensorMemory::rightShape() const {
  return rightAcross ? Sizes{depth, columns} : Sizes{columns, depth};
}

void Generator::multiplyInRoles(LaunchTree &launch, const ProductInTensorMemory &product) {
  draw.note(Feature::roles);
  draw.note(Feature::asyncCopy);
  launch.warps = env.warps = 0; // those of the roles
  Body &body = launch.body;
  auto count = IndexNode::constant(draw.between(1, 4));
  int64_t slots = draw.between(1, 3), sumSlots = draw.between(1, 2);
  int64_t storing = warpsOfWarpgroup * draw.between(1, 2);
  int64_t loading = draw.chance(70) ? 1 : warpsOfWarpgroup,
          multiplying = draw.chance(70) ? 1 : warpsOfWarpgroup;
  int left = newSlots(body, product.leftShape(), product.element, slots, {});
  int right = newSlots(body, product.rightShape(), product.element, slots, {});
  int sums = newTensorMemory(body, {product.rows, product.columns}, ElementType::f32, sumSlots);
  int factors = newChannel(body, {.slots = slots}), finished = newChannel(body, {.slots = sumSlots});

  Body loads = role(newRole("load", loading), [&](Body &statements) {
    int slot = newSlot(factors);
    Body tile;
    rounds(tile, count, [&](Body &round, const Axis &) {
      Statement put = fixed({.kind = Kind::put, .id = slot, .bodies = {{}}});
      for (int factor : {left, right}) {
        std::optional<Box> box = drawAsyncBox(tree.shared[size_t(factor)].shape, product.element, false);
        tileHolds[size_t(factor)].current = tensorDomains[size_t(box->tensor)];
        put.bodies[0].push_back(fixed({.kind = Kind::copy,
                                       .from = Place::of(std::move(*box)),
                                       .to = Place::of(View{.shared = factor, .slot = slot})}));
      }
      round.push_back(std::move(put));
    });
    append(statements, forTiles(std::move(tile)));
  });
  Body multiplies = role(newRole("multiply", multiplying), [&](Body &statements) {
    int slot = newSlot(factors), sum = newSlot(finished);
    Statement put = fixed({.kind = Kind::put, .id = sum, .bodies = {{}}});
    rounds(put.bodies[0], count, [&](Body &round, const Axis &axis) {
      round.push_back(fixed({.kind = Kind::get, .id = slot}));
      round.push_back(fixed({.kind = Kind::gemmInPlace, .to = Place::inTensorMemory(sums, sum)}));
      round.back().factors = {
          Place::of(View{.shared = left, .slot = slot, .transposed = product.leftAcross}),
          Place::of(View{.shared = right, .slot = slot, .transposed = !product.rightAcross})};
      round.back().tests.push_back({.a = IndexNode::of(IndexKind::position, axis.position),
                                    .b = IndexNode::constant(0),
                                    .comparison = Comparison::greater});
      round.push_back(release(factors, /*afterProducts=*/true));
    });
    append(statements, forTiles({std::move(put)}));
  });
  Body stores = role(newRole("store", storing), [&](Body &statements) {
    int slot = newSlot(finished);
    Body tile = {fixed({.kind = Kind::get, .id = slot})};
    Domain all =
        repeated(differential::product(tileHolds[size_t(left)].current, tileHolds[size_t(right)].current),
                 double(tree.valueOf(product.depth) * count.number));
    int sum = declare(tile, ElementType::f32, {product.rows, product.columns}, all);
    tile.push_back(
        fixed({.kind = Kind::copy, .from = Place::inTensorMemory(sums, slot), .to = Place::of(sum)}));
    tile.push_back(release(finished));
    drawBody(tile, int(draw.between(0, 2)));
    store(tile, sum);
    append(statements, forTiles(std::move(tile)));
  });
  // Whole warpgroups come first.
  Statement roles = {.kind = Kind::roles};
  roles.bodies.push_back(std::move(stores));
  bool loadsFirst = loading >= multiplying;
  append(roles.bodies[0], loadsFirst ? loads : multiplies);
  append(roles.bodies[0], loadsFirst ? multiplies : loads);
  body.push_back(std::move(roles));
}

void Generator::multiplyTogether(LaunchTree &launch, const ProductInTensorMemory &product) {
  draw.note(Feature::barrier);
  launch.warps = env.warps = warpsOfWarpgroup * draw.between(1, 2);
  draw.note(Feature::warps);
  Body &body = launch.body;
  Statement multiply = fixed({.kind = Kind::gemmInPlace});
  Domain ofLeft, ofRight;
  auto fill = [&](const Sizes &shape, Domain &domain) {
    int tile = newShared(body, shape, product.element);
    std::optional<Box> box = drawInputBox(shape, product.element, domain);
    body.push_back(fixed(
        {.kind = Kind::copy, .from = Place::of(std::move(*box)), .to = Place::of(View{.shared = tile})}));
    tileHolds[size_t(tile)].current = domain;
    env.tiles.pop_back(); // products read it until they are waited for
    return tile;
  };
  auto factorOf = [&](Drawn value) {
    return product.element == ElementType::f32 && value.domain.exact
               ? clamped(std::move(value), largestOfTf32(value.domain.exponent))
               : value;
  };
  Sizes shape = {product.rows, product.depth};
  int variable = draw.wants(Feature::registerFactor) ? loaded(body, shape, product.element) : -1;
  if (variable >= 0) {
    draw.note(Feature::registerFactor);
    int left = newTensorMemory(body, shape, product.element, 0);
    Drawn value = factorOf(drawFull(shape, product.element, 1).value_or(variableValue(variable)));
    ofLeft = value.domain;
    body.push_back(fixed({.kind = Kind::store,
                          .to = Place::inTensorMemory(left, -1),
                          .values = {std::move(value.expression)}}));
    multiply.factors = {Place::inTensorMemory(left, -1)};
  } else {
    int left = fill(product.leftShape(), ofLeft);
    multiply.factors = {Place::of(View{.shared = left, .transposed = product.leftAcross})};
  }
  int right = fill(product.rightShape(), ofRight);
  multiply.factors.push_back(Place::of(View{.shared = right, .transposed = !product.rightAcross}));
  int sums = newTensorMemory(body, {product.rows, product.columns}, ElementType::f32, 0);
  multiply.to = Place::inTensorMemory(sums, -1);
  // Sums that were read go on, also with other numbers on the left. All warps read them, so that none waits
  // for a phase that has passed twice.
  int64_t passes = draw.between(1, 2), products = draw.between(1, 3), all = 0;
  Domain terms;
  int sum = -1;
  for (int64_t pass = 0; pass < passes; ++pass) {
    int done = newBarrier(body, BarrierInfo::Kind::threads, 1);
    if (pass > 0 && variable >= 0 && draw.chance(50)) {
      Drawn value = factorOf(variableValue(variable));
      ofLeft = value.domain;
      body.push_back(fixed(
          {.kind = Kind::store, .to = multiply.factors.front(), .values = {std::move(value.expression)}}));
    }
    for (int64_t number = 0; number < products; ++number) {
      body.push_back(multiply);
      if (pass == 0 && number == 0) // what is there does not count
        body.back().tests.push_back(
            {.a = IndexNode::constant(0), .b = IndexNode::constant(0), .comparison = Comparison::greater});
    }
    body.push_back(fixed({.kind = Kind::arrive, .id = done, .number = 1}));
    body.push_back(fixed({.kind = Kind::awaitPhase, .id = done, .index = {IndexNode::constant(0)}}));
    Domain ofPass = differential::product(ofLeft, ofRight);
    terms = pass == 0 ? ofPass : join(terms, ofPass);
    all += products;
    sum = declare(body, ElementType::f32, {product.rows, product.columns},
                  repeated(terms, double(tree.valueOf(product.depth) * all)));
    body.push_back(
        fixed({.kind = Kind::copy, .from = Place::inTensorMemory(sums, -1), .to = Place::of(sum)}));
    if (pass + 1 < passes)
      store(body, sum);
  }
  drawBody(body, int(draw.between(0, 3)));
  store(body, sum);
}
