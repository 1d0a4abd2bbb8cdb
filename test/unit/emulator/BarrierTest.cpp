// SPDX-License-Identifier: Apache-2.0
/// \file
/// Named barriers, mbarriers, and the deadlocks that they can make.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>

using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

TEST_CASE("bar.sync orders the warps of a block") {
  const auto out = output({.body = R"(
    .shared .align 4 .b8 s[1024];
    mov.b64 %d1, s; mad.wide.u32 %d2, %t, 4, %d1; st.shared.b32 [%d2], %t;
    bar.sync 0;
    mov.u32 %r2, %ntid.x; sub.u32 %r1, %r2, %t; sub.u32 %r1, %r1, 1;
    mad.wide.u32 %d3, %r1, 4, %d1; ld.shared.b32 %r3, [%d3];
    st.global.b32 [%mine], %r3;
  )",
                           .threads = 200});
  for (unsigned i = 0; i < 200; ++i)
    CHECK(out[i] == 199 - i);
}

TEST_CASE("a producer arrives where consumers sync") {
  const auto out = output({.body = R"(
    .shared .b32 s;
    setp.lt.u32 %p1, %t, 32;
    @!%p1 bra $consumer;
    st.shared.b32 [s], 77;
    barrier.cta.arrive.aligned 3, 64;
    bra $end;
  $consumer:
    barrier.cta.sync.aligned 3, 64;
    ld.shared.b32 %r1, [s];
    st.global.b32 [%mine], %r1;
  $end:
  )",
                           .threads = 64});
  CHECK(out[40] == 77);
}

TEST_CASE("bar.red counts and combines") {
  const auto out = output({.body = R"(
    setp.lt.u32 %p1, %t, 40;
    bar.red.popc.u32 %r1, 0, %p1;
    bar.red.and.pred %p2, 0, %p1; selp.b32 %r2, 1, 0, %p2;
    barrier.cta.red.or.aligned.pred %p3, 1, 64, !%p1; selp.b32 %r3, 1, 0, %p3;
    st.global.b32 [%mine], %r1; st.global.b32 [%mine+256], %r2; st.global.b32 [%mine+512], %r3;
  )",
                           .threads = 64});
  CHECK(out[5] == 40);
  CHECK(out[64 + 5] == 0);
  CHECK(out[128 + 5] == 1);
}

TEST_CASE("exited warps do not count at a barrier of all threads") {
  CHECK(output({.body = "setp.ge.u32 %p1, %t, 32; @%p1 exit; bar.sync 0; st.global.b32 [%mine], %t;",
                .threads = 96})[3] == 3);
}

TEST_CASE("misuse of named barriers") {
  CHECK_THAT(failure({.body = "bar.sync 0, 48;", .threads = 64}),
             Contains("barrier 0 needs a count that is a multiple of 32, but got 48"));
  CHECK_THAT(failure({.body = "bar.sync 16;"}), Contains("barrier 16 does not exist, there are 16"));
  CHECK_THAT(failure({.body = "setp.lt.u32 %p1, %t, 32; selp.b32 %r1, 64, 96, %p1; bar.sync 1, %r1;",
                      .threads = 96}),
             Contains("barrier 1 is in use with 64 threads, but this warp says 96"));
  const std::string message =
      failure({.body = ".loc 1 5 1\n bar.sync 2, 96;", .header = ".file 1 \"x.cpp\"", .threads = 64});
  CHECK_THAT(message, Contains("x.cpp:5:1: deadlock in 'k'"));
  CHECK_THAT(message, Contains("block (0, 0, 0), warps 0 1: x.cpp:5:1: 'bar.sync'"));
  CHECK_THAT(
      message,
      Contains("waits at barrier 2; 64 of 96 threads have arrived, 32 are missing; warps 0 1 arrived"));
}

namespace {

const std::string initialise = R"(
    .shared .align 8 .b64 bar;
    setp.eq.u32 %p1, %t, 0;
    @%p1 mbarrier.init.shared.b64 [bar], COUNT;
    fence.mbarrier_init.release.cluster;
    bar.sync 0;
)";
std::string barrierOf(unsigned count) {
  std::string text = initialise;
  return text.replace(text.find("COUNT"), 5, std::to_string(count));
}

} // namespace

