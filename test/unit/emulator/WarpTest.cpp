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
}

TEST_CASE("every member mask of an instruction is a group of its own") {
  // One mask for the lower half of the warp and one for the upper; results as an H200 has them.
  const auto halves = [](std::string text) {
    return lanes("setp.lt.u32 %p0, %t, 16; selp.b32 %r9, 0xFFFF, 0xFFFF0000, %p0; and.b32 %r8, %t, 1;\n" +
                 text);
  };
  const std::string bit = "selp.b32 %r1, 1, 0, %p2;";
  const struct {
    std::string text;
    uint32_t low, high;
  } cases[] = {
      {"redux.sync.add.u32 %r1, %t, %r9;", 0x78, 0x178},
      {"setp.eq.u32 %p1, %r8, 1; vote.sync.ballot.b32 %r1, %p1, %r9;", 0xAAAA, 0xAAAA0000},
      {"setp.eq.u32 %p1, %t, 20; vote.sync.any.pred %p2, %p1, %r9;" + bit, 0, 1},
      {"vote.sync.all.pred %p2, %p0, %r9;" + bit, 1, 0},
      {"setp.eq.u32 %p1, %t, 20; vote.sync.uni.pred %p2, %p1, %r9;" + bit, 1, 0},
      {"selp.b32 %r7, 5, 6, %p0; match.all.sync.b32 %r1|%p2, %r7, %r9;", 0xFFFF, 0xFFFF0000},
  };
  for (const auto &[text, low, high] : cases) {
    INFO(text);
    const auto out = halves(text);
    for (unsigned l = 0; l < 32; ++l)
      CHECK(out[l] == (l < 16 ? low : high));
  }
  const auto match = halves("match.any.sync.b32 %r1, %r8, %r9;");
  const auto elected = halves("elect.sync %r2|%p2, %r9;" + bit), leader = halves("elect.sync %r1|%p2, %r9;");
  const auto shuffled = halves("shfl.sync.bfly.b32 %r1, %t, 5, 31, %r9;");
  for (unsigned l = 0; l < 32; ++l) {
    CHECK(match[l] == (l % 2 == 0 ? 0x55555555u : 0xAAAAAAAAu) >> (l < 16 ? 16 : 0) << (l < 16 ? 0 : 16));
    CHECK(elected[l] == (l % 16 == 0));
    CHECK(leader[l] == l / 16 * 16);
    CHECK(shuffled[l] == (l ^ 5));
  }
}

TEST_CASE("bar.warp.sync orders the lanes of each mask") {
  const auto exchange = [](std::string mask) {
    return check(
        {.body = "setp.lt.u32 %p1, %t, 16; selp.b32 %r1, 0xFFFF, 0xFFFF0000, %p1;\n"
                 "shl.b32 %r2, %t, 2; mov.u32 %r3, s; add.u32 %r4, %r3, %r2; st.shared.u32 [%r4], %t;\n"
                 "bar.warp.sync " +
                 mask +
                 "; xor.b32 %r2, %r2, 64; add.u32 %r4, %r3, %r2; ld.shared.u32 %r5, [%r4];\n"
                 "st.global.u32 [%mine], %r5;",
         .header = ".shared .align 4 .b8 s[128];"});
  };
  CHECK(exchange("-1") == "");
  // Lane t reads what lane t ^ 16 wrote, of the other group.
  CHECK_THAT(exchange("%r1"), Contains("race"));
}

TEST_CASE("a group waits for its members and for nobody else") {
  // Lanes come in four parts, 0-7 last: the lower half is together only then, the upper one before.
  const auto out = lanes(R"(
    setp.lt.u32 %p1, %t, 16;
    selp.b32 %r9, 0xFFFF, 0xFFFF0000, %p1;
    shr.u32 %r2, %t, 3;
    mov.u32 %r3, 0;
  $count:
    setp.ge.u32 %p2, %r3, %r2;
    @%p2 bra $sum;
    add.u32 %r3, %r3, 1;
    bra $count;
  $sum:
    redux.sync.add.u32 %r1, %t, %r9;
    vote.sync.ballot.b32 %r4, %p1, %r9;
    add.u32 %r1, %r1, %r4;)");
  for (unsigned l = 0; l < 32; ++l)
    CHECK(out[l] == (l < 16 ? 0x78 + 0xFFFF : 0x178));
}

