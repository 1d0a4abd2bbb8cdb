// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements that a scatter writes to the same position are a race, which the emulator finds.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;
using Catch::Matchers::Contains;

TEST_CASE("two elements with the same positions along both axes are a race", "[gathers]") {
  constexpr int64_t n = 40;
  for (std::string target : {"sm_80", "sm_90a", "sm_100a"})
    for (bool isShared : {false, true}) {
      CAPTURE(target, isShared);
      Artifact artifact =
          compiled(Program::trace("scatter",
                                  [&](Scope &k) {
                                    Global P = k.input("P", i32, {n}), Q = k.input("Q", i32, {n});
                                    Global Y = k.inout("Y", f32, {8, 8});
                                    Shared tile = k.shared("tile", f32, {8, 8});
                                    Fragment p = k.fragment(i32, {n}), q = k.fragment(i32, {n});
                                    copy(P.tile({0}, {n}), p);
                                    copy(Q.tile({0}, {n}), q);
                                    FragmentValue x = k.positions({n}, 0).to(f32);
                                    if (!isShared)
                                      return copy(x, Y.tile({p.toIndex(), q.toIndex()}, {n}));
                                    fill(tile, 0);
                                    copy(x, tile.tile({p.toIndex(), q.toIndex()}, {n}));
                                    copy(tile, Y.tile({0, 0}, {8, 8}));
                                  }),
                   compilingFor(target));
      Memory p = Memory::filled(i32, {n}, 0), q = p, y = Memory::filled(f32, {8, 8}, 77);
      for (int64_t i = 0; i < n; ++i) {
        p.at({i}) = double(i / 8);
        q.at({i}) = double(i % 8);
      }
      CHECK(tryRun(artifact, {&p, &q, &y})); // the same row, or the same column
      p.at({3}) = p.at({20});
      q.at({3}) = q.at({20});
      Result<void> done = tryRun(artifact, {&p, &q, &y});
      REQUIRE(!done);
      CHECK_THAT(done.error().message, Contains("race") && Contains("make the positions distinct"));
    }
}