TEST_CASE("mbarrier: arrive, state tokens, test_wait") {
  const auto out = output({.body = barrierOf(2) + R"(
    mbarrier.arrive.shared.b64 %d1, [bar];
    mbarrier.pending_count.b64 %r1, %d1;
    mbarrier.test_wait.shared.b64 %p2, [bar], %d1;
    mbarrier.arrive.release.cta.shared::cta.b64 _, [bar], 1;
    mbarrier.test_wait.acquire.cta.shared::cta.b64 %p3, [bar], %d1;
    mbarrier.test_wait.parity.shared.b64 %p4, [bar], 0;
    mbarrier.test_wait.parity.shared.b64 %p5, [bar], 1;
    selp.b32 %r2, 1, 0, %p2; selp.b32 %r3, 1, 0, %p3; selp.b32 %r4, 1, 0, %p4; selp.b32 %r5, 1, 0, %p5;
    st.global.v4.b32 [%out], {%r1, %r2, %r3, %r4}; st.global.b32 [%out+16], %r5;
    mbarrier.inval.shared.b64 [bar];
  )",
                           .threads = 1});
  CHECK(out[0] == 2);
  CHECK(out[1] == 0);
  CHECK(out[2] == 1);
  CHECK(out[3] == 1);
  CHECK(out[4] == 0);
}

TEST_CASE("mbarrier: warps hand over through phases") {
  // Warp 1 waits for 32 arrivals of warp 0, three times.
  const auto out = output({.body = barrierOf(32) + R"(
    .shared .b32 s;
    mov.b32 %r1, 0;
    setp.ge.u32 %p1, %t, 32;
  $loop:
    @%p1 bra $consumer;
    add.u32 %r2, %r1, 100;
    st.volatile.shared.b32 [s], %r2;
    mbarrier.arrive.shared.b64 _, [bar];
    bra $next;
  $consumer:
    and.b32 %r3, %r1, 1;
  $wait:
    mbarrier.try_wait.parity.shared.b64 %p2, [bar], %r3;
    @!%p2 bra $wait;
    ld.volatile.shared.b32 %r4, [s];
    mad.wide.u32 %d1, %r1, 4, %out;
    st.global.b32 [%d1], %r4;
  $next:
    bar.sync 1, 64;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p3, %r1, 3;
    @%p3 bra $loop;
  )",
                           .threads = 64});
  CHECK(out[0] == 100);
  CHECK(out[1] == 101);
  CHECK(out[2] == 102);
}

TEST_CASE("mbarrier: transaction counts hold the phase") {
  const auto out = output({.body = barrierOf(1) + R"(
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 48;
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 32;
    mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0, 1000;
    mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 8;
    mbarrier.arrive_drop.shared.b64 _, [bar];
    selp.b32 %r1, 1, 0, %p2; selp.b32 %r2, 1, 0, %p3;
    st.global.v2.b32 [%out], {%r1, %r2};
  )",
                           .threads = 1});
  CHECK(out[0] == 0);
  CHECK(out[1] == 1);
}

TEST_CASE("mbarrier: remote arrival") {
  const auto out = output({.body = barrierOf(2) + R"(
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    mov.b64 %d1, bar; mov.b32 %r1, 0;
    mapa.shared::cluster.u64 %d2, %d1, %r1;
    @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%d2], 1;
    mov.u32 %r2, %cluster_ctarank; setp.ne.u32 %p2, %r2, 0; @%p2 bra $end;
  $wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [bar], 0; @!%p3 bra $wait;
    st.global.b32 [%mine], %t;
  $end:
  )",
                           .threads = 32,
                           .blocks = 2,
                           .cluster = 2});
  CHECK(out[9] == 9);
}

TEST_CASE("a deadlock names barrier, phase and what is pending") {
  const std::string message = failure({.body = barrierOf(3) + R"(
    .loc 1 77 5
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;
  $wait: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra $wait;
  )",
                                       .header = ".file 1 \"ring.cpp\"",
                                       .threads = 64});
  CHECK_THAT(message, Contains("ring.cpp:77:5: deadlock in 'k'"));
  CHECK_THAT(message, Contains("warps 0 1: ring.cpp:77:5: 'mbarrier.try_wait.parity.shared.b64'"));
  CHECK_THAT(message, Contains("waits for the mbarrier at shared offset 0 to end phase 0; 2 of 3 arrivals "
                               "and 64 bytes are pending; warp 0 arrived in this phase by "
                               "'mbarrier.arrive.expect_tx.shared.b64' at PTX line"));
}

