// SPDX-License-Identifier: Apache-2.0
/// \file
/// The race checker: each rule with a program that breaks it, and its twin that
/// does not.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

/// A program with its synchronisation in place of {}, and without.
struct Pair {
  std::string with, without;
};
Pair pairOf(KernelText kernel, std::string_view synchronisation) {
  const std::string body = kernel.body;
  const size_t hole = body.find("SYNC");
  REQUIRE(hole != std::string::npos);
  kernel.body = std::string(body).replace(hole, 4, synchronisation);
  std::string with = check(kernel);
  kernel.body = std::string(body).replace(hole, 4, "");
  return {std::move(with), check(kernel)};
}

/// %p1: thread 0; `bar`, prepared for one arrival, `bar2` for all threads of two
/// warps; %s and %bar are addresses, %at that of the thread's word.
const std::string prepare = R"(
    .shared .align 8 .b64 bar; .shared .align 8 .b64 bar2;
    .shared .align 1024 .b8 s[8192];
    .reg .b64 %s, %bar, %at; .reg .b32 %warp;
    mov.b64 %s, s; mov.b64 %bar, bar; mad.wide.u32 %at, %t, 4, %s; shr.u32 %warp, %t, 5;
    setp.eq.u32 %p1, %t, 0;
    @%p1 mbarrier.init.shared.b64 [bar], 1; @%p1 mbarrier.init.shared.b64 [bar2], 64;
    fence.mbarrier_init.release.cluster;
    bar.sync 0;
)";
const std::string waitBar = R"(
  $wait: mbarrier.try_wait.parity.shared.b64 %p9, [bar], 0; @!%p9 bra $wait;
)";
const std::string loadBar = R"(
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 256, [%bar];
)";

/// Gives way to the other warps.
const std::string later = "nanosleep.u32 100; nanosleep.u32 100; nanosleep.u32 100; nanosleep.u32 100;\n";

} // namespace

TEST_CASE("a write and a read of two warps need a barrier between them") {
  const KernelText kernel{.body = prepare + R"(
    st.shared.b32 [%at], %t;
    SYNC
    xor.b32 %r1, %t, 32; mad.wide.u32 %d1, %r1, 4, %s; ld.shared.b32 %r2, [%d1];
)",
                          .threads = 64};
  const auto [with, without] = pairOf(kernel, "bar.sync 1, 64;");
  CHECK(with == "");
  // Warp 0 runs first, so it reads what warp 1 writes later.
  CHECK_THAT(without,
             Contains("race between the write of shared offset 1024 and the read by 'ld.shared.b32'") &&
                 Contains("missing: a barrier or mbarrier at which warp 1 waits for warp 0") &&
                 !Contains("nothing has written"));
}

TEST_CASE("a finding names both accesses, their lines and what is missing") {
  const std::string header = ".file 1 \"kernel.cpp\"\n";
  const std::string body = prepare + R"(
    setp.ne.u32 %p2, %warp, 0; @%p2 bra $second;
    .loc 1 10 3
    st.shared.b32 [%at], %t;
    bra $end;
  $second:
    SYNC
)" + later + R"(
    .loc 1 20 5
    ld.shared.b32 %r2, [%at+-128];
  $end:
)";
  const KernelText kernel{.body = body, .header = header, .threads = 64};
  KernelText without = kernel;
  without.body.replace(body.find("SYNC"), 4, "");
  const std::string message = check(without);
  CHECK_THAT(message,
             Contains("kernel.cpp:20:5: race between the read of shared offset 1024 and the write by "
                      "'st.shared.b32' at PTX line"));
  CHECK_THAT(message,
             Contains("(kernel.cpp:10:3, block (0, 0, 0), warp 0, lane 0); missing: a barrier or mbarrier at "
                      "which warp 1 waits for warp 0 ('ld.shared.b32' at PTX line"));
  CHECK_THAT(message, Contains("of 'k', block (0, 0, 0), warp 1, lane 0)"));
}

