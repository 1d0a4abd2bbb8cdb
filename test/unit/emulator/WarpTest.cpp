// SPDX-License-Identifier: Apache-2.0
/// \file
/// Instructions among the lanes of a warp.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>

using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

/// `text` computes %r1 from %t; the words of the 32 lanes.
std::vector<uint32_t> lanes(std::string text) {
  auto out = output({.body = text + "\n st.global.b32 [%mine], %r1;"});
  out.resize(32);
  return out;
}

} // namespace

TEST_CASE("redux of floats, sm_100") {
  const auto reduced = [](std::string form) {
    return output({.body = "cvt.rn.f32.u32 %r1, %t; sub.f32 %r1, %r1, 0f40400000;\n" // lane - 3
                           "setp.eq.u32 %p1, %t, 9; @%p1 mov.b32 %r1, 0x7FC00000;\n redux.sync." +
                           form + ".f32 %r2, %r1, -1; st.global.b32 [%mine], %r2;",
                   .target = "sm_100a"})[7];
  };
  CHECK(reduced("min") == 0xC0400000);
  CHECK(reduced("max") == 0x41E00000);
  CHECK(reduced("min.abs") == 0);
  CHECK(reduced("max.NaN") == 0x7FFFFFFF);
  CHECK(reduced("max.abs.NaN") == 0x7FFFFFFF);
}

TEST_CASE("shfl in its four modes") {
  const auto up = lanes("shfl.sync.up.b32 %r1|%p1, %t, 3, 0, -1;");
  const auto down = lanes("shfl.sync.down.b32 %r1, %t, 3, 31, -1;");
  const auto butterfly = lanes("shfl.sync.bfly.b32 %r1, %t, 5, 31, -1;");
  const auto index = lanes("shfl.sync.idx.b32 %r1, %t, 9, 0x181f, -1;");
  const auto inRange = lanes("shfl.sync.down.b32 %r2|%p1, %t, 4, 31, -1; selp.b32 %r1, 1, 0, %p1;");
  for (unsigned l = 0; l < 32; ++l) {
    CHECK(up[l] == (l >= 3 ? l - 3 : l));
    CHECK(down[l] == (l + 3 < 32 ? l + 3 : l));
    CHECK(butterfly[l] == (l ^ 5));
    CHECK(index[l] == l / 8 * 8 + 1);
    CHECK(inRange[l] == (l < 28));
  }
}

TEST_CASE("vote, match, redux, elect") {
  CHECK(lanes("setp.lt.u32 %p1, %t, 5; vote.sync.ballot.b32 %r1, %p1, -1;")[7] == 31);
  CHECK(lanes("setp.lt.u32 %p1, %t, 5; vote.sync.any.pred %p2, %p1, -1; selp.b32 %r1, 1, 0, %p2;")[7] == 1);
  CHECK(lanes("setp.lt.u32 %p1, %t, 5; vote.sync.all.pred %p2, %p1, -1; selp.b32 %r1, 1, 0, %p2;")[7] == 0);
  CHECK(lanes("setp.lt.u32 %p1, %t, 5; vote.sync.uni.pred %p2, !%p1, -1; selp.b32 %r1, 1, 0, %p2;")[7] == 0);
  CHECK(lanes("and.b32 %r2, %t, 1; match.any.sync.b32 %r1, %r2, -1;")[7] == 0xAAAAAAAA);
  CHECK(lanes("and.b32 %r2, %t, 0; match.all.sync.b32 %r1|%p1, %r2, -1;")[7] == 0xFFFFFFFF);
  CHECK(lanes("redux.sync.add.u32 %r1, %t, -1;")[3] == 496);
  CHECK(lanes("sub.s32 %r2, %t, 5; redux.sync.min.s32 %r1, %r2, -1;")[3] == uint32_t(-5));
  CHECK(lanes("redux.sync.or.b32 %r1, %t, -1;")[3] == 31);
  CHECK(lanes("elect.sync %r2|%p1, -1; selp.b32 %r1, 1, 0, %p1;")[0] == 1);
  CHECK(lanes("elect.sync %r2|%p1, -1; selp.b32 %r1, 1, 0, %p1;")[1] == 0);
  CHECK(lanes("elect.sync %r1|%p1, 0xFFFFFFF0;").empty() == false);
}

TEST_CASE("instructions with a mask wait for its lanes only") {
  // The halves of the warp diverge; each shuffles among itself.
  const auto out = lanes(R"(
    setp.lt.u32 %p1, %t, 16;
    @%p1 bra $low;
    shfl.sync.bfly.b32 %r1, %t, 1, 31, 0xFFFF0000;
    bra $end;
  $low:
    shfl.sync.bfly.b32 %r1, %t, 2, 31, 0x0000FFFF;
  $end:)");
  for (unsigned l = 0; l < 32; ++l)
    CHECK(out[l] == (l < 16 ? l ^ 2 : l ^ 1));
}

TEST_CASE("a mask whose lanes never come is a deadlock") {
  const std::string message = failure({.body = R"(
    setp.eq.u32 %p1, %t, 0;
    @%p1 bra $end;
    shfl.sync.idx.b32 %r1, %t, 0, 31, -1;
  $end:
    bar.warp.sync -1;
  )"});
  CHECK_THAT(message, Contains("deadlock in 'k'"));
  CHECK_THAT(message, Contains("'shfl.sync.idx.b32' at PTX line"));
  CHECK_THAT(message, Contains("waits for lanes 0x00000001 to come to the same instruction"));
}