TEST_CASE("a deadlock says who arrived at the mbarrier before, or what might") {
  const Outcome outcome = run({.body = barrierOf(1) + R"(
    @%p1 mbarrier.arrive.shared.b64 _, [bar];
  $first: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra $first;
  $second: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 1; @!%p2 bra $second;
  )",
                               .threads = 64,
                               .names = {.roles = {{"load", 0, 1}, {"store", 1, 1}}}});
  REQUIRE(outcome.findings.all().size() == 1);
  const tlc::Finding &finding = outcome.findings.all()[0];
  CHECK_THAT(finding.message,
             Contains("to end phase 1; 1 of 1 arrivals are pending; warp 0 (load) last arrived in an "
                      "earlier phase by 'mbarrier.arrive.shared.b64' at PTX line"));
  REQUIRE(finding.waiting.size() == 2);
  for (unsigned warp = 0; warp < 2; ++warp) {
    const tlc::WaitingWarp &waiting = finding.waiting[warp];
    CHECK(waiting.site.warp == warp);
    CHECK(waiting.mbarrier == 0u);
    CHECK(waiting.phase == 1);
    CHECK(waiting.missing == 1);
    CHECK(waiting.expected == 1);
    CHECK(waiting.missingBytes == 0);
    CHECK(waiting.arrived.empty());
    REQUIRE(waiting.earlier.size() == 1);
    CHECK(waiting.earlier[0].role == "load");
    CHECK(waiting.earlier[0].instruction == "mbarrier.arrive.shared.b64");
  }
  CHECK_THAT(
      failure({.body = barrierOf(1) + R"(
    $wait: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra $wait;
    mbarrier.arrive.shared.b64 _, [bar];
  )"}),
      Contains(
          "nothing has ever arrived there; the program arrives at mbarriers by 'mbarrier.arrive.shared.b64' "
          "at PTX line"));
  CHECK_THAT(failure({.body = barrierOf(1) +
                              "$wait: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra $wait;"}),
             Contains("nothing in the program arrives at mbarriers"));
}

TEST_CASE("a deadlock at a named barrier says who has come and who has not") {
  const Outcome outcome = run({.body = R"(
    bar.sync 3, 64;
    setp.ge.u32 %p1, %t, 32;
    @%p1 bra $end;
    bar.sync 3, 64;
  $end:
  )",
                               .threads = 64});
  REQUIRE(outcome.findings.all().size() == 1);
  const tlc::Finding &finding = outcome.findings.all()[0];
  CHECK_THAT(finding.message,
             Contains("waits at barrier 3; 32 of 64 threads have arrived, 32 are missing; warp 0 "
                      "arrived; warp 1 last arrived in an earlier phase"));
  REQUIRE(finding.waiting.size() == 1);
  CHECK(finding.waiting[0].barrier == 3u);
  CHECK(finding.waiting[0].missing == 32);
  REQUIRE(finding.waiting[0].arrived.size() == 1);
  REQUIRE(finding.waiting[0].earlier.size() == 1);
  CHECK(finding.waiting[0].earlier[0].warp == 1);
  CHECK_THAT(failure({.body = R"(
    setp.ge.u32 %p1, %t, 32;
    @%p1 bra $other;
    bar.sync 1;
  $other:
    bar.sync 2, 96;
  )",
                      .threads = 64}),
             Contains("waits at barrier 1; 32 of 64 threads have arrived, 32 are missing; warp 0 arrived; "
                      "warp 1 did not"));
}

TEST_CASE("try_wait gives up when nothing else can run, so that polling goes on") {
  // Looks ahead at a barrier that only completes through its own later arrival.
  const auto out = output({.body = barrierOf(1) + R"(
    mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
    @!%p2 mbarrier.arrive.shared.b64 _, [bar];
  $wait: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra $wait;
    st.global.b32 [%out], 1;
  )",
                           .threads = 1});
  CHECK(out[0] == 1);
}

TEST_CASE("misuse of mbarriers") {
  CHECK_THAT(
      failure({.body = barrierOf(1) + "mbarrier.arrive.shared.b64 _, [bar], 2;", .threads = 1}),
      Contains("2 arrivals at the mbarrier at shared offset 0, but only 1 of 1 are pending; missing: a wait "
               "for that phase before it (of a channel: get a slot before it is released), or "
               "a count of as many arrivals"));
  CHECK_THAT(
      failure({.body = barrierOf(1) + "mbarrier.inval.shared.b64 [bar]; mbarrier.arrive.shared.b64 _, [bar];",
               .threads = 1}),
      Contains("the mbarrier at shared offset 0 is not initialised"));
  CHECK_THAT(failure({.body = barrierOf(1) + "mbarrier.try_wait.parity.shared.b64 %p2, [bar], 2;"}),
             Contains("the phase parity in lane 0 is 2, not 0 or 1"));
  CHECK_THAT(failure({.body = "mbarrier.init.b64 [%out], 1;"}), Contains("is not in shared memory"));
}