TEST_CASE("two warps that write the same word race, neighbours do not") {
  CHECK_THAT(check({.body = prepare + "st.shared.b32 [s+64], %t;", .threads = 64}),
             Contains("race between the write of shared offset 1088 and the write by 'st.shared.b32'"));
  CHECK(check({.body = prepare + R"(
    mad.wide.u32 %d1, %t, 1, %s; cvt.u16.u32 %h1, %t; st.shared.b8 [%d1], %h1;
)",
               .threads = 64}) == "");
}

TEST_CASE("accesses of different sizes meet in their bytes alone") {
  // Warp 0 has words 0 and 1 of the first 16 bytes, warp 1 the others; then one writes all of them.
  const std::string halves = prepare + R"(
    and.b32 %r1, %t, 31; shl.b32 %r2, %warp, 1; add.u32 %r3, %r1, %r2; mad.wide.u32 %d1, %r3, 4, %s;
    setp.lt.u32 %p2, %r1, 2; @%p2 st.shared.b32 [%d1], %t; @%p2 ld.shared.b32 %r4, [%d1];
)";
  const std::string whole = "@%p1 st.shared.v4.b32 [s], {%t, %t, %t, %t};";
  CHECK(check({.body = halves + "bar.sync 0;" + whole + "bar.sync 0; @%p2 st.shared.b32 [%d1], %t;",
               .threads = 64}) == "");
  CHECK_THAT(check({.body = halves + "bar.sync 0;" + whole + "@%p2 st.shared.b32 [%d1], %t;", .threads = 64}),
             Contains("race between the") && Contains("of shared offset 10"));
  // A whole read, then a write of a part.
  CHECK_THAT(check({.body = prepare + whole + R"(
    bar.sync 0; ld.shared.v4.b32 {%r5, %r6, %r7, %r8}, [s]; setp.eq.u32 %p2, %t, 40; @%p2 st.shared.b32 [s+8], %t;
)",
                    .threads = 64}),
             Contains("race between the") && Contains("of shared offset 10"));
}

TEST_CASE("a write must come after the reads of other warps") {
  const auto [with, without] = pairOf({.body = prepare + R"(
    st.shared.b32 [%at], %t; bar.sync 0;
    ld.shared.b32 %r1, [s];
    SYNC
    setp.eq.u32 %p2, %t, 32; @%p2 st.shared.b32 [s], %t;
)",
                                       .threads = 64},
                                      "bar.sync 0;");
  CHECK(with == "");
  CHECK_THAT(without,
             Contains("race between the write of shared offset 1024 and the read by 'ld.shared.b32'"));
}

TEST_CASE("bar.arrive orders what comes before it, and nothing for who arrives") {
  const std::string start = prepare + "setp.ne.u32 %p2, %warp, 0; @%p2 bra $second;\n";
  CHECK(check({.body = start + R"(
    st.shared.b32 [s], %warp; bar.arrive 1, 64; bra $end;
  $second: bar.sync 1, 64; ld.shared.b32 %r1, [s];
  $end:
)",
               .threads = 64}) == "");
  CHECK_THAT(check({.body = start + R"(
    bar.arrive 1, 64; )" + later +
                            R"( ld.shared.b32 %r1, [s]; bra $end;
  $second: st.shared.b32 [s], %t; bar.sync 1, 64;
  $end:
)",
                    .threads = 64}),
             Contains("a barrier or mbarrier at which warp 0 waits for warp 1"));
  CHECK_THAT(check({.body = start + R"(
    bar.arrive 1, 64; st.shared.b32 [s], %t; bra $end;
  $second: bar.sync 1, 64; ld.shared.b32 %r1, [s];
  $end:
)",
                    .threads = 64}),
             Contains("a barrier or mbarrier at which warp 1 waits for warp 0"));
}

