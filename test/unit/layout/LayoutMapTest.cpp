// SPDX-License-Identifier: Apache-2.0
/// \file
/// Laws of the core: maps of digits are composed, inverted and compared as functions.
#include "dialects/layout/SharedLayout.h"
#include "test/unit/layout/LayoutLaws.h"

using namespace tlc;
using namespace tlc::test;
using Catch::Contains;

namespace {

int64_t pick(std::mt19937 &random, int64_t n) {
  return std::uniform_int_distribution<int64_t>(0, n - 1)(random);
}

/// A map whose digits tile both sides: one of a random bijection's. `powers`: all extents are powers of two.
LayoutMap randomBijection(std::mt19937 &random, const std::vector<Dim> &from, const std::vector<Dim> &to,
                          const Modes &extents) {
  std::vector<LayoutMap::Input> inputs;
  for (Dim dim : from)
    inputs.push_back({dim, {}});
  std::vector<int64_t> step(to.size(), 1);
  for (LayoutMode mode : extents) {
    mode.axis = int(pick(random, int64_t(to.size())));
    mode.step = step[size_t(mode.axis)];
    step[size_t(mode.axis)] *= mode.extent;
    inputs[size_t(pick(random, int64_t(from.size())))].modes.push_back(mode);
  }
  for (LayoutMap::Input &input : inputs)
    std::shuffle(input.modes.begin(), input.modes.end(), random);
  return {std::move(inputs), to};
}

Modes randomExtents(std::mt19937 &random, bool powers) {
  Modes extents;
  for (int64_t i = 1 + pick(random, 5); i > 0; --i)
    extents.push_back({powers ? int64_t(2) << pick(random, 2) : 2 + pick(random, 3)});
  return extents;
}

template <class Visit> void forEachIndex(const LayoutMap &map, Visit visit) {
  Shape shape;
  for (size_t input = 0; input < map.inputs().size(); ++input)
    shape.push_back(map.extent(input));
  forEachPoint(shape, visit);
}

const std::vector<Dim> hardware = {Dim::reg, Dim::lane, Dim::warp};
const std::vector<Dim> axes = {axisDim(0), axisDim(1)};

} // namespace

TEST_CASE("a map and its inverse undo each other", "[layout][map][unit]") {
  std::mt19937 random(Catch::rngSeed());
  for (int i = 0; i < 300; ++i) {
    LayoutMap map = randomBijection(random, hardware, axes, randomExtents(random, i % 2));
    INFO(printMap(map));
    REQUIRE(map.problem() == "");
    std::optional<LayoutMap> back = map.inverse();
    REQUIRE(back);
    bool same = true;
    forEachIndex(map, [&](const std::vector<int64_t> &at) {
      same &= (*back)(map(at)) == at && map.find(map(at)) == at;
    });
    REQUIRE(same);
    REQUIRE(*back->inverse() == map);
    // Both ways round nothing is left but one digit for each input.
    std::optional<LayoutMap> identity = map.then(*back);
    if (identity)
      for (size_t input = 0; input < hardware.size(); ++input)
        REQUIRE(identity->modes(input) == canonical({{map.extent(input), int(input), 1}}));
    REQUIRE((identity || i % 2 == 0)); // powers of two always divide one another
  }
}

TEST_CASE("a composition is one function after the other", "[layout][map][unit]") {
  std::mt19937 random(Catch::rngSeed());
  int composed = 0;
  for (int i = 0; i < 600; ++i) {
    Modes extents = randomExtents(random, i % 3 != 0);
    LayoutMap first = randomBijection(random, hardware, axes, extents);
    std::shuffle(extents.begin(), extents.end(), random);
    LayoutMap second = randomBijection(random, axes, {Dim::bit}, extents);
    if (second.extent(0) < first.size(0) || second.extent(1) < first.size(1))
      continue;
    INFO(printMap(first) << " then " << printMap(second));
    std::optional<LayoutMap> both = first.then(second);
    if (!both)
      continue;
    ++composed;
    bool same = true;
    forEachIndex(first, [&](const std::vector<int64_t> &at) { same &= (*both)(at) == second(first(at)); });
    REQUIRE(same);
  }
  REQUIRE(composed > 50);
}

