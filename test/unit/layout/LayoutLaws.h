// SPDX-License-Identifier: Apache-2.0
/// \file
/// The laws of fragment layouts over all points, and random layouts to try them on.
#pragma once

#include "dialects/layout/LayoutText.h"
#include "runtime/support/Math.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>

namespace tlc::test {

template <class Visit> void forEachLocation(const FragmentLayout &layout, Visit visit) {
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg)
    for (int64_t lane = 0; lane < lanesPerWarp; ++lane)
      for (int64_t warp = 0; warp < layout.numWarps(); ++warp)
        visit(HardwareLocation{reg, lane, warp});
}

template <class Visit> void forEachPoint(const Shape &shape, Visit visit) {
  Coordinates at(shape.size(), 0);
  for (;;) {
    visit(at);
    int axis = int(shape.size()) - 1;
    while (axis >= 0 && ++at[size_t(axis)] == shape[size_t(axis)])
      at[size_t(axis--)] = 0;
    if (axis < 0)
      return;
  }
}

/// Locations and coordinates are each other's inverse, owners are unique, replication
/// is what it says, text is exact.
inline void requireLaws(const FragmentLayout &layout) {
  INFO(printLayout(layout));
  int64_t replicas = 1;
  for (HardwareAxis hardware : hardwareAxes)
    replicas *= layout.replication(hardware);
  int64_t points = 0, owners = 0;
  bool same = true;
  // As many different locations as there are: each of them is one of its point's.
  forEachPoint(layout.coveredShape(), [&](const Coordinates &at) {
    ++points;
    std::vector<HardwareLocation> locations = layout.locationsOf(at);
    const HardwareLocation owner = layout.ownerOf(at);
    auto isAfter = [](const HardwareLocation &a, const HardwareLocation &b) { return !(a < b); };
    same &= int64_t(locations.size()) == replicas &&
            std::ranges::adjacent_find(locations, isAfter) == locations.end();
    same &= std::ranges::find(locations, owner) != locations.end();
    for (const HardwareLocation &location : locations) {
      same &= location.reg >= 0 && location.reg < layout.registersPerThread() && location.lane >= 0 &&
              location.lane < lanesPerWarp && location.warp >= 0 && location.warp < layout.numWarps();
      same &= layout.coordinatesOf(location) == at;
      same &= layout.registerOf(at, location.lane, location.warp).value_or(-1) <= location.reg;
      same &= layout.isOwner(location) == (location == owner);
    }
  });
  REQUIRE(same);
  forEachLocation(layout, [&](const HardwareLocation &location) { owners += layout.isOwner(location); });
  REQUIRE(owners == points);
  REQUIRE(points * replicas == layout.registersPerThread() * layout.numThreads());
  Result<FragmentLayout> parsed = parseLayout(printLayout(layout));
  REQUIRE(parsed);
  REQUIRE(*parsed == layout);
}

/// A layout of the given rank with random digits in random order, replicas included.
inline FragmentLayout randomLayout(std::mt19937 &random, int rank) {
  auto pick = [&](int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random); };
  struct Digit {
    HardwareAxis hardware;
    int64_t extent;
  };
  std::vector<Digit> digits;
  for (int i = 0; i < 5; ++i)
    digits.push_back({HardwareAxis::lane, 2});
  for (int64_t i = pick(4); i > 0; --i)
    digits.push_back({HardwareAxis::reg, 1 + pick(5)});
  for (int64_t i = pick(3); i > 0; --i)
    digits.push_back({HardwareAxis::warp, 1 + pick(4)});
  std::shuffle(digits.begin(), digits.end(), random);

  std::vector<int64_t> step(size_t(rank), 1);
  std::array<FragmentLayout::Modes, 3> modes;
  for (const Digit &digit : digits) {
    int axis = int(pick(rank + 1)) - 1;
    LayoutMode mode = LayoutMode::replicated(digit.extent);
    if (axis >= 0) {
      mode = {digit.extent, axis, step[size_t(axis)]};
      step[size_t(axis)] *= digit.extent;
    }
    modes[size_t(digit.hardware)].push_back(mode);
  }
  for (FragmentLayout::Modes &m : modes)
    std::shuffle(m.begin(), m.end(), random);
  return FragmentLayout::get(rank, modes[0], modes[1], modes[2]);
}

} // namespace tlc::test