TEST_CASE("an mbarrier orders arrivals before those who wait for their phase") {
  const KernelText kernel{.body = prepare + R"(
    setp.ne.u32 %p2, %warp, 0; @%p2 bra $second;
    st.shared.b32 [%at], %t;
    SYNC
    bra $end;
  $second:
    mbarrier.arrive.shared.b64 _, [bar2];
  $wait: mbarrier.try_wait.parity.shared.b64 %p9, [bar2], 0; @!%p9 bra $wait;
    ld.shared.b32 %r2, [%at+-128];
  $end:
)",
                          .threads = 64};
  CHECK(pairOf(kernel, "mbarrier.arrive.shared.b64 _, [bar2];").with == "");
  // The same with an arrival that says that it orders nothing.
  CHECK_THAT(pairOf(kernel, "mbarrier.arrive.relaxed.cluster.shared.b64 _, [bar2];").with,
             Contains("race between the read of shared offset"));
  CHECK(pairOf(kernel, "fence.acq_rel.cta; mbarrier.arrive.relaxed.cluster.shared.b64 _, [bar2];").with ==
        "");
}

TEST_CASE("an mbarrier is initialised before other warps use it") {
  CHECK_THAT(
      check({.body = R"(
    .shared .align 8 .b64 bar;
    setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared.b64 [bar], 2;
    shr.u32 %r1, %t, 5; and.b32 %r2, %t, 31; setp.eq.u32 %p2, %r2, 0;
    @%p2 mbarrier.arrive.shared.b64 _, [bar];
)",
             .threads = 64}),
      Contains(
          "race between the use as an mbarrier of shared offset 0 and the initialisation of an mbarrier by "
          "'mbarrier.init.shared.b64'"));
}

TEST_CASE("a copy to shared memory is read after a wait for its mbarrier") {
  const auto [with, without] =
      pairOf({.body = prepare + loadBar + "SYNC ld.shared.b32 %r1, [%at];"}, waitBar);
  CHECK(with == "");
  CHECK_THAT(
      without,
      Contains("race between the asynchronous write of shared offset 1024 and the read by "
               "'ld.shared.b32'") &&
          Contains("missing: a wait for phase 0 of the mbarrier at shared offset 0 before that read") &&
          !Contains("nothing has written"));
  // The copy is complete by chance; only warp 0 knows it.
  const auto [ordered, chance] = pairOf({.body = prepare + loadBar + R"(
    setp.ne.u32 %p2, %warp, 0; @%p2 bra $second;
)" + waitBar + R"(
    bra $together;
  $second: )" + later + later + later + R"(
  $together:
    SYNC
    @%p2 ld.shared.b32 %r1, [s];
)",
                                         .threads = 64},
                                        "bar.sync 0;");
  CHECK(ordered == "");
  CHECK_THAT(chance, Contains("race between the read of shared offset 1024 and the asynchronous write by "
                              "'cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes'"));
  CHECK_THAT(chance, Contains("missing: a wait for phase 0 of the mbarrier at shared offset 0, or a barrier "
                              "after that of warp 0"));
}

TEST_CASE("a buffer is refilled after its readers are done with it") {
  const std::string start = prepare + loadBar + waitBar + R"(
    ld.shared.b32 %r1, [%at];
)";
  const std::string fence = "fence.proxy.async.shared::cta;";
  const std::string refill = R"(
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 256, [%bar];
  $again: mbarrier.try_wait.parity.shared.b64 %p9, [bar], 1; @!%p9 bra $again;
)";
  const auto [with, without] =
      pairOf({.body = start + fence + "SYNC" + refill, .threads = 64}, "bar.sync 0;");
  CHECK(with == "");
  CHECK_THAT(without, Contains("race between the asynchronous write of shared offset") &&
                          Contains("and the read by 'ld.shared.b32'") &&
                          Contains("at which warp 0 waits for warp 1, before the operation is issued"));
  // The barrier alone lets the copy begin while loads are under way.
  const auto [fenced, unfenced] = pairOf({.body = start + "SYNC bar.sync 0;" + refill, .threads = 64}, fence);
  CHECK(fenced == "");
  CHECK_THAT(unfenced,
             Contains("proxy race between the asynchronous write of shared offset 1024 and the read by "
                      "'ld.shared.b32'") &&
                 Contains("missing: fence.proxy.async between them"));
}