TEST_CASE("a barrier that nobody initialised is named") {
  CHECK_THAT(failure({.body = ".shared .align 8 .b64 bar[4]; mbarrier.arrive.shared.b64 _, [bar+8];"}),
             Contains("the mbarrier at shared offset 8 is not initialised"));
  CHECK_THAT(failure({.body = ".shared .align 8 .b64 bar; cp.async.mbarrier.arrive.shared.b64 [bar];"}),
             Contains("the mbarrier at shared offset 0 is not initialised"));
  CHECK_THAT(failure({.body = R"(
    .shared .align 16 .b8 s[64]; .shared .align 8 .b64 bar; mov.b64 %d1, s; mov.b64 %d2, bar;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%d1], [%in], 16, [%d2];)"}),
             Contains("is not initialised"));
}

TEST_CASE("fences of every form are accepted") {
  CHECK(output({.body = R"(
    membar.gl; fence.acq_rel.gpu; fence.sc.sys; fence.proxy.async; fence.proxy.async.shared::cta;
    fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster; fence.proxy.alias;
    fence.proxy.tensormap::generic.acquire.gpu [%out], 128; fence.proxy.tensormap::generic.release.gpu;
    griddepcontrol.launch_dependents; griddepcontrol.wait; nanosleep.u32 20;
    st.global.b32 [%mine], %t;
  )"})[4] == 4);
}

TEST_CASE("a warp arrives once in a phase of a named barrier") {
  CHECK_THAT(failure({.body = "bar.arrive 1, 96; bar.arrive 1, 96;", .threads = 64}),
             Contains("the warp arrives at barrier 1 for the second time in one phase"));
  // Phase by phase it may.
  CHECK(output({.body = "bar.sync 1, 64; bar.sync 1, 64; st.global.b32 [%mine], 5;", .threads = 64})[63] ==
        5);
}

TEST_CASE("an mbarrier that is overwritten during a phase") {
  const auto text = [](const std::string &before, const std::string &write) {
    return KernelText{.body = barrierOf(2) + before + write + "st.global.b32 [%out], 1;",
                      .threads = 1,
                      .raceCheck = tlc::RaceCheck::on};
  };
  const std::string arrive = "mbarrier.arrive.shared.b64 _, [bar];\n";
  for (const char *write :
       {"mbarrier.init.shared.b64 [bar], 2;", "st.shared.b32 [bar+4], 0;", "st.shared.b64 [bar], 0;"}) {
    INFO(write);
    CHECK_THAT(failure(text(arrive, write)),
               Contains("the mbarrier at shared offset 0 is overwritten during a phase; 1 "
                        "of 2 arrivals and 0 bytes are pending"));
    CHECK(output(text(arrive + arrive, write))[0] == 1);
    CHECK(output(text("", write))[0] == 1);
    CHECK(output(text(arrive + "mbarrier.inval.shared.b64 [bar];\n", write))[0] == 1);
  }
  CHECK_THAT(failure(text("mbarrier.expect_tx.shared.b64 [bar], 32;\n", "st.shared.b32 [bar], 0;")),
             Contains("2 of 2 arrivals and 32 bytes are pending"));
}

TEST_CASE("a wait that is overtaken by the next phase") {
  // Warp 0 ends both phases before warp 1 has seen the first; with an answer between them it cannot.
  const auto text = [](const std::string &answer, const std::string &wait) {
    return KernelText{.body = barrierOf(1) + R"(
    setp.lt.u32 %p3, %t, 32;
    @%p3 bra $producer;
  $wait: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra $wait;
    )" + answer + R"(
    bra $end;
  $producer:
    bar.warp.sync 0xffffffff;
    nanosleep.u32 100; nanosleep.u32 100;
    @%p1 mbarrier.arrive.shared.b64 _, [bar];
    )" + wait + R"(
    @%p1 mbarrier.arrive.shared.b64 _, [bar];
  $end:
    st.global.b32 [%mine], 1;
  )",
                      .threads = 64};
  };
  CHECK_THAT(
      failure(text("", "")),
      Contains(
          "the wait for phase 0 of the mbarrier at shared offset 0 is overtaken: the next phase ends too"));
  CHECK(output(text("bar.sync 1, 64;", "bar.sync 1, 64;"))[40] == 1);
}