TEST_CASE("lanes of one mask go round a loop while others wait in it") {
  // Even lanes run 3 rounds, odd ones 5, each with its own mask; what stays waits for nobody who has left.
  const auto out = lanes(R"(
    and.b32 %r2, %t, 1;
    setp.eq.u32 %p1, %r2, 0;
    selp.b32 %r9, 0x55555555, 0xAAAAAAAA, %p1;
    selp.b32 %r3, 3, 5, %p1;
    mov.u32 %r1, 0;
  $round:
    redux.sync.add.u32 %r4, 1, %r9;
    add.u32 %r1, %r1, %r4;
    sub.u32 %r3, %r3, 1;
    setp.ne.u32 %p2, %r3, 0;
    @%p2 bra $round;)");
  for (unsigned l = 0; l < 32; ++l)
    CHECK(out[l] == (l % 2 == 0 ? 48 : 80));
}

TEST_CASE("a lane must be in the member mask that it names") {
  CHECK_THAT(failure({.body = "vote.sync.ballot.b32 %r1, %p1, 0xFFFFFFF0;"}),
             Contains("lane 0 is not in the member mask 0xfffffff0 that it names ('vote.sync.ballot.b32'"));
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

TEST_CASE("lanes meet at bar.warp.sync wherever they stand") {
  // Three parts of a warp wait at different places, or leave.
  const std::string parts = R"(
    .shared .align 4 .b8 s[128];
    shl.b32 %r2, %t, 2; mov.u32 %r3, s; add.u32 %r4, %r3, %r2; xor.b32 %r5, %r2, 64; add.u32 %r5, %r5, %r3;
    setp.lt.u32 %p1, %t, 16; setp.eq.u32 %p2, %t, 31;
    st.shared.u32 [%r4], %t;
    @%p2 bra $last;
    @%p1 bra $low;
    bar.warp.sync -1; ld.shared.u32 %r6, [%r5]; add.u32 %r6, %r6, 100; bra $end;
  $low:
    bar.warp.sync -1; ld.shared.u32 %r6, [%r5]; bra $end;
  $last:
)";
  const std::string end = "$end: st.global.u32 [%mine], %r6;";
  CHECK(check({.body = parts + "exit;" + end}) == "");
  const KernelText kernel = {.body = parts + "bar.warp.sync -1; mov.u32 %r6, 7;" + end};
  CHECK(check(kernel) == "");
  const auto out = output(kernel);
  for (unsigned l = 0; l < 31; ++l)
    CHECK(out[l] == (l ^ 16) + (l < 16 ? 0 : 100));
}

namespace {

/// Lanes below 16 execute one text, the others the other, at a place of its own. %r3 is 100 + lane there, and
/// 5 (lane ^ 512) here; each half stores its own %r4.
std::string apart(const std::string &low, const std::string &high) {
  return R"(
    setp.lt.u32 %p1, %t, 16; mov.b32 %r4, 7;
    @!%p1 bra $high;
    add.u32 %r3, %t, 100; )" +
         low + R"( st.global.u32 [%mine], %r4; bra $end;
  $high:
    xor.b32 %r3, %t, 512; mul.lo.u32 %r3, %r3, 5; )" +
         high + R"( st.global.u32 [%mine], %r4;
  $end:
  )";
}

} // namespace