TEST_CASE("a store of shared memory needs a proxy fence after the writes") {
  const std::string copy = R"(
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 256;
    @%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;
)";
  const KernelText kernel{.body = prepare + "st.shared.b32 [%at], %t; SYNC bar.sync 0;" + copy,
                          .threads = 64};
  const auto [with, without] = pairOf(kernel, "fence.proxy.async.shared::cta;");
  CHECK(with == "");
  CHECK_THAT(without,
             Contains("proxy race between the asynchronous read of shared offset 1024 and the write by "
                      "'st.shared.b32'") &&
                 Contains("missing: fence.proxy.async between them"));
  // A fence before the writes does not cover them, other fences are of no use.
  CHECK_THAT(check({.body = prepare + "fence.proxy.async; st.shared.b32 [%at], %t; bar.sync 0;" + copy,
                    .threads = 64}),
             Contains("proxy race"));
  CHECK_THAT(pairOf(kernel, "fence.acq_rel.cta;").with, Contains("proxy race"));
  // The fence may stand after the barrier, in the thread that copies.
  CHECK(check({.body = prepare + "st.shared.b32 [%at], %t; bar.sync 0; @%p1 fence.proxy.async;" + copy,
               .threads = 64}) == "");
  // A fence without a barrier orders one warp alone.
  CHECK_THAT(check({.body = prepare + "st.shared.b32 [%at], %t; fence.proxy.async;" + copy, .threads = 64}),
             Contains("at which warp 0 waits for warp 1"));
}

TEST_CASE("a copy into memory that threads wrote needs a proxy fence, after their reads it does not") {
  const auto [with, without] =
      pairOf({.body = prepare + "st.shared.b32 [%at], %t; SYNC bar.sync 0;" + loadBar + waitBar},
             "fence.proxy.async;");
  CHECK(with == "");
  CHECK_THAT(without, Contains("proxy race between the asynchronous write of shared offset 1024"));
}

TEST_CASE("what a bulk copy reads is overwritten after its group") {
  const std::string start = prepare + R"(
    st.shared.b32 [%at], %t; fence.proxy.async; bar.sync 0;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 128;
    @%p1 cp.async.bulk.commit_group;
    SYNC
    bar.sync 0;
    st.shared.b32 [%at], %t;
    cp.async.bulk.wait_group.read 0;
)";
  const auto [with, without] =
      pairOf({.body = start, .threads = 64}, "@%p1 cp.async.bulk.wait_group.read 0;");
  CHECK(with == "");
  CHECK_THAT(without, Contains("and the write by 'st.shared.b32'") &&
                          Contains("missing: cp.async.bulk.wait_group.read in warp 0 before that write"));
  CHECK_THAT(pairOf({.body = start, .threads = 64}, "@%p1 cp.async.bulk.wait_group.read 1;").with,
             Contains("missing: cp.async.bulk.wait_group.read in warp 0 before that write"));
  // Another thread's wait is not this copy's.
  CHECK_THAT(pairOf({.body = start, .threads = 64}, "@!%p1 cp.async.bulk.wait_group.read 0;").with,
             Contains("missing: cp.async.bulk.wait_group.read in warp 0 before that write"));
}

