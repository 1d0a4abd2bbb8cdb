// SPDX-License-Identifier: Apache-2.0
/// \file
/// Branches, divergence, calls, exits, special registers, setmaxnreg.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>

using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

TEST_CASE("lanes diverge in a loop and come together again") {
  // Lane l adds l numbers, then all vote.
  const auto out = output({.body = R"(
    mov.b32 %r1, 0; mov.b32 %r2, 0;
  $loop:
    setp.ge.u32 %p1, %r2, %t;
    @%p1 bra $done;
    add.u32 %r1, %r1, %r2;
    add.u32 %r2, %r2, 1;
    bra.uni $loop;
  $done:
    activemask.b32 %r3;
    st.global.b32 [%mine], %r1;
    st.global.b32 [%mine+128], %r3;
  )"});
  for (unsigned lane = 0; lane < 32; ++lane) {
    CHECK(out[lane] == lane * (lane - 1) / 2);
    CHECK(out[32 + lane] == 0xFFFFFFFF);
  }
}

TEST_CASE("a lane that waits for another one of its warp lets it run") {
  // Lane 0 spins until lane 31 has stored, which is after it in program order.
  const auto out = output({.body = R"(
    .shared .b32 flag;
    st.shared.b32 [flag], 0;
    bar.warp.sync 0xFFFFFFFF;
    setp.eq.u32 %p1, %t, 0;
    @!%p1 bra $other;
  $spin:
    ld.volatile.shared.b32 %r1, [flag];
    setp.eq.u32 %p2, %r1, 0;
    @%p2 bra $spin;
    st.global.b32 [%out], %r1;
    bra $end;
  $other:
    setp.eq.u32 %p3, %t, 31;
    @%p3 st.volatile.shared.b32 [flag], 5;
  $end:
  )"});
  CHECK(out[0] == 5);
}

TEST_CASE("brx.idx jumps by table") {
  const auto out = output({.body = R"(
    rem.u32 %r1, %t, 3;
  $targets: .branchtargets $a, $b, $c;
    brx.idx %r1, $targets;
  $a: mov.b32 %r2, 10; bra $end;
  $b: mov.b32 %r2, 20; bra $end;
  $c: mov.b32 %r2, 30;
  $end:
    st.global.b32 [%mine], %r2;
  )"});
  for (unsigned lane = 0; lane < 32; ++lane)
    CHECK(out[lane] == 10 * (lane % 3 + 1));
}

TEST_CASE("functions take and return parameters, also when called from diverged lanes") {
  const auto out = output({.body = R"(
    setp.lt.u32 %p1, %t, 16;
    @%p1 bra $low;
    {
      .param .b32 a; .param .b64 b; .param .b32 result;
      st.param.b32 [a], %t; st.param.b64 [b], 100;
      call.uni (result), sum, (a, b);
      ld.param.b32 %r1, [result];
    }
    bra $end;
  $low:
    {
      .param .b32 a; .param .b64 b; .param .b32 result;
      st.param.b32 [a], 1; st.param.b64 [b], 2;
      call (result), sum, (a, b);
      ld.param.b32 %r1, [result];
    }
  $end:
    st.global.b32 [%mine], %r1;
  )",
                           .header = R"(.func (.param .b32 ret) sum(.param .b32 x, .param .b64 y);
.func (.param .b32 ret) sum(.param .b32 x, .param .b64 y) {
  .reg .b32 %r<4>; .reg .b64 %d<2>;
  ld.param.b32 %r1, [x]; ld.param.b64 %d1, [y]; cvt.u32.u64 %r2, %d1;
  add.u32 %r3, %r1, %r2;
  st.param.b32 [ret], %r3;
  ret;
})"});
  for (unsigned lane = 0; lane < 32; ++lane)
    CHECK(out[lane] == (lane < 16 ? 3 : lane + 100));
}

TEST_CASE("special registers") {
  const auto out = output({.body = R"(
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.s32 %r3, %r1, %r2, %t;
    mad.wide.u32 %d1, %r3, 32, %out;
    mov.u32 %r4, %laneid; mov.u32 %r5, %warpid; mov.u32 %r6, %nctaid.x; mov.u32 %r7, %lanemask_lt;
    st.global.v4.b32 [%d1], {%r1, %r2, %r4, %r5};
    mov.u32 %r8, %cluster_nctarank; mov.u32 %r9, %clusterid.x;
    st.global.v4.b32 [%d1+16], {%r6, %r7, %r8, %r9};
  )",
                           .threads = 48,
                           .blocks = 4,
                           .cluster = 2,
                           .outWords = 4 * 48 * 8});
  const unsigned thread = 3 * 48 + 35;
  const std::vector<uint32_t> got(out.begin() + thread * 8, out.begin() + thread * 8 + 8);
  CHECK(got == std::vector<uint32_t>{3, 48, 3, 1, 4, 7, 2, 1});
  CHECK(compute("mov.u64 %d, %clock64;", 64, {}) > 0);
  CHECK(compute("add.u32 %d, %ntid.x, %ntid.y;", 32, {}) == 2);
}

TEST_CASE("a trap names the source line") {
  CHECK_THAT(
      failure({.body = ".loc 1 9 3\n setp.eq.u32 %p1, %t, 2; @%p1 trap;", .header = ".file 1 \"a.cpp\""}),
      Contains("a.cpp:9:3: trap in lanes 0x00000004"));
}

TEST_CASE("an endless loop runs into the limit, and is named") {
  const std::string nested = "$outer: mov.b32 %r1, 0;\n$inner: add.u32 %r1, %r1, 1;\n"
                             "setp.lt.u32 %p1, %r1, 1000; @%p1 bra $inner;\nbra $outer;";
  CHECK_THAT(
      failure({.body = nested, .maximumSteps = 5000}),
      Contains("the warp has run 5000 instructions, the limit (--max-steps); it is in the loop of PTX lines "
               "14 to 15, inside PTX lines 13 to 16 ("));
  CHECK_THAT(failure({.body = std::string(5, '\n') + "add.u32 %r1, %r1, 1;", .maximumSteps = 3}),
             Contains("the warp has run 3 instructions, the limit (--max-steps) ("));
  // All warps together: none comes near its own limit.
  CHECK_THAT(failure({.body = nested, .threads = 1024, .blocks = 64, .maximumSteps = 1000000}),
             Contains("the warps of the launch have run more than 64000000 instructions together, 64 times "
                      "the limit for each (--max-steps), this one ") &&
                 Contains("; it is in the loop of PTX lines 14 to 15, inside PTX lines 13 to 16 ("));
}

namespace {

/// Two warpgroups: one gives registers away, the other takes some.
std::string transfer(unsigned decrease, unsigned increase) {
  return "setp.lt.u32 %p1, %t, 128; @%p1 bra $first;\n setmaxnreg.inc.sync.aligned.u32 " +
         std::to_string(increase) +
         ";\n st.global.b32 [%mine], %t;\n bra $end;\n $first: setmaxnreg.dec.sync.aligned.u32 " +
         std::to_string(decrease) + ";\n $end:";
}

} // namespace

TEST_CASE("setmaxnreg moves registers between warpgroups") {
  // 65536 / 256 threads: 248 of 255 registers each, in steps of 8.
  CHECK(output({.body = transfer(24, 256),
                .directives = ".maxntid 256, 1, 1 .minnctapersm 1",
                .threads = 256})[200] == 200);
}

TEST_CASE("setmaxnreg that asks too much is a deadlock, without launch bounds an error") {
  const std::string message =
      failure({.body = transfer(96, 256), .directives = ".maxnreg 128", .threads = 256});
  CHECK_THAT(message, Contains("deadlock in 'k'"));
  CHECK_THAT(message, Contains("warps 5 6 7: PTX line"));
  CHECK_THAT(
      message,
      Contains(
          "waits for 128 more registers per thread; the block's pool has 0 free for each thread of a warp"));
  CHECK_THAT(failure({.body = transfer(24, 240), .threads = 256}),
             Contains("setmaxnreg needs an entry with .maxnreg"));
  CHECK_THAT(failure({.body = transfer(200, 240), .directives = ".maxnreg 128", .threads = 256}),
             Contains("setmaxnreg.dec to 200 registers, but the warp has 128"));
  CHECK_THAT(failure({.body = transfer(25, 240), .directives = ".maxnreg 128", .threads = 256}),
             Contains("setmaxnreg takes a multiple of 8 from 24 to 256, but got 25"));
}

TEST_CASE("launches are checked against the entry") {
  CHECK_THAT(failure({.body = "", .directives = ".reqntid 64, 1, 1", .threads = 32}),
             Contains("'k' requires blocks of (64, 1, 1) threads, but got (32, 1, 1)"));
  CHECK_THAT(failure({.body = "", .threads = 2048}), Contains("the limits are 1024 and 64 along z"));
  CHECK_THAT(failure({.body = "", .blocks = 3, .cluster = 2}),
             Contains("is not a multiple of its clusters (2, 1, 1)"));
  CHECK_THAT(failure({.body = "", .sharedBytes = 300000}),
             Contains("bytes of shared memory, the limit is 232448"));
}

TEST_CASE("blocks that wait for each other through global memory are under way together") {
  const auto out = output({.body = R"(
    setp.ne.u32 %p1, %t, 0; @%p1 exit;
    atom.release.gpu.global.add.u32 %r1, [%out], 1;
  $wait:
    ld.acquire.gpu.global.b32 %r2, [%out];
    sub.u32 %r2, %r2, 0xDDDDDDDD; setp.lt.u32 %p2, %r2, 40; @%p2 bra $wait;
    mov.u32 %r3, %ctaid.x; mad.wide.u32 %d1, %r3, 4, %out; st.global.b32 [%d1+4], %r2;
  )",
                           .blocks = 40,
                           .maximumSteps = 100000000});
  for (unsigned block = 0; block < 40; ++block)
    CHECK(out[1 + block] == 40);
}