TEST_CASE("lanes that have parted exchange values by instructions of one name and mask") {
  // Values and hangs are an H200's.
  const auto value = [](unsigned lane) { return lane < 16 ? 100 + lane : 5 * (lane ^ 512); };
  const auto run = [](const std::string &low, const std::string &high) {
    const KernelText kernel = {.body = apart(low, high)};
    CHECK(check(kernel) == "");
    auto out = output(kernel);
    out.resize(32);
    return out;
  };
  auto out = run("shfl.sync.bfly.b32 %r4, %r3, 16, 31, -1;", "shfl.sync.bfly.b32 %r4, %r3, 16, 31, -1;");
  for (unsigned l = 0; l < 32; ++l)
    CHECK(out[l] == value(l ^ 16));
  // Each lane has operands of its own place, and reads what the other names at its.
  out = run("shfl.sync.bfly.b32 %r4, %r3, 16, 31, -1;",
            "and.b32 %r5, %t, 1; add.u32 %r5, %r5, 16; shfl.sync.bfly.b32 %r4, %t, %r5, 31, -1;");
  for (unsigned l = 0; l < 32; ++l)
    CHECK(out[l] == (l < 16 ? l + 16 : value(l ^ (16 + (l & 1)))));
  out = run("mov.b32 %r5, 20; shfl.sync.idx.b32 %r4, %r3, %r5, 31, -1;",
            "and.b32 %r5, %t, 7; shfl.sync.idx.b32 %r4|%p3, %t, %r5, 31, -1; @%p3 add.u32 %r4, %r4, 1000;");
  for (unsigned l = 0; l < 32; ++l)
    CHECK(out[l] == (l < 16 ? 20 : 1100 + (l & 7)));
  out = run("and.b32 %r5, %r3, 1; setp.ne.u32 %p3, %r5, 0; vote.sync.ballot.b32 %r4, %p3, -1;",
            "and.b32 %r5, %t, 2; setp.ne.u32 %p4, %r5, 0; vote.sync.ballot.b32 %r4, %p4, -1;");
  CHECK(out == std::vector<uint32_t>(32, 0xccccaaaa));
  out = run("and.b32 %r5, %r3, 3; match.any.sync.b32 %r4, %r5, -1;",
            "and.b32 %r6, %t, 3; match.any.sync.b32 %r4, %r6, -1;");
  for (unsigned l = 0; l < 32; ++l)
    CHECK(out[l] == 0x11111111u << (l & 3));
  out = run("redux.sync.add.s32 %r4, %r3, -1;", "redux.sync.add.s32 %r4, %t, -1;");
  CHECK(out == std::vector<uint32_t>(32, 0x830));
  out =
      run("elect.sync _|%p3, -1; selp.u32 %r4, 1, 0, %p3;", "elect.sync _|%p4, -1; selp.u32 %r4, 1, 0, %p4;");
  for (unsigned l = 0; l < 32; ++l)
    CHECK(out[l] == (l == 0));
  // One half comes later, by way of a loop.
  out = run("shfl.sync.bfly.b32 %r4, %r3, 16, 31, -1;",
            "mov.b32 %r6, 0; $loop: add.u32 %r6, %r6, 1; setp.lt.u32 %p5, %r6, 1000; @%p5 bra $loop;"
            "add.u32 %r3, %t, %r6; shfl.sync.bfly.b32 %r4, %r3, 16, 31, -1; mul.lo.u32 %r4, %r4, 3;");
  for (unsigned l = 0; l < 32; ++l)
    CHECK(out[l] == (l < 16 ? 1016 + l : 3 * (84 + l)));
}

TEST_CASE("lanes that have parted do not meet at instructions of different names") {
  const std::string shuffle = "shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1;",
                    any = "vote.sync.any.pred %p3, %p1, -1;";
  for (const auto &[low, high] :
       {std::pair(shuffle, std::string("shfl.sync.idx.b32 %r4, %r3, 3, 31, -1;")), std::pair(shuffle, any),
        std::pair(shuffle, std::string("bar.warp.sync -1;")),
        std::pair(any, std::string("vote.sync.all.pred %p3, %p1, -1;")),
        std::pair(std::string("redux.sync.add.s32 %r4, %r3, -1;"),
                  std::string("redux.sync.min.s32 %r4, %r3, -1;"))}) {
    INFO(low + high);
    CHECK_THAT(failure({.body = apart(low, high)}), Contains("deadlock in 'k'") &&
                                                        Contains("waits for lanes 0xffff0000") &&
                                                        Contains("waits for lanes 0x0000ffff"));
  }
  // All lanes of a warp make a matrix together, or not at all.
  CHECK_THAT(
      failure({.body = apart("wgmma.fence.sync.aligned;", "wgmma.fence.sync.aligned;"), .threads = 128}),
      Contains("deadlock in 'k'"));
}

TEST_CASE("what a lane gets from one that has parted counts as written where that has written it") {
  CHECK_THAT(check({.body = apart("shfl.sync.bfly.b32 %r4, %r3, 16, 31, -1;",
                                  "shfl.sync.bfly.b32 %r4, %r9, 16, 31, -1;")}),
             Contains("use of register %r4, which nothing has written"));
}

TEST_CASE("lanes with another mask do not make a group whole") {
  CHECK_THAT(failure({.body = R"(
    setp.lt.u32 %p1, %t, 16;
    selp.b32 %r9, -1, 0xFFFF0000, %p1;
    setp.eq.u32 %p2, %t, 31;
    @%p2 bra $end;
    bar.warp.sync %r9;
  $end:
    bar.warp.sync -1;
  )"}),
             Contains("waits for lanes 0xffff0000 to come to the same instruction with its member mask "
                      "0xffffffff; of them 0x7fff0000 wait there with another one"));
}