TEST_CASE("cp.async is waited for, by group or on an mbarrier") {
  const std::string copy = prepare + R"(
    mad.wide.u32 %d2, %t, 4, %in; cp.async.ca.shared.global [%at], [%d2], 4; cp.async.commit_group;
)";
  const auto [with, without] = pairOf({.body = copy + R"(
    SYNC
    bar.sync 0;
    xor.b32 %r1, %t, 32; mad.wide.u32 %d1, %r1, 4, %s; ld.shared.b32 %r2, [%d1];
)",
                                       .threads = 64},
                                      "cp.async.wait_group 0;");
  CHECK(with == "");
  CHECK_THAT(without,
             Contains("and the read by 'ld.shared.b32'") &&
                 Contains("missing: cp.async.wait_group in warp 1 and a barrier or mbarrier at which warp "
                          "0 waits for warp 1 before that read"));
  // The write after the copy: the copy comes later, and would overwrite it.
  CHECK_THAT(check({.body = copy + "st.shared.b32 [%at], %t; cp.async.wait_group 0;"}),
             Contains("missing: cp.async.wait_group in warp 0 before that write"));
  // Of 64 arrivals a barrier waits for 63: the copy of a thread may still be on its way.
  CHECK_THAT(check({.body = copy + R"(
    bar.sync 0; @%p1 mbarrier.inval.shared.b64 [bar2]; @%p1 mbarrier.init.shared.b64 [bar2], 63; fence.mbarrier_init.release.cluster; bar.sync 0;
    cp.async.mbarrier.arrive.noinc.shared.b64 [bar2];
  $wait: mbarrier.try_wait.parity.shared.b64 %p9, [bar2], 0; @!%p9 bra $wait;
    xor.b32 %r1, %t, 32; mad.wide.u32 %d1, %r1, 4, %s; ld.shared.b32 %r2, [%d1];
)",
                    .threads = 64}),
             Contains("missing: cp.async.wait_group"));
  CHECK(check({.body = copy + R"(
    cp.async.mbarrier.arrive.noinc.shared.b64 [bar2];
  $wait: mbarrier.try_wait.parity.shared.b64 %p9, [bar2], 0; @!%p9 bra $wait;
    xor.b32 %r1, %t, 32; mad.wide.u32 %d1, %r1, 4, %s; ld.shared.b32 %r2, [%d1];
)",
               .threads = 64}) == "");
}

TEST_CASE("blocks of a cluster are ordered by its barrier and by remote arrivals") {
  const std::string start = prepare + R"(
    barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;
    mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1; setp.eq.u32 %p3, %r1, 0; and.pred %p4, %p1, %p3;
    mapa.shared::cluster.u64 %d1, %s, %r2; mapa.shared::cluster.u64 %d2, %bar, %r2;
)";
  const auto [with, without] = pairOf({.body = start + R"(
    @%p4 st.shared::cluster.b32 [%d1], %r1;
    SYNC
)" + later + R"(
    @!%p3 ld.shared.b32 %r5, [s];
)",
                                       .blocks = 2,
                                       .cluster = 2},
                                      "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;");
  CHECK(with == "");
  CHECK_THAT(without, Contains("race between the read of shared offset 1024 of block rank 1 and the write by "
                               "'st.shared::cluster.b32'") &&
                          Contains("warp 0 of block rank 1 waits for warp 0 of block rank 0"));
  const auto [arrives, silent] = pairOf({.body = start + R"(
    @%p4 st.shared::cluster.b32 [%d1], %r1;
    @%p4 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%d2];
    @%p3 bra $end;
    SYNC
)" + later + R"(
    ld.shared.b32 %r5, [s];
  $end:
)",
                                         .blocks = 2,
                                         .cluster = 2},
                                        waitBar);
  CHECK(arrives == "");
  CHECK_THAT(silent, Contains("race between the read of shared offset 1024 of block rank 1"));
  // A relaxed arrival at the cluster's barrier orders nothing without a fence.
  CHECK_THAT(check({.body = start + R"(
    @%p4 st.shared::cluster.b32 [%d1], %r1;
    barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;
)" + later + R"(
    @!%p3 ld.shared.b32 %r5, [s];
)",
                    .blocks = 2,
                    .cluster = 2}),
             Contains("race between the read of shared offset 1024 of block rank 1"));
}

