// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reductions of extents that fill no layout: what pads them changes nothing.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

TEST_CASE("padding changes no reduction, also of NaN and of -0", "[reduction]") {
  for (int64_t count : {1, 3, 32, 75}) {
    INFO("extent " << count);
    const Artifact artifact = compiled(Program::trace("reduced", [&](Scope &k) {
      Global X = k.input("X", f32, {4, count}), Y = k.output("Y", f32, {4, 3});
      Fragment x = k.fragment(f32, {4, count});
      copy(X.tile({0, 0}, {4, count}), x);
      copy(reduce(Reduction::max, x, 1), Y.tile({0, 0}, {4, 1}));
      copy(reduce(Reduction::min, x, 1), Y.tile({0, 1}, {4, 1}));
      copy(reduce(Reduction::sum, x, 1), Y.tile({0, 2}, {4, 1}));
    }));
    Memory x = Memory::filled(f32, {4, count}, 0), y = Memory::filled(f32, {4, 3}, 99);
    for (int64_t at = 0; at < count; ++at) {
      x.at({0, at}) = notANumber;
      x.at({1, at}) = at == count - 1 ? -5 : notANumber;
      x.at({2, at}) = -0.0;
      x.at({3, at}) = -INFINITY;
    }
    run(artifact, {&x, &y});
    CHECK(std::isnan(y.at({0, 0})));
    CHECK(std::isnan(y.at({0, 1})));
    CHECK(y.at({1, 0}) == -5);
    CHECK(y.at({1, 1}) == -5);
    CHECK((y.at({2, 2}) == 0 && std::signbit(y.at({2, 2}))));
    for (int64_t column : {0, 1, 2})
      CHECK(y.at({3, column}) == -INFINITY);
  }
}