// Which byte of a swizzled tile a register of a lane is: one map, flips included.
TEST_CASE("a fragment's layout and a shared tile's are composed", "[layout][map][unit]") {
  FragmentLayout fragment = *parseLayout("reg(2@1:1, 2@0:8, 16@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)");
  for (Swizzle swizzle : {Swizzle::none, Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128}) {
    SharedLayout tile = SharedLayout::swizzled({64, 128}, 16, 1, swizzle);
    INFO(printSharedLayout(tile));
    std::optional<LayoutMap> bits = fragment.map().then(tile.map());
    REQUIRE(bits);
    REQUIRE(bits->hasFlips() == (swizzle != Swizzle::none));
    REQUIRE_FALSE(bits->withoutFlips().hasFlips());
    REQUIRE_FALSE(bits->then(LayoutMap({{Dim::bit, {}}}, {Dim::bit})));
    REQUIRE_FALSE((swizzle != Swizzle::none && bits->inverse()));
    bool same = true;
    forEachLocation(fragment, [&](const HardwareLocation &at) {
      std::vector<int64_t> indices = {at.reg, at.lane, at.warp};
      same &= (*bits)(indices).front() == tile.byteOffset(fragment.coordinatesOf(at)) * 8;
      same &= bits->find((*bits)(indices)) == indices;
    });
    REQUIRE(same);
  }
}

TEST_CASE("flips are found again, also between steps with gaps", "[layout][map][unit]") {
  LayoutMap map({{axisDim(0), {{4, 0, 16, 2}, {3, 0, 80}}}, {axisDim(1), {{5, 0, 1}}}}, {Dim::bit});
  REQUIRE(map.problem() == "");
  std::set<int64_t> seen;
  forEachIndex(map, [&](const std::vector<int64_t> &at) {
    std::vector<int64_t> bit = map(at);
    REQUIRE(map.find(bit) == at);
    REQUIRE(seen.insert(bit.front()).second);
  });
  for (int64_t bit = 0; bit < 300; ++bit)
    REQUIRE(map.find(std::vector<int64_t>{bit}).has_value() == seen.contains(bit));
}

TEST_CASE("equality and hash are of the function", "[layout][map][unit]") {
  LayoutMap split({{Dim::lane, {{2, 0, 4, 1}, {2, 0, 8, 2}, {1, 0, 7}}}}, {Dim::bit}),
      merged({{Dim::lane, {{4, 0, 4, 1}}}}, {Dim::bit}), other({{Dim::lane, {{4, 0, 4}}}}, {Dim::bit});
  REQUIRE(split == merged);
  REQUIRE(hashOf(split) == hashOf(merged));
  REQUIRE_FALSE(merged == other);
  REQUIRE(merged.withoutFlips() == other);
  REQUIRE(printMap(merged) == "lane(4@bit:4 ^ 1)");
  REQUIRE(printMap(LayoutMap({{axisDim(1), {LayoutMode::replicated(2)}}}, {})) == "axis 1(2@*)");
}

TEST_CASE("maps that break the invariant are refused by name", "[layout][map][unit]") {
  auto problem = [](Modes modes) {
    return LayoutMap({{Dim::lane, std::move(modes)}}, {axisDim(0)}).problem();
  };
  REQUIRE(problem({{2, 0, 3}}) == "");
  REQUIRE_THAT(problem({{4, 0, 1}, {2, 0, 3}}),
               Contains("a step of at least 4") && Contains("got 2@axis 0:3"));
  REQUIRE_THAT(problem({{2, 0, 4, 4}}), Contains("flips below its step") && Contains("got 2@axis 0:4 ^ 4"));
  REQUIRE_THAT(problem({{3, 0, 4, 1}}), Contains("powers of two where a mode flips"));
  REQUIRE_THAT(problem({{2, 0, 4, 1}, {2, 0, 9}}),
               Contains("multiple of 4 because bits below it are flipped"));
}

TEST_CASE("digits that do not divide one another are not composed", "[layout][map][unit]") {
  LayoutMap sixes({{Dim::lane, {{6, 0, 1}}}}, {axisDim(0)}),
      fours({{axisDim(0), {{4, 0, 3}, {2, 0, 1}}}}, {Dim::bit});
  REQUIRE_FALSE(sixes.then(fours));
  // Each part of a digit that flips would flip bits by itself: 1 and 2 of three together are no 3 of four.
  LayoutMap flips({{axisDim(0), {{4, 0, 1}, {4, 0, 16, 1}}}}, {Dim::bit});
  REQUIRE_FALSE(LayoutMap({{Dim::lane, {{3, 0, 4}}}}, {axisDim(0)}).then(flips));
  REQUIRE_FALSE(LayoutMap({{Dim::lane, {{2, 0, 4 * 3}}}}, {axisDim(0)}).then(flips));
  std::optional<LayoutMap> halves =
      LayoutMap({{Dim::lane, {{2, 0, 8}, {2, 0, 4}}}}, {axisDim(0)}).then(flips);
  REQUIRE(halves == LayoutMap({{Dim::lane, {{2, 0, 32, 2}, {2, 0, 16, 1}}}}, {Dim::bit}));
  LayoutMap gap({{Dim::lane, {{2, 0, 1}, {2, 0, 3}}}}, {axisDim(0)});
  REQUIRE_FALSE(gap.inverse());
  REQUIRE_FALSE(LayoutMap({{Dim::lane, {LayoutMode::replicated(2)}}}, {axisDim(0)}).inverse());
}