TEST_CASE("atomics and volatile accesses do not race with each other, but with ordinary ones") {
  const std::string zero =
      prepare + "@%p1 st.shared.b32 [s], 0; bar.sync 0; atom.shared.add.u32 %r1, [s], 1;";
  CHECK(check({.body = zero + "bar.sync 0; ld.shared.b32 %r2, [s];", .threads = 64}) == "");
  CHECK_THAT(check({.body = zero + "@!%p1 bra $end; st.shared.b32 [s], 1; $end:", .threads = 64}),
             Contains("and the write by 'st.shared.b32'"));
  // A flag that one warp sets and another spins on.
  CHECK(check({.body = prepare + R"(
    st.shared.b32 [%at], 0; bar.sync 0;
    setp.ne.u32 %p2, %warp, 0; @%p2 bra $second;
    st.shared.b32 [s+4], 7; st.release.cta.shared.b32 [s], 1; bra $end;
  $second: ld.acquire.cta.shared.b32 %r1, [s]; setp.eq.u32 %p3, %r1, 0; @%p3 bra $second;
    ld.shared.b32 %r2, [s+4];
  $end:
)",
               .threads = 64}) == "");
}

namespace {

/// A warpgroup multiplies 64 x 16 by 16 x 8, all of `s` written by threads, once
/// or twice.
std::string product(std::string_view beforeIssue, std::string_view afterCommit) {
  return prepare + fmt::format(R"(
    .reg .b32 %c<4>;
    mov.b32 %c0, 0; mov.b32 %c1, 0; mov.b32 %c2, 0; mov.b32 %c3, 0;
    mad.wide.u32 %d1, %t, 16, %s; st.shared.v4.b32 [%d1], {{%c0, %c0, %c0, %c0}};
    st.shared.v4.b32 [%d1+2048], {{%c0, %c0, %c0, %c0}};
    {}
    and.b64 %d2, %s, 0x3FFFF; shr.u64 %d2, %d2, 4; or.b64 %d2, %d2, 0x0000001000080000;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%c0, %c1, %c2, %c3}}, %d2, %d2, 1, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    {}
)",
                               beforeIssue, afterCommit);
}

} // namespace

TEST_CASE("operands of wgmma are written, fenced and not overwritten before the wait") {
  const std::string fence = "fence.proxy.async; bar.sync 0;", wait = "wgmma.wait_group.sync.aligned 0;",
                    write = "bar.sync 0; st.shared.b32 [%at], %t;";
  CHECK(check({.body = product(fence, wait + write), .threads = 128}) == "");
  CHECK_THAT(check({.body = product("bar.sync 0;", wait), .threads = 128}),
             Contains("proxy race between the asynchronous read") && Contains("missing: fence.proxy.async"));
  CHECK_THAT(check({.body = product("fence.proxy.async;", wait), .threads = 128}),
             Contains("race between the asynchronous read"));
  CHECK_THAT(check({.body = product(fence, write + wait), .threads = 128}),
             Contains("missing: wgmma.wait_group in the warpgroup of warp 0 before that write"));
}

TEST_CASE("registers of a product are used after the wait") {
  const std::string fence = "fence.proxy.async; bar.sync 0;", use = "add.f32 %r9, %c1, %c1;";
  CHECK(check({.body = product(fence, "wgmma.wait_group.sync.aligned 0;" + use), .threads = 128}) == "");
  const std::string message =
      check({.body = product(fence, use + "wgmma.wait_group.sync.aligned 0;"), .threads = 128});
  CHECK_THAT(message, Contains("a register of a product under way is used: "
                               "'wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16' at PTX line") &&
                          Contains("missing: wgmma.wait_group between them"));
  CHECK_THAT(check({.body = product(fence, "wgmma.wait_group.sync.aligned 1;" + use), .threads = 128}),
             Contains("a register of a product under way is used"));
}

TEST_CASE("the checker can be off") {
  CHECK(failure({.body = prepare + "st.shared.b32 [s+64], %t;", .threads = 64}) == "");
}
